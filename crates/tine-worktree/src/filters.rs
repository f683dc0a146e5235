//! Filters of git's whose program is not there, such as that of LFS where it is not installed.
//!
//! A checkout that such a filter belongs to holds what git holds, pointers for instance, and so does a worktree of it: files go through as
//! they are. With the filter every look at them would fail.

use std::collections::BTreeSet;

use crate::error::WorktreeError;
use crate::git::{Git, parts};

/// What a filter runs.
const COMMANDS: [&str; 3] = ["clean", "smudge", "process"];

/// Settings that switch off the filters whose program is not there.
pub(crate) fn without_missing(git: &Git) -> Result<Vec<String>, WorktreeError> {
    let (any, said) = git.answer(["config", "--null", "--get-regexp", r"^filter\."], &[])?;
    if !any {
        return Ok(Vec::new());
    }
    let mut missing = BTreeSet::new();
    for entry in parts(&said) {
        let entry = String::from_utf8_lossy(entry);
        let Some((key, command)) = entry.split_once('\n') else { continue };
        let named = key.strip_prefix("filter.").and_then(|key| key.rsplit_once('.'));
        if let Some((name, of)) = named
            && COMMANDS.contains(&of)
            && program(command).is_some_and(|program| !git.can_run(program))
        {
            missing.insert(name.to_owned());
        }
    }
    let off = |name: &String| {
        let commands = COMMANDS.map(|of| format!("filter.{name}.{of}="));
        commands.into_iter().chain([format!("filter.{name}.required=false")])
    };
    Ok(missing.iter().flat_map(off).collect())
}

/// The program that a command begins with; `None` where only a shell can tell.
fn program(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+".contains(letter);
    word.chars().all(is_plain).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_are_programs() {
        assert_eq!(program("git-lfs filter-process"), Some("git-lfs"));
        for command in ["", "'git lfs' clean", "$HOME/bin/f", "(sed s/a/b/)", "f() { cat; }; f"] {
            assert_eq!(program(command), None, "{command}");
        }
    }
}
