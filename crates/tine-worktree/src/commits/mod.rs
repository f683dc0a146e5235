//! Commits of a worktree come back: merged or picked, onto a checkout whose user has uncommitted work of their own.
//!
//! Git merges in its objects; then files, index and HEAD change together, as one change that can be mended (`apply/write.rs`). No hook
//! of the user's runs, and no commit is signed.

mod bring;
mod carry;
mod identity;
mod unfinished;

use std::path::PathBuf;

use crate::apply::{Mended, Outcome};
use crate::changes::{FileChange, MadeCommit};
use crate::error::WorktreeError;
use crate::ids::{Commit, Name, Tree};
use crate::merge_tree::{Base, Conflict, Place, Sides, child, merge};
use crate::obstacle::Obstacle;
use crate::repository::Repository;
use crate::snapshot::{Snapshot, tree_of};

use bring::Bringing;
pub use unfinished::Uncommitted;

/// Committed work to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge<'a> {
    /// The worktree whose work it is.
    pub name: &'a Name,
    /// What the message of a merge commit calls it: `Merge the work of …`. One line.
    pub label: &'a str,
    /// What it started from.
    pub start: &'a Snapshot,
    /// What it holds now, or is kept of it.
    pub end: &'a Snapshot,
    /// Whether there is to be a merge commit in any case.
    pub fast_forward: FastForward,
    /// What is done where the commits hold what the checkout had not committed when the worktree was made.
    pub uncommitted: Uncommitted,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
    /// Milliseconds since the Unix epoch, for the date of a merge commit.
    pub now_ms: i64,
}

/// When HEAD just moves to the work's last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FastForward {
    /// Where nothing was committed in the checkout since.
    #[default]
    WherePossible,
    /// Never.
    Never,
}

/// Commits to be picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CherryPick<'a> {
    /// The worktree whose work it is.
    pub name: &'a Name,
    /// What it started from.
    pub start: &'a Snapshot,
    /// What it holds now, or is kept of it.
    pub end: &'a Snapshot,
    /// Which of its commits; empty: all. They are picked in the order in which they were made.
    pub commits: &'a [Commit],
    /// What is done where they hold what the checkout had not committed when the worktree was made.
    pub uncommitted: Uncommitted,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
    /// Milliseconds since the Unix epoch, for the committer's date.
    pub now_ms: i64,
}

/// What came of a merge or a pick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// How it ended.
    pub outcome: Outcome,
    /// HEAD before.
    pub before: Commit,
    /// HEAD now, or what it would be.
    pub head: Commit,
    /// Whether HEAD just moved to the work's last commit.
    pub is_fast_forward: bool,
    /// The work's commits that came, by the names that they have in the worktree, the oldest first.
    pub commits: Vec<MadeCommit>,
    /// Chosen commits that would have changed nothing, and were left out.
    pub skipped: Vec<Commit>,
    /// The files that differ between the two HEADs.
    pub files: Vec<FileChange>,
    /// Where the work and the checkout do not go together.
    pub conflicts: Vec<Conflict>,
    /// The commit that could not be picked, if that is where the conflicts are.
    pub stopped_at: Option<Commit>,
    /// Files of the work that are not committed as they stand there. They did not come.
    pub uncommitted: Vec<PathBuf>,
    /// Files of the checkout that were not committed when the worktree was made, and came into HEAD with its commits.
    pub unfinished: Vec<PathBuf>,
    /// What an earlier change, that was cut short, came to just before.
    pub mended: Option<Mended>,
}

/// What HEAD is to be, or why it cannot be.
enum Goal {
    Commit { commit: Commit, is_fast_forward: bool, skipped: Vec<Commit> },
    Conflicts { conflicts: Vec<Conflict>, stopped_at: Option<Commit> },
}

impl Repository {
    /// Merges the commits of a worktree into what is checked out here, as `git merge` would, but onto a checkout with changes, too:
    /// what is staged and what is not survives beside it. Of a file that the commits changed, the checkout's version is merged with
    /// them: three-way, from what the worktree started with where the commits contain that, else from HEAD. All else stays as it is,
    /// in the index, too. With conflicts in commits, files or index nothing changes. A worktree begins with what its parent had not
    /// committed: where its commits hold any of that, they are refused, unless [`Uncommitted::Bring`] is asked for.
    ///
    /// Waits while another change of this checkout is under way, and mends one that was cut short first. Hooks do not run. What the
    /// checkout held before is kept by the ref `refs/tine/<name>/before`.
    pub fn merge(&self, work: &Merge<'_>) -> Result<Merged, WorktreeError> {
        let bringing = Bringing::begin(self, (work.start, work.end), work.now_ms)?;
        let goal = self.merge_goal(work, bringing.head())?;
        bringing.finish(work.name, goal, bringing.commits.clone(), (work.uncommitted, work.dry_run))
    }

