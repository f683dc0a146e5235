//! Telling of what passes, without standing in its way.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::gateway::Format;

/// A longer reply is passed on and not told of.
const REPLY_BYTES_MAX: usize = 32 << 20;

/// A step of an exchange: a request and its reply. Headers are those of the sender, credentials included.
#[derive(Debug, Clone)]
pub enum Passed {
    /// A request was read whole, and is about to be sent to the provider. Told of are requests that hold a conversation, of
    /// at most 32 MiB: those to Anthropic's Messages, and to OpenAI's Responses and Chat Completions.
    Request {
        /// Number of the exchange; never the same twice in one gateway.
        exchange: u64,
        /// The format of its base URL.
        format: Format,
        /// The path behind the base URL, without a query.
        path: String,
        /// The host's headers.
        headers: HeaderMap,
        /// The body as it came.
        body: Bytes,
    },
    /// The head of the reply is there.
    Begun {
        /// Number of the exchange.
        exchange: u64,
        /// The status code.
        status: u16,
        /// The provider's headers.
        headers: HeaderMap,
    },
    /// Nothing more comes: the reply is over, or broken, or there was none. The last step of every exchange.
    Ended {
        /// Number of the exchange.
        exchange: u64,
        /// The body of the reply as it came; `None` for more than 32 MiB.
        body: Option<Vec<Bytes>>,
        /// False where a side hung up before the end.
        is_complete: bool,
    },
}

/// Is called for each step, on the way of the bytes: it must return at once, and must not panic.
pub type Observer = Arc<dyn Fn(Passed) + Send + Sync>;

/// One exchange that is told of. Dropped before its end, it tells of a broken one.
pub(crate) struct Exchange {
    observer: Observer,
    number: u64,
    told: Option<Vec<Bytes>>,
    length: usize,
    is_over: bool,
}

impl Exchange {
    pub(crate) fn new(observer: Observer, number: u64) -> Self {
        Self { observer, number, told: Some(Vec::new()), length: 0, is_over: false }
    }

    /// Tells of the head of the reply.
    pub(crate) fn begun(&self, status: u16, headers: HeaderMap) {
        (self.observer)(Passed::Begun { exchange: self.number, status, headers });
    }

    fn data(&mut self, data: &Bytes) {
        self.length += data.len();
        match &mut self.told {
            Some(told) if self.length <= REPLY_BYTES_MAX => told.push(data.clone()),
            told => *told = None,
        }
    }

    fn end(&mut self, is_complete: bool) {
        if !self.is_over {
            self.is_over = true;
            let (exchange, body) = (self.number, self.told.take());
            (self.observer)(Passed::Ended { exchange, body, is_complete });
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// The body of a reply, on its way to the host.
pub(crate) struct Reply {
    body: Incoming,
    exchange: Option<Exchange>,
}

impl Reply {
    pub(crate) fn new(body: Incoming, exchange: Option<Exchange>) -> Self {
        let mut reply = Self { body, exchange };
        reply.end_if_over();
        reply
    }

    fn end_if_over(&mut self) {
        if self.body.is_end_stream()
            && let Some(exchange) = &mut self.exchange
        {
            exchange.end(true);
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let this = &mut *self;
        if let (Some(exchange), Poll::Ready(ready)) = (&mut this.exchange, &polled) {
            match ready {
                Some(Ok(frame)) => {
                    frame.data_ref().into_iter().for_each(|data| exchange.data(data))
                }
                Some(Err(_)) => exchange.end(false),
                None => exchange.end(true),
            }
        }
        // Whoever knows the length of a body does not ask for more than that.
        this.end_if_over();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
