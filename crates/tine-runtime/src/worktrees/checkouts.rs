//! The checkouts and worktrees that rows of the store tell of.

use std::path::Path;

use tine_model::{AgentId, WorktreeRecord};
use tine_worktree::{Name, Repository, Worktree, WorktreeError};

use crate::error::RuntimeError;

/// How many worktrees are made, or looked at, at the same time. Each keeps a core and the disk busy.
pub(crate) const WORKTREES_AT_ONCE: usize = 4;

/// The name of an agent's worktree among those of its repository.
pub(crate) fn name_of(agent: AgentId) -> Result<Name, WorktreeError> {
    Name::new(&agent.to_string())
}

/// The worktree that a row of the store tells of. Where git's own part of it says otherwise, who works in it has written that, and it
/// is not found.
pub(crate) fn worktree_of(record: &WorktreeRecord) -> Result<Worktree, WorktreeError> {
    Worktree::of(Path::new(&record.repository), &name_of(record.agent)?, Path::new(&record.path))
}

/// The checkout that holds a directory. Of one that is in an agent's worktree, nothing that stands there is obeyed.
pub(crate) fn checkout(
    directory: &Path,
    around: Option<&WorktreeRecord>,
) -> Result<Repository, WorktreeError> {
    match around {
        Some(record) => Ok(worktree_of(record)?.repository().from_inside(directory)),
        None => Repository::at(directory),
    }
}

/// A checkout of a worktree's repository that is there: itself, the one it came from, or the first that the repository had.
pub(crate) fn any_checkout(
    record: &WorktreeRecord,
    around: Option<&WorktreeRecord>,
) -> Result<Repository, WorktreeError> {
    if let Ok(own) = worktree_of(record) {
        return Ok(own.repository().clone());
    }
    let common_dir = Path::new(&record.repository);
    let first = || {
        let found = Repository::at(common_dir.parent()?).ok()?;
        (found.common_dir() == common_dir).then_some(found)
    };
    checkout(Path::new(&record.origin), around).or_else(|error| first().ok_or(error))
}

/// Does what waits for git on a thread that may wait.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, RuntimeError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(RuntimeError::Panicked(
            "work on a worktree failed in a way that it should not: this is a bug",
        )),
    }
}
