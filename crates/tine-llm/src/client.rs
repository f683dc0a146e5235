//! The port: what a model looks like to the rest of tine.
//!
//! Nothing here knows how a request travels.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tine_history::Hash;
use tine_model::WireFormat;
use tine_wire::{Assembled, Body, Event, Reply};
use tokio_util::sync::CancellationToken;

use crate::{HoldReason, LlmError};

/// One request, ready to be sent. Cheap to clone: the body shares the memory of the history.
#[derive(Debug, Clone)]
pub struct Request {
    /// In which format the body is written.
    pub format: WireFormat,
    /// The bytes to be sent.
    pub body: Body,
    /// Whether the body asks for a streamed reply. In Gemini's format the address says it, not the body.
    pub stream: bool,
    /// HTTP headers beside those that the client sends with every request, such as a provider's beta headers.
    pub headers: Arc<[(String, String)]>,
    /// Identity of the prefix, so that a client that shares key-value state needs no bytes.
    pub prefix: Vec<Hash>,
}

impl Request {
    /// The request that was assembled, for a streamed reply. For one in one piece set [`Self::stream`].
    pub fn new(format: WireFormat, assembled: &Assembled) -> Self {
        let (body, prefix) = (assembled.body.clone(), assembled.prefix.clone());
        Self { format, body, stream: true, headers: Arc::default(), prefix }
    }
}

/// What is reported while a request is under way.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A part of the reply came. Once anything but [`Event::Ping`] and [`Event::Other`] was reported there is no retry, so that no
    /// part is ever reported twice.
    Event(&'a Event),
    /// The reply begins: reported before its first event, once a try that gets so far.
    Begun {
        /// How long after the try was sent; no earlier try and no wait is in it. For a reply in one piece, until all of it came.
        after: Duration,
    },
    /// The request, or its next try, is held back although it is ready. Reported once each time, and not for a wait that
    /// [`Progress::Retry`] told.
    Held {
        /// How long at least, if that is known.
        wait: Option<Duration>,
        /// Why.
        reason: HoldReason,
    },
    /// A try failed and another one follows.
    Retry {
        /// Number of the try that failed, from 1.
        attempt: u32,
        /// How long the next one is put off.
        wait: Duration,
        /// Why it failed.
        cause: &'a LlmError,
    },
}

/// Something that answers requests.
#[async_trait]
pub trait LlmClient: Send + Sync {
    /// Sends the request, reports progress as it comes, and returns the whole reply. `cancel` takes effect at any await; what
    /// had arrived by then is in the error. Dropping the future has the same effect on the connection, but loses it.
    ///
    /// `on_progress` is called on the path of the bytes and must not block. Implementations write its lifetime out as here:
    /// `async_trait` would bind an elided one to the whole call.
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError>;

    /// How long whoever asks again for a reply that broke off may wait for it altogether. A client that sends again by itself
    /// returns the limit that it keeps to.
    fn patience(&self) -> Duration {
        PATIENCE_DEFAULT
    }

    /// The first wait before a reply that broke off is asked for again; the waits double. A client that sends again by
    /// itself returns its own first wait.
    fn backoff(&self) -> Duration {
        BACKOFF_DEFAULT
    }

    /// Keeps a prefix at the provider (Gemini's explicit cached content), and returns the provider's answer, which names it. It
    /// costs until it expires or is deleted. Dropping the future cancels; what the provider had begun may then exist without a name
    /// here.
    async fn create_cached_content(&self, body: Body) -> Result<Vec<u8>, LlmError> {
        let _ = body;
        Err(LlmError::Unsupported { what: CACHED_CONTENT })
    }

    /// Deletes what [`Self::create_cached_content`] made, by the name that the provider gave it (`cachedContents/…`). Something
    /// that has expired is refused with [`tine_wire::FailureKind::NotFound`].
    async fn delete_cached_content(&self, name: &str) -> Result<(), LlmError> {
        let _ = name;
        Err(LlmError::Unsupported { what: CACHED_CONTENT })
    }
}

/// The patience of a client that does not say its own: an outage is over by then, or a person has to look.
pub const PATIENCE_DEFAULT: Duration = Duration::from_secs(600);

/// What a client without it calls it in the error.
pub(crate) const CACHED_CONTENT: &str = "cached content";

/// The first wait before a request goes out again, unless a client says otherwise.
pub const BACKOFF_DEFAULT: Duration = Duration::from_millis(500);
