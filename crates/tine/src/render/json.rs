//! The JSON shapes of a run: promises to scripts. Fields may be added, never renamed or removed.

use serde::{Deserialize, Serialize};
use tine_model::{AgentRecord, Leftover, Usage};
use tine_runtime::{ForkMade, OpenCall};

use crate::ask::Refusal;
use crate::ending::Ended;
use crate::output;
use crate::render::task::TaskShape;
use crate::render::worktree::PlaceShape;
use tine_tui::words::one_line;

/// Token counts of one request, or a sum. A part that the provider does not report is `null`, which is not zero.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct UsageShape {
    uncached: u64,
    write_short: Option<u64>,
    write_long: Option<u64>,
    read: Option<u64>,
    output: u64,
    reasoning: Option<u64>,
}

impl From<Usage> for UsageShape {
    fn from(usage: Usage) -> Self {
        let Usage { uncached, write_short, write_long, read, output, reasoning } = usage;
        Self { uncached, write_short, write_long, read, output, reasoning }
    }
}

/// A process that was left of a call that was cut off when its tine died.
#[derive(Debug, Serialize)]
pub(crate) struct LeftoverShape<'a> {
    agent: &'a str,
    call: &'a str,
    process: i32,
    command: &'a str,
    ended: bool,
}

impl<'a> From<&'a Leftover> for LeftoverShape<'a> {
    fn from(left: &'a Leftover) -> Self {
        let Leftover { process, command, agent, call, is_ended } = left;
        Self { agent, call: &call.0, process: *process, command, ended: *is_ended }
    }
}

/// `tine run --json`, `tine fork AGENT PROMPT --json`, and the last record of `--output-format stream-json`, where
/// `type` is `"result"`.
#[derive(Debug, Serialize)]
pub(crate) struct RunResult {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    agent: String,
    parent: Option<String>,
    fork_point: Option<i64>,
    context: &'static str,
    /// The entry that was asked for with `--at`, where the fork point had to move.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<i64>,
    /// Calls that ran in the parent, and whose results it does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open_calls: Vec<OpenCallShape>,
    /// `completed`, `turn_limit`, `length_cut`, `refused`, `aborted`, `timed_out`, `budget_exhausted`, `failed`.
    outcome: &'static str,
    /// The last text of the model; empty when it said nothing.
    text: String,
    turns: u32,
    tool_uses: u32,
    usage: UsageShape,
    /// `null` for a model without a known price.
    cost_usd: Option<f64>,
    /// The model whose prices stand in, where this one has none of its own.
    priced_as: Option<String>,
    /// Calls that were refused because nobody could be asked.
    denied: Vec<Denied>,
    /// The workers that it started.
    tasks: Vec<TaskShape>,
    /// The agent's own worktree; `null` where it has none.
    worktree: Option<PlaceShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A call that was refused because nobody could be asked.
#[derive(Debug, Serialize)]
pub(crate) struct Denied {
    agent: String,
    tool: String,
    call: String,
    why: String,
}

impl From<&Refusal> for Denied {
    fn from(refusal: &Refusal) -> Self {
        let Refusal { agent, tool, call, why, .. } = refusal.clone();
        Self { agent: agent.to_string(), tool, call, why }
    }
}

impl RunResult {
    /// The result of a run of the agent behind `record`.
    pub(crate) fn new(record: &AgentRecord, made: Option<&ForkMade>, ended: &Ended) -> Self {
        Self {
            kind: None,
            agent: record.id.to_string(),
            parent: record.parent.map(|parent| parent.to_string()),
            fork_point: record.fork_point.map(|entry| entry.0),
            context: record.context.as_str(),
            moved_from: made.and_then(|made| made.moved_from).map(|entry| entry.0),
            open_calls: made.map(|made| OpenCallShape::all(&made.open_calls)).unwrap_or_default(),
            outcome: ended.outcome.unwrap_or("failed"),
            text: ended.text.clone(),
            turns: ended.turns,
            tool_uses: ended.tool_uses,
            usage: ended.usage.into(),
            cost_usd: ended.dollars,
            priced_as: ended.priced_as.clone(),
            tasks: ended.tasks.clone(),
            worktree: ended.worktree.clone(),
            denied: ended.refused.iter().map(Denied::from).collect(),
            error: ended.failure.as_ref().map(|failure| failure.message().to_owned()),
        }
    }

    /// The same as the last record of a stream.
    pub(crate) fn into_record(self) -> Self {
        Self { kind: Some("result"), ..self }
    }
}

/// A call that ran in the parent of a fork, and whose result the fork does not have.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenCallShape {
    id: String,
    tool: String,
}

impl OpenCallShape {
    pub(crate) fn all(calls: &[OpenCall]) -> Vec<Self> {
        let shape = |call: &OpenCall| Self { id: call.id.0.clone(), tool: call.tool.clone() };
        calls.iter().map(shape).collect()
    }

    /// Tells a person of them.
    pub(crate) fn say(calls: &[Self]) {
        let tools: Vec<_> = calls.iter().map(|call| one_line(&call.tool)).collect();
        match tools.as_slice() {
            [] => {}
            [tool] => output::say(&format!(
                "note: forked while {tool} was running; its result is not in the fork"
            )),
            tools => output::say(&format!(
                "note: forked while {} were running; their results are not in the fork",
                tools.join(", ")
            )),
        }
    }
}

/// `tine fork AGENT --json`, without a prompt.
#[derive(Debug, Serialize)]
pub(crate) struct ForkShape {
    agent: String,
    parent: String,
    fork_point: Option<i64>,
    context: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<i64>,
    /// Calls that ran in the parent, and whose results it does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open_calls: Vec<OpenCallShape>,
    /// `null` where it works in its parent's directory.
    worktree: Option<PlaceShape>,
    /// The reach of its commands and file tools: `open`, `directory`, `read-only` or `notes`.
    reach: &'static str,
}

impl From<&ForkMade> for ForkShape {
    fn from(made: &ForkMade) -> Self {
        Self {
            agent: made.child.to_string(),
            parent: made.parent.to_string(),
            fork_point: made.fork_point.map(|entry| entry.0),
            context: made.record.context.as_str(),
            moved_from: made.moved_from.map(|entry| entry.0),
            open_calls: OpenCallShape::all(&made.open_calls),
            worktree: made.worktree.as_ref().map(PlaceShape::from),
            reach: made.record.reach.as_str(),
        }
    }
}
