//! Checks on a fork that has ended: did it stay with its task?
//!
//! Pure functions over what the fork did ([`Evidence`]) and what it inherited. They know no suite and no model, and they judge
//! nothing by its meaning: each looks for one shape that forks are known to take when they go astray. A finding is a
//! reason to look, not a proof.

mod echo;
mod foreign;
mod handed;
mod report;
mod terms;
#[cfg(test)]
mod tests;
mod work;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tine_fork::{BOILERPLATE_TAG, ForkResult};
use tine_model::{Block, Message, Outcome, Role, ToolInput};

pub use echo::{ECHO_SHARE_MIN, ECHO_SHINGLES_MIN, SHINGLE_WORDS};
pub use foreign::{FOREIGN_SHARE_MIN, OWN_SHARE_MIN};
pub use handed::{CYCLE_CALLS_MAX, CYCLE_TIMES_MIN, HANDED_ON_MIN};

/// A way to go astray.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Nothing was done although the task asks for it.
    NoWork,
    /// The report is equal, or nearly, to a text that was inherited.
    Echo,
    /// A worker's report without its scope.
    MissingScope,
    /// A task that is somebody else's was done: the parent's, or a sibling's.
    ForeignTask,
    /// The same calls again and again, or the task handed on instead of done.
    Loop,
}

impl Check {
    /// Every check.
    pub const ALL: [Self; 5] =
        [Self::NoWork, Self::Echo, Self::MissingScope, Self::ForeignTask, Self::Loop];

    /// The word in suites and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoWork => "no_work",
            Self::Echo => "echo",
            Self::MissingScope => "missing_scope",
            Self::ForeignTask => "foreign_task",
            Self::Loop => "loop",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a check has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which check.
    pub check: Check,
    /// What it has seen, in words; a fragment without a full stop.
    pub seen: String,
}

/// One tool call of a fork, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// The tool.
    pub tool: String,
    /// The arguments as JSON text.
    pub input: String,
    /// What it was told; empty for a call that nobody answered.
    pub answer: String,
    /// Whether the call was refused or failed.
    pub is_error: bool,
}

/// What is known of a fork that has ended.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    /// What it inherited, oldest first.
    pub inherited: &'a [Arc<Message>],
    /// What it was asked; of a worker's directive all of it.
    pub directive: String,
    /// Its tool calls, in order.
    pub acts: Vec<Act>,
    /// Its last own text; `None` when it said nothing.
    pub report: Option<&'a str>,
    /// How it ended.
    pub outcome: &'a Outcome,
}

impl<'a> Evidence<'a> {
    /// What is known of this fork, which inherited these messages.
    pub fn of(result: &'a ForkResult, inherited: &'a [Arc<Message>]) -> Self {
        let own = &result.messages;
        let prompt = own.iter().take_while(|message| message.role() == Role::User);
        Self {
            inherited,
            directive: prompt.map(|message| message.text()).collect::<Vec<_>>().join("\n\n"),
            acts: acts(own),
            report: result.final_text.as_deref(),
            outcome: &result.outcome,
        }
    }

    /// The task: of a worker's directive what stands behind its rules.
    pub fn task(&self) -> &str {
        let end = format!("</{BOILERPLATE_TAG}>");
        let task = self.directive.split_once(&end).map_or(&*self.directive, |(_, task)| task);
        task.trim().strip_prefix("Task:").unwrap_or(task).trim()
    }

    /// Whether it was told to be a worker.
    pub fn is_worker(&self) -> bool {
        self.directive.contains(&format!("<{BOILERPLATE_TAG}>"))
    }

    /// Whether it ended of its own will.
    fn is_completed(&self) -> bool {
        *self.outcome == Outcome::Completed
    }
}

/// Everything that the checks have seen, in the order of [`Check::ALL`].
pub fn examine(evidence: &Evidence<'_>) -> Vec<Finding> {
    let seen = |check: Check| match check {
        Check::NoWork => work::no_work(evidence),
        Check::Echo => echo::echo(evidence),
        Check::MissingScope => report::missing_scope(evidence),
        Check::ForeignTask => foreign::foreign_task(evidence),
        Check::Loop => handed::looping(evidence),
    };
    let finding = |check: Check| seen(check).map(|seen| Finding { check, seen });
    Check::ALL.into_iter().filter_map(finding).collect()
}

/// The calls in these messages with their answers, in call order.
fn acts(messages: &[Arc<Message>]) -> Vec<Act> {
    let blocks = || messages.iter().flat_map(|message| message.blocks());
    let mut acts = Vec::new();
    let mut ids = Vec::new();
    for block in blocks() {
        match block {
            Block::ToolUse { id, name, input } => {
                let input = match input {
                    ToolInput::Valid(json) => json.as_str().to_owned(),
                    ToolInput::Invalid(text) => text.clone(),
                };
                let (answer, tool) = (String::new(), name.clone());
                acts.push(Act { tool, input, answer, is_error: false });
                ids.push(id);
            }
            Block::ToolResult { call, content, is_error } => {
                // Ids may be used again: the latest call is the one that is answered.
                let Some(at) = ids.iter().rposition(|id| *id == call) else { continue };
                let texts: Vec<&str> = content.iter().filter_map(Block::as_text).collect();
                (acts[at].answer, acts[at].is_error) = (texts.join("\n"), *is_error);
            }
            Block::Text(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => {}
        }
    }
    acts
}