    /// Picks commits of a worktree, one by one, onto what is checked out here. Authors and messages stay, the committer is the user.
    /// What becomes of the checkout is as with [`Repository::merge`].
    pub fn cherry_pick(&self, work: &CherryPick<'_>) -> Result<Merged, WorktreeError> {
        let bringing = Bringing::begin(self, (work.start, work.end), work.now_ms)?;
        let is_made =
            |commit: &&Commit| bringing.commits.iter().any(|made| made.commit == **commit);
        if let Some(other) = work.commits.iter().find(|commit| !is_made(commit)) {
            return Err(Obstacle::NotOfTheWork(other.clone()).into());
        }
        let mut chosen = bringing.commits.clone();
        chosen.retain(|made| work.commits.is_empty() || work.commits.contains(&made.commit));
        let goal = self.pick_goal(&chosen, bringing.head(), work.now_ms)?;
        if let Goal::Commit { skipped, .. } = &goal {
            chosen.retain(|made| !skipped.contains(&made.commit));
        }
        bringing.finish(work.name, goal, chosen, (work.uncommitted, work.dry_run))
    }

    fn merge_goal(&self, work: &Merge<'_>, head: &Commit) -> Result<Goal, WorktreeError> {
        let theirs = &work.end.base;
        let goal = |commit: Commit, is_fast_forward| Goal::Commit {
            commit,
            is_fast_forward,
            skipped: Vec::new(),
        };
        if self.is_ancestor(theirs, head)? {
            return Ok(goal(head.clone(), false));
        }
        if work.fast_forward == FastForward::WherePossible && self.is_ancestor(head, theirs)? {
            return Ok(goal(theirs.clone(), true));
        }
        if !self.is_related(head, theirs)? {
            return Err(Obstacle::Unrelated.into());
        }
        let committer = self.identity(work.now_ms)?;
        let sides = Sides { base: Base::Ancestors, ours: head.as_str(), theirs: theirs.as_str() };
        let merged = merge(&self.git(), Place::Commits, sides)?;
        if !merged.conflicts.is_empty() {
            return Ok(Goal::Conflicts { conflicts: merged.conflicts, stopped_at: None });
        }
        let message = format!("Merge the work of {}\n", work.label);
        let parents = [head, theirs];
        Ok(goal(committer.commit(&merged.tree, &parents, message.as_bytes())?, false))
    }

    fn pick_goal(
        &self,
        chosen: &[MadeCommit],
        head: &Commit,
        now_ms: i64,
    ) -> Result<Goal, WorktreeError> {
        let git = self.git();
        let committer = self.identity(now_ms)?;
        let (mut commit, mut skipped) = (head.clone(), Vec::new());
        let mut tree = tree_of(&git, head)?;
        for MadeCommit { commit: picked, .. } in chosen {
            let (parent, change) = self.change_of(picked)?;
            let base = Base::OfTheirs(&parent);
            let sides = Sides { base, ours: commit.as_str(), theirs: change.as_str() };
            let merged = merge(&git, Place::Commits, sides)?;
            if !merged.conflicts.is_empty() {
                let stopped_at = Some(picked.clone());
                return Ok(Goal::Conflicts { conflicts: merged.conflicts, stopped_at });
            }
            if merged.tree == tree {
                skipped.push(picked.clone());
                continue;
            }
            commit = committer.copy(picked, &merged.tree, &commit)?;
            tree = merged.tree;
        }
        Ok(Goal::Commit { commit, is_fast_forward: false, skipped })
    }

    /// The one parent of a commit, and the commit. Where it has none, an empty directory, and a commit of the same files on it.
    fn change_of(&self, commit: &Commit) -> Result<(Commit, Commit), WorktreeError> {
        let git = self.git();
        let said = git.text(["rev-list", "--parents", "--max-count=1", commit.as_str()])?;
        let parents: Vec<&str> = said.split_whitespace().skip(1).collect();
        match parents[..] {
            [] => {
                let empty = Tree::parse(&git.text(["mktree"])?)?;
                let empty = crate::snapshot::commit(&git, &empty, &[], "nothing yet", 0)?;
                let change = child(&git, commit.as_str(), &empty)?;
                Ok((empty, change))
            }
            [parent] => Ok((Commit::parse(parent)?, commit.clone())),
            _ => Err(Obstacle::MergeCommit(commit.clone()).into()),
        }
    }

    fn is_related(&self, one: &Commit, other: &Commit) -> Result<bool, WorktreeError> {
        Ok(self.git().answer(["merge-base", one.as_str(), other.as_str()], &[])?.0)
    }

    fn is_ancestor(&self, one: &Commit, other: &Commit) -> Result<bool, WorktreeError> {
        let arguments = ["merge-base", "--is-ancestor", one.as_str(), other.as_str()];
        Ok(self.git().answer(arguments, &[])?.0)
    }
}
