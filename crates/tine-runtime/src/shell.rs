//! Commands that a person runs beside an agent, which is told of them.
//!
//! It is the person's own command: no rule is asked and no wall stands around it. What it printed is appended to the agent's log as the
//! person's word, so that the agent knows it at its next turn.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tine_fork::envelope::{escape_frame_tags, unescape_frame_tags};
use tine_model::{AgentId, RawJson};
use tine_store::StoreError;
use tine_tools::{Bash, Limits, Place, Tool as _};
use tokio_util::sync::CancellationToken;

use crate::error::RuntimeError;
use crate::merge_back::Arrival;
use crate::runtime::Runtime;

/// How long such a command may take.
const TIME_MAX: Duration = Duration::from_secs(10 * 60);

/// The tag that a command stands in.
const ENVELOPE: &str = "user-command";

/// A command that a person ran, as it stands in a conversation. [`fmt::Display`] writes it as the model reads it; [`Self::parse`] reads
/// that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCommand {
    /// What `bash -c` ran.
    pub command: String,
    /// What it printed, without its middle where that is long, and how it ended.
    pub output: String,
}

impl UserCommand {
    /// Reads a text that is nothing but a command.
    pub fn parse(text: &str) -> Option<Self> {
        let inside = text.strip_prefix('<')?.strip_prefix(ENVELOPE)?.strip_prefix(">\n$ ")?;
        let inside = inside.strip_suffix('>')?.strip_suffix(ENVELOPE)?.strip_suffix("\n</")?;
        let mut command = String::new();
        let mut rest = inside;
        let plain = |text: &str| unescape_frame_tags(text).into_owned();
        loop {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            command.push_str(line);
            match after.strip_prefix("> ") {
                Some(more) => {
                    command.push('\n');
                    rest = more;
                }
                None => {
                    return Some(Self { command: plain(&command), output: plain(after) });
                }
            }
        }
    }
}

impl fmt::Display for UserCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = escape_frame_tags(&self.command).replace('\n', "\n> ");
        let output = escape_frame_tags(&self.output);
        write!(f, "<{ENVELOPE}>\n$ {command}\n{output}\n</{ENVELOPE}>")
    }
}

impl Runtime {
    /// Runs a person's command in a directory.
    pub async fn run_user_command(
        &self,
        directory: &Path,
        command: &str,
        cancel: &CancellationToken,
    ) -> Result<UserCommand, RuntimeError> {
        let limits =
            Limits { command_default: TIME_MAX, command_max: TIME_MAX, ..Limits::default() };
        let place = Place::new(directory)?.with_limits(limits);
        let input = RawJson::parse(&json!({ "command": command }).to_string());
        let input = input.map_err(|_| RuntimeError::Panicked("writing a command as JSON"))?;
        let output = Bash.run(&place, &input, cancel).await;
        Ok(UserCommand { command: command.to_owned(), output: output.text.trim_end().to_owned() })
    }

    /// Lets an agent know of a command: at the end of its log, or, while it runs, in its mailbox.
    pub async fn tell_of_command(
        &self,
        agent: AgentId,
        command: &UserCommand,
    ) -> Result<Arrival, RuntimeError> {
        let lease = match self.acquire(agent).await {
            Ok(lease) => Some(lease),
            Err(RuntimeError::Store(StoreError::Held { .. })) => None,
            Err(error) => return Err(error),
        };
        let arrival = self.arrive(agent, lease.as_ref(), command.to_string()).await;
        if let Some(lease) = lease {
            self.give_back(&lease).await?;
        }
        arrival
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_command_reads_as_it_was_typed() {
        let ran =
            UserCommand { command: "echo a\necho b".into(), output: "a\nb\n[exit code 0]".into() };
        insta::assert_snapshot!(ran, @"
        <user-command>
        $ echo a
        > echo b
        a
        b
        [exit code 0]
        </user-command>
        ");
    }

    proptest! {
        #[test]
        fn a_command_comes_back(
            command in "([a-z $\n]|</user-command>){1,30}",
            output in "([a-z$<\n]|&lt;|\n</?user-command>\n){0,30}",
        ) {
            let ran = UserCommand { command, output };
            prop_assert_eq!(UserCommand::parse(&ran.to_string()), Some(ran));
        }

        #[test]
        fn any_text_is_read_or_is_none(text in "(?s)(<user-command>\n[$] )?.{0,40}(\n</user-command>)?") {
            let _ = UserCommand::parse(&text);
        }
    }
}
