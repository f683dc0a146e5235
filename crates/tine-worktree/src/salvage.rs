//! What is kept of worktrees by refs below `refs/tine/`, and how it comes back.

use std::path::PathBuf;

use crate::error::{Refusal, WorktreeError};
use crate::git::Git;
use crate::ids::{Commit, Name};
use crate::making::Making;
use crate::repository::Repository;
use crate::snapshot::{Scratch, Snapshot, tree_of};
use crate::worktree::{NewWorktree, Worktree};

/// What is kept of one worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// What it is called.
    pub name: Name,
    /// What it started from.
    pub start: Commit,
    /// What it held when it was last kept; `None` where it was removed unchanged, or never.
    pub end: Option<Commit>,
    /// When the newer of the two was made, in milliseconds since the Unix epoch, to the second.
    pub kept_ms: i64,
}

impl Repository {
    /// All that is kept, of worktrees that are there and of those that are gone.
    pub fn salvage(&self) -> Result<Vec<Salvage>, WorktreeError> {
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let said = self.git().text(["for-each-ref", "--sort=refname", format, "refs/tine/"])?;
        let mut kept: Vec<Salvage> = Vec::new();
        // `end` comes before `start`.
        let mut end: Option<(Name, Commit, i64)> = None;
        for line in said.lines() {
            let Some((name, which, commit, kept_ms)) = kept_ref(line) else { continue };
            if which == "end" {
                end = Some((name, commit, kept_ms));
            } else {
                let mine = end.take().filter(|(ended, ..)| *ended == name);
                let kept_ms = mine.as_ref().map_or(kept_ms, |(.., ended_ms)| *ended_ms);
                kept.push(Salvage {
                    name,
                    start: commit,
                    end: mine.map(|(_, end, _)| end),
                    kept_ms,
                });
            }
        }
        Ok(kept)
    }

    /// What a worktree of this name started from, and what it held when it was last kept.
    pub fn kept(&self, name: &Name) -> Result<(Snapshot, Option<Snapshot>), WorktreeError> {
        let start = self.ref_at(&name.start_ref())?;
        let start = start.ok_or_else(|| Refusal::Unknown(name.to_string()))?;
        let end = self.ref_at(&name.end_ref())?;
        let git = self.git();
        let end = end.map(|end| Snapshot::read(&git, end)).transpose()?;
        Ok((Snapshot::read(&git, start)?, end))
    }

    /// Makes a worktree that was removed again, as it was when it was last kept.
    pub fn recover(
        &self,
        name: &Name,
        path: PathBuf,
        now_ms: i64,
    ) -> Result<Worktree, WorktreeError> {
        let (start, end) = self.kept(name)?;
        if self.worktree(name).is_ok() {
            return Err(Refusal::Taken(name.to_string()).into());
        }
        self.tidy(name)?;
        self.refuse_existing(&path)?;
        let new = NewWorktree { name: name.clone(), path, start: Default::default(), now_ms };
        self.fork_commit(&new, Making::Again, &start, end.as_ref().unwrap_or(&start))
    }

    /// Forgets what is kept of a worktree. Git removes the objects when it next collects what nothing leads to.
    pub fn forget(&self, name: &Name) -> Result<(), WorktreeError> {
        self.forget_befores(name)?;
        self.delete_ref(&name.end_ref())?;
        self.delete_ref(&name.start_ref())
    }

    pub(crate) fn ref_at(&self, name: &str) -> Result<Option<Commit>, WorktreeError> {
        let (found, said) = self.git().answer(["rev-parse", "--verify", "--quiet", name], &[])?;
        found.then(|| Commit::parse(&String::from_utf8_lossy(&said))).transpose()
    }

    pub(crate) fn set_ref(&self, name: &str, commit: &Commit) -> Result<(), WorktreeError> {
        self.git().run(["update-ref", name, commit.as_str()]).map(drop)
    }

    pub(crate) fn delete_ref(&self, name: &str) -> Result<(), WorktreeError> {
        self.git().run(["update-ref", "-d", name]).map(drop)
    }

    /// A copy of the index of the checkout, and nothing else.
    pub(crate) fn take_index(&self) -> Result<Scratch, WorktreeError> {
        let scratch = Scratch::new()?;
        scratch.copy_from(self)?;
        Ok(scratch)
    }
}

impl Snapshot {
    /// The snapshot that this commit is the last one of.
    pub(crate) fn read(git: &Git, work: Commit) -> Result<Self, WorktreeError> {
        let parent = |number: u32| {
            Commit::parse(&git.text(["rev-parse", "--verify", &format!("{work}^{number}")])?)
        };
        let (base, index) = (parent(1)?, parent(2)?);
        let [base_tree, index_tree, work_tree] = [&base, &index, &work].map(|at| tree_of(git, at));
        let (base_tree, index_tree, work_tree) = (base_tree?, index_tree?, work_tree?);
        Ok(Self { base, index, work, base_tree, index_tree, work_tree })
    }
}

/// One line of the list of refs: whose it is, which of the two, what it leads to, and when that was made in milliseconds.
pub(crate) fn kept_ref(line: &str) -> Option<(Name, &str, Commit, i64)> {
    let mut words = line.split(' ');
    let (name, which) = words.next()?.strip_prefix("refs/tine/")?.rsplit_once('/')?;
    let commit = Commit::parse(words.next()?).ok()?;
    let seconds: i64 = words.next()?.parse().ok()?;
    let is_ours = matches!(which, "start" | "end");
    is_ours.then_some((Name::new(name).ok()?, which, commit, seconds.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_refs_are_not_ours() {
        let object = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let lines = |name: &str| format!("{name} {object} 12");
        let line = lines("refs/tine/a1/start");
        assert!(matches!(kept_ref(&line), Some((_, "start", _, 12_000))));
        for other in ["refs/tine/a1/other", "refs/tine/start", "refs/tine/a/b/end", "refs/heads/a"]
        {
            assert_eq!(kept_ref(&lines(other)), None, "{other}");
        }
        assert_eq!(kept_ref("refs/tine/a1/end"), None);
    }
}
