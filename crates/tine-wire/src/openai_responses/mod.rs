//! OpenAI Responses.
//!
//! The kept text of a message is a list of items: those of one answer of the model, or those of a request that make one
//! message here.

pub(crate) mod decode;
mod encode;
pub(crate) mod read;
mod terminal;
mod usage;

pub(crate) use encode::{ResponsesFramer, ending, mark_text, render_head};
