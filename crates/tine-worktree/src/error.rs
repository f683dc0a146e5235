//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use crate::apply::Kept;
use crate::obstacle::Obstacle;
use crate::repository::Operation;
use crate::travel::TravelError;

/// A failure of this crate. Whatever failed, the checkout that was looked at is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// What was asked for cannot be had here. Nothing was made.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Work does not come back into a checkout.
    #[error(transparent)]
    Obstructed(#[from] Obstacle),
    /// A state cannot go to another machine, or what came from one is not taken.
    #[error(transparent)]
    Travel(#[from] TravelError),
    /// A change of a checkout came to nothing, and files were changed by somebody while it was taken back.
    #[error("{why}; changed while that was taken back, and left as they are: {}", list(&paths_of(kept)))]
    TakenBack {
        /// Why it came to nothing.
        why: Box<WorktreeError>,
        /// The files.
        kept: Vec<Kept>,
    },
    /// The git program cannot be started.
    #[error("cannot start git")]
    NoGit(#[source] io::Error),
    /// The git program is too old.
    #[error("git {found} is too old: worktrees need {oldest} or later")]
    OldGit {
        /// What `git version` says.
        found: String,
        /// What is needed.
        oldest: &'static str,
    },
    /// A git command failed.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// Its first words.
        command: String,
        /// What it said, shortened.
        said: String,
    },
    /// A git command did not come to its end in time.
    #[error("`git {command}` took longer than {seconds} s and was stopped")]
    TooLong {
        /// Its first words.
        command: String,
        /// The limit.
        seconds: u64,
    },
    /// Git printed what it should not.
    #[error("git printed `{text}` where a {what} was expected")]
    Output {
        /// What was expected.
        what: &'static str,
        /// What was printed, shortened.
        text: String,
    },
    /// The file system said no.
    #[error("cannot {doing} `{}`", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl WorktreeError {
    pub(crate) fn file(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}

/// Why something is not done. Each is found before anything is made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not in a repository.
    #[error("`{}` is in no git repository", .0.display())]
    NoRepository(PathBuf),
    /// A repository without files.
    #[error("`{}` is in a git repository without a checkout", .0.display())]
    NoCheckout(PathBuf),
    /// Files that a merge, or something like it, left in conflict.
    #[error("{} in conflict{}", files(paths), in_the_middle(*operation))]
    Unmerged {
        /// What left them so.
        operation: Option<Operation>,
        /// The files, relative to the checkout.
        paths: Vec<PathBuf>,
    },
    /// Repositories inside that git does not know.
    #[error("the checkout holds other repositories: {}", list(.0))]
    Embedded(Vec<PathBuf>),
    /// A worktree is to go that has files in the folders of repositories, submodules among them, which nobody would keep.
    #[error("the worktree holds files of other repositories, which a removal would lose: {}", list(.0))]
    HoldsRepositories(Vec<PathBuf>),
    /// No such commit.
    #[error("`{0}` names no commit here")]
    NoCommit(String),
    /// The name of a worktree cannot be one.
    #[error("`{0}` cannot be the name of a worktree")]
    Name(String),
    /// There is one of this name.
    #[error("there is a worktree `{0}` already")]
    Taken(String),
    /// There is none of this name.
    #[error("there is no worktree `{0}`, and nothing is kept of one")]
    Unknown(String),
    /// Something stands where the worktree is to be.
    #[error("`{}` exists already", .0.display())]
    Exists(PathBuf),
    /// All ports are taken.
    #[error("no block of {0} ports is free")]
    NoPorts(u16),
    /// Files changed again and again while they were copied.
    #[error("files change while they are copied: {}", list(.0))]
    Changing(Vec<PathBuf>),
}

fn paths_of(kept: &[Kept]) -> Vec<PathBuf> {
    kept.iter().map(|kept| kept.path.clone()).collect()
}

/// Most paths that a message names.
const PATHS_SHOWN: usize = 5;

/// Most paths where somebody has to know which they are to decide.
const MANY_PATHS_SHOWN: usize = 10;

pub(crate) fn list(paths: &[PathBuf]) -> String {
    first(PATHS_SHOWN, paths)
}

pub(crate) fn many(paths: &[PathBuf]) -> String {
    first(MANY_PATHS_SHOWN, paths)
}

fn first(most: usize, paths: &[PathBuf]) -> String {
    let shown: Vec<String> =
        paths.iter().take(most).map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn files(paths: &[PathBuf]) -> String {
    let verb = if paths.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", list(paths))
}

fn in_the_middle(operation: Option<Operation>) -> String {
    operation.map_or_else(String::new, |operation| format!(", in the middle of a {operation}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_what_is_in_the_way() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let shown = [
            Refusal::Unmerged { operation: Some(Operation::Rebase), paths: paths(&["a", "b"]) },
            Refusal::Unmerged { operation: None, paths: paths(&["a"]) },
            Refusal::Embedded(paths(&["1", "2", "3", "4", "5", "6", "7"])),
        ]
        .map(|refusal| refusal.to_string());
        let kept = vec![Kept { path: "a".into(), before: None }];
        let why = Box::new(WorktreeError::from(Obstacle::HeadMoved));
        assert_eq!(
            WorktreeError::TakenBack { why, kept }.to_string(),
            "HEAD or what is staged changed meanwhile; changed while that was taken back, and left as they are: a"
        );
        insta::assert_snapshot!(shown.join("\n"), @"
        a, b are in conflict, in the middle of a rebase
        a is in conflict
        the checkout holds other repositories: 1, 2, 3, 4, 5 and 2 more
        ");
    }
}
