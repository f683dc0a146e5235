//! Jobs: runs that wait for a worker, in a work queue of JetStream's.
//!
//! A job that is held is told of again and again; one whose worker is not heard of for a while is given to another. That can happen
//! to a worker that lives, too: what keeps two of them from counting is the [record](crate::Record).

use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use async_nats::jetstream::message::PublishMessage;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tine_fork::ForkRunId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connect::Cluster;
use crate::error::ClusterError;

/// The label of jobs that any worker may take.
pub const ANY: &str = "any";

/// Times that a held job is told of, within the time of a lease.
const BEATS: u32 = 4;

/// The longest wait for one job, where a worker looks into several queues.
const LOOK: Duration = Duration::from_millis(300);

/// The longest wait for one job, where it looks into one.
const WAIT: Duration = Duration::from_secs(1);

/// The time after which a worker looks whether the servers know its queues still.
const SEEN_EVERY: Duration = Duration::from_secs(10);

/// Most characters of a label.
const LABEL_MAX: usize = 40;

/// A run that waits for a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The version of this form.
    pub version: u32,
    /// The run.
    pub run: ForkRunId,
    /// The kind of work, which says who can read `work`.
    pub kind: String,
    /// The label that a worker must have; [`ANY`] for none.
    pub label: String,
    /// The place in a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The work.
    pub work: Value,
}

/// The version of [`Job`].
pub const JOB_VERSION: u32 = 1;

/// Returns true for a word that can be a label: small letters, digits, `-` and `_`.
pub fn is_label(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !word.is_empty() && word.len() <= LABEL_MAX && word.chars().all(is_plain)
}

/// Refuses words that are no labels: they would not be what they seem in a subject.
fn check<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<(), ClusterError> {
    match words.into_iter().find(|word| !is_label(word)) {
        Some(word) => Err(ClusterError::Label(word.to_owned())),
        None => Ok(()),
    }
}

impl Cluster {
    /// Puts a job into its queue; one that is there already is not put there twice. Returns the number of bytes.
    pub async fn submit(&self, job: &Job) -> Result<usize, ClusterError> {
        Ok(self.place(job).await?.1)
    }

    /// Takes a job out of its queue that nobody is to begin any more.
    pub async fn withdraw(&self, job: &Job) -> Result<(), ClusterError> {
        // The servers know by its name that it is there already, and say where.
        let (number, _) = self.place(job).await?;
        if let Err(error) = self.jobs().delete_message(number).await {
            tracing::debug!(%error, "a job was gone");
        }
        Ok(())
    }

    /// Puts a job into its queue, unless it is there. Returns the server's number of it, and the number of its bytes.
    async fn place(&self, job: &Job) -> Result<(u64, usize), ClusterError> {
        check([job.kind.as_str(), job.label.as_str()])?;
        let failed = |error| ClusterError::server("keep a job", error);
        let bytes = serde_json::to_vec(job)
            .map_err(|source| ClusterError::Unreadable { what: "a job", source })?;
        let length = bytes.len();
        let message = PublishMessage::build().payload(bytes.into()).message_id(job.run.to_string());
        let subject = format!("agent.job.{}.{}", job.kind, job.label);
        let sent = self.context().send_publish(subject, message).await.map_err(failed)?;
        let acked = sent.await.map_err(failed)?;
        Ok((acked.sequence, length))
    }
}

/// The queues of one kind of work that a worker takes jobs from.
pub struct Queue {
    cluster: Cluster,
    kind: String,
    labels: Vec<String>,
    consumers: Vec<PullConsumer>,
    next: usize,
    /// When the servers were last seen to know the queues.
    seen: Instant,
}

impl Queue {
    /// The queue of jobs that any worker may take, and those of these labels.
    pub async fn open(
        cluster: &Cluster,
        kind: &str,
        labels: &[String],
    ) -> Result<Self, ClusterError> {
        check(labels.iter().map(String::as_str).chain([kind]))?;
        let consumers = Self::consumers(cluster, kind, labels).await?;
        let (cluster, labels) = (cluster.clone(), labels.to_vec());
        Ok(Self {
            cluster,
            kind: kind.to_owned(),
            labels,
            consumers,
            next: 0,
            seen: Instant::now(),
        })
    }

