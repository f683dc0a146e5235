//! Making a worktree for an agent that is about to be.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_model::{AgentId, AgentRecord};
use tine_store::{NewAgent, NewWorktree as NewWorktreeRow};
use tine_worktree::{LeftOut, NewWorktree, Operation, Repository, Start, Worktree};

use super::checkouts::{blocking, checkout, name_of};
use super::making::MakingNote;
use super::ready::{Cause, Unready};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Where a fork works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Placement {
    /// In the directory of its parent.
    #[default]
    Shared,
    /// In a worktree of its own, that starts from this.
    Worktree(Start),
}

/// A worktree that was made, for an agent that is not in the store yet. Must be undone where that comes to nothing.
#[derive(Debug)]
pub(crate) struct Placed {
    worktree: Worktree,
    /// The operation under way in the checkout that it was made from.
    pub(crate) during: Option<Operation>,
    /// The parts of the checkout that the worktree did not get.
    pub(crate) left_out: Vec<LeftOut>,
    /// Submodules of that checkout that have files; the worktree has none of them.
    pub(crate) submodules: Vec<PathBuf>,
    /// Held until the store knows the agent.
    _note: Arc<MakingNote>,
}

impl Placed {
    /// The agent, in its worktree.
    pub(crate) fn moved(&self, agent: NewAgent) -> NewAgent {
        NewAgent { directory: text(&self.worktree.directory()), ..agent }
    }

    /// Where its files are.
    pub(crate) fn path(&self) -> &Path {
        self.worktree.repository().top()
    }

    /// What made it ready is no work of its agent's.
    async fn begun(&self, now_ms: i64) -> Result<(), RuntimeError> {
        let worktree = self.worktree.clone();
        blocking(move || worktree.begin(now_ms).map(drop)).await
    }

    /// The row to be written with the agent.
    pub(crate) fn row(&self) -> NewWorktreeRow {
        NewWorktreeRow {
            path: text(self.path()),
            origin: text(self.worktree.origin()),
            repository: text(self.worktree.repository().common_dir()),
        }
    }
}

pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Runtime {
    /// Makes the worktree of an agent that is about to be, where it is to have one.
    pub(crate) async fn place(
        &self,
        child: AgentId,
        parent: &AgentRecord,
        (placement, cause): (&Placement, Cause),
    ) -> Result<Option<Placed>, RuntimeError> {
        let Placement::Worktree(start) = placement else { return Ok(None) };
        let policy = self.worktree_policy().ok_or(RuntimeError::NoWorktrees)?;
        let policy = Arc::clone(policy);
        let (start, directory) = (start.clone(), PathBuf::from(&parent.directory));
        let around = self.worktree_at(&directory).await?;
        let now_ms = self.now_ms();
        self.sweep_at_start().await;
        let (ways, owners) = (Arc::clone(&policy), self.owners().to_owned());
        let made = blocking(move || {
            let repository = checkout(&directory, around.as_ref())?;
            // What was half brought there is no state that anybody wanted.
            repository.mend()?;
            let path = ways.path(repository.common_dir(), child);
            let note = MakingNote::begin(&ways, &owners, child, (repository.top(), &path))?;
            let new = NewWorktree { name: name_of(child)?, path, start, now_ms };
            let made = repository.fork(&new)?;
            let (during, submodules) = (repository.operation(), repository.submodules()?);
            let left_out = made.left_out().to_vec();
            // From here on something runs there that need not be trusted.
            let worktree = repository.worktree(&new.name, made.repository().top())?;
            Ok(Placed { worktree, during, left_out, submodules, _note: Arc::new(note) })
        });
        let placed = made.await?;
        let unready = Unready {
            agent: child,
            path: placed.path().to_owned(),
            origin: placed.worktree.origin().to_owned(),
            directory: placed.worktree.directory(),
            reach: parent.reach.clone(),
            cause,
        };
        let begun = match unready.make_ready(&policy).await {
            Ok(()) if policy.setup.is_some() => placed.begun(now_ms).await,
            made => made,
        };
        if let Err(error) = begun {
            self.unplace(Some(placed)).await;
            return Err(error);
        }
        Ok(Some(placed))
    }

    /// What the checkout is in the middle of that an agent works in: a worktree of it has the files as they are, and not that.
    pub async fn under_way(&self, agent: AgentId) -> Result<Option<Operation>, RuntimeError> {
        let directory = PathBuf::from(self.store().agent(agent).await?.directory);
        let around = self.worktree_at(&directory).await?;
        blocking(move || Ok(checkout(&directory, around.as_ref())?.operation())).await
    }

    /// Submodules of the checkout that an agent works in that have files: a worktree of it has none of them.
    pub async fn submodules_left(&self, agent: AgentId) -> Result<Vec<PathBuf>, RuntimeError> {
        let directory = PathBuf::from(self.store().agent(agent).await?.directory);
        let around = self.worktree_at(&directory).await?;
        blocking(move || checkout(&directory, around.as_ref())?.submodules()).await
    }

    /// Removes a worktree whose agent did not come to be.
    pub(crate) async fn unplace(&self, placed: Option<Placed>) {
        let now_ms = self.now_ms();
        if let Some(placed) = placed {
            let removed = blocking(move || {
                discard(placed.worktree, now_ms);
                Ok(())
            });
            // What it leaves is nobody's, and is collected.
            drop(removed.await);
        }
    }
}

fn discard(worktree: Worktree, now_ms: i64) {
    let (name, repository) = (worktree.name().clone(), worktree.origin().to_owned());
    let gone = worktree.remove(now_ms).and_then(|_| Repository::at(&repository)?.forget(&name));
    if let Err(error) = gone {
        tracing::warn!(%name, %error, "a worktree without an agent is left; `tine worktree gc` removes it");
    }
}
