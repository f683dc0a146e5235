//! A worker: takes runs of a cluster, and makes them here.
//!
//! Each run has a store of its own, made of the rows that came with it. It goes the same way as every run, through the same turn loop,
//! guard and wall; a [mirror](super::mirror) writes into its record what it writes into its log, before it goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tine_guard::Rules;
use tine_model::{AgentId, in_full};
use tine_nats::event::Happened;
use tine_nats::{BlobCache, Cluster, ClusterError, HeldJob, Present, Queue, Record};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::job::{KIND, Work};
use super::making::{Making, failed};
use crate::confine::Confinement;
use crate::error::RuntimeError;
use crate::owner::{Owner, is_alive, sweep_owners};
use crate::ports::Ports;
use crate::worktrees::WorktreePolicy;

/// Times that a job is handed over before it is given up: one that ends its workers would end them all.
const TIMES_MAX: u64 = 5;

/// The pause where the servers hand no job over because they are away.
const AWAY: Duration = Duration::from_secs(1);

/// A worker: its name, and the things that it may use.
pub struct RemoteWorker {
    /// The servers.
    pub cluster: Cluster,
    /// Its name, which no other worker has.
    pub name: String,
    /// The labels of the jobs that it takes, beside those that any worker may take.
    pub labels: Vec<String>,
    /// Most runs at the same time.
    pub jobs: usize,
    /// The directory for the stores of its runs.
    pub directory: PathBuf,
    /// The rows and files that came with earlier jobs.
    pub blobs: BlobCache,
    /// Time, ids, and its own way to models.
    pub ports: Ports,
    /// The making of worktrees.
    pub worktrees: WorktreePolicy,
    /// Rules of this machine: what they deny is denied to every run.
    pub rules: Rules,
    /// The confinement of every run. No job widens it.
    pub confinement: Confinement,
    /// The version of the program.
    pub version: String,
    /// Of many runs at the same time, one fetches a repository.
    pub fetching: Mutex<()>,
}

/// Something that a worker tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerNews {
    /// A run begins.
    Began {
        /// The agent.
        agent: AgentId,
        /// The number of workers that have had it, this one included.
        attempt: u32,
    },
    /// A run has ended.
    Ended {
        /// The agent.
        agent: AgentId,
        /// The word of its outcome.
        outcome: String,
    },
    /// A run was given to another worker.
    Lost {
        /// The agent.
        agent: AgentId,
        /// Why.
        why: String,
    },
    /// The servers are away.
    Away(String),
}

/// Told of news.
pub(crate) type Tell<'a> = &'a (dyn Fn(WorkerNews) + Send + Sync);

impl RemoteWorker {
    /// The kind of the jobs that workers take.
    pub const KIND: &str = KIND;

    /// Works until `drain` is cancelled, and then until its runs have ended, or `cancel` is cancelled as well. Runs that are cut off go to
    /// other workers.
    pub async fn work(
        self: Arc<Self>,
        tell: Arc<dyn Fn(WorkerNews) + Send + Sync>,
        (drain, cancel): (CancellationToken, CancellationToken),
    ) -> Result<(), RuntimeError> {
        let own = Owner::register(&self.directory, self.ports.ids.random())?;
        let runs = folder_of(&self.directory, own.name());
        sweep(&self.directory);
        let mut queue = Queue::open(&self.cluster, KIND, &self.labels).await?;
        let places = Arc::new(Semaphore::new(self.jobs.max(1)));
        let running = Arc::new(std::sync::Mutex::new(Vec::<AgentId>::new()));
        let tasks = TaskTracker::new();
        let presence = self.tell_presence(&running);
        tokio::pin!(presence);
        loop {
            let place = tokio::select! {
                place = Arc::clone(&places).acquire_owned() => place,
                never = &mut presence => match never {},
                () = drain.cancelled() => break,
            };
            let Ok(place) = place else { break };
            // Not cut short: a job that is handed over at that moment would wait for its lease to end.
            let next = queue.next();
            tokio::pin!(next);
            let held = tokio::select! {
                held = &mut next => held,
                never = &mut presence => match never {},
            };
            match held {
                Ok(Some(held)) => {
                    let (worker, tell, cancel) =
                        (Arc::clone(&self), Arc::clone(&tell), cancel.clone());
                    let (running, runs) = (Arc::clone(&running), runs.clone());
                    tasks.spawn(async move {
                        worker.take(held, (&*tell, &running), (&runs, &cancel)).await;
                        drop(place);
                    });
                }
                Ok(None) => {}
                Err(error) => {
                    tell(WorkerNews::Away(in_full(&error)));
                    tokio::time::sleep(AWAY).await;
                }
            }
            if drain.is_cancelled() {
                break;
            }
        }
        tasks.close();
        tokio::select! {
            () = tasks.wait() => {}
            never = &mut presence => match never {},
            () = cancel.cancelled() => tasks.wait().await,
        }
        let _ = std::fs::remove_dir_all(&runs);
        // Who looks finds it gone by itself a little later.
        let _ = self.cluster.leave(&self.name).await;
        Ok(())
    }

