//! The shared history of a conversation.
//!
//! A [`History`] is a chain of frozen, reference-counted nodes plus a private tail. [`History::fork`] freezes the
//! tail and hands both sides the same node, so it costs the same for ten messages as for a hundred thousand, and no
//! message is ever copied. [`History::rewind`] is a shorter view of the same chain.
//!
//! Per wire format a node keeps its messages as one contiguous run of bytes, made once (see [`Framer`]), with the
//! places where a cache mark may be inserted and a rolling hash after each message. This crate never serialises: what a
//! message looks like is the framer's business.

mod close;
mod frame;
mod history;
mod node;

pub use close::{Closed, close_calls};
pub use frame::{Frame, FrameRef, Framer, Hash, Layout, Run, Slot};
pub use history::{History, Item, TAIL_ITEMS_MAX};
