//! The simulator over real sockets.

mod exchange;
mod faults;
mod support;
