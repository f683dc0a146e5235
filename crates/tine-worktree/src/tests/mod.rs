//! Tests that need to reach inside: what fails in between, and how an index is read.

mod death;
pub(crate) mod fault;
mod index;
#[path = "../../tests/worktree/support.rs"]
mod support;
