//! Workers: they take forks of other machines and run them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tine_cache::Models;
use tine_fork::client::LlmClient;
use tine_fork::host::{Clock, SystemClock};
use tine_fork::{CancellationToken, DefaultForkSubagent, ForkRunId, ToolDispatcher, ToolFilter};
use tine_model::in_full;

use crate::blob::BlobCache;
use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::fork_job::{FORK_JOBS, Names};
use crate::fork_run::ForkRun;
use crate::job::{HeldJob, Queue};
use crate::presence::Present;

/// Forks that a worker has at the same time, unless it is told otherwise.
const FORKS_AT_ONCE: usize = 4;

/// The pause before the servers are asked again.
const RETRY: Duration = Duration::from_secs(1);

/// Times that a worker says that it is there, within the time of a lease.
const PRESENCE: u32 = 3;

/// The parts that run a fork on a worker.
#[derive(Clone)]
pub struct ForkParts {
    /// Answers requests.
    pub llm: Arc<dyn LlmClient>,
    /// Answers tool calls.
    pub tools: Arc<dyn ToolDispatcher>,
    /// Refuses tool calls.
    pub filter: Arc<dyn ToolFilter>,
}

/// Finds what runs a fork. `None` for names that this worker does not know.
pub(crate) type Resolve = dyn Fn(&Names) -> Option<ForkParts> + Send + Sync;

/// Runs forks of [`NatsForkSubagent`](crate::NatsForkSubagent)s.
///
/// Each fork writes what happens into its [record](crate::Record) before it goes on. So a fork whose worker dies is taken over by another
/// when its [lease](crate::Settings::lease) ends: what was answered is not paid for again, and a tool call that had begun is not run
/// again; the model is told that nobody knows whether it was carried out. The worker after it sends the same messages, but marks them for
/// the provider's cache as a fork's first request does. A fork ends as failed after five workers.
///
/// Give all workers the same clients and tools under a name. Calls that the parent left open are not run.
pub struct NatsForkWorker {
    pub(crate) cluster: Cluster,
    pub(crate) name: String,
    labels: Vec<String>,
    forks_at_once: usize,
    pub(crate) resolve: Box<Resolve>,
    pub(crate) cache: Option<BlobCache>,
    pub(crate) models: Arc<Models>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Knows what this process has written to the provider's cache.
    pub(crate) forks: DefaultForkSubagent,
}

impl NatsForkWorker {
    /// A worker of this name, which tells it from others: letters, digits, `-` and `_`. `resolve` finds what runs a fork; `None` ends
    /// the fork as failed.
    pub fn new(
        cluster: Cluster,
        name: impl Into<String>,
        resolve: impl Fn(&Names) -> Option<ForkParts> + Send + Sync + 'static,
    ) -> Self {
        Self {
            cluster,
            name: name.into(),
            labels: Vec::new(),
            forks_at_once: FORKS_AT_ONCE,
            resolve: Box::new(resolve),
            cache: None,
            models: Arc::new(Models::bundled()),
            clock: Arc::new(SystemClock),
            forks: DefaultForkSubagent::new(),
        }
    }

    /// Takes forks for these labels, beside those that any worker may take.
    #[must_use]
    pub fn with_labels(self, labels: impl IntoIterator<Item = String>) -> Self {
        Self { labels: labels.into_iter().collect(), ..self }
    }

    /// Has so many forks at the same time, at least one.
    #[must_use]
    pub fn with_forks_at_once(self, forks: usize) -> Self {
        Self { forks_at_once: forks.max(1), ..self }
    }

    /// Keeps what forks inherit on disk.
    #[must_use]
    pub fn with_cache(self, cache: BlobCache) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Knows these models.
    #[must_use]
    pub fn with_models(self, models: Arc<Models>) -> Self {
        let forks = self.forks.with_models(Arc::clone(&models));
        Self { models, forks, ..self }
    }

