//! Every provider's wire format, both ways, without I/O: history → exact bytes with cache marks; bytes → typed
//! events, replies and failures; usage → one normal form.
//!
//! This is the only crate that knows a provider's JSON. It opens no socket and reads no clock.
//!
//! - [`Head::render`] makes everything that stands before the first message, once per lineage.
//! - [`framer`] makes the bytes of messages, once per message.
//! - [`assemble`] joins head, frames and cache marks into a [`Body`]: a chain of shared slices with an exact length.
//! - [`cached_content`] makes what a provider is asked to hold under a name ([`CachedPrefix`]), where it can.
//! - [`warming()`] makes the request that fills a cache without an answer.
//! - [`Decoder`] turns the bytes of a stream into [`Event`]s and at the end a [`Reply`]; [`decode_reply`] and
//!   [`decode_failure`] read what is not streamed.
//! - [`first_difference`] says where two bodies part.
//! - [`read_message`] and [`import_messages`] read messages in a provider's shape, [`read_request`] a whole request,
//!   [`read_conversation`] what other tools keep of their sessions; [`to_claude_code`] and [`to_codex`] write such files.

mod anthropic;
mod assemble;
mod body;
mod cached;
mod counts;
mod difference;
mod endpoint;
mod event;
mod export;
mod extra;
mod failure;
mod gemini;
mod growing;
mod head;
mod head_parts;
mod import;
mod json;
mod key;
mod marks;
mod names;
mod openai_chat;
mod openai_responses;
mod parts;
mod read;
mod read_request;
mod reply;
mod restate;
mod sse;
mod strip;
mod warming;

pub use assemble::{Assembled, Comparison, RequestOptions, assemble, framer};
pub use body::Body;
pub use cached::{CachedContent, CachedPrefix, cached_content, read_cached_content};
pub use difference::first_difference;
pub use endpoint::Endpoint;
pub use event::{Decoder, Event};
pub use export::{ExportHead, ExportMessage, to_claude_code, to_codex};
pub use failure::{Failure, FailureKind, decode_failure};
pub use head::{Head, HeadError};
pub use head_parts::{HeadParts, HeadPartsError, SystemBlock, ToolDeclaration, ToolOrder};
pub use import::{
    Carries, ConversationFormat, Counts, IMPORT_MESSAGES_MAX, ImportError, Imported,
    ImportedConversation, conversation_format, import_messages, read_conversation, unsent_blocks,
};
pub use marks::{Lifetimes, Mark, MarkPoints};
pub use read::{ReadError, read_message};
pub use read_request::{ReadRequestError, read_request};
pub use reply::{DecodeError, Diagnosis, DroppedReasoning, Partial, Reply, decode_reply};
pub use sse::{RECORD_BYTES_MAX, STREAM_BYTES_MAX};
pub use warming::warming;
