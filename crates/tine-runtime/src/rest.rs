//! What an agent does when its model is done: it waits for its workers, and goes on with what they report.

use std::sync::Arc;
use std::time::Duration;

use tine_fork::run::Rest;
use tine_model::{AgentId, TaskRecord};
use tine_store::{Lease, StoreError};
use tokio_util::sync::CancellationToken;

use crate::changes::ChangeWatch;
use crate::error::RuntimeError;
use crate::live::Stop;
use crate::runtime::Runtime;

/// How long one who has got a report waits for the next, while others are under way: many that end together are told in one turn.
const GATHER: Duration = Duration::from_millis(200);

/// How long it waits at most, however many come.
const GATHER_MAX: Duration = Duration::from_secs(2);

/// The end of the turns of one run.
pub(crate) struct Resting {
    pub(crate) runtime: Runtime,
    pub(crate) stop: Arc<Stop>,
    /// Whether reports of workers make the run go on.
    pub(crate) wakes: bool,
    /// A worker's place among those of its tree that run at the same time, which it gives up while it waits; `None` for others.
    pub(crate) place: Option<Lease>,
    /// Whether what somebody kept for the end is part of this run. Otherwise it is the next task of the worker.
    pub(crate) takes_follow_ups: bool,
}

impl Resting {
    /// Waits until there is mail, or nobody is left who could write any; whether the run goes on.
    pub(crate) async fn rest(
        &self,
        agent: AgentId,
        cancel: &CancellationToken,
    ) -> Result<Rest, RuntimeError> {
        let place = match &self.place {
            Some(lease) if !self.runtime.working_for(agent).await?.is_empty() => Some(lease),
            Some(_) | None => None,
        };
        if let Some(lease) = place {
            self.runtime.give_slot(lease).await?;
        }
        let rest = self.wait(agent, cancel).await;
        if let (Some(lease), Ok(Rest::Mail)) = (place, &rest) {
            self.runtime.take_slot(lease, &|_| {}, cancel).await?;
        }
        rest
    }

    async fn wait(&self, agent: AgentId, cancel: &CancellationToken) -> Result<Rest, RuntimeError> {
        let mut changes = ChangeWatch::begin(&self.runtime).await?;
        loop {
            if cancel.is_cancelled() || self.stop.asked().is_some() {
                return Ok(Rest::Over);
            }
            // In this order: who has left by now has written before.
            let working = self.runtime.working_for(agent).await?;
            let mail = self.runtime.store().unread_mail(agent).await?;
            let from_user = mail.iter().any(|mail| mail.sender.is_none());
            if from_user || (self.wakes && !mail.is_empty()) {
                if !working.is_empty() && !from_user {
                    self.gather(agent, mail.len(), cancel).await?;
                }
                return Ok(Rest::Mail);
            }
            if working.is_empty() {
                return self.follow_up(agent).await;
            }
            // Both branches are cancel-safe.
            tokio::select! {
                changed = changes.next(&self.runtime) => changed?,
                () = cancel.cancelled() => {}
            }
        }
    }

    /// What somebody wanted to be said in the end.
    async fn follow_up(&self, agent: AgentId) -> Result<Rest, RuntimeError> {
        let store = self.runtime.store();
        if !self.takes_follow_ups {
            return Ok(Rest::Over);
        }
        if store.deliver_follow_up(agent, self.runtime.now_ms()).await? {
            Ok(Rest::Mail)
        } else {
            Ok(Rest::Over)
        }
    }

    /// Waits until no more mail comes, for a while.
    async fn gather(
        &self,
        agent: AgentId,
        mut seen: usize,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let end = tokio::time::Instant::now() + GATHER_MAX;
        while tokio::time::Instant::now() < end && !cancel.is_cancelled() {
            tokio::time::sleep(GATHER).await;
            let unread = self.runtime.store().unread_mail(agent).await?.len();
            if unread == seen {
                return Ok(());
            }
            seen = unread;
        }
        Ok(())
    }
}

impl Runtime {
    /// The workers of an agent that this process runs.
    pub(crate) async fn working_for(&self, agent: AgentId) -> Result<Vec<TaskRecord>, StoreError> {
        let mut tasks = self.store().tasks(agent).await?;
        tasks.retain(|task| self.live().has(task.agent));
        Ok(tasks)
    }
}
