//! Worktrees as lists, notes and results print them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tine_model::{TaskWorktree, WorktreeRecord};
use tine_runtime::{ForkWorktree, Operation, Unseen};

use crate::output;
use crate::render::change::shown_path;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// Most paths that a line names.
const PATHS_SHOWN: usize = 5;

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

/// What no diff of a worktree shows, a line for each kind.
pub(crate) fn unseen(unseen: &Unseen) -> Vec<String> {
    let Unseen { ignored, repositories } = unseen;
    let files = (!ignored.is_empty()).then(|| ignored_line(ignored));
    let inside = (!repositories.is_empty()).then(|| {
        let noun =
            if repositories.len() == 1 { "another repository" } else { "other repositories" };
        format!("the worktree holds {noun}: {}; not part of the work", names(repositories))
    });
    files.into_iter().chain(inside).collect()
}

/// Ignored files that were changed, and what that means.
pub(crate) fn ignored_line(ignored: &[PathBuf]) -> String {
    let pronoun = if ignored.len() == 1 { "it" } else { "them" };
    let count = plural(ignored.len() as u64, "ignored file");
    format!("{count} changed: {}; `tine apply` does not bring {pronoun}", names(ignored))
}

fn names(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().take(PATHS_SHOWN).map(|path| shown_path(path)).collect();
    match paths.len().saturating_sub(PATHS_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
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
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let one = Unseen { ignored: paths(&[".env"]), repositories: paths(&["proj"]) };
        let many = Unseen {
            ignored: paths(&["1", "2", "3", "4", "5", "6"]),
            repositories: paths(&["a", "b"]),
        };
        insta::assert_snapshot!([unseen(&one), unseen(&many)].concat().join("\n"), @"
        1 ignored file changed: .env; `tine apply` does not bring it
        the worktree holds another repository: proj; not part of the work
        6 ignored files changed: 1, 2, 3, 4, 5 and 1 more; `tine apply` does not bring them
        the worktree holds other repositories: a, b; not part of the work
        ");
        insta::assert_snapshot!(shown.join("\n"), @"
        nothing changed
        1 file changed
        2 commits
        3 files changed, 1 commit
        ");
    }
}