    async fn consumers(
        cluster: &Cluster,
        kind: &str,
        labels: &[String],
    ) -> Result<Vec<PullConsumer>, ClusterError> {
        let mut consumers = Vec::new();
        for label in labels.iter().map(String::as_str).chain([ANY]) {
            let name = format!("{kind}-{label}");
            let config = Config {
                durable_name: Some(name.clone()),
                filter_subject: format!("agent.job.{kind}.{label}"),
                ack_policy: AckPolicy::Explicit,
                ack_wait: cluster.lease(),
                ..Config::default()
            };
            let opened = cluster.jobs().get_or_create_consumer(&name, config).await;
            consumers.push(
                opened.map_err(|error| ClusterError::server("open the queue of jobs", error))?,
            );
        }
        Ok(consumers)
    }

    /// Waits a while for a job; `None` where none came. Not to be dropped before it returns: a job that is handed over at that moment
    /// waits for its lease to end.
    pub async fn next(&mut self) -> Result<Option<HeldJob>, ClusterError> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            ClusterError::server("hand over a job", error)
        };
        // Servers that have lost what they kept say nothing else than those that have no job.
        if self.seen.elapsed() >= SEEN_EVERY {
            self.consumers = Self::consumers(&self.cluster, &self.kind, &self.labels).await?;
            self.seen = Instant::now();
        }
        let wait = if self.consumers.len() == 1 { WAIT } else { LOOK };
        let consumer = &self.consumers[self.next % self.consumers.len()];
        self.next += 1;
        let batch = consumer.batch().max_messages(1).expires(wait).messages().await;
        let mut batch = batch.map_err(|error| failed(error.into()))?;
        let Some(message) = batch.next().await else { return Ok(None) };
        let message = message.map_err(failed)?;
        let times = message.info().map_or(1, |info| info.delivered.max(1) as u64);
        match serde_json::from_slice::<Job>(&message.payload) {
            Ok(job) if job.version == JOB_VERSION => {
                let cluster = self.cluster.clone();
                Ok(Some(HeldJob { job, times, cluster, message }))
            }
            unread => {
                let why = unread.err().map_or_else(
                    || "it is of another version".to_owned(),
                    |error| error.to_string(),
                );
                tracing::warn!(why, "a job that cannot be read is thrown away");
                message.ack_with(AckKind::Term).await.map_err(failed)?;
                Ok(None)
            }
        }
    }
}

/// A job that this worker holds. Dropped before it is [done](Self::done), it is given to another worker when its lease ends.
pub struct HeldJob {
    /// The job.
    pub job: Job,
    /// The number of times that it was handed over, this one included.
    pub times: u64,
    cluster: Cluster,
    message: Message,
}

impl HeldJob {
    /// Tells of the job until this is dropped. Cancels `lost` when the servers have not heard of it for as long as its lease: then
    /// another worker has it, or nobody can know.
    pub async fn beat(&self, lost: &CancellationToken) {
        let lease = self.cluster.lease();
        let mut heard = Instant::now();
        loop {
            tokio::time::sleep(lease / BEATS).await;
            match self.tell("+WPI").await {
                Ok(()) => heard = Instant::now(),
                Err(error) => tracing::debug!(%error, "the servers do not hear of a job"),
            }
            if heard.elapsed() >= lease {
                lost.cancel();
            }
        }
    }

    /// Takes the job out of its queue.
    pub async fn done(&self) -> Result<(), ClusterError> {
        self.tell("+ACK").await
    }

    /// Lets another worker have the job at once.
    pub async fn give_back(&self) -> Result<(), ClusterError> {
        self.tell("-NAK").await
    }

    /// By a request, and not by the client's own `double_ack`: that one says yes where nobody listens.
    async fn tell(&self, word: &'static str) -> Result<(), ClusterError> {
        let failed = |error| ClusterError::server("hear of a job", error);
        let Some(reply) = self.message.reply.clone() else { return Ok(()) };
        let told = self.cluster.client().request(reply, word.into()).await;
        told.map(drop).map_err(|error| failed(Box::new(error)))
    }
}
