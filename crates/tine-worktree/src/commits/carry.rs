//! What a user has in files and index, carried over a move of HEAD.
//!
//! Only paths that the move changes are looked at. Where the user has nothing of their own, such a path becomes what it is in the new
//! HEAD. Where they have, it is merged, and what it is merged from decides what survives. A worktree begins with its parent's
//! uncommitted work, so its commits may contain that: then what the worktree began with is the base, and all that the commits hold
//! beyond it comes. If the commits left it out, HEAD is the base, and the user's work stays uncommitted beside what comes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::apply::{paths_of, with_differences};
use crate::diff::{Difference, differences, paths_between};
use crate::error::WorktreeError;
use crate::git::Git;
use crate::ids::{Commit, Tree};
use crate::merge_tree::{Base, MergeOutput, Place, Sides, merge, merge_by_path};
use crate::snapshot::commit;

/// A move of HEAD, and a state that is to be carried over it.
pub(super) struct Carry<'a> {
    pub(super) git: &'a Git,
    pub(super) place: Place,
    /// HEAD, and what it is to be.
    pub(super) head: &'a Tree,
    pub(super) merged: (&'a Commit, &'a Tree),
    /// The state: what is staged, or the files.
    pub(super) now: (&'a Commit, &'a Tree),
    /// The same when the worktree began, and HEAD then.
    pub(super) began: (&'a Commit, &'a Tree),
    pub(super) began_head: &'a Commit,
    pub(super) now_ms: i64,
}

impl Carry<'_> {
    /// The state after the move.
    pub(super) fn run(&self) -> Result<MergeOutput, WorktreeError> {
        let (git, now) = (self.git, self.now.1);
        let moved = self.moved()?;
        let only = |mut found: Vec<Difference>, paths: &dyn Fn(&Path) -> bool| {
            found.retain(|found| paths(&found.path));
            found
        };
        let is_moved = |path: &Path| moved.contains(path);
        let to_head = only(differences(git, now, self.head)?, &is_moved);
        let to_merged = only(differences(git, now, self.merged.1)?, &is_moved);
        let theirs = with_differences(git, now, &to_merged)?;
        if to_head.is_empty() {
            return Ok(MergeOutput { tree: theirs, conflicts: Vec::new() });
        }
        let loose = self.left_out()?;
        let from_start =
            |path: &Path| to_head.iter().any(|found| found.path == path) && !loose.contains(path);
        let base = with_differences(git, now, &to_head)?;
        let to_began = only(differences(git, &base, self.began.1)?, &from_start);
        let base = with_differences(git, &base, &to_began)?;
        let base = commit(git, &base, &[self.now.0], "what a merge began with", self.now_ms)?;
        let theirs = commit(git, &theirs, &[&base], "what a merge brings", self.now_ms)?;
        let ours = self.now.0.as_str();
        let sides = Sides { base: Base::OfTheirs(&base), ours, theirs: theirs.as_str() };
        merge(git, self.place, sides)
    }

    /// Paths that the move changes, and those that stand where one of them comes: a file in the place of a directory.
    fn moved(&self) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let found = differences(self.git, self.head, self.merged.1)?;
        let added: Vec<&Path> = found
            .iter()
            .filter(|found| found.before.kind().is_none())
            .map(|found| found.path.as_path())
            .collect();
        let mut moved: BTreeSet<PathBuf> = found.iter().map(|found| found.path.clone()).collect();
        if added.is_empty() {
            return Ok(moved);
        }
        let there = paths_of(self.git, self.now.1)?;
        for path in added {
            let above = path.ancestors().skip(1).filter(|folder| there.contains(*folder));
            moved.extend(above.map(Path::to_owned));
            // Paths are ordered part by part, so what is below one follows it.
            let below = there.range(path.to_owned()..).take_while(|other| other.starts_with(path));
            moved.extend(below.cloned());
        }
        Ok(moved)
    }

    /// Paths at which the commits do not contain what the worktree began with, and could.
    fn left_out(&self) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let sides = Sides {
            base: Base::OfOurs(self.began_head),
            ours: self.began.0.as_str(),
            theirs: self.merged.0.as_str(),
        };
        let both = merge_by_path(self.git, self.place, sides)?;
        let mut left_out = paths_between(self.git, &both.tree, self.merged.1)?;
        // In conflict is what was worked on further.
        for conflict in both.conflicts {
            for path in conflict.others.iter().chain([&conflict.path]) {
                left_out.remove(path);
            }
        }
        Ok(left_out)
    }
}
