//! The Chat Completions format as its server sees it: what a valid request is, which bytes its prompt consists of, and
//! what a reply looks like on the wire. Opens no socket and knows no scenario.

mod engine;
mod host;
mod reply;
mod request;
mod usage;

pub(crate) use host::Host;
pub(crate) use reply::{Head, dialect, frames, json_body, lines};
pub(crate) use request::Request;

#[cfg(test)]
#[path = "chat/validation_tests.rs"]
mod tests;
