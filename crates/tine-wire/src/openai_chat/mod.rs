//! OpenAI Chat Completions, as OpenAI and compatible servers speak it.

mod calls;
pub(crate) mod decode;
mod encode;
pub(crate) mod read;
mod usage;

pub(crate) use encode::{ChatFramer, ending, mark_text, render_head};
pub(crate) use read::missing_id;
