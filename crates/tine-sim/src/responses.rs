//! The Responses format as its server sees it: what a valid request is, how its prompt is cut into cache positions, and what
//! a reply looks like on the wire. Opens no socket, knows no scenario, and keeps no state: a reply cannot be continued by
//! its id.

mod diagnosis;
mod events;
mod items;
mod members;
mod pairing;
mod prompt;
mod reply;
mod request;

pub(crate) use diagnosis::{diagnosis, trace};
pub(crate) use events::{dialect, frames};
pub(crate) use prompt::Flattened;
pub(crate) use reply::{Head, ItemIds, json_body};
pub(crate) use request::Request;

#[cfg(test)]
#[path = "responses/validation_tests.rs"]
mod tests;
