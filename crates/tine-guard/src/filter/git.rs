//! Git in a worktree that shares its repository with others.
//!
//! It goes by the commands that a text runs, also behind launchers and in the text of `bash -c`. This is the first line and finds
//! honest mistakes; what is not seen (a script, a word in a variable that nobody knows) is stopped by the wall, which keeps the
//! repository's shared files from being written.

use std::path::Path;

use super::denial::{Denial, DenialCode};
use crate::call::shown;
use crate::paths::{PathPlace, place_of};
use crate::shell::ShellText;
use crate::shell::reading::is_mark;

/// Subcommands that read, or change only the worktree, its index and its HEAD, which is on no branch.
const OWN: [&str; 49] = words!(
    "add am annotate apply archive blame cat-file check-attr check-ignore cherry-pick clean commit commit-tree \
    count-objects describe diff diff-files diff-index diff-tree for-each-ref format-patch grep hash-object help \
    log ls-files ls-tree merge merge-base merge-tree mv name-rev range-diff read-tree rebase reset restore \
    rev-list rev-parse revert rm shortlog show show-ref status update-index version whatchanged write-tree"
);

/// Subcommands that only read when their words are of this kind.
const READING: [(&str, &[&str]); 7] = [
    ("stash", &["list", "show"]),
    ("worktree", &["list"]),
    ("reflog", &["show", "exists"]),
    ("notes", &["list", "show"]),
    ("bundle", &["verify", "list-heads"]),
    ("config", &["get", "list", "--get", "--get-all", "--get-regexp", "--list", "-l"]),
    ("submodule", &["status", "summary"]),
];

/// Options with which `git branch` and `git tag` only list; those with a value carry it after `=`.
const LISTING: [&str; 17] = words!(
    "-a --all -r --remotes -v -vv --verbose -l --list --show-current --sort --format --column --contains --merged \
    --no-merged --points-at"
);

/// Those of them that make the words beside them patterns or commits, not new names.
const PATTERNED: [&str; 6] =
    ["-l", "--list", "--contains", "--merged", "--no-merged", "--points-at"];

/// Options before the subcommand that leave git in this worktree.
const PLAIN_GLOBALS: [&str; 7] = [
    "--no-pager",
    "-P",
    "--version",
    "--help",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--no-advice",
];

/// Variables that say who commits, or which program writes a message, and leave git in this repository.
const PLAIN_VARIABLES: [&str; 10] = words!(
    "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE \
    GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_MERGE_AUTOEDIT"
);

/// Settings for one command that say no more than those variables.
const PLAIN_SETTINGS: [&str; 8] = [
    "user.name",
    "user.email",
    "core.editor",
    "sequence.editor",
    "core.pager",
    "core.quotepath",
    "color.ui",
    "commit.gpgsign",
];

/// Options of `git rebase` that take the word behind them.
const REBASE_VALUED: [&str; 7] =
    ["--onto", "-s", "--strategy", "-X", "--strategy-option", "-C", "--whitespace"];

/// The advice where another repository would be made.
const OTHER_REPOSITORY: &str = "Write your files in this worktree as they are, without a repository of their own; if the task needs one, \
    say so in your report.";

/// The advice where files of a submodule would be brought.
const SUBMODULE: &str = "Only a person brings files of submodules, or a setup command of theirs. Write nothing into the folders of \
    submodules, for it is no part of your work; if the task needs them, say so in your report.";

/// Refuses a command text in which git would touch what is shared.
pub(super) fn judge(worktree: &Path, text: &ShellText) -> Result<(), Denial> {
    let reading = text.reading();
    let commands = reading.all();
    let words = || commands.iter().flat_map(|command| &command.words);
    for word in words().chain(&reading.inputs).chain(&reading.outputs) {
        let in_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
        if word.split(|c| !in_name(c)).any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(shared(format!("`{}` is inside the shared repository", told(word))));
        }
    }
    let named = |word: &String| word.split_once('=').map(|(name, _)| name.to_owned());
    for name in words().filter_map(named).chain(reading.assigned.iter().cloned()) {
        if name.starts_with("GIT_") && !PLAIN_VARIABLES.contains(&name.as_str()) {
            return Err(shared(format!("`{}=` can send git to another repository", told(&name))));
        }
    }
    let git = commands.iter().filter(|command| command.program() == "git");
    git.map(|command| &command.words[1..]).try_for_each(|words| judge_git(worktree, words))
}

/// A word for a person, with `…` for what is not known.
fn told(word: &str) -> String {
    shown(&word.replace(is_mark, "…"))
}