    async fn tell_presence(
        &self,
        running: &std::sync::Mutex<Vec<AgentId>>,
    ) -> std::convert::Infallible {
        loop {
            let now = running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            let present = Present {
                worker: self.name.clone(),
                labels: self.labels.clone(),
                jobs: self.jobs,
                running: now.iter().map(AgentId::to_string).collect(),
                version: self.version.clone(),
            };
            if let Err(error) = self.cluster.tell_presence(&present).await {
                tracing::debug!(%error, "the servers do not know of this worker");
            }
            tokio::time::sleep(self.cluster.lease() / 4).await;
        }
    }

    /// Makes one run, whatever becomes of it.
    async fn take(
        &self,
        held: HeldJob,
        (tell, running): (Tell<'_>, &std::sync::Mutex<Vec<AgentId>>),
        (runs, cancel): (&Path, &CancellationToken),
    ) {
        let lost = cancel.child_token();
        let agents = || running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let work = serde_json::from_value::<Work>(held.job.work.clone());
        let agent = work.as_ref().ok().map(|work| work.agent.0);
        agents().extend(agent);
        let made = tokio::select! {
            made = Box::pin(self.make((&held, work), tell, (runs, &lost))) => made,
            () = held.beat(&lost) => Ok(()),
        };
        agents().retain(|other| Some(*other) != agent);
        if cancel.is_cancelled()
            && made.is_err()
            && let Err(error) = held.give_back().await
        {
            tracing::debug!(%error, "a job waits for its lease to end");
        }
        match (made, agent) {
            (Err(error), Some(agent)) => tell(WorkerNews::Lost { agent, why: in_full(&error) }),
            (Err(error), None) => tracing::warn!(%error, "a job that cannot be read"),
            (Ok(()), _) => {}
        }
    }

    async fn make(
        &self,
        (held, work): (&HeldJob, Result<Work, serde_json::Error>),
        tell: Tell<'_>,
        (runs, lost): (&Path, &CancellationToken),
    ) -> Result<(), RuntimeError> {
        let (run, clock) = (held.job.run, &self.ports.clock);
        let traceparent = held.job.traceparent.clone();
        let named = (run, self.name.as_str());
        let claimed = Record::claim(&self.cluster, named, traceparent, clock.now_ms()).await;
        let (mut record, before) = match claimed {
            Ok(claimed) => claimed,
            Err(ClusterError::Ended) => return Ok(held.done().await?),
            Err(error) => return Err(error.into()),
        };
        let work = match work {
            Ok(work) if held.times <= TIMES_MAX => work,
            unusable => {
                let why = unusable.err().map_or_else(
                    || format!("{} workers had this run, and none has ended it", held.times - 1),
                    |error| format!("the job cannot be read: {error}"),
                );
                record.write(&Happened::Ended(failed(why)), clock.now_ms()).await?;
                return Ok(held.done().await?);
            }
        };
        let agent = work.agent.0;
        tell(WorkerNews::Began { agent, attempt: record.attempt() });
        let scratch = runs.join(format!("{run}-{}", record.attempt()));
        let begun = CancellationToken::new();
        let making = Making { held, work, before, scratch: &scratch, lost, begun };
        let outcome = Box::pin(self.run(&making, record)).await;
        // What is left behind of it is nobody's.
        let _ = tokio::fs::remove_dir_all(&scratch).await;
        tell(WorkerNews::Ended { agent, outcome: outcome? });
        Ok(held.done().await?)
    }
}

/// The folder for the runs of a worker's process, below `runs`.
fn folder_of(runs: &Path, owner: &str) -> PathBuf {
    runs.join(owner.replace(' ', "-"))
}

/// Removes what workers have left that died.
fn sweep(runs: &Path) {
    sweep_owners(runs);
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !entry.file_name().to_str().is_some_and(|owner| is_alive(runs, owner)) {
            // What cannot be removed now is looked at again by the next one.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
