//! The rate gate: what all requests of one account to one model pass before they are sent.
//!
//! A provider limits the account, not the request. So when it refuses one request for its rate, all wait, and then go in growing
//! waves instead of in step. [`RateGates`] finds the gate, `pass` waits at it, `state` holds its rules and `foresee` reads what a
//! provider says of its limits before it refuses.

mod foresee;
mod pass;
mod registry;
mod state;

pub(crate) use foresee::foreseen;
pub(crate) use pass::{Permit, RateGate};
pub use registry::RateGates;
