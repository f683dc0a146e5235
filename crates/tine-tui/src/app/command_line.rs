//! Commands of the command line that are typed as slash commands.

use tine_model::AgentId;

use crate::host::Host;

/// The message about a line with a quote that does not end.
pub(super) const OPEN_QUOTE: &str = "Unterminated quoted string";

/// A command of the command line, as it was typed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The command, such as `worktree rm`.
    command: Vec<String>,
    /// What follows it.
    rest: Vec<String>,
    /// The agent that it is about where it names none.
    about: Option<AgentId>,
}

impl CommandLine {
    /// The rest is quoted as in a shell.
    pub(crate) fn read(command: &[&str], rest: &str) -> Result<Self, &'static str> {
        let rest = shell_words::split(rest).map_err(|_| OPEN_QUOTE)?;
        Ok(Self::of(command, rest))
    }

    /// One whose words are known.
    pub(crate) fn of(command: &[&str], rest: Vec<String>) -> Self {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Self { command, rest, about: None }
    }

    /// About this agent, unless it names another one.
    pub(crate) fn about(self, agent: Option<AgentId>) -> Self {
        Self { about: agent, ..self }
    }

    /// Its words on the command line. Whether they name an agent is known there only: an option may come before it, and have a value.
    pub(crate) fn words(&self, host: &dyn Host) -> Vec<String> {
        match self.about {
            Some(agent) => host.about(agent, &self.command, &self.rest),
            None => [self.command.as_slice(), &self.rest].concat(),
        }
    }
}

#[cfg(test)]
impl CommandLine {
    /// How tests show it.
    pub(crate) fn shown(&self) -> String {
        let words = [self.command.as_slice(), &self.rest].concat().join("|");
        self.about.map_or(words.clone(), |agent| format!("{words} (of {agent}, or who is named)"))
    }
}
