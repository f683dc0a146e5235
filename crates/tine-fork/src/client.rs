//! What a client of one's own takes and gives: the request as bytes, the reply as a message and what it cost.

pub use tine_llm::{LlmClient, LlmError, Progress, Request};
pub use tine_model::{StopReason, Usage};
pub use tine_wire::{Event, Partial, Reply};
