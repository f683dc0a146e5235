//! nats-servers, clusters and partitions, as tests of other crates have them.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod nodes;
mod partition;
