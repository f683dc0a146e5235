//! Forks on other machines, as their caller has them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tine_cache::{Judgement, Models};
use tine_fork::host::{Ids, SystemIds};
use tine_fork::message::{Message, Role};
use tine_fork::run::{JournalError, RunError};
use tine_fork::{
    CancellationToken, DelegateMode, ForkError, ForkHandle, ForkMessage, ForkParams, ForkResult,
    ForkRunId, ForkSubagent, OnMessage, OnMessageChain, Outcome, QuerySource,
};
use tine_model::{ModelRef, Spent, Usage, in_full};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::event::{Cost, Happened};
use crate::fork_events::{CostDetail, EndDetail};
use crate::fork_job::{FORK_JOBS, ForkWork, Names, read_message};
use crate::job::{ANY, JOB_VERSION, Job};
use crate::order::Order;
use crate::record::{Events, Read};

/// The pause before the servers are asked again.
const RETRY: Duration = Duration::from_secs(1);

/// Longest wait for the end of a fork that was stopped and that no worker has begun. Whoever takes it later finds that it was stopped.
const UNBEGUN_END_MAX: Duration = Duration::from_secs(2);

/// Longest wait for the end of one that a worker has, beside the time of a lease: as long as tools may take that ignore their token.
const END_MAX: Duration = Duration::from_secs(15);

/// Forks that run on workers: [`ForkSubagent`] over NATS JetStream. Clones are the same one.
///
/// A worker ([`NatsForkWorker`](crate::NatsForkWorker)) runs the fork with a client, tools and a filter of its own, which it finds by
/// [`Names`]: those of the [`ForkParams`] cannot travel and are not used. All else of them counts, and the same bytes go to the provider
/// as from [`DefaultForkSubagent`](tine_fork::DefaultForkSubagent). A fork waits until a worker takes it; its time limit runs from then on.
///
/// All that the fork does stands in its [events](crate::event) in the order in which it happens. There, `entry` is the JSON text of a
/// [`PortableMessage`](tine_fork::message::PortableMessage) in a string, so that a provider's own bytes survive. The `detail` of `cost`
/// has `started_ms`, `stop`, `items` and `body_bytes`, and where they are known `reply`, `model` and `cache`; that of `ended` has `turns`
/// and `tool_uses` of all workers. A call that is refused has an end and no beginning.
///
/// Messages come to [`ForkParams::on_message`] as soon as they stand in the fork's record. The record stays on the servers for
/// [`KEPT`](crate::KEPT), also where [`ForkParams::skip_transcript`] is set. A handle that is dropped or cancelled, and each token of the
/// parameters, stops the worker's run. Of a failed fork the result has the cause in words alone, in [`Outcome::Failed`].
#[derive(Clone)]
pub struct NatsForkSubagent {
    cluster: Cluster,
    names: Names,
    label: String,
    models: Arc<Models>,
    ids: Arc<dyn Ids>,
    tasks: TaskTracker,
}

impl NatsForkSubagent {
    /// Forks on any worker, which finds client, tools and filter by these names.
    pub fn new(cluster: Cluster, names: Names) -> Self {
        Self {
            cluster,
            names,
            label: ANY.to_owned(),
            models: Arc::new(Models::bundled()),
            ids: Arc::new(SystemIds),
            tasks: TaskTracker::new(),
        }
    }

    /// Forks on workers with this label ([`is_label`](crate::is_label)).
    #[must_use]
    pub fn on(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Knows the prices of these models.
    #[must_use]
    pub fn with_models(self, models: Arc<Models>) -> Self {
        Self { models, ..self }
    }

    /// Takes the ids of runs from here.
    #[must_use]
    pub fn with_ids(self, ids: Arc<dyn Ids>) -> Self {
        Self { ids, ..self }
    }

    /// Returns when no fork is waited for any more.
    pub async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }
}

