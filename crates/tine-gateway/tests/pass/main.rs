//! The gateway between raw sockets: what one end sends is what the other one gets.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod bytes;
mod http2;
mod own;
mod streams;
mod told;
mod wire;
