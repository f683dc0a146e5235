//! Where two requests part: the first segment, in prompt order, that is not the same in both.
//!
//! This is what a person reads when a cache did not serve what it should have. It works on bodies as they were sent, from
//! the shapes of each format alone: so it also reads bodies of other versions and other clients. It never judges which of
//! two requests is right, and it repairs nothing: what is spelled differently is different, except for the order of a
//! body's settings and the blanks between its parts.

mod identity;
mod pieces;
mod prompt;
mod walk;

pub(crate) use identity::head_identity;
pub use walk::first_difference;
