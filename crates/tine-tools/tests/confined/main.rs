//! What is opened is what was judged: every way in which a path can lead somewhere else.

#![expect(clippy::unwrap_used, reason = "tests, where a panic is the report")]

mod links;
mod odd;
mod roots;
mod support;
mod swapped;
