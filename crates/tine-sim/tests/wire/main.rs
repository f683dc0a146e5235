//! The simulator over real sockets.

mod caches;
mod diagnostics;
mod engines;
mod exchange;
mod faults;
mod gemini;
mod quota;
mod refusals;
mod responses;
mod strangers;
mod support;
