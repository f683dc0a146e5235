//! Warnings for people: what a command would destroy or change in place.
//!
//! A warning stands beside the verdict and never changes it. It is for whoever is asked, so it looks at any text, also at
//! what the verdict refuses, and would rather say nothing than cry wolf: quoted text is text, not a command. It is no fence:
//! a command can be written so that no warning comes.

mod data;
mod files;
mod git;
mod split;

use split::{Piece, pieces};

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

/// Longest text that is looked at, in bytes; nothing longer could run.
const BYTES_MAX: usize = crate::wildcard::COMMAND_BYTES_MAX;

/// How deep a shell's text inside a shell's text is followed.
const DEPTH_MAX: usize = 3;

/// The worst that the command would do; among equals the first.
pub fn warning(command: &str) -> Option<Warning> {
    if command.len() > BYTES_MAX { None } else { inside(command, DEPTH_MAX) }
}

fn inside(text: &str, depth: usize) -> Option<Warning> {
    let pieces = pieces(text);
    let whole = [data::fork_bomb(text), data::piped_into_shell(&pieces), data::sql(&pieces, text)];
    let each = pieces.iter().flat_map(|piece| {
        let redirect = files::redirect(piece);
        let program = of_program(piece);
        let deeper =
            piece.shell_text().filter(|_| depth > 1).and_then(|text| inside(text, depth - 1));
        [redirect, program, deeper]
    });
    // `max_by_key` would give the last among equals.
    let worse = |best: Option<Warning>, next: Warning| match best {
        Some(best) if best.severity >= next.severity => Some(best),
        _ => Some(next),
    };
    whole.into_iter().flatten().chain(each.flatten()).fold(None, worse)
}

fn of_program(piece: &Piece) -> Option<Warning> {
    let (name, arguments) = piece.program()?;
    match name {
        "git" => git::warning(arguments),
        _ => files::warning(name, arguments).or_else(|| data::warning(name, arguments)),
    }
}

#[cfg(test)]
#[path = "warning_tests.rs"]
mod tests;