    /// Takes the time from here.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Takes forks until `stop` is cancelled, and ends with the last of those that it has. Servers that are away are waited for. Dropped
    /// before it returns, it leaves its forks to other workers, which have them when their leases end.
    ///
    /// # Errors
    ///
    /// The queue of jobs cannot be opened.
    pub async fn run(&self, stop: &CancellationToken) -> Result<(), ClusterError> {
        let queue = Queue::open(&self.cluster, FORK_JOBS, &self.labels).await?;
        let running = Running::default();
        // Both are only polled. Whoever says that the worker is there holds no fork up.
        tokio::select! {
            () = self.take_all(queue, &running, stop) => {}
            never = self.tell_presence(&running) => match never {},
        }
        if let Err(error) = self.cluster.leave(&self.name).await {
            tracing::debug!(
                error = in_full(&error),
                "the servers are not told that a worker leaves"
            );
        }
        Ok(())
    }

    async fn take_all(&self, queue: Queue, names: &Running, stop: &CancellationToken) {
        let mut idle = Some(queue);
        let mut taking: Option<Taking> = None;
        let mut running = FuturesUnordered::new();
        while !(stop.is_cancelled() && taking.is_none() && running.is_empty()) {
            if taking.is_none() && !stop.is_cancelled() && running.len() < self.forks_at_once {
                taking = idle.take().map(|queue| Box::pin(take(queue, stop.clone())) as Taking);
            }
            // All branches are cancel-safe: the first two are only polled, and go on in the next round.
            tokio::select! {
                (queue, job) = taken(&mut taking) => {
                    (taking, idle) = (None, Some(queue));
                    if let Some(job) = job {
                        names.lock().push(job.job.run);
                        running.push(self.carry(job));
                    }
                }
                Some(run) = running.next() => names.lock().retain(|name| *name != run),
                () = stop.cancelled(), if !stop.is_cancelled() => {}
            }
        }
    }

    /// Runs one fork, as far as this worker has it. Returns its run.
    async fn carry(&self, held: HeldJob) -> ForkRunId {
        let run = held.job.run;
        let lost = CancellationToken::new();
        let fork = ForkRun { worker: self, held: &held, lost: &lost };
        let is_done = tokio::select! {
            is_done = fork.go() => is_done,
            () = held.beat(&lost) => false,
        };
        if is_done && let Err(error) = held.done().await {
            // Whoever gets it again finds the end in its record.
            tracing::debug!(error = in_full(&error), %run, "a fork that has ended stays in its queue");
        }
        run
    }

    async fn tell_presence(&self, running: &Running) -> Infallible {
        loop {
            let present = Present {
                worker: self.name.clone(),
                labels: self.labels.clone(),
                jobs: self.forks_at_once,
                running: running.lock().iter().map(ForkRunId::to_string).collect(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            };
            if let Err(error) = self.cluster.tell_presence(&present).await {
                tracing::debug!(error = in_full(&error), "the servers are not told of a worker");
            }
            tokio::time::sleep(self.cluster.lease() / PRESENCE).await;
        }
    }
}

/// The runs that a worker has.
#[derive(Default)]
struct Running(Mutex<Vec<ForkRunId>>);

impl Running {
    fn lock(&self) -> MutexGuard<'_, Vec<ForkRunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A look into the queue, which is not to be dropped.
type Taking = Pin<Box<dyn Future<Output = (Queue, Option<HeldJob>)> + Send>>;

/// Looks for a job. One that comes when the worker is to end is given back.
async fn take(mut queue: Queue, stop: CancellationToken) -> (Queue, Option<HeldJob>) {
    let job = match queue.next().await {
        Ok(job) => job,
        Err(error) => {
            tracing::warn!(error = in_full(&error), "no jobs are handed over");
            tokio::time::sleep(RETRY).await;
            None
        }
    };
    let Some(unwanted) = job.as_ref().filter(|_| stop.is_cancelled()) else { return (queue, job) };
    if let Err(error) = unwanted.give_back().await {
        tracing::debug!(error = in_full(&error), "a job waits for its lease to end");
    }
    (queue, None)
}

async fn taken(taking: &mut Option<Taking>) -> (Queue, Option<HeldJob>) {
    match taking {
        Some(taking) => taking.await,
        None => std::future::pending().await,
    }
}