/// Judges the words after `git`.
fn judge_git(worktree: &Path, words: &[String]) -> Result<(), Denial> {
    let mut rest = words.iter().map(String::as_str);
    let name = loop {
        match rest.next() {
            None => return Ok(()),
            Some("-C") => {
                let folder = rest.next().unwrap_or("");
                if folder.contains(is_mark) || !is_inside(worktree, folder) {
                    return Err(shared(format!("`git -C {}` works elsewhere", told(folder))));
                }
            }
            Some("-c") => {
                let setting = rest.next().unwrap_or("");
                let key = setting.split('=').next().unwrap_or(setting).to_lowercase();
                if !PLAIN_SETTINGS.contains(&key.as_str()) {
                    return Err(shared(format!(
                        "`git -c {}` before the subcommand can change what git does",
                        told(setting)
                    )));
                }
            }
            Some(option) if PLAIN_GLOBALS.contains(&option) => {}
            Some(option) if option.starts_with('-') => {
                return Err(shared(format!(
                    "`git {}` before the subcommand can change what git does",
                    told(option)
                )));
            }
            Some(name) => break name,
        }
    };
    let rest: Vec<&str> = rest.collect();
    if may(name, &rest) {
        return Ok(());
    }
    Err(refusal(name, &rest))
}

fn refusal(name: &str, words: &[&str]) -> Denial {
    let first = words.first().map_or(String::new(), |word| format!(" {}", told(word)));
    let command = format!("`git {}{first}`", told(name));
    match name {
        "init" | "clone" => Denial::new(
            DenialCode::SharedGit,
            format!("{command} makes another repository, whose files are no part of your work"),
            OTHER_REPOSITORY,
        ),
        name => {
            let denial =
                shared(format!("{command} may change what all worktrees of the repository share"));
            if name == "submodule" { denial.with_hint(SUBMODULE.to_owned()) } else { denial }
        }
    }
}

fn is_inside(worktree: &Path, folder: &str) -> bool {
    matches!(place_of(worktree, folder), PathPlace::Inside(_))
}

/// Whether a subcommand with these words leaves the shared part of the repository alone.
fn may(name: &str, words: &[&str]) -> bool {
    match name {
        "rebase" => rebases_here(words),
        // Paths may be taken from elsewhere; another branch may not be taken.
        "checkout" => words.contains(&"--") && !words.iter().any(|word| is_branch_option(word)),
        "branch" | "tag" => only_lists(words),
        // What follows these options is a subcommand all the same.
        "remote" => {
            let mut rest = words.iter().skip_while(|word| matches!(**word, "-v" | "--verbose"));
            rest.next().is_none_or(|word| matches!(*word, "show" | "get-url"))
        }
        name if OWN.contains(&name) => true,
        name => match words.first() {
            None => name == "reflog",
            Some(first) if name == "reflog" && first.starts_with('-') => true,
            Some(first) => READING.iter().any(|(reads, how)| *reads == name && how.contains(first)),
        },
    }
}

/// Whether `git rebase` with these words moves HEAD alone: no other branches, and none that it would go to first.
fn rebases_here(words: &[&str]) -> bool {
    // An abbreviated long option is the option.
    let updates = words.iter().any(|word| word.len() > 3 && "--update-refs".starts_with(word));
    // The words of a command to be run cannot be told from names.
    let runs = words.iter().any(|word| *word == "-x" || word.starts_with("--exec"));
    let mut names = 0;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word {
            word if REBASE_VALUED.contains(word) => drop(rest.next()),
            word if word.starts_with('-') => {}
            _ => names += 1,
        }
    }
    !updates && (runs || names < 2)
}

/// Whether `git branch` or `git tag` with these words lists: names may stand only where an option says
/// that they are patterns.
fn only_lists(words: &[&str]) -> bool {
    let named = words.iter().any(|word| PATTERNED.contains(&option(word)));
    let lists = |word: &str| LISTING.contains(&option(word)) || named && !word.starts_with('-');
    words.iter().all(|word| lists(word))
}

/// An option without the value that stands behind `=`.
fn option(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn is_branch_option(word: &str) -> bool {
    matches!(word, "-b" | "-B" | "--orphan" | "--detach" | "-d" | "--track" | "-t")
}

fn shared(reason: String) -> Denial {
    Denial::new(
        DenialCode::SharedGit,
        reason,
        "Change and commit your own files in this worktree, whose HEAD is on no branch; leave branches, stashes, \
         tags, remotes and configuration alone.",
    )
}
