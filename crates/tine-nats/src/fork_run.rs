//! One fork on a worker: from its job to its end, or to the loss of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tine_fork::host::{Clock, Ids};
use tine_fork::message::Message;
use tine_fork::{
    CacheSafeParams, CancellationToken, DelegateMode, ForkHandle, ForkParams, ForkResult,
    ForkRunId, ForkSubagent as _, Outcome, ParentContext,
};
use tine_model::in_full;

use crate::blob::BlobHash;
use crate::error::ClusterError;
use crate::event::{Ended, Event, Happened, Text};
use crate::fork_events::EndDetail;
use crate::fork_job::ForkWork;
use crate::fork_past::{Next, Past, ended};
use crate::fork_watch::{OneLog, Watch, WatchedClient, WatchedTools};
use crate::fork_worker::{ForkParts, NatsForkWorker};
use crate::job::HeldJob;
use crate::order::{Order, Orders};
use crate::record::Record;
use crate::writer::{RecordLost, Writer};

/// Most workers that a fork may take with it.
const ATTEMPTS_MAX: u32 = 5;

/// The pause before the servers are asked again.
const RETRY: Duration = Duration::from_secs(1);

/// The job of a fork, as a worker holds it.
pub(crate) struct ForkRun<'a> {
    pub(crate) worker: &'a NatsForkWorker,
    pub(crate) held: &'a HeldJob,
    /// Cancelled when another worker may have it.
    pub(crate) lost: &'a CancellationToken,
}

/// The cause for which a fork is not run here.
enum Unrun {
    /// It has failed, for everybody.
    Failed(String),
    /// Another worker has it, or will.
    Lost,
}

impl From<RecordLost> for Unrun {
    fn from(RecordLost: RecordLost) -> Self {
        Self::Lost
    }
}

/// The end of a fork, over all workers that have had it.
struct End {
    outcome: Outcome,
    text: Option<String>,
    /// `None` where it did not come so far.
    counts: Option<EndDetail>,
}

/// A fork that can be run.
struct Ready {
    work: ForkWork,
    parts: ForkParts,
    inherited: CacheSafeParams,
    prompt: Vec<Message>,
}

