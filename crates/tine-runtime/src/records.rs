//! Reading what the store knows, so that a face needs no store: agents, tasks, worktrees, usage.

use std::collections::HashSet;

use tine_model::{AgentId, AgentRecord, AgentState, TaskRecord, WorktreeRecord};
use tine_store::{AgentFilter, MailRow, UsageSum};

use crate::error::RuntimeError;
use crate::runtime::Runtime;

impl Runtime {
    /// The record of an agent.
    pub async fn agent(&self, agent: AgentId) -> Result<AgentRecord, RuntimeError> {
        Ok(self.store().agent(agent).await?)
    }

    /// All agents that a filter lets through, parents before their children.
    pub async fn agents(&self, filter: AgentFilter) -> Result<Vec<AgentRecord>, RuntimeError> {
        Ok(self.store().agents(filter).await?)
    }

    /// The agent that a user means: by its name, or by the first characters of its id.
    pub async fn resolve(&self, text: &str) -> Result<AgentId, RuntimeError> {
        Ok(self.store().resolve(text).await?)
    }

    /// The living among an agent and those below it, ancestors first.
    pub async fn living_with(&self, top: AgentId) -> Result<Vec<AgentId>, RuntimeError> {
        let mut tree = HashSet::from([top]);
        let mut living = Vec::new();
        for agent in self.store().agents(AgentFilter::All).await? {
            if agent.id == top || agent.parent.is_some_and(|parent| tree.contains(&parent)) {
                tree.insert(agent.id);
                living.extend((agent.state != AgentState::Dead).then_some(agent.id));
            }
        }
        Ok(living)
    }

    /// The task of a worker; `None` for an agent that is none.
    pub async fn task_record(&self, agent: AgentId) -> Result<Option<TaskRecord>, RuntimeError> {
        Ok(self.store().task(agent).await?)
    }

    /// All tasks, of any spawner.
    pub async fn task_records(&self) -> Result<Vec<TaskRecord>, RuntimeError> {
        Ok(self.store().all_tasks().await?)
    }

    /// The worktree that was made for an agent; `None` where none was.
    pub async fn worktree_record(
        &self,
        agent: AgentId,
    ) -> Result<Option<WorktreeRecord>, RuntimeError> {
        Ok(self.store().worktree(agent).await?)
    }

    /// All worktrees that were made for agents, the removed among them, in the order in which they were made.
    pub async fn worktree_records(&self) -> Result<Vec<WorktreeRecord>, RuntimeError> {
        Ok(self.store().worktrees().await?)
    }

    /// The usage of each agent by requests after number `after`, and the number of the last request.
    pub async fn usage_since(&self, after: i64) -> Result<(i64, Vec<UsageSum>), RuntimeError> {
        Ok(self.store().usage_since(after).await?)
    }

    /// Returns true if some process has the lease on an agent: it runs it, or is about to.
    pub async fn is_held(&self, agent: AgentId) -> Result<bool, RuntimeError> {
        Ok(self.store().lease(agent).await?.is_some())
    }

    /// The messages that an agent has not read, the oldest first.
    pub async fn unread_mail(&self, agent: AgentId) -> Result<Vec<MailRow>, RuntimeError> {
        Ok(self.store().unread_mail(agent).await?)
    }

    /// Returns true if an agent has mail that it has not read.
    pub async fn has_mail(&self, agent: AgentId) -> Result<bool, RuntimeError> {
        Ok(!self.store().unread_mail(agent).await?.is_empty())
    }

    /// A number that differs from an earlier one of this runtime once another process has changed something.
    pub async fn data_version(&self) -> Result<i64, RuntimeError> {
        Ok(self.store().data_version().await?)
    }

    /// Looks through the whole database for damage. Returns what is wrong, in the database's words; nothing if all is well. Takes about a
    /// second for each gigabyte.
    pub async fn find_damage(&self) -> Result<Vec<String>, RuntimeError> {
        Ok(self.store().find_damage().await?)
    }

    /// Writes the store's files out and closes them. Whoever uses the runtime after this gets errors.
    pub async fn close(&self) -> Result<(), RuntimeError> {
        Ok(self.store().close().await?)
    }
}
