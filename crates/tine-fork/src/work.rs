//! One fork at work, on its own task: from its parameters to its result.

use std::sync::{Arc, Mutex, PoisonError};

use tine_cache::Models;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cache::CacheLane;
use crate::conversation::Conversation;
use crate::flight::Seat;
use crate::journal::Journal;
use crate::on_message::{ForkMessage, tell};
use crate::outcome::{ForkResult, Identity};
use crate::params::ForkParams;
use crate::placed::Placed;
use crate::registry::ForkRegistry;
use crate::run::{Observer, Run, RunEvent};
use crate::telemetry;

/// Where a fork begins.
pub(crate) struct Start {
    pub(crate) conversation: Conversation,
    pub(crate) lane: CacheLane,
    pub(crate) seat: Option<Seat>,
}

/// A fork that is about to run, on its own task.
pub(crate) struct Work {
    pub(crate) params: ForkParams,
    pub(crate) identity: Identity,
    pub(crate) start: Start,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) registry: Option<Arc<dyn ForkRegistry>>,
    pub(crate) models: Arc<Models>,
    /// Derived from the parent's.
    pub(crate) abort: CancellationToken,
}

impl Work {
    /// Runs it to its end, whichever that is.
    pub(crate) async fn run(self) -> ForkResult {
        let began = Instant::now();
        let Self { params, identity, start, journal, registry, models, abort } = self;
        let Start { mut conversation, lane, seat } = start;
        let watch = ForkWatch { params: &params, identity: &identity, first: Mutex::new(None) };
        let tools = Placed { tools: &*params.tool_dispatcher, parent: &params.parent_ctx };
        let run = Run {
            conversation: &mut conversation,
            llm: &*params.llm,
            tools: &tools,
            agent: &identity.agent,
            filter: &*params.tool_filter,
            journal: &*journal,
            observer: &watch,
            limits: params.limits(),
            reminder: params.overrides.as_ref().and_then(|it| it.critical_reminder.as_deref()),
            seat,
            cache: Some(lane),
            compactor: None,
            cancel: abort.clone(),
        };
        let report = tokio::select! {
            report = run.go(params.prompt_messages.clone()) => report,
            // Never ends; dropping it loses nothing.
            never = pass_on(params.external_abort.as_ref(), &abort) => match never {},
        };
        let first = watch.first.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut result = ForkResult::new(identity, report);
        result.cache = first;
        let prices = models.facts(&params.cache_safe.model.to_string()).prices;
        result.cost_usd = prices.cost(&result.requests);
        result.duration = began.elapsed();
        telemetry::turn_loop(&result);
        if let Some(registry) = registry
            && let Err(error) = registry.finished(&result).await
        {
            tracing::warn!(error = &*error, "the end of a fork could not be registered");
        }
        result
    }
}

/// Cancels the fork when its caller's own token is cancelled; never the other way round.
async fn pass_on(
    external: Option<&CancellationToken>,
    abort: &CancellationToken,
) -> std::convert::Infallible {
    if let Some(external) = external {
        external.cancelled().await;
        abort.cancel();
    }
    std::future::pending().await
}

/// What is seen of a fork while it runs.
struct ForkWatch<'a> {
    params: &'a ForkParams,
    identity: &'a Identity,
    /// What the cache did for the first request.
    first: Mutex<Option<tine_cache::Judgement>>,
}

impl Observer for ForkWatch<'_> {
    fn on_event(&self, event: RunEvent) {
        match event {
            RunEvent::Message(message) => {
                let Some(observer) = &self.params.on_message else { return };
                let Identity { run_id, agent, label, source } = self.identity;
                let message = &message;
                let message = ForkMessage { run_id: *run_id, agent, label, source, message };
                tell(&**observer, &message);
            }
            RunEvent::Answered(record) => {
                let judgement = record.cache.as_ref().map(|cache| &cache.judgement);
                let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
                if first.is_none() {
                    *first = judgement.cloned();
                }
            }
            _ => {}
        }
    }
}
