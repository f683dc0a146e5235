//! The state of a worktree takes the place of the one that was sent away.

use super::arrive::Arrived;
use crate::error::WorktreeError;
use crate::ids::Name;
use crate::marker::Marker;
use crate::removing::{remove, writable_then};
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::worktree::Worktree;

/// Returns true where two snapshots are of one state.
fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    (&one.base, &one.index_tree, &one.work_tree)
        == (&other.base, &other.index_tree, &other.work_tree)
        && one.is_exactly(other)
}

impl Worktree {
    /// Removes the files of a worktree that holds what was `sent` away, and holds what `came` for it by the refs of its name: made
    /// again, it is as it was there. Changed ignored files that came along when it was made are kept as at any removal. Returns
    /// false, and does nothing, where it holds something else by now.
    pub fn exchange(
        self,
        sent: &Snapshot,
        came: &Arrived,
        now_ms: i64,
    ) -> Result<bool, WorktreeError> {
        let (state, left_out) = self.look(now_ms)?;
        if !left_out.is_empty() || !is_same(&state, sent) {
            return Ok(false);
        }
        self.hold_ignored(now_ms)?;
        // Whoever is cut short after this finds files that are as they were sent, and can go on.
        self.repository().hold_arrived(self.name(), came)?;
        self.repository().forget_arrived(self.name())?;
        let git_dir = self.repository().git_dir();
        writable_then(git_dir, || Marker::leave(git_dir))?;
        remove(self.repository().top(), Some(git_dir))?;
        Ok(true)
    }
}

impl Repository {
    /// Does the same for a worktree that was removed while its state was away. `sent`: what it held then.
    pub fn exchange_kept(
        &self,
        name: &Name,
        sent: &Snapshot,
        came: &Arrived,
    ) -> Result<bool, WorktreeError> {
        let is_sent = match self.find_kept(name)? {
            Some((start, end)) => is_same(&end.unwrap_or(start), sent),
            // It was removed unchanged.
            None => true,
        };
        if is_sent {
            self.hold_arrived(name, came)?;
            self.forget_arrived(name)?;
        }
        Ok(is_sent)
    }

    /// Holds what came by the refs of its name, as of a worktree that was removed.
    pub fn hold_arrived(&self, name: &Name, came: &Arrived) -> Result<(), WorktreeError> {
        self.set_ref(&name.end_ref(), &came.end.work)?;
        self.set_ref(&name.start_ref(), &came.start.work)
    }

    /// Lets go of what came, where other refs hold it or nobody wants it.
    pub fn forget_arrived(&self, name: &Name) -> Result<(), WorktreeError> {
        self.delete_ref(&name.arrived_ref())
    }
}
