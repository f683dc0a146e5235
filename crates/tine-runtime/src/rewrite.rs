//! Clear, mark and rewind: entries that change what counts, never what was written.

use tine_model::{AgentId, EntryId};
use tine_store::{NewEntry, StoreError};

use crate::codec;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

impl Runtime {
    /// The conversation starts anew after this. Forks made before keep what they inherited.
    pub async fn clear(&self, agent: AgentId) -> Result<EntryId, RuntimeError> {
        self.append_one(agent, codec::clear_row(self.now_ms())).await
    }

    /// Marks a place to come back to.
    pub async fn mark_place(
        &self,
        agent: AgentId,
        label: Option<String>,
    ) -> Result<EntryId, RuntimeError> {
        self.append_one(agent, codec::mark_row(label, self.now_ms())).await
    }

    /// Messages after `to` no longer count; `None` rewinds to the very beginning. `to` may be inherited.
    pub async fn rewind(
        &self,
        agent: AgentId,
        to: Option<EntryId>,
    ) -> Result<EntryId, RuntimeError> {
        if let Some(to) = to {
            let fold = self.fold(agent, None).await?;
            if !fold.entries().iter().any(|folded| folded.entry.id == to) {
                return Err(StoreError::UnknownEntry { agent, entry: to }.into());
            }
        }
        self.append_one(agent, codec::rewind_row(to, self.now_ms())).await
    }

    async fn append_one(&self, agent: AgentId, row: NewEntry) -> Result<EntryId, RuntimeError> {
        let lease = self.acquire(agent).await?;
        let appended = self.store().append(agent, lease.fence, &[row]).await;
        self.give_back(&lease).await?;
        appended?.first().copied().ok_or_else(|| StoreError::no_agent(agent).into())
    }
}
