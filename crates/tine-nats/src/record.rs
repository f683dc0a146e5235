//! The record of a run: its events on the server, written by one worker at a time.
//!
//! The record is the fence. An event is written only behind the last one that its writer knows of; a worker that takes a run over
//! writes that it has begun, and from then on everything that the worker before it writes is refused. So it is all the same whether a
//! worker that is thought dead is: what counts is what stands in the record.

use std::pin::Pin;
use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bytes::Bytes;
use futures_util::StreamExt as _;
use tine_fork::ForkRunId;
use tine_fork::host::{Ids as _, SystemIds};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::event::{Event, Happened, Place, Started};
use crate::patience::{PATIENCE, RETRY, patiently};

/// Most tries to take a run from somebody who still writes.
const CLAIMS_MAX: u32 = 100;

/// The longest time for which a reader asks the servers for more. It is told at half of it that there is nothing, and reads again where
/// it was not told twice: so soon it misses a server that died without closing its connections.
const PULL_MAX: Duration = Duration::from_secs(2);

/// The subject of a run's events.
pub(crate) fn events_of(run: ForkRunId) -> String {
    format!("agent.fork.{run}.events")
}

/// The record of a run, as its writer holds it.
pub struct Record {
    cluster: Cluster,
    /// Of the next event.
    place: Place,
    /// The server's number of the last event on the subject.
    last: u64,
}

