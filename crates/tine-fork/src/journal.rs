//! Where a run's messages and requests are written down.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use tine_model::{CapReached, DialectChange, EntryId, Message, StopReason, Usage};
use tokio_util::sync::CancellationToken;

use crate::cache::CacheRecord;
use crate::host::Clock;
use crate::speaking::ServerDialect;

/// A message could not be written down. The run ends: what was not written was not acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("the log could not be written")]
pub struct JournalError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// One answered request.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// The provider's id of the reply.
    pub reply: Option<String>,
    /// The model that the provider says answered.
    pub model: Option<String>,
    /// Tokens.
    pub usage: Usage,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Number of messages in the request.
    pub items: usize,
    /// Length of the request's body in bytes.
    pub body_bytes: u64,
    /// When it was sent, as [`Journal::now_ms`] tells. The cache's clock runs from here.
    pub started_ms: i64,
    /// What the cache did, where a run has a [`CacheLane`](crate::cache::CacheLane).
    pub cache: Option<CacheRecord>,
}

/// Whether a request may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Granted,
    /// The run was cancelled while it waited.
    Cancelled,
    /// A cap is used up, and the run is to end.
    Refused(CapReached),
}

/// The log of one agent, as the turn loop sees it.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Writes a message and says where it stands: behind all before it, inherited ones too. When this returns, the message survives a
    /// crash.
    async fn message(&self, message: &Arc<Message>) -> Result<EntryId, JournalError>;

    /// The time, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Notes what a request cost.
    async fn request_answered(&self, record: &RequestRecord) -> Result<(), JournalError>;

    /// Asks for the right to send a request of so many bytes. Waits for it where waiting helps, and then tells `on_pause` of
    /// each cap that holds it back. What is granted is settled by [`Self::request_answered`] or [`Self::release`].
    async fn reserve(
        &self,
        _body_bytes: u64,
        _on_pause: &(dyn Fn(CapReached) + Send + Sync),
        _cancel: &CancellationToken,
    ) -> Result<Permit, JournalError> {
        Ok(Permit::Granted)
    }

    /// The request that was granted came to nothing that is to be noted.
    async fn release(&self) -> Result<(), JournalError> {
        Ok(())
    }

    /// The dialect of the server that answers, as it is known now: siblings of one process learn from each other.
    fn server(&self) -> ServerDialect {
        ServerDialect::default()
    }

    /// Records that the requests of this lineage leave members out from here on. When this returns, later runs of it render the same
    /// bytes.
    async fn dialect_changed(&self, _change: &DialectChange) -> Result<(), JournalError> {
        Ok(())
    }

    /// Keeps something for people that is not part of the conversation, such as the part of a reply that
    /// arrived before its stream broke.
    async fn notice(&self, text: &str) -> Result<(), JournalError>;

    /// Mail that has arrived since the last turn boundary. What is returned at once is delivered at once: it is the content of the
    /// next message that is written, and of no other.
    async fn mail(&self) -> Result<Vec<String>, JournalError> {
        Ok(Vec::new())
    }

    /// Called when the model is done: returns whether there is more for it, waiting for that if need be. Must return soon after
    /// `cancel`.
    async fn rest(&self, _cancel: &CancellationToken) -> Result<Rest, JournalError> {
        Ok(Rest::Over)
    }
}

/// What comes when a model is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: the run is over.
    Over,
    /// Mail: the run goes on with it.
    Mail,
}

/// A journal that only counts: for runs that leave no transcript.
#[derive(Default)]
pub struct MemoryJournal {
    last: AtomicI64,
    clock: Option<Arc<dyn Clock>>,
}

impl MemoryJournal {
    /// With a clock; without one ([`Self::default`]) everything happens at 0, and no cache entry ever expires.
    pub fn timed(clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..Self::default() }
    }

    /// The same for a conversation that has so many messages already: what is written stands behind them.
    pub fn behind(self, messages: usize) -> Self {
        Self { last: AtomicI64::new(messages as i64), ..self }
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn message(&self, _message: &Arc<Message>) -> Result<EntryId, JournalError> {
        Ok(EntryId(self.last.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn now_ms(&self) -> i64 {
        self.clock.as_ref().map_or(0, |clock| clock.now_ms())
    }

    async fn request_answered(&self, _record: &RequestRecord) -> Result<(), JournalError> {
        Ok(())
    }

    async fn notice(&self, _text: &str) -> Result<(), JournalError> {
        Ok(())
    }
}
