//! What a checkout holds by refs of the work that came into it, and of what was there before.
//!
//! Each checkout has refs of its own, `refs/tine/<name>/<what>-<checkout>`: the same work may come into several.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::Apply;
use crate::error::WorktreeError;
use crate::ids::{Commit, Name, Tree};
use crate::merge_tree::{Base, MergeOutput, Place, Sides, child, merge};
use crate::repository::Repository;
use crate::snapshot::{Snapshot, commit, tree_of};

/// How much of a hash stands for a checkout in refs, in characters: enough for all checkouts of one repository.
const CHECKOUT_CHARACTERS: usize = 16;

/// The last parts of the refs that stand for the two sides in marks, while they are made.
const LABELS: [&str; 2] = ["onto", "work"];

/// What stands for the checkout in marks.
pub(super) fn our_label(name: &Name) -> String {
    format!("tine/{name}/{}", LABELS[0])
}

/// The refs of one checkout for the work of one worktree.
pub(super) struct Refs {
    /// What the checkout held before the last apply, and after.
    pub(super) onto: String,
    pub(super) applied: String,
    /// The work as it last came in whole; and what this was before the last apply.
    brought: String,
    earlier: String,
}

impl Refs {
    pub(super) fn new(repository: &Repository, name: &Name) -> Self {
        let checkout = checkout_suffix(repository.top());
        let [onto, applied, brought, earlier] = ["onto", "applied", "brought", "earlier"]
            .map(|what| format!("refs/tine/{name}/{what}{checkout}"));
        Self { onto, applied, brought, earlier }
    }
}

/// Returns how the names of the refs end that belong to a checkout, by its top.
pub(crate) fn checkout_suffix(top: &Path) -> String {
    let hash = blake3::hash(top.as_os_str().as_bytes()).to_hex();
    format!("-{}", &hash.as_str()[..CHECKOUT_CHARACTERS])
}

impl Repository {
    /// What the work is compared with: as it last came into this checkout, if there is more of it since, else what it started from.
    pub(super) fn apply_base(
        &self,
        apply: &Apply<'_>,
        refs: &Refs,
    ) -> Result<(Commit, Tree), WorktreeError> {
        if let Some(brought) = self.ref_at(&refs.brought)? {
            let tree = tree_of(&self.git(), &brought)?;
            if tree != apply.end.work_tree {
                return Ok((brought, tree));
            }
        }
        Ok((apply.start.work.clone(), apply.start.work_tree.clone()))
    }

    /// Holds by refs what the checkout holds and what it will.
    pub(super) fn remember(
        &self,
        apply: &Apply<'_>,
        refs: &Refs,
        before: &Snapshot,
        after: &Tree,
    ) -> Result<(), WorktreeError> {
        let message = "what an apply leaves";
        let after = commit(&self.git(), after, &[&before.work], message, apply.now_ms)?;
        self.copy_ref(&refs.brought, &refs.earlier)?;
        self.set_ref(&refs.onto, &before.work)?;
        self.set_ref(&refs.applied, &after)
    }

    /// The work is in the checkout. Said after it is: else work that did not come would never come again.
    pub(super) fn remember_brought(
        &self,
        apply: &Apply<'_>,
        refs: &Refs,
    ) -> Result<(), WorktreeError> {
        if !apply.paths.is_empty() || apply.dry_run {
            return Ok(());
        }
        // Of a worktree in which nothing was done, no ref is made.
        if apply.end.work == apply.start.work && self.ref_at(&refs.brought)?.is_none() {
            return Ok(());
        }
        self.set_ref(&refs.brought, &apply.end.work)
    }

    /// Forgets the last apply, which was undone.
    pub(super) fn forget_undone(&self, refs: &Refs) -> Result<(), WorktreeError> {
        self.copy_ref(&refs.earlier, &refs.brought)?;
        let gone = [&refs.earlier, &refs.onto, &refs.applied];
        gone.iter().try_for_each(|name| self.delete_ref(name))
    }

    fn copy_ref(&self, from: &str, to: &str) -> Result<(), WorktreeError> {
        match self.ref_at(from)? {
            Some(commit) => self.set_ref(to, &commit),
            None => self.delete_ref(to),
        }
    }

    /// Forgets what checkouts held before this worktree's work came, and which of it they have.
    pub(crate) fn forget_befores(&self, name: &Name) -> Result<(), WorktreeError> {
        let below = format!("refs/tine/{name}/");
        let said = self.git().text(["for-each-ref", "--format=%(refname)", &below])?;
        let kept = [name.start_ref(), name.end_ref()];
        let gone = said.lines().filter(|found| kept.iter().all(|kept| kept != found));
        gone.into_iter().try_for_each(|found| self.delete_ref(found))
    }

    /// A merge of files with names in the marks that people can read.
    pub(super) fn merge_with_labels(
        &self,
        name: &Name,
        base: &Commit,
        sides: [&Commit; 2],
    ) -> Result<MergeOutput, WorktreeError> {
        // The names are the same for all checkouts.
        let _lock = self.lock()?;
        let git = self.git();
        let [onto, work] = LABELS.map(|last| format!("tine/{name}/{last}"));
        let refs = [&onto, &work].map(|label| format!("refs/{label}"));
        for (name, side) in refs.iter().zip(sides) {
            self.set_ref(name, &child(&git, side.as_str(), base)?)?;
        }
        let sides = Sides { base: Base::Ancestors, ours: &onto, theirs: &work };
        let merged = merge(&git, Place::Files, sides);
        refs.iter().try_for_each(|name| self.delete_ref(name))?;
        merged
    }
}