impl Record {
    /// Takes a run: whoever had it before writes nothing more. Returns what stands in its record so far.
    pub async fn claim(
        cluster: &Cluster,
        (run, worker): (ForkRunId, &str),
        traceparent: Option<String>,
        now_ms: i64,
    ) -> Result<(Self, Vec<Event>), ClusterError> {
        let mut reader = Events::new(cluster, run, 0);
        let mut events: Vec<Event> = Vec::new();
        let mut tries = 1;
        loop {
            let last = patiently(|| last_event(cluster, run)).await?;
            if let Some((_, last)) = &last {
                while events.last().is_none_or(|event| event.sequence < last.sequence) {
                    match reader.next().await? {
                        Read::Event(event) => events.push(*event),
                        Read::Missed { .. } => {}
                    }
                }
            }
            if events.last().is_some_and(Event::is_end) {
                return Err(ClusterError::Ended);
            }
            let place = Place {
                run,
                worker: worker.to_owned(),
                sequence: events.last().map_or(0, |event| event.sequence) + 1,
                attempt: events.last().map_or(0, |event| event.attempt) + 1,
                claim: claim(),
                traceparent: traceparent.clone(),
            };
            let last = last.map_or(0, |(number, _)| number);
            let mut record = Self { cluster: cluster.clone(), place, last };
            let started = Happened::Started(Started { worker: worker.to_owned() });
            match record.write(&started, now_ms).await {
                Ok(()) => return Ok((record, events)),
                // Whoever had it has written at this moment: that is read, too.
                Err(ClusterError::Fenced) if tries < CLAIMS_MAX => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The number of workers that have had the run, this one included.
    pub fn attempt(&self) -> u32 {
        self.place.attempt
    }

    /// Writes the next event. When this returns, it stands on the server. [`ClusterError::Fenced`] where another worker has the run.
    pub async fn write(&mut self, happened: &Happened, now_ms: i64) -> Result<(), ClusterError> {
        let event = self.fitting(Event::new(&self.place, happened, now_ms)?).await?;
        self.last = self.put(&event).await?;
        self.place.sequence += 1;
        Ok(())
    }

    /// Puts an event behind the last one. Returns the server's number of it.
    async fn put(&self, event: &Event) -> Result<u64, ClusterError> {
        let bytes = Bytes::from(event.to_bytes()?);
        let subject = events_of(self.place.run);
        let until = Instant::now() + PATIENCE;
        loop {
            let message = PublishMessage::build()
                .payload(bytes.clone())
                .expected_last_subject_sequence(self.last);
            let sent = async {
                self.cluster.context().send_publish(subject.clone(), message).await?.await
            };
            let error = match sent.await {
                Ok(acked) => return Ok(acked.sequence),
                Err(error) => error,
            };
            // An answer that was lost may have been a yes.
            match last_event(&self.cluster, self.place.run).await {
                Ok(Some((number, last))) if last.is(event) => return Ok(number),
                Ok(_) if error.kind() == PublishErrorKind::WrongLastSequence => {
                    return Err(ClusterError::Fenced);
                }
                Ok(_) | Err(_) => {}
            }
            if Instant::now() >= until {
                return Err(ClusterError::server("keep an event", error));
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// The event with its data in a blob, where they are too long for a message.
    async fn fitting(&self, mut event: Event) -> Result<Event, ClusterError> {
        let data = event.data.to_string();
        if data.len() > self.cluster.payload_max() / 2 {
            let (hash, _) = self.cluster.put(data.into()).await?;
            event.data = serde_json::Value::Null;
            event.datablob = Some(hash);
        }
        Ok(event)
    }
}

/// A number that no other writer has.
fn claim() -> u64 {
    let random = SystemIds.random();
    random.iter().fold(0, |number, byte| number.rotate_left(8) ^ u64::from(*byte))
}

/// The last event of a run with its number on the server; `None` where there is none.
async fn last_event(
    cluster: &Cluster,
    run: ForkRunId,
) -> Result<Option<(u64, Event)>, ClusterError> {
    match cluster.forks().get_last_raw_message_by_subject(&events_of(run)).await {
        Ok(message) => Ok(Some((message.sequence, Event::read(&message.payload)?))),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(ClusterError::server("read the record of a run", error)),
    }
}

/// Refuses a record of which the servers do not have any more what was read before, up to `after`.
async fn check_known(cluster: &Cluster, run: ForkRunId, after: u64) -> Result<(), ClusterError> {
    if after == 0 {
        return Ok(());
    }
    match last_event(cluster, run).await {
        Ok(last) if last.as_ref().is_none_or(|(_, last)| last.sequence < after) => {
            Err(ClusterError::Forgotten)
        }
        // Whoever cannot know waits.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// An item of a run's record.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// An event.
    Event(Box<Event>),
    /// The server keeps these events no longer, by their numbers in the run.
    Missed {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
}

/// A reader of a run's record, from any point on and as it grows.
pub struct Events {
    cluster: Cluster,
    run: ForkRunId,
    /// The number of the last event that was read.
    after: u64,
    /// An event that was received and not returned.
    next: Option<Box<Event>>,
    open: Option<Following>,
}

impl Events {
    /// Reads the events behind the one with this number in the run; 0 for all.
    pub fn new(cluster: &Cluster, run: ForkRunId, after: u64) -> Self {
        Self { cluster: cluster.clone(), run, after, next: None, open: None }
    }

    /// The next event; waits for it, however long the servers are away. May be dropped at any time: nothing is lost by that.
    /// [`ClusterError::Forgotten`] where the servers have lost what was read before.
    pub async fn next(&mut self) -> Result<Read, ClusterError> {
        loop {
            if let Some(next) = &mut self.next {
                if next.sequence > self.after + 1 {
                    let missed = Read::Missed { from: self.after + 1, to: next.sequence - 1 };
                    self.after = next.sequence - 1;
                    return Ok(missed);
                }
                // It stays here until it is whole, whatever happens meanwhile.
                if let Some(blob) = next.datablob {
                    let data = self.cluster.get(blob).await?;
                    next.data = serde_json::from_slice(&data)
                        .map_err(|source| ClusterError::Unreadable { what: "an event", source })?;
                    next.datablob = None;
                }
            }
            if let Some(next) = self.next.take() {
                self.after = next.sequence;
                return Ok(Read::Event(next));
            }
            let open = match &mut self.open {
                Some(open) => open,
                None => match self.cluster.follow(events_of(self.run)).await {
                    Ok(open) => {
                        check_known(&self.cluster, self.run, self.after).await?;
                        self.open.insert(open)
                    }
                    Err(error) => {
                        tracing::debug!(%error, "the record of a run is read again");
                        tokio::time::sleep(RETRY).await;
                        continue;
                    }
                },
            };
            match open.next().await {
                Some(payload) => {
                    let event = Event::read(&payload)?;
                    if event.sequence > self.after {
                        self.next = Some(Box::new(event));
                    }
                }
                // What was read already is passed over.
                None => {
                    self.open = None;
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}

impl Cluster {
    /// All messages of a subject below `agent.fork`, and those that come.
    pub(crate) async fn follow(&self, subject: String) -> Result<Following, ClusterError> {
        let connections = self.connections();
        let config = OrderedConfig {
            filter_subject: subject,
            deliver_policy: DeliverPolicy::All,
            max_expires: PULL_MAX,
            ..OrderedConfig::default()
        };
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            ClusterError::server("read the record of a run", error)
        };
        let consumer = self.forks().create_consumer(config).await.map_err(|e| failed(e.into()))?;
        let messages = consumer.messages().await.map_err(|error| failed(error.into()))?;
        Ok(Following { messages: Box::pin(messages), connections })
    }
}

/// The messages of a subject.
pub(crate) struct Following {
    messages: Pin<Box<Ordered>>,
    connections: watch::Receiver<u64>,
}

impl Following {
    /// The next message; waits for it. `None` where the connection or the leader was lost. May be dropped at any time.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        // Both are cancel-safe: one takes a whole message or nothing, the other only waits.
        tokio::select! {
            message = self.messages.next() => Some(message?.ok()?.payload.clone()),
            // A consumer that its server has forgotten would be missed much later.
            Ok(()) = self.connections.changed() => None,
        }
    }
}
