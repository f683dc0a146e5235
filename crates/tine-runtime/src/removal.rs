//! Removing agents for good: their conversations, worktrees and refs.
//!
//! Worktrees and refs go before the rows.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tine_model::{AgentId, WorktreeRecord};
use tine_store::{Remove, RemovedAgent};

use crate::error::RuntimeError;
use crate::runtime::Runtime;
use crate::worktrees::{PurgeSpec, blocking};

/// All that goes, or went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removal {
    /// Agents, ancestors first.
    pub agents: Vec<RemovedAgent>,
    /// Their worktrees, and what was kept of them.
    pub worktrees: Vec<WorktreeRecord>,
    /// Worktrees that stay because another agent works there, and those of which something could not be removed, each with the reason.
    pub stays: Vec<(AgentId, String)>,
}

impl Runtime {
    /// Finds what goes with these agents. Changes nothing.
    pub async fn plan_removal(&self, agents: &[AgentId]) -> Result<Removal, RuntimeError> {
        self.recover().await?;
        let agents = self.removed(agents, true).await?;
        let mut plan = Removal { agents, ..Removal::default() };
        for removed in &plan.agents {
            plan.worktrees.extend(self.store().worktree(removed.agent).await?);
        }
        Ok(plan)
    }

    /// Removes these agents for good. Those below them stay with all that they have inherited, unless they are named as well.
    ///
    /// The words are still in the file's gaps until [`Self::overwrite_removed`] is done.
    pub async fn remove_agents(&self, agents: &[AgentId]) -> Result<Removal, RuntimeError> {
        let plan = self.plan_removal(agents).await?;
        self.end_background(agents).await;
        // With those that were removed before and go at last.
        let going: Vec<AgentId> = plan.agents.iter().map(|one| one.agent).collect();
        let mut stays = Vec::new();
        for worktree in &plan.worktrees {
            if let Some(why) = self.remove_worktree(worktree, &going).await? {
                stays.push((worktree.agent, why));
            }
        }
        let agents = self.removed(agents, false).await?;
        Ok(Removal { agents, stays, ..plan })
    }

    /// Overwrites what is left on the disk of what was removed. Takes as long as writing the store anew. Returns false where a reader of
    /// another process holds a part of it: then a later call overwrites that.
    pub async fn overwrite_removed(&self) -> Result<bool, RuntimeError> {
        Ok(self.store().overwrite_removed().await?)
    }

    async fn removed(
        &self,
        agents: &[AgentId],
        dry_run: bool,
    ) -> Result<Vec<RemovedAgent>, RuntimeError> {
        let remove = Remove { agents: agents.to_vec(), dry_run, now_ms: self.now_ms() };
        Ok(self.store().remove(remove).await?)
    }

    /// Removes a worktree and the refs that keep what it held; the reason where something of it stays.
    async fn remove_worktree(
        &self,
        worktree: &WorktreeRecord,
        going: &[AgentId],
    ) -> Result<Option<String>, RuntimeError> {
        let agent = worktree.agent;
        if worktree.removed_ms.is_none() {
            match self.drop_worktree_with(agent, going).await {
                Ok(_) => {}
                Err(error @ RuntimeError::WorktreeShared(_)) => return Ok(Some(error.to_string())),
                // Nothing leads from the repository to it any more, wherever that is now.
                Err(_) if !Path::new(&worktree.repository).exists() => {
                    return self.remove_files(worktree).await;
                }
                Err(error) => return Err(error),
            }
        }
        let directory = PathBuf::from(&worktree.origin);
        let spec = PurgeSpec { directory, agent: Some(agent), age_max: Duration::ZERO };
        let plan = match self.plan_purge(&spec).await {
            Ok(plan) => plan,
            Err(error) => return Ok(Some(error.to_string())),
        };
        for due in &plan.due {
            self.purge(due).await?;
        }
        Ok(None)
    }

    /// Removes the files of a worktree whose repository is gone; the reason where they stay.
    async fn remove_files(
        &self,
        worktree: &WorktreeRecord,
    ) -> Result<Option<String>, RuntimeError> {
        let path = PathBuf::from(&worktree.path);
        // What lies elsewhere is not tine's to remove.
        let is_ours = self.worktree_policy().is_some_and(|policy| path.starts_with(&policy.root));
        let why = if is_ours {
            let removed = blocking(move || Ok(std::fs::remove_dir_all(&path)));
            removed.await?.err().map(|error| error.to_string())
        } else {
            Some("its repository is gone, and it lies outside of tine's directory".to_owned())
        };
        let gone = WorktreeRecord { removed_ms: Some(self.now_ms()), ..worktree.clone() };
        self.store().note_worktree(gone).await?;
        Ok(why)
    }
}
