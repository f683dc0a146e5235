//! A shell text that is read once, and the verdicts on it.

use std::sync::OnceLock;

use super::evaluate::{self, Reading, UNKNOWN};
use super::reading::CommandReading;
use super::strict::{self, SimpleCommand};
use super::syntax::{Parsed, parse};
use super::utility::ReadPath;
use super::width::Width;
use super::word::Word;
use crate::wildcard::COMMAND_BYTES_MAX;

/// Whether a command text only reads, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellVerdict {
    /// Whether every construct, command and option of it is on the list of those that only read. It may still read
    /// anything that its user may read.
    pub read_only: bool,
    /// A lower-case fragment on one line: what was refused and where it stands, or which commands were accepted.
    pub reason: String,
    /// What an accepted text would read, in order; empty for a refused one.
    pub(crate) paths: Vec<ReadPath>,
    /// The words of every command that may run, its name first; empty for a refused text. What is not known stands as
    /// [`UNKNOWN`](super::UNKNOWN).
    pub(crate) commands: Vec<Vec<String>>,
    /// The first command of a text that the strict verdict accepts which may start programs that settings of a repository name.
    pub(crate) may_start_programs: Option<String>,
}

impl ShellVerdict {
    /// A verdict on what is no command at all.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self {
            read_only: false,
            reason: reason.into(),
            paths: Vec::new(),
            commands: Vec::new(),
            may_start_programs: None,
        }
    }
}

/// Judges a text that nobody asks anything else about; see [`ShellText::verdict`].
pub fn shell_verdict(command: &str, width: Width) -> ShellVerdict {
    ShellText::new(command).verdict(width).clone()
}

/// The words of a command, without what its variables hold.
fn known_words(command: &SimpleCommand) -> Vec<String> {
    let known = |word: &Word| match (word.is_known(), word.text.starts_with('-')) {
        (true, _) => word.text.clone(),
        (false, true) => format!("-{UNKNOWN}"),
        (false, false) => UNKNOWN.to_string(),
    };
    command.words.iter().map(known).collect()
}

/// A shell text that is read once, whoever asks about it.
#[derive(Debug, Default)]
pub struct ShellText {
    text: String,
    parsed: OnceLock<Parsed>,
    followed: OnceLock<Reading>,
    reading: OnceLock<CommandReading>,
    strict: OnceLock<ShellVerdict>,
    wide: OnceLock<ShellVerdict>,
}

impl ShellText {
    /// A text of any length. Nothing is read until somebody asks.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| parse(&self.text, true))
    }

    fn followed(&self) -> &Reading {
        self.followed.get_or_init(|| evaluate::follow(self.parsed(), evaluate::Reader::Call))
    }

    /// The commands that it runs.
    pub(crate) fn reading(&self) -> &CommandReading {
        self.reading.get_or_init(|| CommandReading::of(&self.text, self.followed()))
    }

    /// Judges it as `bash -c` would run it. Never panics; takes time linear in the length of the text.
    pub fn verdict(&self, width: Width) -> &ShellVerdict {
        let is_too_long = self.text.len() > COMMAND_BYTES_MAX;
        let strict = self.strict.get_or_init(|| {
            if is_too_long {
                let why = format!("the command is longer than {COMMAND_BYTES_MAX} bytes");
                ShellVerdict::refused(why)
            } else {
                self.judge_strictly()
            }
        });
        if strict.read_only || width != Width::Wide || is_too_long {
            strict
        } else {
            self.wide.get_or_init(|| self.judge_widely())
        }
    }

    fn judge_strictly(&self) -> ShellVerdict {
        let parsed = self.parsed();
        let commands = match &parsed.strict {
            Some(refusal) => Err(refusal.clone()),
            None => strict::commands(&parsed.list),
        };
        let judged = commands.and_then(|commands| {
            let paths = strict::judge(&commands)?;
            Ok((commands, paths))
        });
        let (commands, paths) = match judged {
            Ok(judged) => judged,
            Err(refusal) => return ShellVerdict::refused(refusal.told(&self.text)),
        };
        let names = commands.iter().map(|command| command.words[0].text.as_str());
        ShellVerdict {
            read_only: true,
            reason: accepted(names),
            paths,
            may_start_programs: strict::starts_programs(&commands),
            commands: commands.iter().map(known_words).collect(),
        }
    }

    fn judge_widely(&self) -> ShellVerdict {
        let followed = self.followed();
        if let Some(refusal) = followed.refusal() {
            return ShellVerdict::refused(evaluate::shown(&refusal.told(&self.text)));
        }
        let names = followed.seen.iter().filter_map(|words| words.first()).map(String::as_str);
        ShellVerdict {
            read_only: true,
            reason: accepted(names),
            paths: followed.paths.clone(),
            commands: followed.seen.clone(),
            may_start_programs: None,
        }
    }
}

/// Most names that an accepting reason lists.
const NAMES_MAX: usize = 8;

fn accepted<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return "it runs no command".to_owned();
    }
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("only reading commands: {}{more}", listed.join(", "))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