#[async_trait]
impl ForkSubagent for NatsForkSubagent {
    async fn fork(&self, params: ForkParams) -> Result<ForkHandle, ForkError> {
        check(&params)?;
        let mode = params.mode;
        let run = ForkRunId::from_random(self.ids.random());
        let failed = |error: ClusterError| ForkError::Registry(Box::new(error));
        let work = ForkWork::upload(&self.cluster, self.names.clone(), &params).await;
        let work = work.and_then(|work| {
            serde_json::to_value(work)
                .map_err(|source| ClusterError::Unreadable { what: "a fork", source })
        });
        let job = Job {
            version: JOB_VERSION,
            run,
            kind: FORK_JOBS.to_owned(),
            label: self.label.clone(),
            traceparent: params.parent_ctx.traceparent.clone(),
            work: work.map_err(failed)?,
        };
        let agent = params.overrides.and_then(|overrides| overrides.agent_id);
        let agent: Arc<str> = agent.unwrap_or_else(|| run.to_string()).into();
        let abort = params.parent_ctx.abort.child_token();
        let (handle, end) = ForkHandle::pair(run, Arc::clone(&agent), abort.clone());
        let followed = Followed {
            cluster: self.cluster.clone(),
            run,
            agent,
            label: params.fork_label,
            source: params.query_source,
            on_message: OnMessageChain::new(params.on_message),
            abort,
            external_abort: params.external_abort,
            models: Arc::clone(&self.models),
            model: params.cache_safe.model.clone(),
            began: Instant::now(),
            so_far: SoFar::default(),
        };
        self.tasks.spawn(async move { end.finish(followed.follow().await) });
        // The handle is there already: where this wait is given up, the job is stopped, whether it was kept or not.
        self.cluster.submit(&job).await.map_err(failed)?;
        if mode == DelegateMode::Sync {
            handle.ended().await;
        }
        Ok(handle)
    }
}

/// There is something to answer, and a request for it can be made.
fn check(params: &ForkParams) -> Result<(), ForkError> {
    params.cache_safe.head().check()?;
    let inherited = || params.cache_safe.fork_context_messages.to_vec().last().map(|m| m.role());
    match params.prompt_messages.last().map(Message::role).or_else(inherited) {
        Some(Role::User) => Ok(()),
        Some(Role::Assistant | Role::System) | None => Err(ForkError::NothingToAnswer),
    }
}

/// A fork on another machine.
struct Followed {
    cluster: Cluster,
    run: ForkRunId,
    agent: Arc<str>,
    label: String,
    source: QuerySource,
    on_message: OnMessageChain,
    abort: CancellationToken,
    external_abort: Option<CancellationToken>,
    models: Arc<Models>,
    model: ModelRef,
    began: Instant,
    so_far: SoFar,
}

/// The sum of its events.
#[derive(Default)]
struct SoFar {
    has_begun: bool,
    messages: Vec<Arc<Message>>,
    usage: Usage,
    requests: Vec<Spent>,
    /// Requests that are counted.
    counted: HashSet<String>,
    judgement: Option<Judgement>,
    counts: Option<EndDetail>,
}

impl Followed {
    /// Reads its record to the end.
    async fn follow(mut self) -> ForkResult {
        let mut events = Events::new(&self.cluster, self.run, 0);
        let stop = stop(self.cluster.clone(), self.run, self.abort.clone());
        tokio::pin!(stop);
        let (mut aborted, mut is_told) = (None, false);
        let end = loop {
            let wait_max = match self.so_far.has_begun {
                true => self.cluster.lease() + END_MAX,
                false => UNBEGUN_END_MAX,
            };
            let patience = aborted.map(|aborted: Instant| aborted + wait_max);
            // All branches are cancel-safe: a reader loses nothing, `stop` is only polled, and the others only wait.
            tokio::select! {
                read = next(&mut events) => match self.take(read) {
                    Ok(None) => {}
                    Ok(Some(outcome)) => break Ok(outcome),
                    Err(error) => break Err(error),
                },
                () = cancelled(self.external_abort.as_ref()), if aborted.is_none() => {
                    self.abort.cancel();
                    aborted = Some(Instant::now());
                }
                () = self.abort.cancelled(), if aborted.is_none() => aborted = Some(Instant::now()),
                () = &mut stop, if !is_told => is_told = true,
                () = until(patience) => break Ok(Outcome::Aborted),
            }
        };
        self.result(end)
    }

