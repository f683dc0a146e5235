//! The port: what a model looks like to the rest of tine.
//!
//! Nothing here knows how a request travels.

use std::time::Duration;

use async_trait::async_trait;
use tine_history::Hash;
use tine_model::WireFormat;
use tine_wire::{Assembled, Body, Event, Reply};
use tokio_util::sync::CancellationToken;

use crate::LlmError;

/// One request, ready to be sent. Cheap to clone: the body shares the memory of the history.
#[derive(Debug, Clone)]
pub struct Request {
    /// In which format the body is written.
    pub format: WireFormat,
    /// The bytes to be sent.
    pub body: Body,
    /// Identity of the prefix, so that a client that shares key-value state needs no bytes.
    pub prefix: Vec<Hash>,
}

impl Request {
    /// The request that was assembled.
    pub fn new(format: WireFormat, assembled: &Assembled) -> Self {
        Self { format, body: assembled.body.clone(), prefix: assembled.prefix.clone() }
    }
}

/// What is reported while a request is under way.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A part of the reply came. Once anything but [`Event::Ping`] and [`Event::Other`] was reported there is no retry, so that no
    /// part is ever reported twice.
    Event(&'a Event),
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
}
