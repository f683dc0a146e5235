//! The verdict on a whole text.

use super::git;
use super::grammar::{SimpleCommand, recognise};
use super::refusal::Refusal;
use super::table;
use super::utility::ReadPath;
use super::wide::{self, UNKNOWN, Wide};
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
    /// The first command of a text that the strict grammar accepts which may start programs that settings of a repository name.
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

/// Judges a text as `bash -c` would run it. Never panics; takes time linear in the length of the text.
pub fn shell_verdict(command: &str, width: Width) -> ShellVerdict {
    if command.len() > COMMAND_BYTES_MAX {
        return ShellVerdict::refused(format!(
            "the command is longer than {COMMAND_BYTES_MAX} bytes"
        ));
    }
    match judge(command) {
        Ok((commands, paths)) => {
            let names = commands.iter().map(|command| command.words[0].text.as_str());
            let reason = accepted(names);
            let may_start_programs = commands.iter().find_map(starts_programs);
            let commands = commands.iter().map(known_words).collect();
            ShellVerdict { read_only: true, reason, paths, commands, may_start_programs }
        }
        Err(_) if width == Width::Wide => wide_verdict(command),
        Err(refusal) => ShellVerdict::refused(refusal.told(command)),
    }
}

/// The verdict on a text that is no read by the strict grammar.
fn wide_verdict(command: &str) -> ShellVerdict {
    match wide::judge(command) {
        Ok(Wide { commands, paths }) => {
            let names = commands.iter().filter_map(|words| words.first()).map(String::as_str);
            let reason = accepted(names);
            ShellVerdict { read_only: true, reason, paths, commands, may_start_programs: None }
        }
        Err(refusal) => ShellVerdict::refused(wide::shown(&refusal.told(command))),
    }
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

/// The command as it is told, if it may start programs that the settings of a repository name.
fn starts_programs(command: &SimpleCommand) -> Option<String> {
    let (name, arguments) = command.words.split_first()?;
    let starts = name.text == "git" && git::may_start_programs(arguments);
    starts.then(|| match git::subcommand(arguments) {
        Some(subcommand) => format!("git {subcommand}"),
        None => name.text.clone(),
    })
}

fn judge(text: &str) -> Result<(Vec<SimpleCommand>, Vec<ReadPath>), Refusal> {
    let commands = recognise(text)?;
    let mut paths = Vec::new();
    let mut moved = false;
    for command in &commands {
        paths.extend(command.inputs.iter().map(|word| ReadPath::of(word, true)));
        let name = &command.words[0];
        if moved && name.text == "git" {
            let why =
                "after `cd` it may be another repository, whose configuration may run programs";
            return Err(Refusal::new(name.at, "git", why));
        }
        moved |= name.text == "cd";
        paths.extend(table::judge(command)?);
    }
    Ok((commands, paths))
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
