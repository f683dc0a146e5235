//! Dialects: the tools of another program's conversation, answered by tine's own.
//!
//! A fork of a guest sends the host's own declarations, so its model calls the host's tools. Each such call is said here in tine's
//! words before anything judges it: filters, permissions, rules and events go by the tool that really runs. The answer goes back in
//! the shape that the host's model expects. The log keeps the call as the model made it.

mod arguments;
mod claude_code;
mod codex;
mod hunks;
mod patch;
mod patched;

use std::path::Path;

use serde_json::{Map, Value};
use tine_fork::tools::{ToolAnswer, ToolCall};
use tine_model::{AgentId, ContextMode, RawJson, Standing};

use self::arguments::Arguments;
pub(crate) use self::patched::carry_out_patch;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// A host whose tools tine can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostDialect {
    /// Claude Code, from version 2 on.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// A call in tine's words.
#[derive(Debug)]
struct Own {
    tool: &'static str,
    input: Map<String, Value>,
}

impl Own {
    fn new(tool: &'static str) -> Self {
        Self { tool, input: Map::new() }
    }

    /// Returns the call with one more argument.
    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.input.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the call with one more argument, where there is one.
    fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

/// Why a call of a host's tool is not run.
#[derive(Debug)]
enum NotRun {
    /// Its arguments are not what the tool takes.
    Mistaken(String),
    /// It cannot be done here. The words let the model go on.
    Refused(String),
    /// Tine has nothing in the place of this tool.
    NoCounterpart,
}

impl HostDialect {
    /// The dialect of a host by the name that its guests have; `None` for hosts whose tools are not known.
    pub fn of_host(host: &str) -> Option<Self> {
        match host {
            "claude-code" => Some(Self::ClaudeCode),
            "codex" => Some(Self::Codex),
            _ => None,
        }
    }

    /// Names of the host's tools that are answered, those of older versions included.
    pub fn tools(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &claude_code::TOOLS,
            Self::Codex => &codex::TOOLS,
        }
    }

    /// The call in tine's words, for an agent in `directory`.
    ///
    /// # Errors
    ///
    /// The answer to a call that cannot be made: a refusal, or the model's mistake.
    pub(crate) fn own_call(
        self,
        call: &ToolCall,
        directory: &Path,
    ) -> Result<ToolCall, ToolAnswer> {
        let (id, name) = (call.id.clone(), call.name.as_str());
        let not_run = |not_run| ToolAnswer::error(self.words(name, &not_run));
        if self.only_calls(name) {
            return Ok(call.clone());
        }
        let arguments =
            Arguments::read(&call.input).map_err(|why| not_run(NotRun::Mistaken(why)))?;
        let own = match self {
            Self::ClaudeCode => claude_code::own_call(name, &arguments),
            Self::Codex => codex::own_call((&call.id, name), &arguments, directory),
        };
        let Own { tool, input } = own.map_err(not_run)?;
        let input = RawJson::parse(&Value::Object(input).to_string())
            .map_err(|error| not_run(NotRun::Mistaken(error.to_string())))?;
        Ok(ToolCall { id, name: tool.to_owned(), input })
    }

    /// The answer to a call as the host's model expects it.
    pub(crate) fn told(self, asked: &ToolCall, own: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        // A rule that denies a call is named as a person wrote it.
        if answer.denied.is_some() {
            return answer;
        }
        let text = match self {
            Self::ClaudeCode => claude_code::told((asked, own), answer.is_error, answer.text),
            Self::Codex => codex::told(own, answer.text),
        };
        ToolAnswer { text, ..answer }
    }

    /// Returns true for a tool that does nothing itself but make calls of tine's, each of which is judged.
    pub(crate) fn only_calls(self, tool: &str) -> bool {
        match self {
            Self::ClaudeCode => false,
            Self::Codex => tool == codex::APPLY_PATCH,
        }
    }

    fn words(self, tool: &str, not_run: &NotRun) -> String {
        let works = match self {
            Self::ClaudeCode => claude_code::WORKS,
            Self::Codex => codex::WORKS,
        };
        match not_run {
            NotRun::Mistaken(why) => format!("`{tool}` was not run: {why}."),
            NotRun::Refused(why) => format!("`{tool}` was not run: {why}"),
            NotRun::NoCounterpart => format!(
                "`{tool}` does not work here: this conversation was forked, and tine, which runs the fork, has nothing in its place. \
                 {works} Go on with these, or without."
            ),
        }
    }
}

impl Runtime {
    /// The dialect in which an agent's model calls tools: that of the nearest guest that it was forked from. `None` for an agent
    /// that has inherited no guest's request, and for one of a host whose tools are not known.
    pub async fn host_dialect(&self, agent: AgentId) -> Result<Option<HostDialect>, RuntimeError> {
        let line = self.store().ancestry(agent).await?;
        for record in line.iter().rev() {
            if record.standing == Standing::Guest {
                let guest = self.guest(record.id).await?;
                return Ok(guest.and_then(|guest| HostDialect::of_host(&guest.host)));
            }
            match record.context {
                ContextMode::Full | ContextMode::Turns => {}
                // Such an agent has a head of tine's own.
                ContextMode::Digest | ContextMode::Fresh => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// A word as a shell takes it literally.
fn shell_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
