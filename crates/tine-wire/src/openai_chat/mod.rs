//! OpenAI Chat Completions, as OpenAI and compatible servers speak it.

mod encode;

pub(crate) use encode::{ChatFramer, render_head};
