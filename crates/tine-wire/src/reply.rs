//! A whole reply, what is left of a broken one, and why decoding stopped.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Message, Role, StopReason, Usage, WireFormat};

use crate::failure::{self, Failure};
use crate::mend;
use crate::read::{self, ReadError};
use crate::{anthropic, gemini, openai_chat, openai_responses};

/// Most tokens that one count of a usage report may claim. Larger ones are nonsense, so that sums over
/// millions of requests cannot overflow.
pub(crate) const TOKENS_MAX: u64 = 1 << 40;

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The provider's id of the reply.
    pub id: Option<String>,
    /// The model that answered, in the provider's word.
    pub model: Option<String>,
    /// The message, with the provider's own text. A reply without any content is legal: its message has no
    /// blocks and no text of the provider's, because no provider takes an empty message back; the framers send
    /// nothing for it.
    pub message: Message,
    /// Why the model stopped.
    pub stop: StopReason,
    /// What it cost. A server that reports no usage at all gives `Usage::default()`: nothing is known, and a prompt
    /// of 0 tokens, which no real request has, tells so.
    pub usage: Usage,
    /// What the provider itself says of this request's cache, where it was asked
    /// ([`RequestOptions::comparison`](crate::RequestOptions::comparison)) and answered.
    pub diagnosis: Option<Diagnosis>,
    /// Reasoning of the request that the provider left out, because it is bound to other words than it stood behind.
    pub dropped: Vec<DroppedReasoning>,
}

/// What a provider says of why its cache did not serve more. Sources: Anthropic, "Cache diagnostics"; OpenAI, "Prompt
/// caching: diagnostics".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Diagnosis {
    /// Everything that could be read was read.
    Hit,
    /// The request parts from the one it was compared with.
    Miss {
        /// In the provider's word, such as `tools_changed`.
        reason: String,
        /// Tokens that could not be read for it, as the provider estimates.
        missed_tokens: Option<u64>,
    },
    /// The comparison was not ready with the reply.
    Pending,
    /// The provider does not know the reply it should compare with.
    NotFound,
    /// The provider cannot tell.
    Unavailable,
}

/// One piece of reasoning that the provider did not take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedReasoning {
    /// Where it stood, in the provider's words: a path in the request, or the id of the item.
    pub place: String,
    /// Why, in the provider's word, such as `prefix_binding_mismatch`.
    pub reason: String,
}

/// What is left of a broken stream: complete blocks and the text of an unfinished text block. Never an
/// unfinished tool call or reasoning without a signature, and never reasoning at the very end: those could not
/// be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    /// `None` when nothing usable came.
    pub message: Option<Message>,
    /// What the provider had reported so far.
    pub usage: Usage,
    /// The provider's id of the reply.
    pub id: Option<String>,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The stream ended before the reply did.
    #[error("the stream ended before the reply was complete")]
    Truncated,
    /// The provider did not keep to its own format.
    #[error("{at}: {what}")]
    Protocol {
        /// What is wrong.
        what: String,
        /// Where, in the format's own words.
        at: String,
    },
    /// One event or the whole stream is larger than any honest reply.
    #[error("the stream passes the limit of {limit} bytes")]
    TooLarge {
        /// The limit that was reached.
        limit: usize,
    },
    /// The provider said that it failed.
    #[error(transparent)]
    Provider(#[from] Failure),
}

impl Reply {
    /// A reply of which no more is known than this.
    pub(crate) fn of(message: Message, stop: StopReason, usage: Usage) -> Self {
        Self { id: None, model: None, message, stop, usage, diagnosis: None, dropped: Vec::new() }
    }
}

impl DecodeError {
    pub(crate) fn protocol(at: &str, what: impl ToString) -> Self {
        Self::Protocol { what: what.to_string(), at: at.to_owned() }
    }

    pub(crate) fn unreadable(error: &ReadError) -> Self {
        Self::protocol("the reply", error.in_full())
    }
}

/// Reads JSON as a `T`; `at` names it in errors.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str, at: &str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| DecodeError::protocol(at, error))
}

pub(crate) fn missing(at: &str, field: &str) -> DecodeError {
    DecodeError::protocol(at, format!("`{field}` is missing"))
}

/// Reads the body of a reply that was not streamed.
pub fn decode_reply(format: WireFormat, body: &[u8]) -> Result<Reply, DecodeError> {
    let text = String::from_utf8_lossy(body);
    let text = match mend::halves_marked(text.trim_start_matches('\u{feff}')) {
        Cow::Borrowed(text) => Cow::Borrowed(text),
        Cow::Owned(marked) => Cow::Owned(mend::halves_joined(&marked)),
    };
    let raw: &RawValue = serde_json::from_str(&text).map_err(|error| {
        if text.trim_start().starts_with('<') {
            failure::not_the_api(format, None, &text, true).into()
        } else {
            DecodeError::protocol("the reply", error)
        }
    })?;
    match format {
        WireFormat::Anthropic => anthropic::decode::whole(raw),
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => openai_chat::decode::whole(raw),
        WireFormat::OpenAiResponses => openai_responses::decode::whole(raw),
        WireFormat::Gemini => gemini::decode::whole(raw),
    }
}

/// The message of a reply; see [`Reply::message`] for one without content.
pub(crate) fn message(format: WireFormat, json: &str) -> Result<Message, DecodeError> {
    let message = read::read_message(format, &mend::calls_named(format, json))
        .map_err(|e| DecodeError::unreadable(&e))?;
    Ok(if message.blocks().is_empty() {
        Message::new(Role::Assistant, Vec::new())
    } else {
        message
    })
}