    /// Takes an item of the record. Returns the outcome at its end.
    fn take(&mut self, read: Result<Read, ClusterError>) -> Result<Option<Outcome>, ClusterError> {
        let event = match read? {
            Read::Event(event) => event,
            Read::Missed { from, to } => {
                tracing::warn!(run = %self.run, from, to, "events of a fork are gone from the servers");
                return Ok(None);
            }
        };
        match event.happened()? {
            Happened::Started(_) => self.so_far.has_begun = true,
            Happened::Entry(entry) => {
                let text = entry.entry.as_str().unwrap_or_default();
                self.tell(Arc::new(read_message(text)?));
            }
            Happened::Cost(cost) => self.count(cost),
            Happened::Ended(ended) => {
                self.so_far.counts = serde_json::from_value(ended.detail).ok();
                return Ok(Some(Outcome::from_word(&ended.outcome, ended.error)));
            }
            Happened::Request(_)
            | Happened::Text(_)
            | Happened::Tool(_)
            | Happened::Question(_)
            | Happened::Answer(_)
            | Happened::Report(_)
            | Happened::Unknown => {}
        }
        Ok(None)
    }

    fn tell(&mut self, message: Arc<Message>) {
        let (run_id, agent, label, source) = (self.run, &*self.agent, &*self.label, &self.source);
        let seen = ForkMessage { run_id, agent, label, source, message: &message };
        self.on_message.on_message(&seen);
        self.so_far.messages.push(message);
    }

    fn count(&mut self, cost: Cost) {
        if !self.so_far.counted.insert(cost.request) {
            return;
        }
        let detail = serde_json::from_value::<CostDetail>(cost.detail).ok();
        let usage = Usage::from(cost.tokens);
        // A request that came to nothing that was reported is not counted by the turn loop either.
        if usage != Usage::default() {
            let started_ms = detail.as_ref().map_or(0, |detail| detail.started_ms);
            self.so_far.usage += usage;
            self.so_far.requests.push(Spent { started_ms, usage });
        }
        if self.so_far.judgement.is_none() {
            self.so_far.judgement = detail.and_then(|detail| detail.judgement());
        }
    }

    fn result(self, end: Result<Outcome, ClusterError>) -> ForkResult {
        let SoFar { messages, usage, requests, judgement, counts, .. } = self.so_far;
        let (outcome, error) = match end {
            Ok(outcome) => (outcome, None),
            Err(error) => {
                let outcome = Outcome::Failed(in_full(&error));
                (outcome, Some(RunError::Journal(JournalError(Box::new(error)))))
            }
        };
        let own = || messages.iter().filter(|message| message.role() == Role::Assistant);
        let counts = counts.unwrap_or_else(|| EndDetail {
            turns: own().count() as u32,
            tool_uses: own().map(|message| message.tool_calls().count() as u32).sum(),
        });
        let final_text = own().map(|message| message.text()).rfind(|text| !text.is_empty());
        ForkResult {
            run_id: self.run,
            agent: self.agent,
            label: self.label,
            source: self.source,
            outcome,
            final_text,
            usage,
            cache: judgement,
            cost_usd: self.models.facts(&self.model.to_string()).prices.cost(&requests),
            requests,
            turns: counts.turns,
            tool_uses: counts.tool_uses,
            duration: self.began.elapsed(),
            error,
            messages,
        }
    }
}

/// The next item; waits for servers that are away.
async fn next(events: &mut Events) -> Result<Read, ClusterError> {
    loop {
        match events.next().await {
            Err(error @ ClusterError::Server { .. }) => {
                tracing::debug!(error = in_full(&error), "the record of a fork cannot be read yet");
                tokio::time::sleep(RETRY).await;
            }
            read => return read,
        }
    }
}

/// Orders the worker to stop once `abort` is cancelled.
async fn stop(cluster: Cluster, run: ForkRunId, abort: CancellationToken) {
    abort.cancelled().await;
    let order = Order::Stop { kind: "abort".to_owned() };
    while let Err(error) = cluster.order(run, &order).await {
        tracing::warn!(error = in_full(&error), %run, "a fork cannot be stopped yet");
        tokio::time::sleep(RETRY).await;
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
