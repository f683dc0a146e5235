//! Anthropic Messages.

mod encode;

pub(crate) use encode::{AnthropicFramer, mark_text, render_head};
