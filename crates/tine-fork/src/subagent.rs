//! Forks: from parameters to a handle.
//!
//! A fork becomes a `Conversation` within the call. It then runs the same turn loop as tine's own agents, on a tracked task.
//! Equal heads are kept in memory once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use tine_cache::{Asked, Models, Plan};
use tine_history::Hash;
use tine_model::Message;
use tine_wire::Head;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::cache::{CacheEngine, CacheLane};
use crate::cache_safe::CacheSafeParams;
use crate::conversation::Conversation;
use crate::flight::{Flight, Seat};
use crate::handle::ForkHandle;
use crate::host::{Clock, Ids, SystemClock, SystemIds};
use crate::journal::{Journal, MemoryJournal};
use crate::outcome::{ForkError, ForkResult, ForkRunId, Identity};
use crate::params::{DelegateMode, ForkParams};
use crate::registry::{ForkEntry, ForkRegistry};
use crate::telemetry::{self, Traced};
use crate::work::{Start, Work};

/// Most siblings of one fan-out. More would overrun every provider's rate limits, and the machine's.
pub const SIBLINGS_MAX: usize = 1_024;

/// Rendered heads that are remembered before those that nobody uses any more are thrown away.
const HEADS_KEPT: usize = 64;

/// Makes forks.
#[async_trait]
pub trait ForkSubagent: Send + Sync {
    /// Forks. What is inherited is fixed when this is called, not when the fork begins to run. An error means that nothing was
    /// started; what goes wrong later is the [outcome](ForkResult::outcome) of the result.
    async fn fork(&self, params: ForkParams) -> Result<ForkHandle, ForkError>;
}

/// What differs between siblings.
#[derive(Debug, Clone)]
pub struct Sibling {
    /// Behind [`ForkParams::prompt_messages`], which all siblings share.
    pub prompt_messages: Vec<Message>,
    /// In place of [`ForkParams::fork_label`].
    pub fork_label: String,
}

impl Sibling {
    /// A sibling that is asked this, and is called by its first words.
    pub fn new(prompt: impl Into<String>) -> Self {
        const LABEL_CHARS: usize = 40;
        let prompt = prompt.into();
        let fork_label = prompt.chars().take(LABEL_CHARS).collect();
        Self { prompt_messages: vec![Message::user(prompt)], fork_label }
    }
}

/// Siblings that were started.
#[derive(Debug)]
#[must_use = "dropping the handles cancels the forks"]
pub struct FanOut {
    /// How they start, and why.
    pub plan: Plan,
    /// One each, in order.
    pub forks: Vec<ForkHandle>,
}

impl FanOut {
    /// Waits for all of them; the results are in the order of the siblings.
    pub async fn join(self) -> Vec<Result<ForkResult, ForkError>> {
        let ends = self.forks.into_iter().map(ForkHandle::join);
        futures_util::future::join_all(ends).await
    }
}

/// Forks inside this process. Clones are the same one: they share what is known of the provider's cache, so forks that could
/// write the same prefix twice wait for each other.
#[derive(Clone)]
pub struct DefaultForkSubagent {
    tasks: TaskTracker,
    engine: Arc<CacheEngine>,
    models: Arc<Models>,
    heads: Arc<Mutex<HashMap<Hash, Weak<Head>>>>,
    registry: Option<Arc<dyn ForkRegistry>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

impl Default for DefaultForkSubagent {
    fn default() -> Self {
        Self::new()
    }
}

impl DefaultForkSubagent {
    /// With the machine's clock and randomness, the bundled facts about models, and no registry.
    pub fn new() -> Self {
        Self {
            tasks: TaskTracker::new(),
            engine: CacheEngine::new(),
            models: Arc::new(Models::bundled()),
            heads: Arc::default(),
            registry: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        }
    }

    /// Writes forks down, but for those that skip their transcript.
    #[must_use]
    pub fn with_registry(self, registry: Arc<dyn ForkRegistry>) -> Self {
        Self { registry: Some(registry), ..self }
    }

    /// Knows of the cache what this engine knows: for hosts whose parents run on it too.
    #[must_use]
    pub fn with_engine(self, engine: Arc<CacheEngine>) -> Self {
        Self { engine, ..self }
    }

    /// Knows these models.
    #[must_use]
    pub fn with_models(self, models: Arc<Models>) -> Self {
        Self { models, ..self }
    }

    /// Takes time and ids from here.
    #[must_use]
    pub fn with_host(self, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self { clock, ids, ..self }
    }

