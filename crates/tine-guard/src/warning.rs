//! Warnings for people: what a command would destroy or change in place.
//!
//! A warning stands beside the verdict and never changes it. It is for whoever is asked, so it looks at every command that the
//! text runs, also behind launchers and in texts that the verdict refuses, and would rather say nothing than cry wolf. It is no
//! fence: a command can be written so that no warning comes.

mod data;
mod files;
mod git;

use crate::shell::ShellText;
use crate::shell::reading::Command;
use crate::wildcard::COMMAND_BYTES_MAX;

/// A warning for whoever is asked about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// How bad it is; more is worse.
    pub severity: Severity,
    /// A fragment that reads after `warning: `.
    pub text: &'static str,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Files are changed where they are, or kept history is written anew.
    Changes,
    /// Something is lost that may be hard to get back.
    Loses,
    /// A disk, a machine or a service is lost.
    Ruins,
}

impl Warning {
    const fn changes(text: &'static str) -> Option<Self> {
        Some(Self { severity: Severity::Changes, text })
    }

    const fn loses(text: &'static str) -> Option<Self> {
        Some(Self { severity: Severity::Loses, text })
    }

    const fn ruins(text: &'static str) -> Option<Self> {
        Some(Self { severity: Severity::Ruins, text })
    }
}

/// The worst that the command would do; among equals the first.
pub fn warning(command: &ShellText) -> Option<Warning> {
    if command.text().len() > COMMAND_BYTES_MAX {
        return None;
    }
    let (text, reading) = (command.text(), command.reading());
    let commands = reading.all();
    let whole = [
        data::fork_bomb(text),
        data::piped_into_shell(&commands),
        data::sql(&commands, text),
        files::outputs(&reading.outputs),
    ];
    let each = commands.iter().filter_map(|command| of_program(command));
    // `max_by_key` would give the last among equals.
    let worse = |best: Option<Warning>, next: Warning| match best {
        Some(best) if best.severity >= next.severity => Some(best),
        _ => Some(next),
    };
    whole.into_iter().flatten().chain(each).fold(None, worse)
}

fn of_program(command: &Command) -> Option<Warning> {
    let (name, arguments) = (command.program(), &command.words[1..]);
    match name {
        "git" => git::warning(arguments),
        _ => files::warning(name, arguments).or_else(|| data::warning(name, arguments)),
    }
}

#[cfg(test)]
#[path = "warning_tests.rs"]
mod tests;
