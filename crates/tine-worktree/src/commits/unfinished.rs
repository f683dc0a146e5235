//! What commits of a worktree hold of the work that its parent had not committed.
//!
//! A worktree begins with all that the checkout holds, so whoever commits everything there commits the user's notes and half-done work,
//! too. Such commits would put it into the user's history without a word. Looks only at git's objects.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::diff::{differences, paths_between};
use crate::error::WorktreeError;
use crate::ids::{Commit, Tree};
use crate::merge_tree::{Base, MergeOutput, Place, Sides, child, merge_by_path};
use crate::repository::Repository;
use crate::snapshot::{Snapshot, tree_of};

/// What is done where commits hold what the checkout had not committed when the worktree was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Uncommitted {
    /// Nothing is changed.
    #[default]
    Refuse,
    /// They come with it.
    Bring,
}

/// Most paths by which commits are looked for. With more, all commits are looked at.
const PATHS_ASKED_MAX: usize = 1000;

/// A state of the checkout when the worktree was made, of which something was not committed.
struct Begun<'a> {
    state: (&'a Commit, &'a Tree),
    /// From the state back to what HEAD was then.
    back: Commit,
    /// What was not committed then, and still is not.
    open: BTreeSet<PathBuf>,
}

impl Repository {
    /// Files of which `goal` would bring into `head` what was not committed when the worktree was made, in any commit on the way.
    pub(super) fn unfinished(
        &self,
        start: &Snapshot,
        (head, goal): (&Commit, &Commit),
    ) -> Result<Vec<PathBuf>, WorktreeError> {
        let head_tree = tree_of(&self.git(), head)?;
        let mut found = BTreeSet::new();
        for state in [(&start.work, &start.work_tree), (&start.index, &start.index_tree)] {
            let open = self.still_open(start, state, (head, &head_tree))?;
            if open.is_empty() {
                continue;
            }
            let back = child(&self.git(), start.base.as_str(), state.0)?;
            let begun = Begun { state, back, open };
            for commit in self.commits_at(head, goal, &begun.open)? {
                found.extend(self.held_by(&commit, &begun, &head_tree)?);
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Paths at which a state differs from the HEAD that it had, and that have not been committed since.
    fn still_open(
        &self,
        start: &Snapshot,
        (state, tree): (&Commit, &Tree),
        (head, head_tree): (&Commit, &Tree),
    ) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let git = self.git();
        let mut open = self.differing(&start.base_tree, tree)?;
        if open.is_empty() || *head == start.base {
            return Ok(open);
        }
        let elsewhere = self.differing(head_tree, tree)?;
        open.retain(|path| elsewhere.contains(path));
        // What is committed with more beside it is committed, too.
        let base = Base::OfOurs(&start.base);
        let sides = Sides { base, ours: state.as_str(), theirs: head.as_str() };
        let both = merge_by_path(&git, Place::Commits, sides)?;
        let more = self.changed_by(&both, head_tree)?;
        open.retain(|path| more.contains(path));
        Ok(open)
    }

    /// The open paths at which a commit has something of the state. If it has, then it is another without it: three-way, from the
    /// state back to what HEAD was.
    fn held_by(
        &self,
        commit: &Commit,
        begun: &Begun<'_>,
        head_tree: &Tree,
    ) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let git = self.git();
        let (state, state_tree) = begun.state;
        let tree = tree_of(&git, commit)?;
        let base = Base::OfOurs(state);
        let sides = Sides { base, ours: begun.back.as_str(), theirs: commit.as_str() };
        let without = merge_by_path(&git, Place::Commits, sides)?;
        let mut held = self.changed_by(&without, &tree)?;
        let comes = self.differing(head_tree, &tree)?;
        held.retain(|path| begun.open.contains(path) && comes.contains(path));
        // Who has a file that the other has not has nothing of the other's there.
        for found in differences(&git, state_tree, &tree)? {
            if found.before.kind().is_none() || found.after.kind().is_none() {
                held.remove(&found.path);
            }
        }
        Ok(held)
    }

    /// Commits that `goal` has and `head` has not, and that may change one of the paths.
    fn commits_at(
        &self,
        head: &Commit,
        goal: &Commit,
        paths: &BTreeSet<PathBuf>,
    ) -> Result<Vec<Commit>, WorktreeError> {
        let mut asked = format!("{goal}\n^{head}\n").into_bytes();
        let is_line = |path: &PathBuf| !path.as_os_str().as_bytes().contains(&b'\n');
        if paths.len() <= PATHS_ASKED_MAX && paths.iter().all(is_line) {
            asked.extend_from_slice(b"--\n");
            for path in paths {
                asked.extend_from_slice(path.as_os_str().as_bytes());
                asked.push(b'\n');
            }
        }
        let git = self.git().with("GIT_LITERAL_PATHSPECS", "1".as_ref());
        let said = git.fed(["rev-list", "--full-history", "--stdin"], &asked)?;
        String::from_utf8_lossy(&said).lines().map(Commit::parse).collect()
    }

    fn differing(&self, one: &Tree, other: &Tree) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        paths_between(&self.git(), one, other)
    }

    /// Paths at which a merge is not `tree`, or in conflict.
    fn changed_by(
        &self,
        merged: &MergeOutput,
        tree: &Tree,
    ) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let mut changed = self.differing(&merged.tree, tree)?;
        for conflict in &merged.conflicts {
            changed.extend(conflict.others.iter().chain([&conflict.path]).cloned());
        }
        Ok(changed)
    }
}
