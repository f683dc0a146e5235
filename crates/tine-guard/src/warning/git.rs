//! What git would lose or overwrite.

use super::Warning;

/// Options before the subcommand that take the next word.
const GLOBAL_VALUES: [&str; 4] = ["-c", "-C", "--git-dir", "--work-tree"];

/// The warning for the arguments of `git`.
pub(super) fn warning(arguments: &[String]) -> Option<Warning> {
    let mut rest = arguments;
    let (name, words) = loop {
        let (first, more) = rest.split_first()?;
        if GLOBAL_VALUES.contains(&first.as_str()) {
            rest = more.get(1..)?;
        } else if first.starts_with('-') {
            rest = more;
        } else {
            break (first.as_str(), more);
        }
    };
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let cluster = |letter: char| {
        words.iter().any(|word| {
            word.strip_prefix('-')
                .is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
        })
    };
    let sub = words.first().map(String::as_str).unwrap_or_default();
    let found = match name {
        "reset" if has(&["--hard", "--merge"]) => {
            Warning::loses("throws away changes that were not committed")
        }
        "push" if words.iter().any(|word| word.starts_with("--force-with-lease")) => {
            Warning::loses("overwrites the remote branch unless somebody else has pushed")
        }
        "push"
            if has(&["--force", "--mirror"])
                || cluster('f')
                || words.iter().skip(1).any(|w| w.starts_with('+')) =>
        {
            Warning::loses("overwrites what others may have pushed")
        }
        "push"
            if has(&["--delete"])
                || cluster('d')
                || words.iter().skip(1).any(|w| w.starts_with(':')) =>
        {
            Warning::loses("deletes a branch or tag on the remote")
        }
        "clean" if has(&["--dry-run"]) || cluster('n') => None,
        "clean" if has(&["--force"]) || cluster('f') => {
            Warning::loses("deletes files that git does not track")
        }
        "checkout" if has(&["--force"]) || cluster('f') || has(&["--", "."]) => {
            Warning::loses("throws away changes that were not committed")
        }
        "switch" if has(&["--force", "--discard-changes"]) || cluster('f') => {
            Warning::loses("throws away changes that were not committed")
        }
        "restore" if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => {
            Warning::loses("throws away changes that were not committed")
        }
        "stash" if matches!(sub, "drop" | "clear") => Warning::loses("deletes stashed changes"),
        "branch"
            if cluster('D')
                || (has(&["--delete"]) || cluster('d')) && (has(&["--force"]) || cluster('f')) =>
        {
            Warning::loses("deletes a branch that may not be merged")
        }
        "reflog" if matches!(sub, "expire" | "delete") => {
            Warning::loses("deletes the record of earlier states")
        }
        "gc" if words.iter().any(|word| word == "--prune=now" || word == "--prune=all") => {
            Warning::loses("deletes objects that nothing refers to, now")
        }
        "filter-branch" | "filter-repo" => Warning::loses("writes the whole history anew"),
        "worktree" if sub == "remove" && (has(&["--force"]) || cluster('f')) => {
            Warning::loses("deletes a worktree with its changes")
        }
        "update-ref" if cluster('d') => Warning::loses("deletes a ref"),
        "commit" if has(&["--amend"]) => Warning::changes("replaces the last commit"),
        "rebase" if !has(&["--abort", "--continue", "--skip", "--quit"]) => {
            Warning::changes("writes commits anew")
        }
        _ => None,
    };
    let skips = has(&["--no-verify"]) || (name == "commit" && cluster('n'));
    found.or(if skips && matches!(name, "commit" | "push" | "merge" | "rebase") {
        Warning::changes("skips the checks that run before it")
    } else {
        None
    })
}
