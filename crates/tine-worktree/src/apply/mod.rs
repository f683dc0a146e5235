//! Work comes back into a checkout: three ways, onto whatever its user has in it, all or nothing.
//!
//! Git merges in its objects; nothing of the checkout is touched until everything is known. Then [`plan`] says which files change and
//! stages their new content, [`journal`] writes that down, [`write`] exchanges the files one by one, and [`mend`] brings a change that
//! was cut short to one of its two ends. The index is never touched here.

mod bytes;
mod cut_short;
mod head;
mod journal;
mod lines;
mod marks;
mod mend;
mod moves;
mod plan;
mod print;
mod refs;
mod room;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) use bytes::{Back, Sources};
pub use cut_short::unended_changes;
pub(crate) use head::detached;
pub(crate) use journal::HeadMove;
pub use journal::Kept;
pub use mend::{Mended, MendedAs};
pub(crate) use plan::Plan;
pub(crate) use print::index_hash;
use refs::Refs;
pub(crate) use refs::checkout_suffix;
pub(crate) use room::Room;

use crate::changes::FileChange;
use crate::diff::{Difference, differences, file_changes, paths_between};
use crate::error::WorktreeError;
use crate::git::{Git, index_line};
use crate::ids::{Commit, Name, Tree};
use crate::merge_tree::{Base, Conflict, MergeOutput, Place, Sides, merge};
use crate::obstacle::Obstacle;
use crate::repository::Repository;
use crate::scratch::Scratch;
use crate::snapshot::{Conflicts, Snapshot, commit, tree_of};

/// Work to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apply<'a> {
    /// The worktree whose work it is.
    pub name: &'a Name,
    /// What it started from.
    pub start: &'a Snapshot,
    /// What it holds now, or is kept of it.
    pub end: &'a Snapshot,
    /// Only these files, and those in these directories, relative to the top of the checkout; empty: all.
    pub paths: &'a [PathBuf],
    /// What is done where the work and the checkout do not go together.
    pub on_conflict: OnConflict,
    /// Whether nothing is to be written.
    pub dry_run: bool,
    /// Milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// What is done about conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Nothing is changed.
    #[default]
    Refuse,
    /// Files in conflict get marks at the places; all else is applied.
    LeaveMarkers,
}

/// What came of an apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// How it ended.
    pub outcome: Outcome,
    /// The files of the checkout that changed, or would.
    pub files: Vec<FileChange>,
    /// Where the work and the checkout do not go together.
    pub conflicts: Vec<Conflict>,
    /// What an earlier change, that was cut short, came to just before.
    pub mended: Option<Mended>,
}

/// How bringing work back ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The checkout has the work.
    Written,
    /// Nothing was written, since it was only asked what would be.
    WouldWrite,
    /// The checkout had all of it already. Nothing changed.
    Nothing,
    /// There are conflicts, and nothing changed.
    Conflicts,
}

impl Repository {
    /// Brings work into the files of this checkout, which may be changed in any way: three-way between what the worktree started from
    /// (or held when all of it last came here, if it holds other things since), what the checkout holds now, and the work. The result is what `git merge` makes of the three; of a file whose bytes git would not give
    /// back, such as one with other line ends, only the lines change that are others.  The index is left alone to
    /// its last byte. With conflicts nothing changes, unless marks are asked for; where marks of an earlier apply still stand, nothing
    /// changes either.
    ///
    /// Waits while another change of this checkout is under way, and mends one that was cut short first. What the checkout held
    /// before is kept by a ref; see [`Repository::undo`]. Where an error comes once files are being written, all of them are as they
    /// were, or, if the disk fails then, too, [`Repository::mend`] makes it so.
    pub fn apply(&self, apply: &Apply<'_>) -> Result<Applied, WorktreeError> {
        let mut room = Room::enter(self)?;
        let mended = room.mended.take();
        // Both must be of this repository.
        self.commit(apply.start.work.as_str())?;
        self.commit(apply.end.work.as_str())?;
        let ours = self.take(Conflicts::Refuse, apply.now_ms)?;
        let refs = Refs::new(self, apply.name);
        self.refuse_marks(apply, &refs, &ours.snapshot)?;
        let base = self.apply_base(apply, &refs)?;
        let theirs = self.chosen(apply, &base)?;
        let sides = Sides {
            base: Base::Commit(&base.0),
            ours: ours.snapshot.work.as_str(),
            theirs: theirs.as_str(),
        };
        let mut merged = merge(&self.git(), Place::Files, sides)?;
        if !merged.conflicts.is_empty() && apply.on_conflict == OnConflict::LeaveMarkers {
            merged = self.merge_with_labels(apply.name, &base.0, [&ours.snapshot.work, &theirs])?;
        }
        let git = self.git();
        let files = file_changes(&git, &ours.snapshot.work_tree, &merged.tree)?;
        let MergeOutput { tree, conflicts } = merged;
        let done = |outcome, files, conflicts| Applied { outcome, files, conflicts, mended };
        if !conflicts.is_empty() && apply.on_conflict == OnConflict::Refuse {
            return Ok(done(Outcome::Conflicts, Vec::new(), conflicts));
        }
        if files.is_empty() {
            self.remember_brought(apply, &refs)?;
            return Ok(done(Outcome::Nothing, files, conflicts));
        }
        let work = Some((apply.start, apply.end));
        let plan = Plan::make(self, &ours, &tree)?.by(Sources { work, back: None });
        if apply.dry_run {
            return Ok(done(Outcome::WouldWrite, files, conflicts));
        }
        self.remember(apply, &refs, &ours.snapshot, &tree)?;
        plan.carry_out(self, &room, &ours, None)?;
        self.remember_brought(apply, &refs)?;
        Ok(done(Outcome::Written, files, conflicts))
    }

