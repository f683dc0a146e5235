//! Rules that a person may choose when a call is asked about: the narrowest one, and a wider one where that is safe.
//!
//! A wider rule is offered only from lists of what is known. A command is offered with any arguments where no argument
//! turns it into another kind of act; a folder where it lies inside the working directory. All else has the narrowest
//! rule alone. This looks at nothing but the call.

mod commands;

use std::path::Path;

use crate::call::{Call, Subject, Target, shown};
use crate::grant::{plain_path, rule_for};
use crate::paths::PathPlace;
use crate::rule::Rule;

/// A rule that covers a call and more calls of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedRule {
    /// The rule. It means the same in every directory.
    pub rule: String,
    /// The rule as somebody in the call's directory would write it.
    pub short: String,
    /// The rest that a person should know, in a sentence.
    pub note: &'static str,
}

/// Any argument counts, and the command does no more than its name says.
const ANY_ARGUMENTS: &str = "`*` stands for any arguments.";

/// The command runs what stands in the project.
const RUNS_PROJECT: &str =
    "`*` stands for any arguments. The command runs code of the project, whatever that is by then.";

/// A folder's rule leaves these out ([`Rule::permits`]).
const FOLDER: &str =
    "Files in it that may hold secrets, or that can start programs, are asked about still.";

/// The rules that cover `call` and more calls of its kind. Each one covers the call itself.
pub fn offered_rules(call: &Call<'_>) -> Vec<OfferedRule> {
    let Ok(subject) = call.subject() else { return Vec::new() };
    let offer = match subject {
        Subject::Command(command) => any_arguments(call.tool, command.text()),
        Subject::Write(target) => folder(call.tool, target),
        Subject::Read(_)
        | Subject::Search(_)
        | Subject::Script(_)
        | Subject::Crew(_)
        | Subject::Unknown => None,
    };
    let narrowest = rule_for(call).map(|rule| rule.to_string());
    let is_good = |offer: &OfferedRule| {
        let rule = offer.rule.parse::<Rule>();
        Some(&offer.rule) != narrowest.as_ref()
            && rule.is_ok_and(|rule| rule.allows(call.tool, subject))
    };
    offer.into_iter().filter(is_good).collect()
}

/// The command with any arguments, where it is one that is known, alone on its line and without operators.
fn any_arguments(tool: &str, command: &str) -> Option<OfferedRule> {
    let (prefix, runs_project) = commands::prefix(command)?;
    let rule = format!("{tool}({prefix} *)");
    let note = if runs_project { RUNS_PROJECT } else { ANY_ARGUMENTS };
    Some(OfferedRule { short: rule.clone(), rule, note })
}

/// All files of the folder in which the file lies. The rule is written from the root, since it counts for this project alone.
fn folder(tool: &str, target: &Target) -> Option<OfferedRule> {
    let PathPlace::Inside(relative) = &target.place else { return None };
    if !target.is_harmless_to_write() {
        return None;
    }
    let below = |folder: &str| match folder {
        "" => "**".to_owned(),
        folder => format!("{folder}/**"),
    };
    let folder = target.absolute.parent()?;
    // All of a disk is no folder that anybody means.
    folder.parent()?;
    let long = below(&plain_path(folder)?);
    let short = below(relative.parent().and_then(Path::to_str)?);
    // What is not seen as itself must not be agreed to for good.
    if shown(&long) != long {
        return None;
    }
    let written = |pattern: &str| format!("{tool}({pattern})");
    Some(OfferedRule { rule: written(&long), short: written(&short), note: FOLDER })
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
