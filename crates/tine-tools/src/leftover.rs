//! Processes of commands whose tine is gone.
//!
//! A watchdog ends a command whose tine dies. Where there was none, or it was killed as well, processes live on. They are known by
//! what every command of a call carries in its environment: its mark, its agent and its call. What they have started counts too, and
//! so does what a supervisor was left with. A process without this environment, whose parents have ended, is not found.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Signal, kill_process};
use tine_guard::redact;
use tine_model::{Leftover, ToolCallId};

use crate::bash::Mark;
use crate::processes::{Process, all_processes, below};
use crate::watchdog::Supervisor;

/// The variable in which commands that an agent runs find the agent's id. By it a face knows who calls. It holds back who means
/// well: a command that takes it away is known to nobody.
pub const AGENT_VARIABLE: &str = "TINE_AGENT";

/// The variable in which a command finds the id of the call that started it.
const CALL_VARIABLE: &str = "TINE_CALL";

/// Longest command line that is shown.
const COMMAND_CHARS_MAX: usize = 120;

/// Most looks at whether all that were killed are gone, and the time between two looks: two seconds, since somebody waits.
const LOOKS_MAX: usize = 1_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Returns the variable that says which call a command belongs to. No variable can hold a NUL.
pub(crate) fn call_variable(call: &str) -> (String, String) {
    (CALL_VARIABLE.to_owned(), call.replace('\0', ""))
}

/// Returns true if processes can be looked through on this system.
pub fn can_find_leftovers() -> bool {
    Path::new("/proc/self/environ").exists()
}

/// Finds the processes of calls whose tine is gone.
pub fn find_leftovers() -> Vec<Leftover> {
    found_in(&all_processes()).into_values().map(|(_, leftover)| leftover).collect()
}

/// Ends the processes of the calls that these belong to, and what those start meanwhile. Returns all that were found, and which of
/// them may still run. Blocks the thread.
pub fn end_leftovers(left: &[Leftover]) -> Vec<Leftover> {
    let calls: HashSet<_> = left.iter().map(|one| (one.agent.clone(), one.call.clone())).collect();
    let mut seen: BTreeMap<i32, Leftover> =
        left.iter().map(|one| (one.process, one.clone())).collect();
    let mut running = HashSet::new();
    for _ in 0..LOOKS_MAX {
        let all = all_processes();
        let spared = lineage_of_this_process(&all);
        let mut found = found_in(&all);
        found.retain(|_, (_, one)| calls.contains(&(one.agent.clone(), one.call.clone())));
        running = found.keys().copied().collect();
        let mut is_over = true;
        for (process, leftover) in found.into_values() {
            is_over &= spared.contains(&process.id) || kill(process) == Err(Errno::PERM);
            seen.entry(process.id).or_insert(leftover);
        }
        if is_over {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let ended = |one: Leftover| Leftover { is_ended: !running.contains(&one.process), ..one };
    seen.into_values().map(ended).collect()
}

/// This process and those above it: a command may go on with its own agent once its tine is gone.
fn lineage_of_this_process(all: &[Process]) -> HashSet<i32> {
    let mut lineage = HashSet::new();
    let mut next = i32::try_from(std::process::id()).ok();
    while let Some(id) = next.filter(|id| lineage.insert(*id)) {
        next = all.iter().find(|process| process.id == id).map(|process| process.parent);
    }
    lineage
}

fn found_in(all: &[Process]) -> BTreeMap<i32, (Process, Leftover)> {
    let mut found = BTreeMap::new();
    for process in all.iter().filter(|process| !process.is_dead) {
        let Some(origin) = Origin::of(*process) else { continue };
        if origin.mark.has_living_tine(all) {
            continue;
        }
        let own = (!origin.is_supervisor).then_some(*process);
        for member in own.into_iter().chain(below(process.id, all)) {
            let leftover = Leftover {
                process: member.id,
                command: command_of(member),
                agent: origin.agent.clone(),
                call: origin.call.clone(),
                is_ended: false,
            };
            found.entry(member.id).or_insert((member, leftover));
        }
    }
    found
}

/// The command that a process belongs to, as its environment says.
struct Origin {
    mark: Mark,
    agent: String,
    call: ToolCallId,
    /// It only watches over the command.
    is_supervisor: bool,
}

impl Origin {
    /// Other users' environments cannot be read, and a process that has ended has none. In another namespace of processes the numbers are
    /// others, so that nobody here knows whether the tine there lives.
    fn of(process: Process) -> Option<Self> {
        let environment = std::fs::read(format!("/proc/{}/environ", process.id)).ok()?;
        let variable = |name: &str| {
            let mut entries = environment.split(|byte| *byte == 0);
            let value = entries.find_map(|entry| {
                entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec)
            })?;
            String::from_utf8(value).ok()
        };
        let (agent, call) = (variable(AGENT_VARIABLE)?, ToolCallId(variable(CALL_VARIABLE)?));
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/pid")).ok();
        if namespace(&process.id.to_string()) != namespace("self") {
            return None;
        }
        let (mark, is_supervisor) = match variable(Mark::VARIABLE) {
            Some(mark) => (Mark::of(&mark), false),
            None => {
                let line = std::fs::read(format!("/proc/{}/cmdline", process.id)).ok()?;
                let arguments: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
                (Supervisor::mark_in(&arguments)?, true)
            }
        };
        Some(Self { mark, agent, call, is_supervisor })
    }
}

/// The command line of a process, fit to be shown.
fn command_of(process: Process) -> String {
    let read = |file: &str| {
        let text = std::fs::read(format!("/proc/{}/{file}", process.id)).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let line = Some(read("cmdline")).filter(|line| !line.is_empty());
    shown(&line.unwrap_or_else(|| read("comm")))
}

fn shown(line: &str) -> String {
    let blank = |c: char| if c.is_control() || c.is_whitespace() { ' ' } else { c };
    let line: String = line.chars().map(blank).map(|c| if c == '`' { '\'' } else { c }).collect();
    let words = line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let line = redact(&words);
    match line.char_indices().nth(COMMAND_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

/// Kills a process, and no other that has got its number meanwhile.
#[cfg(target_os = "linux")]
fn kill(process: Process) -> rustix::io::Result<()> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let pid = process.pid().ok_or(Errno::SRCH)?;
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) if is_still(process) => pidfd_send_signal(handle, Signal::KILL),
        Ok(_) => Err(Errno::SRCH),
        // Kernels before 5.3.
        Err(Errno::NOSYS) if is_still(process) => kill_process(pid, Signal::KILL),
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn kill(process: Process) -> rustix::io::Result<()> {
    let pid = process.pid().filter(|_| is_still(process)).ok_or(Errno::SRCH)?;
    kill_process(pid, Signal::KILL)
}

fn is_still(process: Process) -> bool {
    Process::now(process.id).is_some_and(|now| now.start == process.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_on_one_line_cut_and_without_secrets() {
        let shown = |line: &str| super::shown(line);
        assert_eq!(shown("sh\0-c\0sleep 1;\n\u{1b}[2J`id`\0"), "sh -c sleep 1; [2J'id'");
        assert_eq!(shown(&"é".repeat(121)), format!("{}…", "é".repeat(120)));
        let secret = format!("curl --token ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
        assert!(!shown(&secret).contains("a1B2c3"), "{}", shown(&secret));
    }

    #[test]
    fn nobody_is_ended_who_goes_on_with_its_own_agent() {
        let all = all_processes();
        let lineage = lineage_of_this_process(&all);
        assert!(lineage.contains(&i32::try_from(std::process::id()).unwrap()));
        assert!(lineage.len() > 1, "those above it too");
    }
}
