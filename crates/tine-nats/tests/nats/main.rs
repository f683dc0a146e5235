//! The crate against a real nats-server: `cargo xtask hosts nats`.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod forks;
mod house;
mod server;
