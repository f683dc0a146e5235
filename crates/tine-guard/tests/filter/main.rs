//! Filters as tables of cases, and the laws that hold for every call.

#![expect(clippy::unwrap_used, reason = "tests, where a panic is the report")]

mod arguments;
mod compose;
mod laws;
mod memory;
mod reading;
mod roots;
mod support;
mod worker;
