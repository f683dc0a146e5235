//! Anthropic Messages.

pub(crate) mod decode;
mod encode;
pub(crate) mod read;
mod remarks;
mod request;
mod usage;
mod version;

pub(crate) use encode::{AnthropicFramer, ending, mark_text, render_head};
pub(crate) use request::read_settings;
pub(crate) use version::is_of_version_before;
