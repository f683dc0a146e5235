//! Orders that come to a run from its home.

use std::sync::OnceLock;

use tine_model::{AgentId, Cap, Decision, PermissionScope, StopKind};
use tine_nats::{Order, Orders};
use tine_store::{AnswerPermission, RequestStop, SetBudget, Store, UsageScope};

use super::making::Making;
use super::questions::BY_HOME;
use super::worker::RemoteWorker;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

impl RemoteWorker {
    /// Does what is ordered where the run comes from.
    pub(super) async fn obey(
        &self,
        runtime: &Runtime,
        making: &Making<'_>,
        base: &OnceLock<Used>,
    ) -> std::convert::Infallible {
        making.begun.cancelled().await;
        let agent = making.work.agent.0;
        let base = base.get().copied().unwrap_or_default();
        let mut orders = Orders::new(&self.cluster, making.held.job.run);
        loop {
            let order = orders.next().await;
            if let Err(error) = obey(runtime, (agent, base), order).await {
                tracing::warn!(%agent, %error, "an order could not be carried out");
            }
        }
    }
}

async fn obey(
    runtime: &Runtime,
    (agent, base): (AgentId, Used),
    order: Order,
) -> Result<(), RuntimeError> {
    let store: &dyn Store = &**runtime.store();
    match order {
        Order::Stop { kind } => {
            let how = StopKind::from_name(&kind).unwrap_or(StopKind::Hard);
            store.request_stop(RequestStop { agent, how, cascade: true }).await?;
            runtime.live().stop(agent, how);
        }
        Order::Answer { question, default_by: Some(by), .. } => {
            let Ok(id) = question.parse() else { return Ok(()) };
            store.default_permission(id, &by, runtime.now_ms()).await?;
            runtime.live().beat();
        }
        Order::Answer { question, decision, scope, rule, reason, default_by: None } => {
            let Ok(id) = question.parse() else { return Ok(()) };
            let scope = scope.as_deref().and_then(PermissionScope::from_name);
            let answer = AnswerPermission {
                id,
                decision: Decision::from_name(&decision).unwrap_or(Decision::Deny),
                scope: scope.unwrap_or(PermissionScope::Once),
                rule,
                by: BY_HOME.to_owned(),
                reason,
                now_ms: runtime.now_ms(),
            };
            store.answer_permission(answer).await?;
            runtime.live().beat();
        }
        Order::Caps { most } => set_caps(runtime, agent, (base, &most)).await?,
    }
    Ok(())
}

/// Tokens, and millionths of a USD, of requests that came with the rows: the store counts them as the tree's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    tokens: u64,
    micro_usd: u64,
}

/// The use of the tree of an agent.
pub(super) async fn used_in(runtime: &Runtime, agent: AgentId) -> Result<Used, RuntimeError> {
    let root = runtime.store().ancestry(agent).await?.first().map_or(agent, |root| root.id);
    let requests = runtime.store().requests(root, UsageScope::Subtree).await?;
    let mut used = Used::default();
    for request in requests {
        let usage = request.usage.unwrap_or_default();
        used.tokens += usage.prompt() + usage.output;
        used.micro_usd += request.micro_usd.unwrap_or(0);
    }
    Ok(used)
}

/// Lets the run use so much.
pub(super) async fn set_caps(
    runtime: &Runtime,
    agent: AgentId,
    (base, most): (Used, &[(String, u64)]),
) -> Result<(), RuntimeError> {
    if most.is_empty() {
        return Ok(());
    }
    let caps = most.iter().filter_map(|(word, most)| {
        let cap = Cap::from_name(word)?;
        let base = if cap == Cap::Tokens { base.tokens } else { base.micro_usd };
        Some((cap, Some(base.saturating_add(*most))))
    });
    let set = SetBudget { agent, caps: caps.collect(), now_ms: runtime.now_ms() };
    runtime.store().set_budget(set).await?;
    Ok(())
}
