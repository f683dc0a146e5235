//! Tine's hook in the settings of hosts: where these are, and what the hosts want of a person.

use std::path::PathBuf;

use super::{Entry, Outcome, Rest, hook_list};
use crate::cli::HookHost;
use crate::environment::{Variable, folder_of};
use crate::fail::Failure;

impl HookHost {
    /// The host that guests name so; `None` where tine has no hook for it.
    pub(crate) fn of_guest(host: &str) -> Option<Self> {
        [Self::ClaudeCode, Self::Codex].into_iter().find(|one| one.host_id() == host)
    }
}

impl Entry for HookHost {
    fn host_id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    fn host(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    fn place(self) -> &'static str {
        "hooks.UserPromptSubmit"
    }

    fn files(self, variable: Variable<'_>) -> Result<Vec<PathBuf>, Failure> {
        let file = match self {
            Self::ClaudeCode => {
                folder_of(variable, "CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json")
            }
            // Beside `config.toml`, whose own hooks it reads as well.
            Self::Codex => folder_of(variable, "CODEX_HOME", ".codex")?.join("hooks.json"),
        };
        Ok(vec![file])
    }

    fn new_file(self, program: &str) -> String {
        hook_list::new_text(&command(program))
    }

    fn has(self, text: &str, program: &str) -> Result<bool, String> {
        Ok(hook_list::command(text)?.is_some_and(|found| found == command(program)))
    }

    fn with(self, text: &str, program: &str) -> Result<String, String> {
        hook_list::insert(text, &command(program))
    }

    fn without(self, text: &str) -> Result<Option<Rest>, String> {
        hook_list::remove(text)
    }

    fn said(self, outcome: Outcome) -> String {
        let host = self.host();
        match outcome {
            Outcome::IsThere => format!("tine's hook is in {host}'s settings already"),
            Outcome::IsNotThere => format!("there is no hook of tine in {host}'s settings"),
            Outcome::Replaced => {
                format!("another hook of tine was replaced; new sessions of {host} run this one")
            }
            Outcome::Installed => format!(
                "new sessions of {host} get reports and messages with the next prompt; `tine gateway remove {}` takes the hook out",
                self.host_id()
            ),
            Outcome::Removed => format!("new sessions of {host} run no hook of tine any more"),
        }
    }

    fn note(self) -> Option<String> {
        let note = match self {
            Self::ClaudeCode => {
                "Claude Code runs hooks of your own settings without asking; `/hooks` there lists them"
            }
            Self::Codex => {
                "Codex skips the hook until you trust it: type `/hooks` there, and again after it has changed"
            }
        };
        Some(note.to_owned())
    }
}

/// The command of the hook, which hosts give to a shell.
fn command(program: &str) -> String {
    format!("{}{}", word(program), hook_list::ARGUMENTS)
}

/// A path as one word of a shell.
fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}
