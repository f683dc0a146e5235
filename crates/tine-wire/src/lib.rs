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
//! - [`Dialect`] leaves out of messages and heads what a server refuses; [`refused_members`] and [`refused_block`] read that in its words.
//! - [`CallIds`] gives calls the ids that a provider takes.
//! - [`refuse()`], [`refuse_thread`] and [`continues_thread`] let a pass-through answer in a provider's shape.
//! - [`read_models`], [`read_props`] and their neighbours read what servers of one's own say of themselves.
//! - [`first_difference`] says where two bodies part.
//! - [`read_message`] and [`import_messages`] read messages in a provider's shape, [`read_request`] a whole request, which
//!   [`SplitRequest`] goes on from in its own bytes,
//!   [`read_conversation`] what other tools keep of their sessions, [`read_opencode_outline`] the same for a text that tells of one;
//!   [`to_claude_code`] and [`to_codex`] write such files.

mod anthropic;
mod assemble;
mod body;
mod cached;
mod call_ids;
mod call_places;
mod counts;
mod dialect;
mod difference;
mod endpoint;
mod event;
mod export;
mod extra;
mod failure;
mod gemini;
mod growing;
mod guest;
mod head;
mod head_parts;
mod identity;
mod import;
mod json;
mod key;
mod lenient;
mod limit;
mod marks;
mod mend;
mod names;
mod no_answer;
mod openai_chat;
mod openai_responses;
mod overflow;
mod parts;
mod portable;
mod read;
mod read_request;
mod refuse;
mod reply;
mod restate;
mod served;
mod splice;
mod split;
mod sse;
mod strip;
mod warming;

pub use assemble::{Assembled, Comparison, RequestOptions, assemble, framer};
pub use body::Body;
pub use cached::{CachedContent, CachedPrefix, cached_content, read_cached_content};
pub use call_ids::CallIds;
pub use dialect::{
    BlockKind, Dialect, IdForm, LeftBlocks, LeftOut, Member, Within, refused_block, refused_members,
};
pub use difference::first_difference;
pub use endpoint::Endpoint;
pub use event::{Decoder, Event};
pub use export::{ExportHead, ExportMessage, to_claude_code, to_codex};
pub use failure::{Failure, FailureKind, decode_failure};
pub use guest::{GuestMessage, GuestRequest};
pub use head::{Head, HeadError};
pub use head_parts::{
    HeadParts, HeadPartsError, SystemBlock, THINKING_BUDGET_MIN, ToolDeclaration, ToolOrder,
    efforts,
};
pub use identity::identity;
pub use import::{
    CLEARED_RESULT, Carries, ConversationFormat, Counts, IMPORT_MESSAGES_MAX, ImportError,
    Imported, ImportedConversation, RecordedRequest, SessionOutline, Unrebuilt,
    conversation_format, import_messages, read_conversation, read_opencode_outline, unsent_blocks,
};
pub use limit::ReplyLimit;
pub use marks::{Lifetimes, Mark, MarkPoints};
pub use no_answer::NoAnswer;
pub use overflow::Overflow;
pub use portable::PortableMessage;
pub use read::{ReadError, read_message};
pub use read_request::{ReadRequestError, read_request};
pub use refuse::{continues_thread, refuse, refuse_thread};
pub use reply::{DecodeError, Diagnosis, DroppedReasoning, Partial, Reply, decode_reply};
pub use served::{
    LOADED_PATH, MODELS_PATH, PROPS_PATH, VERSION_PATH, is_ollamas_version, read_loaded,
    read_models, read_props,
};
pub use splice::SentRequest;
pub use split::SplitRequest;
pub use sse::{RECORD_BYTES_MAX, STREAM_BYTES_MAX};
pub use warming::warming;
