//! One merge or pick, from the checks before it to what came of it.

use std::fs::{self, File};

use super::carry::Carry;
use super::{Goal, Merged, Uncommitted};
use crate::apply::{HeadMove, Outcome, Plan, Room, detached, index_hash, set_entries};
use crate::changes::MadeCommit;
use crate::diff::{differences, file_changes};
use crate::error::WorktreeError;
use crate::ids::{Commit, Name, Tree};
use crate::merge_tree::{Conflict, Place};
use crate::obstacle::Obstacle;
use crate::repository::Repository;
use crate::snapshot::{Conflicts, Snapshot, Taken, tree_of};

/// A merge or a pick under way. Nobody else changes the checkout through tine meanwhile.
pub(super) struct Bringing<'a> {
    repository: &'a Repository,
    room: Room,
    start: &'a Snapshot,
    end: &'a Snapshot,
    ours: Taken,
    /// Of the index that was looked at.
    index: blake3::Hash,
    /// The commits of the work, the oldest first; never empty.
    pub(super) commits: Vec<MadeCommit>,
    now_ms: i64,
}

/// Files and index as they are to be, or why they cannot.
enum Carried {
    To { work: Tree, index: Tree },
    Conflicts(Vec<Conflict>),
}

impl<'a> Bringing<'a> {
    pub(super) fn begin(
        repository: &'a Repository,
        (start, end): (&'a Snapshot, &'a Snapshot),
        now_ms: i64,
    ) -> Result<Self, WorktreeError> {
        let room = Room::enter(repository)?;
        if let Some(operation) = repository.operation() {
            return Err(Obstacle::Operation(operation).into());
        }
        if repository.ref_at(&repository.head()?)?.is_none() {
            return Err(Obstacle::Unborn.into());
        }
        // Else a branch that everybody shares would move.
        if repository.is_strange() && detached(repository)?.is_none() {
            return Err(Obstacle::OnBranch(repository.top().to_owned()).into());
        }
        // Both must be of this repository.
        repository.commit(start.work.as_str())?;
        repository.commit(end.work.as_str())?;
        let commits = repository.commits_since(start, end)?;
        if commits.is_empty() {
            return Err(Obstacle::NoCommits.into());
        }
        let index = index_hash(repository)?;
        let ours = repository.take(Conflicts::Refuse, now_ms)?;
        if index_hash(repository)? != index {
            return Err(Obstacle::HeadMoved.into());
        }
        Ok(Self { repository, room, start, end, ours, index, commits, now_ms })
    }

    pub(super) fn head(&self) -> &Commit {
        &self.ours.snapshot.base
    }

    /// Moves HEAD to the goal, with files and index.
    pub(super) fn finish(
        &self,
        name: &Name,
        goal: Goal,
        commits: Vec<MadeCommit>,
        (uncommitted, dry_run): (Uncommitted, bool),
    ) -> Result<Merged, WorktreeError> {
        let before = self.head().clone();
        let mut merged = Merged {
            outcome: Outcome::Conflicts,
            head: before.clone(),
            before,
            is_fast_forward: false,
            commits: Vec::new(),
            skipped: Vec::new(),
            files: Vec::new(),
            conflicts: Vec::new(),
            stopped_at: None,
            uncommitted: self.repository.uncommitted(self.start, self.end)?,
            unfinished: Vec::new(),
            mended: self.room.mended.clone(),
        };
        let (head, is_fast_forward) = match goal {
            Goal::Conflicts { conflicts, stopped_at } => {
                return Ok(Merged { conflicts, stopped_at, ..merged });
            }
            Goal::Commit { commit, is_fast_forward, skipped } => {
                merged.skipped = skipped;
                (commit, is_fast_forward)
            }
        };
        if head == *self.head() {
            return Ok(Merged { outcome: Outcome::Nothing, ..merged });
        }
        merged.unfinished = self.repository.unfinished(self.start, (self.head(), &head))?;
        if uncommitted == Uncommitted::Refuse && !merged.unfinished.is_empty() {
            return Err(Obstacle::Unfinished(merged.unfinished).into());
        }
        let git = self.repository.git();
        let tree = tree_of(&git, &head)?;
        let (work, index) = match self.carry(&head, &tree)? {
            Carried::Conflicts(conflicts) => return Ok(Merged { conflicts, ..merged }),
            Carried::To { work, index } => (work, index),
        };
        merged.files = file_changes(&git, &self.ours.snapshot.base_tree, &tree)?;
        let plan = Plan::make(self.repository, &self.ours, &work)?;
        let outcome = if dry_run {
            Outcome::WouldWrite
        } else {
            self.repository.set_ref(&name.before_ref(), &self.ours.snapshot.work)?;
            self.write(plan, &head, &index)?;
            Outcome::Written
        };
        Ok(Merged { outcome, head, is_fast_forward, commits, ..merged })
    }

    /// What the user has, carried over the move.
    fn carry(&self, head: &Commit, tree: &Tree) -> Result<Carried, WorktreeError> {
        let (now, start) = (&self.ours.snapshot, self.start);
        let git = self.repository.git();
        let files = Carry {
            git: &git,
            place: Place::Files,
            head: &now.base_tree,
            merged: (head, tree),
            now: (&now.work, &now.work_tree),
            began: (&start.work, &start.work_tree),
            began_head: &start.base,
            now_ms: self.now_ms,
        };
        let work = files.run()?;
        let index = Carry {
            place: Place::Index,
            now: (&now.index, &now.index_tree),
            began: (&start.index, &start.index_tree),
            ..files
        };
        let index = index.run()?;
        let mut conflicts = work.conflicts;
        conflicts.extend(index.conflicts);
        if conflicts.is_empty() {
            Ok(Carried::To { work: work.tree, index: index.tree })
        } else {
            Ok(Carried::Conflicts(conflicts))
        }
    }

    fn write(&self, plan: Plan, head: &Commit, index: &Tree) -> Result<(), WorktreeError> {
        let (repository, room) = (self.repository, &self.room);
        room.prepare()?;
        let file = room.index();
        let prepare = || fs::copy(self.ours.scratch.index(), &file).map(drop);
        prepare().map_err(|source| WorktreeError::file("write", &file, source))?;
        let changes = differences(&repository.git(), &self.ours.snapshot.index_tree, index)?;
        // What is not named keeps all that the index knows of it.
        set_entries(&repository.git().with_index(&file), &changes)?;
        let sync = || File::open(&file)?.sync_all();
        sync().map_err(|source| WorktreeError::file("sync", &file, source))?;
        let head = HeadMove { old: self.head().clone(), new: head.clone(), index: self.index };
        plan.carry_out(repository, room, &self.ours, Some(head))
    }
}
