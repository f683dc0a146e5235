//! Why work does not come back into a checkout.

use std::path::PathBuf;

use crate::error::{list, many};
use crate::ids::Commit;
use crate::repository::Operation;

/// Why work is not brought back. Whatever is named here, the checkout is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Files that git ignores, or that came this moment, stand where new ones are to come.
    #[error("files stand where new ones are to come: {}", list(.0))]
    InTheWay(Vec<PathBuf>),
    /// Files are not what was looked at: somebody wrote to them, or git was told to overlook their changes.
    #[error("changed meanwhile, or with changes that git was told to overlook: {}", list(.0))]
    Changed(Vec<PathBuf>),
    /// Other repositories in the checkout would have to change.
    #[error("the work changes submodules: {}", list(.0))]
    Submodules(Vec<PathBuf>),
    /// Files of the work are in conflict there, and hold marks that nobody has settled.
    #[error("files of the work are in conflict: {}", list(.0))]
    InConflict(Vec<PathBuf>),
    /// Files were asked for that are as they were at the start.
    #[error("the work did not change {}", list(.0))]
    NotChanged(Vec<PathBuf>),
    /// The checkout is in the middle of something that git has to end first.
    #[error("the checkout is in the middle of a {0}")]
    Operation(Operation),
    /// Nothing was committed in the checkout yet.
    #[error("the checkout has no commit yet")]
    Unborn,
    /// HEAD of a worktree is a branch, or nothing that git makes of it.
    #[error("HEAD of the worktree `{}` is not detached", .0.display())]
    OnBranch(PathBuf),
    /// The work and the checkout have no commit in common: the work began before the first one.
    #[error("the work and the checkout have no commit in common")]
    Unrelated,
    /// Commits hold what the checkout had not committed when the worktree was made, in these files.
    #[error("these commits hold what was not committed in the checkout when the fork was made: {}", many(.0))]
    Unfinished(Vec<PathBuf>),
    /// The work is not committed.
    #[error("the work has no commits")]
    NoCommits,
    /// There is no author for a commit.
    #[error("git knows no name and no address for commits here")]
    NoIdentity,
    /// A commit that cannot be picked, since it has more than one side.
    #[error("`{0}` is a merge, which cannot be picked")]
    MergeCommit(Commit),
    /// A commit was asked for that somebody else made, or that was there at the start.
    #[error("`{0}` is no commit of this work")]
    NotOfTheWork(Commit),
    /// Another git command changes the index, or did when it was killed.
    #[error("another git command holds `{}`", .0.display())]
    IndexLocked(PathBuf),
    /// Somebody committed, or changed what is staged.
    #[error("HEAD or what is staged changed meanwhile")]
    HeadMoved,
    /// Marks that an earlier apply of the same work left still stand in these files.
    #[error("marks of the last apply still stand in {}", list(.0))]
    MarksThere(Vec<PathBuf>),
    /// What is to be undone was committed since, in these files.
    #[error("committed since it was applied: {}", list(.0))]
    Committed(Vec<PathBuf>),
    /// There is nothing to undo.
    #[error("there is no apply of `{0}` here to take back")]
    NotApplied(String),
}

