//! The commit that carries a state: its parents are the start of a worktree, and what it holds.

use crate::error::WorktreeError;
use crate::git::Git;
use crate::ids::{Commit, Tree};
use crate::snapshot::{Snapshot, commit};

use super::TravelError;

/// A state of a worktree, with what it started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Carrier {
    pub(super) commit: Commit,
    pub(super) start: Snapshot,
    pub(super) end: Snapshot,
}

impl Carrier {
    /// Makes the commit. No ref leads to it yet.
    pub(super) fn make(
        git: &Git,
        start: &Snapshot,
        end: &Snapshot,
        now_ms: i64,
    ) -> Result<Self, WorktreeError> {
        let empty = Tree::parse(&git.text(["mktree"])?)?;
        let mut parents = vec![&start.work, &end.work];
        // Git takes one parent once.
        parents.dedup();
        let commit = commit(git, &empty, &parents, "a state that travels", now_ms)?;
        Ok(Self { commit, start: start.clone(), end: end.clone() })
    }

    /// Reads the commit.
    pub(super) fn read(git: &Git, commit: Commit) -> Result<Self, WorktreeError> {
        let said = git.text(["rev-list", "--parents", "--max-count=1", commit.as_str()])?;
        let parents: Vec<Commit> =
            said.split_whitespace().skip(1).map(Commit::parse).collect::<Result<_, _>>()?;
        let (start, end) = match &parents[..] {
            [both] => (both, both),
            [start, end] => (start, end),
            _ => return Err(TravelError::refused("its commit carries no state").into()),
        };
        let read = |work: &Commit| Snapshot::read(git, work.clone());
        Ok(Self { start: read(start)?, end: read(end)?, commit })
    }
}
