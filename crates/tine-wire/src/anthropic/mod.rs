//! Anthropic Messages.

pub(crate) mod decode;
mod encode;
pub(crate) mod read;
mod usage;

pub(crate) use encode::{AnthropicFramer, mark_text, render_head};
