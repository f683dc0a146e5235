//! Loops: the same calls again and again, and a task that is handed on instead of done.

use super::{Act, Evidence};

/// Longest cycle that is looked for, in calls.
pub const CYCLE_CALLS_MAX: usize = 4;

/// How often a cycle must come back, counted with its first time. Trying once more, and once again, happens in good faith.
pub const CYCLE_TIMES_MIN: usize = 3;

/// Calls to those who hand work on, from which on a worker counts as one that does. The first may be a mistake that its refusal
/// corrects.
pub const HANDED_ON_MIN: usize = 2;

/// Tools that hand work on, in small letters, as hosts call them.
const DISPATCHERS: [&str; 11] = [
    "agent",
    "delegate",
    "dispatch",
    "dispatch_agent",
    "fork",
    "spawn",
    "spawn_agent",
    "subagent",
    "task",
    "task_start",
    "taskstart",
];

/// A worker that hands its task on, or a cycle of at most [`CYCLE_CALLS_MAX`] calls that comes [`CYCLE_TIMES_MIN`] times without a
/// break anywhere in the run. Calls are the same when tool, arguments and answer are: who polls and sees another answer makes
/// progress.
pub(super) fn looping(evidence: &Evidence<'_>) -> Option<String> {
    let handed: Vec<&Act> = evidence.acts.iter().filter(|act| is_dispatcher(&act.tool)).collect();
    if let [first, ..] = handed[..]
        && evidence.is_worker
        && handed.len() >= HANDED_ON_MIN
    {
        let count = handed.len();
        return Some(format!("the work was handed on {count} times, by `{}`", first.tool));
    }
    cycle(&evidence.acts)
}

/// Whether a tool of this name hands work on.
pub(super) fn is_dispatcher(tool: &str) -> bool {
    DISPATCHERS.contains(&tool.to_lowercase().as_str())
}

fn cycle(acts: &[Act]) -> Option<String> {
    (1..=CYCLE_CALLS_MAX).find_map(|period| {
        // Calls in a row that equal the one a period before.
        let mut same = 0;
        for at in period..acts.len() {
            same = if acts[at] == acts[at - period] { same + 1 } else { 0 };
            if same >= period * (CYCLE_TIMES_MIN - 1) {
                let tools: Vec<&str> =
                    acts[at + 1 - period..=at].iter().map(|act| &*act.tool).collect();
                let (tools, times) = (tools.join(", "), CYCLE_TIMES_MIN);
                return Some(format!("the same calls came {times} times in a row: {tools}"));
            }
        }
        None
    })
}
