//! Looks through directories for what a view must cover or protect: secrets, and the settings of repositories.
//!
//! The search goes level by level, so that what lies near is found even where the number of entries ends it. Symbolic links
//! are never followed.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tine_guard::is_protected;

use crate::place::Withheld;

/// Directories that hold thousands of files and, as a rule, no secrets of their own: packages, build products, caches. Sorted.
const PASSED_OVER: [&str; 24] = [
    ".asdf",
    ".cache",
    ".gradle",
    ".m2",
    ".npm",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".venv",
    ".volta",
    "__pycache__",
    "dist-packages",
    "incremental",
    "node_modules",
    "objects",
    "pkg",
    "registry",
    "rustlib",
    "site-packages",
    "target",
    "toolchains",
    "venv",
];

/// Secrets that are covered at the most. Each covering costs every command some microseconds.
const SECRETS_MAX: usize = 256;

/// Repositories below a directory whose settings are protected at the most.
const REPOSITORIES_MAX: usize = 64;

/// A search over several directories with one bound.
pub(super) struct Search<'a> {
    hidden: &'a Withheld,
    entries_left: usize,
    /// Files and directories that hold secrets.
    pub(super) secrets: Vec<PathBuf>,
    /// Directories named `.git`, and files of that name.
    pub(super) repositories: Vec<PathBuf>,
}

impl<'a> Search<'a> {
    /// A search that looks at `entries_max` entries at the most.
    pub(super) fn new(hidden: &'a Withheld, entries_max: usize) -> Self {
        Self { hidden, entries_left: entries_max, secrets: Vec::new(), repositories: Vec::new() }
    }

    /// Looks through `root`. Returns false if there was more than it may look at.
    pub(super) fn through(&mut self, root: &Path) -> bool {
        let mut left = VecDeque::from([root.to_owned()]);
        while let Some(directory) = left.pop_front() {
            let Ok(entries) = std::fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                if self.entries_left == 0 || self.secrets.len() == SECRETS_MAX {
                    return false;
                }
                self.entries_left -= 1;
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_symlink() {
                    continue;
                }
                let (name, path) = (entry.file_name(), entry.path());
                if name == ".git" {
                    if self.repositories.len() < REPOSITORIES_MAX {
                        self.repositories.push(path);
                    }
                } else if (self.hidden)(&path) {
                    self.secrets.push(path);
                } else if kind.is_dir() && !is_passed_over(&name) {
                    left.push_back(path);
                }
            }
        }
        true
    }
}

fn is_passed_over(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED_OVER.binary_search(&name).is_ok())
}

/// Files and folders right below `root` that start programs by themselves, as far as they exist.
pub(super) fn protected_in(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| *name != ".git" && is_protected(Path::new(name)))
        .map(|name| root.join(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_list_is_written_as_it_is_searched() {
        assert!(PASSED_OVER.is_sorted());
    }

    #[test]
    fn secrets_and_repositories_are_found_near_ones_first() {
        let root = tempfile::tempdir().unwrap();
        for name in
            ["a/b/c/d/key", "key", "node_modules/x/key", "sub/.git/key", "a/.git", ".vscode/x", "x"]
        {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let hidden: Withheld = Arc::new(|path: &Path| path.ends_with("key"));
        let shown = |paths: &[PathBuf]| {
            let mut names: Vec<String> = paths
                .iter()
                .map(|path| path.strip_prefix(root.path()).unwrap().display().to_string())
                .collect();
            names.sort();
            names
        };
        let mut search = Search::new(&hidden, 99);
        assert!(search.through(root.path()));
        assert_eq!(shown(&search.secrets), ["a/b/c/d/key", "key"]);
        assert_eq!(shown(&search.repositories), ["a/.git", "sub/.git"]);
        let mut short = Search::new(&hidden, 6);
        assert!(!short.through(root.path()));
        assert_eq!(shown(&short.secrets), ["key"]);
        assert_eq!(shown(&protected_in(root.path())), [".vscode"]);
    }
}
