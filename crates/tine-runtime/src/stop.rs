//! Stopping agents, honestly: who was asked, how, and what they had done by then.

use std::collections::HashSet;
use std::time::Duration;

use tine_model::{AgentId, AgentRecord, Block, EntryBody, Role, StopKind, TaskStatus, Usage};
use tine_store::{AgentFilter, RequestStop, TaskUsed, UsageScope};
use tokio_util::sync::CancellationToken;

use crate::changes::ChangeWatch;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// How an agent is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSpec {
    /// The agent.
    pub agent: AgentId,
    /// How.
    pub how: StopKind,
    /// All below it too.
    pub cascade: bool,
}

/// An agent that was stopped, or killed, and what it had done by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Who.
    pub agent: AgentId,
    /// Its name.
    pub name: Option<String>,
    /// Its task, where it is a worker.
    pub task: Option<TaskStatus>,
    /// Its task in a few words.
    pub description: Option<String>,
    /// Whether its run is over.
    pub over: bool,
    /// Requests that it had made.
    pub turns: usize,
    /// Tool calls that it had made.
    pub tool_uses: usize,
    /// Tokens of its requests.
    pub usage: Usage,
    /// How its last own words begin.
    pub last_words: Option<String>,
}

impl Runtime {
    /// Asks an agent to stop, and in a cascade all below it; waits up to `patience` for their runs to be over, and says what was
    /// stopped. What does not run is not stopped. Everything that is stopped can be resumed.
    pub async fn stop(
        &self,
        spec: StopSpec,
        patience: Duration,
        cancel: &CancellationToken,
    ) -> Result<Vec<Receipt>, RuntimeError> {
        self.recover().await?;
        let StopSpec { agent, how, cascade } = spec;
        let asked = self.store().request_stop(RequestStop { agent, how, cascade }).await?;
        for agent in &asked {
            self.live().stop(*agent, how);
        }
        let over = tokio::time::sleep(patience);
        tokio::pin!(over);
        let mut changes = ChangeWatch::begin(self).await?;
        loop {
            self.recover().await?;
            let mut receipts = Vec::with_capacity(asked.len());
            for agent in &asked {
                receipts.push(self.receipt(*agent).await?);
            }
            if receipts.iter().all(|receipt| receipt.over) {
                return Ok(receipts);
            }
            // All branches are cancel-safe.
            tokio::select! {
                changed = changes.next(self) => changed?,
                () = &mut over => return Ok(receipts),
                () = cancel.cancelled() => return Ok(receipts),
            }
        }
    }

    /// What an agent has used, and those below it, whose tasks have not ended.
    pub(crate) async fn used_below(&self, top: AgentId) -> Result<Vec<TaskUsed>, RuntimeError> {
        let mut tree = HashSet::from([top]);
        let mut used = Vec::new();
        // Parents come before their children.
        for AgentRecord { id: agent, parent, .. } in self.store().agents(AgentFilter::All).await? {
            if agent != top && !parent.is_some_and(|parent| tree.contains(&parent)) {
                continue;
            }
            tree.insert(agent);
            if self.store().task(agent).await?.is_none_or(|task| task.status.is_final()) {
                continue;
            }
            used.push(self.used_by(agent).await?);
        }
        Ok(used)
    }

    /// A worker's usage so far.
    pub(crate) async fn used_by(&self, agent: AgentId) -> Result<TaskUsed, RuntimeError> {
        let Receipt { usage, turns, tool_uses, .. } = self.receipt(agent).await?;
        let [turns, tool_uses] =
            [turns, tool_uses].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Ok(TaskUsed { agent, usage, turns, tool_uses })
    }

    /// What an agent has done so far, and whether its run is over.
    pub async fn receipt(&self, agent: AgentId) -> Result<Receipt, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let task = self.store().task(agent).await?;
        let held = self.store().lease(agent).await?.is_some();
        let requests = self.store().requests(agent, UsageScope::Own).await?;
        let mut usage = Usage::default();
        requests.iter().filter_map(|request| request.usage).for_each(|used| usage += used);
        let (mut tool_uses, mut last_words) = (0, None);
        for entry in self.log(agent, None).await? {
            let EntryBody::Message(message) = entry.body else { continue };
            if message.role() == Role::Assistant {
                let calls = message.blocks().iter();
                tool_uses += calls.filter(|block| matches!(block, Block::ToolUse { .. })).count();
                let text = message.text();
                if !text.trim().is_empty() {
                    let summary =
                        tine_fork::notification::TaskNotification::summary_of(Some(&text), "");
                    last_words = Some(summary);
                }
            }
        }
        Ok(Receipt {
            agent,
            name: record.name,
            description: task.as_ref().and_then(|task| task.description.clone()),
            over: !held && task.as_ref().is_none_or(|task| task.status.is_final()),
            task: task.map(|task| task.status),
            turns: requests.len(),
            tool_uses,
            usage,
            last_words,
        })
    }
}
