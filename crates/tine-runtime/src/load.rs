//! Bringing an agent back from the store, exactly.

use std::sync::Arc;

use tine_fork::Conversation;
use tine_model::{AgentId, AgentRecord, EntryId, Role};
use tine_wire::{Head, MarkPoints};

use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::runtime::Runtime;

/// An agent's record and everything that it remembers.
pub(crate) struct Loaded {
    pub(crate) record: AgentRecord,
    pub(crate) conversation: Conversation,
}

impl Runtime {
    /// The log of an agent, inherited part included, up to `at`.
    pub async fn fold(&self, agent: AgentId, at: Option<EntryId>) -> Result<Fold, RuntimeError> {
        let rows = self.store().lineage(agent, at).await?;
        let entries: Result<Vec<_>, _> = rows.into_iter().map(codec::read_row).collect();
        Ok(Fold::of(entries?))
    }

    /// The conversation of an agent as it stands.
    pub(crate) async fn load(
        &self,
        agent: AgentId,
        policy: CachePolicy,
    ) -> Result<Loaded, RuntimeError> {
        self.load_at(agent, None, policy).await
    }

    /// The same as it stood behind an entry; `None` for the last one.
    pub(crate) async fn load_at(
        &self,
        agent: AgentId,
        at: Option<EntryId>,
        policy: CachePolicy,
    ) -> Result<Loaded, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let head = self.frozen_head(&record).await?;
        let fold = self.fold(agent, at).await?;
        let points = mark_points(&fold, &record);
        let conversation = Conversation::new(Arc::new(head), fold.history(), points)
            .after(self.last_sent(agent).await?)
            .living(self.lifetimes(&record, policy).await?);
        Ok(Loaded { record, conversation })
    }

    /// The head that the agent's lineage began with, byte for byte.
    pub(crate) async fn frozen_head(&self, record: &AgentRecord) -> Result<Head, RuntimeError> {
        let stored = self.store().head(&record.head).await?;
        let stored = stored.ok_or(RuntimeError::NoHead(record.id))?;
        Ok(Head::from_stored(&stored)?)
    }
}

/// The last reply stands at the index at which the request that it answered ended.
fn mark_points(fold: &Fold, record: &AgentRecord) -> MarkPoints {
    let (mut sent, mut inherited, mut items) = (None, 0, 0);
    for folded in fold.entries().iter().filter(|folded| folded.effective) {
        if let tine_model::EntryBody::Message(message) = &folded.entry.body {
            if message.role() == Role::Assistant {
                sent = Some(items);
            }
            items += 1;
            if folded.entry.agent != record.id {
                inherited = items;
            }
        }
    }
    MarkPoints { sent, inherited: record.parent.map(|_| inherited) }
}
