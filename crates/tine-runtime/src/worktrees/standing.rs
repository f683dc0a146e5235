//! Tells where the work of an agent is by now: in its worktree, kept by refs, or nowhere.

use std::path::Path;

use tine_model::WorktreeRecord;
use tine_worktree::{Repository, WorktreeError};

use super::checkouts::{any_checkout, blocking, name_of, worktree_of};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The place where the work of an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In its worktree.
    Ready,
    /// The worktree was removed, and refs keep the work.
    Kept,
    /// The worktree was removed unchanged, and nothing had to be kept.
    Vanished,
    /// The worktree was removed, and the refs that kept the work were purged.
    Purged,
    /// Somebody removed the files without tine. Refs keep the work as it was before that.
    Gone,
    /// Somebody removed the files without tine, and nothing of the work was kept.
    Lost,
}

impl Standing {
    /// The word in `--json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Kept => "kept",
            Self::Vanished => "vanished",
            Self::Purged => "purged",
            Self::Gone => "gone",
            Self::Lost => "lost",
        }
    }

    /// Of a worktree that is not ready, by its row and what its repository keeps.
    fn of(repository: &Repository, record: &WorktreeRecord) -> Result<Self, WorktreeError> {
        let kept = repository.find_kept(&name_of(record.agent)?)?;
        let is_removed = record.removed_ms.is_some();
        Ok(match kept {
            Some(_) if is_removed => Self::Kept,
            Some((_, Some(_))) => Self::Gone,
            Some((_, None)) => Self::Lost,
            None if !is_removed => Self::Lost,
            None if had_work(record) => Self::Purged,
            None => Self::Vanished,
        })
    }
}

/// Returns true where the row of a worktree says that something was changed in it.
pub(super) fn had_work(record: &WorktreeRecord) -> bool {
    (record.files, record.commits) != (0, 0)
}

/// Refuses where the worktree's repository is not where it was.
pub(super) fn refuse_moved(record: &WorktreeRecord) -> Result<(), RuntimeError> {
    let path = Path::new(&record.repository);
    if path.exists() {
        Ok(())
    } else {
        Err(RuntimeError::RepositoryMoved { agent: record.agent, path: path.to_owned() })
    }
}

impl Runtime {
    /// Finds out where the work of an agent is. Files of which only the link to git is lost are linked again first.
    pub(super) async fn standing(&self, record: &WorktreeRecord) -> Result<Standing, RuntimeError> {
        refuse_moved(record)?;
        self.link_again(record).await?;
        let around = self.worktree_at(Path::new(&record.origin)).await?;
        let record = record.clone();
        blocking(move || match worktree_of(&record) {
            Ok(_) => Ok(Standing::Ready),
            Err(_) => Standing::of(&any_checkout(&record, around.as_ref())?, &record),
        })
        .await
    }

    /// Finds out where work is that is asked for: work of which nothing is left is an error.
    pub(super) async fn standing_of_work(
        &self,
        record: &WorktreeRecord,
    ) -> Result<Standing, RuntimeError> {
        let agent = record.agent;
        match self.standing(record).await? {
            Standing::Purged => Err(RuntimeError::WorktreePurged(agent)),
            Standing::Lost => {
                let path = record.path.clone().into();
                Err(RuntimeError::WorktreeLost { agent, path })
            }
            standing @ (Standing::Ready | Standing::Kept | Standing::Vanished | Standing::Gone) => {
                Ok(standing)
            }
        }
    }
}
