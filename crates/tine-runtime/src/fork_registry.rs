//! Forks of the library, in the store: rows that `tine ps` shows, and messages that survive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tine_fork::run::Journal;
use tine_fork::{ForkEntry, ForkRegistry, ForkResult, ForkRunId};
use tine_model::{AgentState, Standing};
use tine_store::{Lease, StoreError};

use crate::budget::OnBudget;
use crate::children::Births;
use crate::error::RuntimeError;
use crate::fork_spec::ForkSpec;
use crate::journal::StoreJournal;
use crate::runtime::Runtime;
use crate::worktrees::Cause as Reason;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Keeps forks as workers of the agent that [`ParentContext::agent`](tine_fork::ParentContext::agent) names: by its id, a unique
/// beginning of it, or its name. What a fork inherits is the parent's head at that moment; who forks from another place keeps
/// its own rows.
pub struct StoreRegistry {
    runtime: Arc<Runtime>,
    running: Mutex<HashMap<ForkRunId, Lease>>,
}

impl StoreRegistry {
    /// Forks are kept in this runtime's store.
    pub fn new(runtime: Arc<Runtime>) -> Self {
        Self { runtime, running: Mutex::default() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<ForkRunId, Lease>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn begin(&self, fork: ForkEntry<'_>) -> Result<Arc<dyn Journal>, RuntimeError> {
        let runtime = &self.runtime;
        let parent = runtime.store().resolve(fork.parent).await?;
        let parent = runtime.store().agent(parent).await?;
        let spec = ForkSpec::of(parent.id);
        let births = Births {
            parent: &parent,
            spec: &spec,
            standing: Standing::Worker,
            cause: Reason::Run,
            held: true,
        };
        let unborn = runtime.unborn(&births, vec![None]).await?;
        let made = runtime.bear(&births, unborn).await?.forked.into_iter().next();
        let lease = made.and_then(|made| made.lease);
        let lease = lease.ok_or_else(|| StoreError::no_agent(parent.id))?;
        if let Err(error) = runtime.mark(&lease, AgentState::Running).await {
            // Nobody will run it, so nobody may seem to; the error of the return would hide the more important one.
            drop(runtime.give_back(&lease).await);
            return Err(error);
        }
        let model = parent.settings.model.to_string();
        let journal = StoreJournal::new(
            Arc::clone(runtime.store()),
            runtime.ports(),
            (lease.agent, lease.fence),
            model,
        )
        .spending(runtime.purse(&parent, &lease, OnBudget::End));
        self.running().insert(fork.run_id, lease);
        Ok(Arc::new(journal))
    }

    async fn end(&self, result: &ForkResult) -> Result<(), RuntimeError> {
        let Some(lease) = self.running().remove(&result.run_id) else { return Ok(()) };
        let marked = self.runtime.mark_after(&lease, &result.outcome).await;
        // Whatever happened, the lease goes back.
        self.runtime.give_back(&lease).await?;
        marked
    }
}

#[async_trait]
impl ForkRegistry for StoreRegistry {
    async fn register(&self, fork: ForkEntry<'_>) -> Result<Arc<dyn Journal>, Cause> {
        Ok(self.begin(fork).await?)
    }

    async fn finished(&self, result: &ForkResult) -> Result<(), Cause> {
        Ok(self.end(result).await?)
    }
}