impl Obstacle {
    /// One word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::InTheWay(_) => "in_the_way",
            Self::Changed(_) => "changed",
            Self::Submodules(_) => "submodules",
            Self::InConflict(_) => "in_conflict",
            Self::NotChanged(_) => "not_changed",
            Self::Operation(_) => "operation",
            Self::Unborn => "unborn",
            Self::OnBranch(_) => "on_branch",
            Self::Unrelated => "unrelated",
            Self::Unfinished(_) => "uncommitted",
            Self::NoCommits => "no_commits",
            Self::NoIdentity => "no_identity",
            Self::MergeCommit(_) => "merge_commit",
            Self::NotOfTheWork(_) => "not_of_the_work",
            Self::IndexLocked(_) => "index_locked",
            Self::HeadMoved => "head_moved",
            Self::MarksThere(_) => "marks_there",
            Self::Committed(_) => "committed",
            Self::NotApplied(_) => "not_applied",
        }
    }

    /// The files that it is about, all of them, relative to the top of the checkout.
    pub fn paths(&self) -> &[PathBuf] {
        match self {
            Self::InTheWay(paths)
            | Self::Changed(paths)
            | Self::Submodules(paths)
            | Self::InConflict(paths)
            | Self::MarksThere(paths)
            | Self::Committed(paths)
            | Self::NotChanged(paths)
            | Self::Unfinished(paths) => paths,
            Self::Operation(_)
            | Self::Unborn
            | Self::OnBranch(_)
            | Self::Unrelated
            | Self::NoCommits
            | Self::NoIdentity
            | Self::MergeCommit(_)
            | Self::NotOfTheWork(_)
            | Self::IndexLocked(_)
            | Self::HeadMoved
            | Self::NotApplied(_) => &[],
        }
    }

    /// What somebody can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InTheWay(_) => "move them away, or take only other files",
            Self::Changed(_) | Self::HeadMoved => "try again",
            Self::Submodules(_) => "update them by hand, or take only other files",
            Self::InConflict(_) => {
                "settle them in its worktree first, and `git add` the files; `tine worktree path` says where it is"
            }
            Self::NotChanged(_) => {
                "paths are taken from where you are in the checkout, elsewhere from its top; `tine diff` lists what changed"
            }
            Self::Operation(_) => "end it with git, or abort it, and try again",
            Self::Unborn => "apply the files, or commit something first",
            Self::OnBranch(_) => "run `git switch --detach` there, or apply the files instead",
            Self::Unrelated => "apply the files instead, or pick the commits",
            Self::Unfinished(_) => {
                "`tine apply` brings the files without commits; --with-uncommitted brings the commits all the same"
            }
            Self::NoCommits => "apply the files instead",
            Self::NoIdentity => "set user.name and user.email with `git config`",
            Self::MergeCommit(_) => "merge instead, or choose other commits",
            Self::NotOfTheWork(_) => "choose from the commits that the work made",
            Self::IndexLocked(_) => {
                "wait until it is done; if none runs, remove the file and try again"
            }
            Self::MarksThere(_) => "settle them, or take that apply back with --undo",
            Self::Committed(_) => "`git revert` takes commits back",
            Self::NotApplied(_) => "only the last apply of a worktree can be undone, and once",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obstacles_name_what_stands_in_the_way() {
        let commit = Commit::parse("4b825dc642cb6eb9a060e54bf8d69288fbee4904").unwrap();
        let path = || vec![PathBuf::from("a")];
        let shown = [
            Obstacle::InTheWay(path()),
            Obstacle::Changed(path()),
            Obstacle::Submodules(path()),
            Obstacle::InConflict(path()),
            Obstacle::NotChanged(path()),
            Obstacle::Operation(Operation::Rebase),
            Obstacle::Unborn,
            Obstacle::OnBranch(PathBuf::from("/w")),
            Obstacle::Unrelated,
            Obstacle::Unfinished((0..12).map(|name| name.to_string().into()).collect()),
            Obstacle::NoCommits,
            Obstacle::NoIdentity,
            Obstacle::MergeCommit(commit.clone()),
            Obstacle::NotOfTheWork(commit),
            Obstacle::IndexLocked(PathBuf::from("/r/.git/index.lock")),
            Obstacle::HeadMoved,
            Obstacle::MarksThere(path()),
            Obstacle::Committed(path()),
            Obstacle::NotApplied("a".to_owned()),
        ]
        .map(|obstacle| format!("error: {obstacle}\nhint: {}", obstacle.hint()));
        insta::assert_snapshot!(shown.join("\n"), @"
        error: files stand where new ones are to come: a
        hint: move them away, or take only other files
        error: changed meanwhile, or with changes that git was told to overlook: a
        hint: try again
        error: the work changes submodules: a
        hint: update them by hand, or take only other files
        error: files of the work are in conflict: a
        hint: settle them in its worktree first, and `git add` the files; `tine worktree path` says where it is
        error: the work did not change a
        hint: paths are taken from where you are in the checkout, elsewhere from its top; `tine diff` lists what changed
        error: the checkout is in the middle of a rebase
        hint: end it with git, or abort it, and try again
        error: the checkout has no commit yet
        hint: apply the files, or commit something first
        error: HEAD of the worktree `/w` is not detached
        hint: run `git switch --detach` there, or apply the files instead
        error: the work and the checkout have no commit in common
        hint: apply the files instead, or pick the commits
        error: these commits hold what was not committed in the checkout when the fork was made: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more
        hint: `tine apply` brings the files without commits; --with-uncommitted brings the commits all the same
        error: the work has no commits
        hint: apply the files instead
        error: git knows no name and no address for commits here
        hint: set user.name and user.email with `git config`
        error: `4b825dc642cb6eb9a060e54bf8d69288fbee4904` is a merge, which cannot be picked
        hint: merge instead, or choose other commits
        error: `4b825dc642cb6eb9a060e54bf8d69288fbee4904` is no commit of this work
        hint: choose from the commits that the work made
        error: another git command holds `/r/.git/index.lock`
        hint: wait until it is done; if none runs, remove the file and try again
        error: HEAD or what is staged changed meanwhile
        hint: try again
        error: marks of the last apply still stand in a
        hint: settle them, or take that apply back with --undo
        error: committed since it was applied: a
        hint: `git revert` takes commits back
        error: there is no apply of `a` here to take back
        hint: only the last apply of a worktree can be undone, and once
        ");
    }
}