    /// Forks once per sibling from the same parameters, and starts them as the cache engine plans: together, or one first that
    /// writes what the others then read. With [`DelegateMode::Sync`] it returns when all have ended.
    pub async fn fan_out(
        &self,
        shared: ForkParams,
        siblings: Vec<Sibling>,
        asked: Asked,
    ) -> Result<FanOut, ForkError> {
        match siblings.len() {
            0 => return Err(ForkError::NoSiblings),
            asked if asked > SIBLINGS_MAX => {
                return Err(ForkError::TooMany { asked, most: SIBLINGS_MAX });
            }
            _ => {}
        }
        let params: Vec<ForkParams> =
            siblings.into_iter().map(|sibling| of_sibling(&shared, sibling)).collect();
        for params in &params {
            params.check()?;
        }
        let mut base = self.conversation(&shared.cache_safe);
        let lane = self.lane(&shared);
        let told: Vec<String> = params.iter().map(ForkParams::told).collect();
        let now_ms = self.clock.now_ms();
        let plan = lane.plan(lane.situation(&mut base, &told, asked, now_ms));
        let lane = lane.waiting_as(&plan);
        let first = shortest(&told);
        let (stages, wait_max) = (plan.stages.clone(), lane.leader_wait_max);
        let flight = Flight::staged(first, stages, lane.facts.shares_at, wait_max);
        // Every member has its seat before any of them starts.
        let seats: Vec<Seat> = (0..params.len()).map(|member| flight.seat(member)).collect();
        let mut forks = Vec::with_capacity(params.len());
        for (params, seat) in params.into_iter().zip(seats) {
            let start = Start { conversation: base.fork(), lane: lane.clone(), seat: Some(seat) };
            forks.push(self.start(params, start).await?);
        }
        if shared.mode == DelegateMode::Sync {
            for fork in &forks {
                fork.ended().await;
            }
        }
        Ok(FanOut { plan, forks })
    }

    /// Returns when no fork is running any more. New ones may be made meanwhile, and are waited for.
    pub async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    /// A child's conversation. Heads that are equal are one.
    fn conversation(&self, params: &CacheSafeParams) -> Conversation {
        let head = Head::render(params.head());
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if heads.len() > HEADS_KEPT {
            heads.retain(|_, head| head.strong_count() > 0);
        }
        let known = heads.get(&head.hash()).and_then(Weak::upgrade).filter(|known| **known == head);
        let head = known.unwrap_or_else(|| Arc::new(head));
        heads.insert(head.hash(), Arc::downgrade(&head));
        drop(heads);
        params.conversation_with(head)
    }

    fn lane(&self, params: &ForkParams) -> CacheLane {
        let model = &params.cache_safe.model;
        let facts = self.models.facts(&model.to_string());
        CacheLane::new(Arc::clone(&self.engine), model, &params.parent_ctx.account, facts)
    }

    async fn start(&self, mut params: ForkParams, start: Start) -> Result<ForkHandle, ForkError> {
        let run_id = ForkRunId::from_random(self.ids.random());
        let agent: Arc<str> = match params.overrides.as_ref().and_then(|it| it.agent_id.as_deref())
        {
            Some(agent) => agent.into(),
            None => run_id.to_string().into(),
        };
        let identity = Identity {
            run_id,
            agent: Arc::clone(&agent),
            label: params.fork_label.clone(),
            source: params.query_source.clone(),
        };
        let registry = self.registry.clone().filter(|_| !params.skip_transcript);
        let journal = self.journal(&params, &identity, registry.as_deref()).await?;
        let abort = params.parent_ctx.abort.child_token();
        let (handle, end) = ForkHandle::pair(run_id, agent, abort.clone());
        let span = telemetry::span(&params, &identity);
        telemetry::check_traceparent(&mut params, &span);
        let traced = Traced::fork(&params, &identity);
        let work = Work {
            params,
            identity,
            start,
            journal,
            registry,
            models: Arc::clone(&self.models),
            abort,
        };
        let run = async move {
            let result = traced.around(work.run()).await;
            traced.fork_ended(&result);
            end.finish(result);
        };
        self.tasks.spawn(run.instrument(span));
        Ok(handle)
    }

    async fn journal(
        &self,
        params: &ForkParams,
        identity: &Identity,
        registry: Option<&dyn ForkRegistry>,
    ) -> Result<Arc<dyn Journal>, ForkError> {
        let Some(registry) = registry else {
            let inherited = params.cache_safe.fork_context_messages.len();
            let journal = MemoryJournal::timed(Arc::clone(&self.clock)).behind(inherited);
            return Ok(Arc::new(journal));
        };
        let entry = ForkEntry {
            run_id: identity.run_id,
            parent: &params.parent_ctx.agent,
            agent: &identity.agent,
            label: &identity.label,
            source: &identity.source,
            directive: &params.told(),
        };
        registry.register(entry).await.map_err(ForkError::Registry)
    }
}

#[async_trait]
impl ForkSubagent for DefaultForkSubagent {
    async fn fork(&self, params: ForkParams) -> Result<ForkHandle, ForkError> {
        params.check()?;
        let mode = params.mode;
        let start = Start {
            conversation: self.conversation(&params.cache_safe),
            lane: self.lane(&params),
            seat: None,
        };
        let handle = self.start(params, start).await?;
        if mode == DelegateMode::Sync {
            handle.ended().await;
        }
        Ok(handle)
    }
}

fn of_sibling(shared: &ForkParams, sibling: Sibling) -> ForkParams {
    let mut prompt_messages = shared.prompt_messages.clone();
    prompt_messages.extend(sibling.prompt_messages);
    ForkParams { prompt_messages, fork_label: sibling.fork_label, ..shared.clone() }
}

/// The member that starts fastest leads: the one with the least to read.
fn shortest(told: &[String]) -> usize {
    let lengths = told.iter().map(String::len).enumerate();
    lengths.min_by_key(|(_, length)| *length).map_or(0, |(index, _)| index)
}
