//! Real nats-servers on loopback: one ([`Node`]), a cluster ([`Nodes`]), and a network that breaks in front of one ([`Partition`]).
//!
//! The server is the program that [`NATS_SERVER`] names; `cargo xtask hosts nats` finds or fetches it. It speaks to servers as far as is
//! needed to know that they are up: there is no NATS client here.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a server that does not come up is a failed test; there is nobody to tell but the test runner"
)]

mod monitor;
mod node;
mod nodes;
mod partition;

pub use node::{NATS_SERVER, Node};
pub use nodes::Nodes;
pub use partition::Partition;
