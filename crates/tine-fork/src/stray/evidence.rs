//! What is known of a fork that has ended.

use std::borrow::Cow;

use tine_model::{Block, Message, Outcome, Role, ToolInput};

use super::Done;
use crate::outcome::ForkResult;
use crate::worker::directive_task;

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
    pub inherited: Vec<&'a Message>,
    /// What it was asked; of a worker's directive all of it.
    pub directive: String,
    /// Whether it was told to be a worker: to do the task itself, and to report in form.
    pub is_worker: bool,
    /// Its tool calls, in order.
    pub acts: Vec<Act>,
    /// Its last own text; `None` when it said nothing.
    pub report: Option<String>,
    /// How it ended.
    pub outcome: &'a Outcome,
    /// Its work in a worktree of its own; `None` where nobody has looked.
    pub done: Option<Done>,
    /// Why its calls were denied, where every one was.
    pub denied: Option<String>,
}

impl<'a> Evidence<'a> {
    /// What is known of a fork of the library, which inherited these messages. It is a worker if its prompt holds a directive.
    pub fn of(result: &'a ForkResult, inherited: impl IntoIterator<Item = &'a Message>) -> Self {
        let own = || result.messages.iter().map(|message| &**message);
        let prompt = || own().take_while(|message| message.role() == Role::User);
        let texts = prompt().flat_map(Message::blocks).filter_map(Block::as_text);
        let told = texts.filter(|text| directive_task(text).is_some()).last();
        let directive = match told {
            Some(directive) => directive.to_owned(),
            None => prompt().map(Message::text).collect::<Vec<_>>().join("\n\n"),
        };
        let is_worker = told.is_some();
        Self { is_worker, ..Self::of_worker(own(), &result.outcome, inherited, &directive) }
    }

    /// What is known of a worker: its own messages, of one run or of several, and how the last one ended; what it inherited; and
    /// what it was told, a whole directive or the task alone.
    pub fn of_worker(
        own: impl IntoIterator<Item = &'a Message>,
        outcome: &'a Outcome,
        inherited: impl IntoIterator<Item = &'a Message>,
        directive: &str,
    ) -> Self {
        let own: Vec<&Message> = own.into_iter().collect();
        let replies = own.iter().rev().filter(|message| message.role() == Role::Assistant);
        Self {
            inherited: inherited.into_iter().collect(),
            directive: directive.to_owned(),
            is_worker: true,
            acts: acts(&own),
            report: replies.map(|message| message.text()).find(|text| !text.is_empty()),
            outcome,
            done: None,
            denied: None,
        }
    }

    /// The task: of a worker's directive what stands behind its rules.
    pub fn task(&self) -> Cow<'_, str> {
        match directive_task(&self.directive) {
            Some(Cow::Borrowed(task)) => Cow::Borrowed(task.trim()),
            Some(Cow::Owned(task)) => Cow::Owned(task.trim().to_owned()),
            None => Cow::Borrowed(self.directive.trim()),
        }
    }

    /// Whether it ended of its own will.
    pub(super) fn is_completed(&self) -> bool {
        *self.outcome == Outcome::Completed
    }
}

/// The calls in these messages with their answers, in call order.
pub(super) fn acts(messages: &[&Message]) -> Vec<Act> {
    let mut acts = Vec::new();
    let mut ids = Vec::new();
    for block in messages.iter().flat_map(|message| message.blocks()) {
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
