//! The Gemini format as its server sees it: what a valid request is, which cached contents there are and what they cost, and
//! what a reply looks like on the wire. Opens no socket and knows no scenario.

mod members;
mod reply;
mod request;
mod resources;
mod signature;
mod turns;

pub(crate) use reply::{Head, PromptCount, as_array, dialect, error_body, frames, json_body};
pub(crate) use request::{Method, Request, min_tokens};
pub(crate) use resources::{CachedContents, NewContent, Resource};
pub(crate) use signature::sign;

#[cfg(test)]
#[path = "gemini/validation_tests.rs"]
mod tests;