impl ForkRun<'_> {
    /// Runs it. Returns true where its job is done with: it has ended, here or elsewhere, or nobody can run it.
    pub(crate) async fn go(self) -> bool {
        let run = self.held.job.run;
        let (worker, now_ms) = (self.worker, self.worker.clock.now_ms());
        let traceparent = self.held.job.traceparent.clone();
        let claimed =
            Record::claim(&worker.cluster, (run, &worker.name), traceparent, now_ms).await;
        let (record, events) = match claimed {
            Ok(claimed) => claimed,
            Err(ClusterError::Ended) => return true,
            Err(error) => {
                tracing::warn!(error = in_full(&error), %run, "a fork cannot be taken");
                return !is_passing(&error);
            }
        };
        let attempt = record.attempt();
        let (writer, writing) = Writer::of(record, Arc::clone(&worker.clock));
        // Both are only polled; whoever is left behind when the other ends is dropped on purpose.
        tokio::select! {
            biased;
            () = self.lost.cancelled() => false,
            is_done = self.to_its_end(&events, attempt, writer) => is_done,
            written = writing.go() => {
                let error = written.err().map(|error| in_full(&error));
                tracing::warn!(error, %run, "a worker has lost a fork");
                false
            }
        }
    }

    /// Returns true once the end stands in its record.
    async fn to_its_end(&self, events: &[Event], attempt: u32, writer: Writer) -> bool {
        let end = match self.run(events, attempt, &writer).await {
            Ok(end) => end,
            Err(Unrun::Lost) => return false,
            Err(Unrun::Failed(why)) => {
                End { outcome: Outcome::Failed(why), text: None, counts: None }
            }
        };
        if let Some(text) = end.text {
            writer.note(Happened::Report(Text { text }));
        }
        let (outcome, error) = ended(&end.outcome);
        let detail = serde_json::to_value(end.counts).unwrap_or_default();
        writer.write(Happened::Ended(Ended { outcome, error, detail })).await.is_ok()
    }

    async fn run(&self, events: &[Event], attempt: u32, writer: &Writer) -> Result<End, Unrun> {
        if attempt > ATTEMPTS_MAX {
            let why = format!("{ATTEMPTS_MAX} workers were lost over this fork");
            return Err(Unrun::Failed(why));
        }
        let past = Past::read(events).map_err(|error| Unrun::Failed(in_full(&error)))?;
        if past.has_gaps {
            let why = "the servers no longer have all that the worker before this one has written";
            return Err(Unrun::Failed(why.to_owned()));
        }
        let Ready { work, parts, inherited, prompt } = self.ready().await?;
        let prompts = prompt.len();
        let (turns, tool_uses) = past.counts(prompts);
        let (messages, known) = match past.next(prompt, work.reminder.as_deref()) {
            Next::GoOn { prompt, known } => (prompt, known),
            Next::Over(outcome) => {
                let counts = Some(EndDetail { turns, tool_uses });
                return Ok(End { outcome, text: past.final_text(prompts), counts });
            }
        };
        let clock = Arc::clone(&self.worker.clock);
        let inherits = inherited.fork_context_messages.len();
        let watch = Watch::new(writer.clone(), clock, attempt);
        let watch = Arc::new(watch.behind((inherits, known), past.requests));
        let params = self.params(&work, parts, inherited, &watch);
        let now_ms = self.worker.clock.now_ms();
        let params = ForkParams {
            prompt_messages: messages,
            max_turns: work.max_turns.saturating_sub(turns),
            timeout: work.timeout().map(|limit| past.left_of(limit, now_ms)),
            ..params
        };
        let result = self.fork(params, watch).await?;
        let counts =
            EndDetail { turns: turns + result.turns, tool_uses: tool_uses + result.tool_uses };
        Ok(End { outcome: result.outcome, text: result.final_text, counts: Some(counts) })
    }

    /// Fetches what the fork needs.
    async fn ready(&self) -> Result<Ready, Unrun> {
        let Self { worker, held, .. } = self;
        let work: ForkWork = serde_json::from_value(held.job.work.clone())
            .map_err(|error| Unrun::Failed(format!("the job cannot be read: {error}")))?;
        let parts = (worker.resolve)(&work.names).ok_or_else(|| {
            let (worker, names) = (&worker.name, &work.names);
            Unrun::Failed(format!("the worker `{worker}` does not have {names}"))
        })?;
        loop {
            match work.download(&worker.cluster, worker.cache.as_ref()).await {
                Ok((inherited, prompt)) => return Ok(Ready { work, parts, inherited, prompt }),
                // The beat of the job ends this where the servers stay away.
                Err(error) if is_passing(&error) => {
                    tracing::warn!(error = in_full(&error), "a fork waits for what it inherits");
                    tokio::time::sleep(RETRY).await;
                }
                Err(error) => return Err(Unrun::Failed(in_full(&error))),
            }
        }
    }

    fn params(
        &self,
        work: &ForkWork,
        parts: ForkParts,
        inherited: CacheSafeParams,
        watch: &Arc<Watch>,
    ) -> ForkParams {
        let ForkParts { llm, tools, filter } = parts;
        let facts = self.worker.models.facts(&inherited.model.to_string());
        let llm = WatchedClient {
            llm,
            watch: Arc::clone(watch),
            cluster: self.worker.cluster.clone(),
            prefix: prefix(&inherited, &work.account),
            shares_at: facts.shares_at,
            has_boarded: AtomicBool::new(false),
        };
        let tools = WatchedTools { tools, watch: Arc::clone(watch) };
        let parent = ParentContext {
            account: work.account.as_str().into(),
            delegation_depth: work.delegation_depth,
            traceparent: self.held.job.traceparent.clone(),
            ..ParentContext::new(work.parent.as_str())
        };
        ForkParams {
            tool_filter: filter,
            query_source: work.source(),
            fork_label: work.label.clone(),
            overrides: Some(work.overrides()),
            mode: DelegateMode::ForkAndForget,
            ..ForkParams::new(parent, (Arc::new(llm), Arc::new(tools)), inherited, "")
        }
    }

    /// Runs the fork until it ends or is stopped.
    async fn fork(&self, params: ForkParams, watch: Arc<Watch>) -> Result<ForkResult, Unrun> {
        let (cluster, run) = (&self.worker.cluster, self.held.job.run);
        let clock: Arc<dyn Clock> = Arc::clone(&watch.clock);
        let forks = self.worker.forks.clone().with_registry(Arc::new(OneLog(watch)));
        let forks = forks.with_host(clock, Arc::new(Named(run)));
        // A fork that was stopped while it waited sends nothing.
        if let Ok(Some(Order::Stop { .. })) = cluster.last_order(run).await {
            params.parent_ctx.abort.cancel();
        }
        let fork = forks.fork(params).await.map_err(|error| Unrun::Failed(in_full(&error)))?;
        let abort = fork.abort_token();
        // Both are only polled. Dropping a handle cancels its fork, which has no record any more then.
        tokio::select! {
            result = ForkHandle::join(fork) => result.map_err(|_| Unrun::Lost),
            never = obey(Orders::new(cluster, run), &abort) => match never {},
        }
    }
}

/// Stops a fork when that is ordered.
async fn obey(mut orders: Orders, abort: &CancellationToken) -> std::convert::Infallible {
    loop {
        match orders.next().await {
            Order::Stop { .. } => abort.cancel(),
            // A fork of the library asks nobody, and has no caps of a tree.
            Order::Answer { .. } | Order::Caps { .. } => {}
        }
    }
}

/// Returns true for an error that may be gone at the next try, here or on another worker.
fn is_passing(error: &ClusterError) -> bool {
    match error {
        ClusterError::Unreadable { .. }
        | ClusterError::Gone(_)
        | ClusterError::Corrupt(_)
        | ClusterError::Label(_)
        | ClusterError::Forgotten
        | ClusterError::Ended => false,
        ClusterError::Url { .. }
        | ClusterError::Credentials { .. }
        | ClusterError::Unreachable { .. }
        | ClusterError::Refused { .. }
        | ClusterError::NoJetStream(_)
        | ClusterError::Server { .. }
        | ClusterError::Fenced
        | ClusterError::Cache(_) => true,
    }
}

/// Names a prefix among all machines. An account's name is none that a key could have.
fn prefix(inherited: &CacheSafeParams, account: &str) -> String {
    let messages = inherited.prefix_hash().map(|hash| hash.to_vec());
    let mut whole = messages.unwrap_or_default();
    whole.extend(inherited.cache_key_hash().to_be_bytes());
    whole.extend(account.as_bytes());
    BlobHash::of(&whole).to_string()
}

/// Gives a fork the id that it has with its caller.
struct Named(ForkRunId);

impl Ids for Named {
    fn random(&self) -> [u8; 16] {
        *self.0.as_bytes()
    }
}
