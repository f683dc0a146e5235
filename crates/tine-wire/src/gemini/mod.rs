//! Google Gemini `generateContent`.

pub(crate) mod cached;
pub(crate) mod decode;
mod encode;
mod part;
mod pieces;
pub(crate) mod read;
mod usage;

pub(crate) use encode::{GeminiFramer, ending, render_head};
