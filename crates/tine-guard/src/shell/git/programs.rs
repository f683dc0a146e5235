//! Reading subcommands of `git` that start no program, whatever the settings of the repository name.
//!
//! The list is of those that start none, because nearly everything may: whoever reads the index may start a file monitor, whoever
//! compares files a filter or a driver, whoever prints commits `gpg`, and whoever reads an object a fetch, where the repository is
//! a partial clone. What is left reads settings, references by name, and where the repository lies.

use super::without_globals;
use crate::shell::word::Word;

/// Questions of `git rev-parse` that no object, index or other repository is read for.
const PLACES: [&str; 13] = words!(
    "--show-toplevel --show-cdup --show-prefix --git-dir --absolute-git-dir --git-common-dir \
    --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --abbrev-ref \
    --symbolic-full-name HEAD"
);

/// Returns true if git may start a program with these arguments, which were accepted as a read.
pub(in crate::shell) fn may_start_programs(arguments: &[Word]) -> bool {
    let Some((name, arguments)) = without_globals(arguments).split_first() else { return true };
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    match name.text.as_str() {
        "--version" | "version" | "config" | "var" | "symbolic-ref" | "count-objects" => false,
        "branch" => words != ["--show-current"],
        "remote" => words.contains(&"show"),
        "rev-parse" => !words.iter().all(|word| PLACES.contains(word)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::shell::{Width, shell_verdict};

    #[test]
    fn only_what_reads_settings_and_names_starts_no_program() {
        let starts = |command: &str| {
            let verdict = shell_verdict(command, Width::Strict);
            assert!(verdict.read_only, "{command}: {}", verdict.reason);
            verdict.may_start_programs
        };
        for command in [
            "git --version",
            "git config --list",
            "git config --get user.name",
            "git remote -v",
            "git branch --show-current",
            "git rev-parse --show-toplevel",
            "git rev-parse --abbrev-ref HEAD",
            "git symbolic-ref --short HEAD",
            "ls -la",
        ] {
            assert_eq!(starts(command), None, "{command}");
        }
        for command in [
            "git status",
            "git diff",
            "git log -1",
            "git show HEAD",
            "git blame a",
            "git grep x",
            "git ls-files",
            "git stash list",
            "git reflog",
            "git branch -v",
            "git tag",
            "git rev-parse HEAD~1",
            "git cat-file -p HEAD",
            "git check-ignore a",
            "git --no-pager diff",
            "ls && git describe",
        ] {
            assert!(starts(command).is_some(), "{command}");
        }
        assert_eq!(starts("ls; git -P log -3 | head").as_deref(), Some("git log"));
    }
}
