//! `git`: the subcommands that read, each with its own list.
//!
//! Another repository's configuration may name programs that git runs (a monitor, a diff driver), so git is not taken
//! to another directory: no `-C`, no `--git-dir`, and none after `cd`. The configuration of the repository at hand may name
//! programs as well; where no wall stands, subcommands that may start them are asked about (`programs.rs`). `status`, `diff` and `describe` may note in
//! the index when they last looked at a file, which changes nothing that git tracks.

mod history;
mod lists;
mod programs;

use super::options::Parsed;
use super::refusal::Refusal;
use super::table::asked::why_asked;
use super::utility::{ReadPath, Utility};
use super::word::{Word, refuse};
pub(super) use programs::may_start_programs;

/// Options before the subcommand.
const GLOBAL: [&str; 6] = [
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--no-replace-objects",
    "--no-lazy-fetch",
];

/// The arguments from the subcommand on.
fn without_globals(arguments: &[Word]) -> &[Word] {
    let is_global = |word: &Word| GLOBAL.contains(&word.text.as_str());
    let count = arguments.iter().take_while(|word| is_global(word)).count();
    &arguments[count..]
}

/// The name of the subcommand.
pub(super) fn subcommand(arguments: &[Word]) -> Option<&str> {
    without_globals(arguments).first().map(|word| word.text.as_str())
}

/// Judges the arguments of `git`.
pub(super) fn judge(arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let Some((name, arguments)) = without_globals(arguments).split_first() else {
        return Err(Refusal::new(0, "git", "the subcommand is missing"));
    };
    if let Some(help) = arguments.iter().find(|word| word.text == "--help") {
        return Err(Refusal::new(help.at, "--help", "git would open a manual page"));
    }
    match name.text.as_str() {
        "--version" | "version" if arguments.is_empty() => return Ok(Vec::new()),
        "stash" | "worktree" | "notes" | "bisect" | "reflog" => return within(name, arguments),
        _ => {}
    }
    let known = history::TABLE.iter().chain(lists::TABLE).find(|utility| utility.name == name.text);
    match known {
        Some(utility) => judge_by(utility, arguments),
        None => {
            let why = "not on the list of git's subcommands and options that only read";
            let why = why_asked("git", std::slice::from_ref(name)).unwrap_or(why);
            refuse(name, why)
        }
    }
}

/// Subcommands that have subcommands.
fn within(name: &Word, arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let refuse = |word: &Word| refuse(word, format!("not a reading part of `git {}`", name.text));
    match (name.text.as_str(), arguments) {
        ("reflog", []) => Ok(Vec::new()),
        ("reflog", [first, rest @ ..]) if first.text == "show" => judge_by(&history::LOG, rest),
        ("reflog", [first, ..]) if first.text.starts_with('-') || first.text == "HEAD" => {
            judge_by(&history::LOG, arguments)
        }
        ("stash", [first, rest @ ..]) if matches!(first.text.as_str(), "list" | "show") => {
            judge_by(&history::LOG, rest)
        }
        ("worktree", [first, rest @ ..]) if first.text == "list" => {
            judge_by(&lists::WORKTREE_LIST, rest)
        }
        ("notes", [first, rest @ ..]) if matches!(first.text.as_str(), "list" | "show") => {
            judge_by(&lists::WORDS, rest)
        }
        ("bisect", [only]) if only.text == "log" => Ok(Vec::new()),
        (_, [first, ..]) => refuse(first),
        (_, []) => refuse(name),
    }
}

fn judge_by(utility: &Utility, arguments: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let mut paths = utility.judge(arguments)?;
    // A revision may be followed by a path: `HEAD:src/a.rs`, `-L1,5:src/a.rs`.
    let values = arguments.iter().filter_map(|word| Some((word.text.rsplit_once(':')?.1, word)));
    paths.extend(values.map(|(path, word)| ReadPath::within(path, word, true)));
    Ok(paths)
}

/// A format may ask for signatures, and checking one runs another program.
fn no_signatures(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    const FORMATS: [&str; 4] = ["format", "pretty", "sort", "group"];
    for given in parsed.options.iter().filter(|given| FORMATS.contains(&given.name)) {
        let text = given.value.unwrap_or_default();
        // Signs between the two ask for blanks and line ends around what is put there.
        let asks = text
            .split('%')
            .skip(1)
            .any(|rest| rest.trim_start_matches(['+', '-', ' ']).starts_with('G'));
        if asks || text.contains("signature") || given.word.glob.is_some() {
            return Err(Refusal::new(
                given.word.at,
                text,
                "checking a signature runs another program",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) fn utilities() -> impl Iterator<Item = &'static Utility> {
    history::TABLE.iter().chain(lists::TABLE)
}
