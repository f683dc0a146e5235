//! The Messages format as its server sees it: what a valid request is, how its prompt is cut into cache positions, and
//! what a reply looks like on the wire. Opens no socket and knows no scenario.

mod diagnosis;
mod marks;
mod members;
mod models;
mod pairing;
mod prompt;
mod reply;
mod request;
mod settings;
mod thinking;

pub(crate) use diagnosis::diagnosis;
pub(crate) use prompt::Flattened;
pub(crate) use reply::{Head, dialect, error_body, frames, json_body};
pub(crate) use request::{Purpose, Request};
pub(crate) use settings::Comparison;

#[cfg(test)]
#[path = "anthropic/validation_tests.rs"]
mod tests;
