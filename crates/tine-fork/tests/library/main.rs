//! The library as an embedder uses it: every behaviour, over every provider's wire format.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod delegates;
mod ends;
mod house;
mod inherits;
mod log;
mod notified;
mod observed;
mod races;
mod snippets;
mod telemetry;
