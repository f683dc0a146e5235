//! A prefix that the provider holds under a name, so that requests need not send it: Gemini's explicit cached contents.
//!
//! What is held is made from the same head and the same frames as a request, so the prompt is the same whether its
//! beginning is sent or held. This module never decides whether holding pays, and knows no price.

use bytes::Bytes;
use tine_history::{History, Layout};
use tine_model::WireFormat;

use crate::{Body, DecodeError, Head, RequestOptions, framer, gemini};

/// The provider's resource that holds a head and the messages behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedPrefix {
    /// The provider's name for it, `cachedContents/…`.
    pub name: String,
    /// How many messages of the history it holds, from the first on. They must be the ones it was made from.
    pub items: usize,
}

/// What the provider says of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedContent {
    /// Its name, `cachedContents/…`; one that [`Endpoint::cached_content_path`](crate::Endpoint::cached_content_path) takes.
    pub name: String,
    /// Tokens that it holds, which storage is paid for; `None` when not reported.
    pub tokens: Option<u64>,
    /// When it is gone, in the provider's words (RFC 3339, UTC); `None` when not reported.
    pub expires: Option<String>,
}

/// The body of the request that makes the provider hold `head` and the first `items` messages of `history` (all, when there
/// are fewer) for `ttl_seconds`. `None` for formats that hold nothing under a name.
///
/// Calls that the last held message leaves open are closed by the requests that use the resource, as ever.
pub fn cached_content(
    head: &Head,
    history: &mut History,
    items: usize,
    ttl_seconds: u64,
) -> Option<Body> {
    match head.format() {
        WireFormat::Gemini => {
            let layout = history.layout(framer(head.format()));
            gemini::cached::creation(head, &layout, items, ttl_seconds)
        }
        WireFormat::Anthropic
        | WireFormat::OpenAiChat
        | WireFormat::OpenAiChatParts
        | WireFormat::OpenAiResponses => None,
    }
}

/// Reads the answer to [`cached_content`], or to a question about a resource.
pub fn read_cached_content(body: &[u8]) -> Result<CachedContent, DecodeError> {
    gemini::cached::read(body)
}

/// What is sent of a request whose beginning is held.
pub(crate) struct Rest {
    /// Everything before the first message.
    pub(crate) head: Bytes,
    /// The messages that are not held; each piece begins with a comma or is empty.
    pub(crate) runs: Vec<Bytes>,
}

/// What to send besides what is held; `None` when everything must be sent: nothing is held, it holds more than the history,
/// or it leaves nothing to ask.
pub(crate) fn rest(
    head: &Head,
    layout: &Layout,
    has_open_calls: bool,
    options: &RequestOptions,
) -> Option<Rest> {
    let cached = options.cached.as_ref().filter(|cached| cached.items <= layout.items())?;
    match head.format() {
        WireFormat::Gemini => {
            let runs = gemini::cached::runs(layout, cached.items..layout.items());
            let says_something = has_open_calls || runs.iter().any(|run| !run.is_empty());
            let head = gemini::cached::head_behind(head, &cached.name)?;
            says_something.then_some(Rest { head, runs })
        }
        WireFormat::Anthropic
        | WireFormat::OpenAiChat
        | WireFormat::OpenAiChatParts
        | WireFormat::OpenAiResponses => None,
    }
}
