//! Every provider's wire format, both ways, without I/O: history → exact bytes with cache marks; bytes → typed
//! events, replies and failures; usage → one normal form.
//!
//! This is the only crate that knows a provider's JSON. It opens no socket and reads no clock.
//!
//! - [`Head::render`] makes everything that stands before the first message, once per lineage.
//! - [`framer`] makes the bytes of messages, once per message.
//! - [`assemble`] joins head, frames and cache marks into a [`Body`]: a chain of shared slices with an exact length.

mod anthropic;
mod assemble;
mod body;
mod endpoint;
mod head;
mod json;
mod marks;
mod openai_chat;

pub use assemble::{Assembled, assemble, framer};
pub use body::Body;
pub use endpoint::Endpoint;
pub use head::{Head, HeadError, HeadParts, ToolDeclaration};
pub use marks::{Mark, MarkPoints};
