//! The connection between an agent's run and the stream of events.

use std::path::Path;
use std::sync::Arc;

use tine_model::{AgentId, AgentRecord, Standing};
use tine_store::Lease;

use crate::error::RuntimeError;
use crate::events::{EventFilter, Subscription, Teller};
use crate::runtime::Runtime;

impl Runtime {
    /// Reads what happens to agents in this process, from now on.
    pub fn subscribe(&self, filter: EventFilter) -> Subscription {
        self.events().subscribe(filter)
    }

    /// The sender of an agent's events: of the tree with this root, running under this lease.
    pub(crate) fn teller(
        &self,
        record: &AgentRecord,
        root: AgentId,
        run: Option<&Lease>,
    ) -> Teller {
        Teller {
            events: Arc::clone(self.events()),
            clock: Arc::clone(&self.ports().clock),
            agent: record.id,
            root,
            run: run.map(|lease| lease.fence),
            directory: Path::new(&record.directory).into(),
            is_hidden: record.standing == Standing::Hidden,
        }
    }

    /// The topmost ancestor of an agent.
    pub(crate) async fn root_of(&self, record: &AgentRecord) -> Result<AgentId, RuntimeError> {
        let Some(parent) = record.parent else { return Ok(record.id) };
        if let Some(root) = self.live().root_of(parent) {
            return Ok(root);
        }
        let ancestry = self.store().ancestry(record.id).await?;
        Ok(ancestry.first().map_or(record.id, |root| root.id))
    }
}