    /// Takes the last apply of this worktree's work out of the checkout again, three-way: what changed since stays. Files that did not change
    /// since are what they were before, to the byte. Where that does
    /// not go together nothing changes, and the conflicts are returned. What is committed by now is not taken out of the files.
    pub fn undo(&self, name: &Name, now_ms: i64) -> Result<Applied, WorktreeError> {
        let mut room = Room::enter(self)?;
        let mended = room.mended.take();
        let refs = Refs::new(self, name);
        let (Some(before), Some(after)) = (self.ref_at(&refs.onto)?, self.ref_at(&refs.applied)?)
        else {
            return Err(Obstacle::NotApplied(name.to_string()).into());
        };
        let ours = self.take(Conflicts::Refuse, now_ms)?;
        let sides = Sides {
            base: Base::Commit(&after),
            ours: ours.snapshot.work.as_str(),
            theirs: before.as_str(),
        };
        let MergeOutput { tree, conflicts } = merge(&self.git(), Place::Files, sides)?;
        let files = file_changes(&self.git(), &ours.snapshot.work_tree, &tree)?;
        if !conflicts.is_empty() {
            let files = Vec::new();
            return Ok(Applied { outcome: Outcome::Conflicts, files, conflicts, mended });
        }
        self.refuse_committed(before.clone(), &ours.snapshot, &tree)?;
        let outcome = if files.is_empty() {
            Outcome::Nothing
        } else {
            let before = Snapshot::read(&self.git(), before)?;
            let after = tree_of(&self.git(), &after)?;
            let except = self.changed_since((&before, &after), &ours.snapshot, &tree)?;
            let back = Some(Back { to: &before, except });
            let plan = Plan::make(self, &ours, &tree)?.by(Sources { back, work: None });
            plan.carry_out(self, &room, &ours, None)?;
            Outcome::Written
        };
        self.forget_undone(&refs)?;
        Ok(Applied { outcome, files, conflicts, mended })
    }

    /// Brings a change of this checkout that was cut short to one of its ends: as it was before, or as it was to be. `None` where
    /// there is none. Waits while one is under way. Every change does this first.
    pub fn mend(&self) -> Result<Option<Mended>, WorktreeError> {
        Ok(Room::enter(self)?.mended)
    }

    /// Files that are not to be what they were in `before`, or that somebody changed since they became what `after` says.
    fn changed_since(
        &self,
        (before, after): (&Snapshot, &Tree),
        ours: &Snapshot,
        undone: &Tree,
    ) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let git = self.git();
        let mut changed = paths_between(&git, &before.work_tree, undone)?;
        changed.extend(paths_between(&git, after, &ours.work_tree)?);
        Ok(changed)
    }

    /// The work, or as much of it as is asked for.
    fn chosen(
        &self,
        apply: &Apply<'_>,
        (base, base_tree): &(Commit, Tree),
    ) -> Result<Commit, WorktreeError> {
        if apply.paths.is_empty() {
            return Ok(apply.end.work.clone());
        }
        let git = self.git();
        let (start, end) = (&apply.start.work_tree, &apply.end.work_tree);
        let of_work = differences(&git, start, end)?;
        let is_below = |asked: &Path, found: &Difference| found.path.starts_with(asked);
        let nowhere = |asked: &&PathBuf| !of_work.iter().any(|found| is_below(asked, found));
        let missing: Vec<PathBuf> = apply.paths.iter().filter(nowhere).cloned().collect();
        if !missing.is_empty() {
            return Err(Obstacle::NotChanged(missing).into());
        }
        let mut found = differences(&git, base_tree, end)?;
        found.retain(|found| apply.paths.iter().any(|asked| is_below(asked, found)));
        let tree = with_differences(&git, base_tree, &found)?;
        commit(&git, &tree, &[base], "the chosen files", apply.now_ms)
    }
}

/// A directory in which the given files are as they are after the differences.
pub(crate) fn with_differences(
    git: &Git,
    tree: &Tree,
    differences: &[Difference],
) -> Result<Tree, WorktreeError> {
    if differences.is_empty() {
        return Ok(tree.clone());
    }
    let scratch = Scratch::new()?;
    let git = git.with_index(&scratch.index());
    git.run(["read-tree", tree.as_str()])?;
    set_entries(&git, differences)?;
    Tree::parse(&git.text(["write-tree"])?)
}

/// Sets entries of an index as they are after the differences; deletions come first, so that a directory can stand where a file stood.
pub(crate) fn set_entries(git: &Git, differences: &[Difference]) -> Result<(), WorktreeError> {
    let mut lines = Vec::new();
    let is_deleted = |found: &&Difference| found.after.kind().is_none();
    let deleted = differences.iter().filter(is_deleted);
    for found in deleted.chain(differences.iter().filter(|found| !is_deleted(found))) {
        let mode = if is_deleted(&found) { "0" } else { &found.after.mode };
        lines.extend(index_line(mode, &found.after.object, &found.path));
    }
    git.fed(["update-index", "--replace", "-z", "--index-info"], &lines).map(drop)
}

/// Every path of a directory and of those below it.
pub(crate) fn paths_of(git: &Git, tree: &Tree) -> Result<BTreeSet<PathBuf>, WorktreeError> {
    let said = git.run(["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree.as_str()])?;
    Ok(crate::git::parts(&said).map(crate::git::path).collect())
}

#[cfg(test)]
mod tests;
