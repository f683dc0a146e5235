//! Worktrees as lists, notes and results print them.

use serde::{Deserialize, Serialize};
use tine_model::{TaskWorktree, WorktreeRecord};
use tine_runtime::{ForkWorktree, Operation};

use crate::output;
use crate::render::figures::plural;
use crate::render::words::one_line;

/// The JSON shape of a worktree that was just made. Others rely on it: fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlaceShape {
    path: String,
}

impl PlaceShape {
    /// Tells a person where it is.
    pub(crate) fn say(&self) {
        output::say(&format!("note: it works in {}", one_line(&self.path)));
    }
}

impl From<&ForkWorktree> for PlaceShape {
    fn from(worktree: &ForkWorktree) -> Self {
        Self { path: worktree.path.to_string_lossy().into_owned() }
    }
}

impl From<&WorktreeRecord> for PlaceShape {
    fn from(worktree: &WorktreeRecord) -> Self {
        Self { path: worktree.path.clone() }
    }
}

/// The JSON shape of the worktree of a task. Others rely on it: fields are only ever added.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WorkShape {
    path: String,
    /// How many files differ from what it started with.
    files: u32,
    /// How many commits were made in it.
    commits: u32,
}

impl From<&TaskWorktree> for WorkShape {
    fn from(worktree: &TaskWorktree) -> Self {
        let TaskWorktree { path, files, commits } = worktree.clone();
        Self { path, files, commits }
    }
}

/// The JSON shape of the worktree of an agent. Others rely on it: fields are only ever added.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HomeShape {
    path: String,
    /// The directory that it was forked from.
    origin: String,
    /// Whether it is gone; what it held is kept.
    removed: bool,
}

impl From<&WorktreeRecord> for HomeShape {
    fn from(worktree: &WorktreeRecord) -> Self {
        let WorktreeRecord { path, origin, removed_ms, .. } = worktree.clone();
        Self { path, origin, removed: removed_ms.is_some() }
    }
}

/// What was done in a worktree, in words.
pub(crate) fn progress(files: u32, commits: u32) -> String {
    let files = (files > 0).then(|| format!("{} changed", plural(files.into(), "file")));
    let commits = (commits > 0).then(|| plural(commits.into(), "commit"));
    let done: Vec<String> = files.into_iter().chain(commits).collect();
    if done.is_empty() { "nothing changed".to_owned() } else { done.join(", ") }
}

/// A worktree and what was done in it, on a line.
pub(crate) fn work_line(worktree: &TaskWorktree) -> String {
    format!("{}: {}", one_line(&worktree.path), progress(worktree.files, worktree.commits))
}

/// Tells a person that what the checkout is in the middle of stays where it is.
pub(crate) fn say_under_way(operation: Option<Operation>) {
    if let Some(operation) = operation {
        output::say(&format!(
            "note: the checkout is in the middle of a {operation}; the files come along as they are, the {operation} does not"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_in_files_and_commits() {
        let shown =
            [(0, 0), (1, 0), (0, 2), (3, 1)].map(|(files, commits)| progress(files, commits));
        insta::assert_snapshot!(shown.join("\n"), @"
        nothing changed
        1 file changed
        2 commits
        3 files changed, 1 commit
        ");
    }
}
