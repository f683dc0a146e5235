//! Files that a program picks up by itself from the directory somebody stands in.
//!
//! A memory directory holds notes. Whoever changes into it later, a person or another run, starts programs there that look for
//! their settings beside them, and some settings name a program to run. None of them is a note, so none is written there.
//! This check is the first line; the wall keeps commands from writing anywhere else, and each command's git looks at no
//! repository that it was not told of. The names stand in [`crate::protected`].

use std::path::{Component, Path};

use crate::protected::is_picked_up_name;

/// Files without which git takes no directory for a repository.
const REPOSITORY_SIGNS: [&str; 2] = ["head", "commondir"];

/// Folders of a repository. Git takes any directory with `HEAD`, `objects` and `refs` for one, and runs what its `config` says
/// (`core.fsmonitor`) already for `git status`.
const REPOSITORY_FOLDERS: [&str; 2] = ["objects", "refs"];

/// Whether a program would pick up the file at `below`, a path below the directory `notes`, both without links. Looks at what
/// already stands beside it.
pub(super) fn is_picked_up(notes: &Path, below: &Path) -> bool {
    let names: Vec<String> = below
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    let Some((last, folders)) = names.split_last() else { return false };
    let is_folder_of_repository =
        |name: &String| REPOSITORY_FOLDERS.contains(&name.as_str()) || name.ends_with(".git");
    names.iter().any(|name| is_picked_up_name(name))
        || REPOSITORY_SIGNS.contains(&last.as_str())
        || folders.iter().any(is_folder_of_repository)
        || is_in_repository(notes, below)
}

/// Whether a folder on the way to the file has begun to look like a repository; then nothing in it is a note.
fn is_in_repository(notes: &Path, below: &Path) -> bool {
    let is_there = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
    below.ancestors().skip(1).map(|folder| notes.join(folder)).any(|folder| {
        is_there(&folder, "HEAD")
            && ["objects", "refs", "commondir"].iter().any(|name| is_there(&folder, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_runs_later_is_a_note() {
        let notes = tempfile::tempdir().unwrap();
        let is_picked_up = |path: &str| is_picked_up(notes.path(), Path::new(path));
        for path in [
            "HEAD",
            "head",
            "sub/HEAD",
            "commondir",
            "objects/x",
            "refs/heads/main",
            "a/Refs/x",
            "x.git/config",
            "x.GIT/x",
            ".vscode/tasks.json",
            ".vscode/settings.json",
            ".husky/pre-commit",
            ".bashrc",
            "sub/.profile",
            ".gitconfig",
            ".gitattributes",
            ".gitmodules",
            ".npmrc",
            ".yarnrc.yml",
            ".cargo/config.toml",
            "Makefile",
            "GNUmakefile",
            "Justfile",
            ".tool-versions",
            ".mise.toml",
            ".gdbinit",
            ".exrc",
            "conftest.py",
            ".github/workflows/x.yml",
            ".env",
        ] {
            assert!(is_picked_up(path), "{path}");
        }
        for path in [
            "MEMORY.md",
            "CLAUDE.md",
            "AGENTS.md",
            "notes/a.md",
            "config",
            "config.md",
            "refs.md",
            "objects",
            "heads/x.md",
            ".editorconfig",
            ".python-version",
            ".gitignore",
            "makefile.md",
            "git/x.md",
            "env.md",
            "HEAD.md",
        ] {
            assert!(!is_picked_up(path), "{path}");
        }
    }

    #[test]
    fn in_a_repository_that_stands_there_nothing_is_a_note() {
        let notes = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(notes.path().join("bare/objects")).unwrap();
        std::fs::write(notes.path().join("bare/HEAD"), "").unwrap();
        for (path, expected) in [("bare/config", true), ("bare/hooks/x", true), ("config", false)] {
            assert_eq!(is_picked_up(notes.path(), Path::new(path)), expected, "{path}");
        }
    }
}
