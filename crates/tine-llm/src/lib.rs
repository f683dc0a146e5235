//! The port to a model, and its HTTP implementation: sending, time limits, retries, the rate gate, cancellation.
//!
//! [`LlmClient`] is what the rest of tine talks to. A request arrives as bytes and leaves as those bytes; what comes back is read
//! by `tine-wire`.
//!
//! The feature `http`, on by default, adds `HttpClient`, the implementation for providers behind an address. Clients of one account
//! and model share a gate (`RateGates`): when the provider limits the rate, all wait, and none retries in step with another.
//! Without it the crate is the port alone, and brings no HTTP or TLS library: for whoever has a client of their own.
//!
//! This crate knows no agents and no provider's JSON. It never changes a request, never follows a redirect, never
//! sends a request again by itself once a part of its reply has been reported, and never shows a key.

mod client;
mod error;
mod hold;
#[cfg(feature = "http")]
mod http;

pub use client::{BACKOFF_DEFAULT, LlmClient, PATIENCE_DEFAULT, Progress, Request};
pub use error::{BrokenCause, LlmError, TimeLimit, TransportError};
pub use hold::HoldReason;
#[cfg(feature = "http")]
pub use http::{
    ERROR_BYTES_MAX, GOOGLE_KEY_VARIABLE, HttpClient, HttpLimits, HttpOptions, HttpOverrides,
    PROBE_WAIT_MAX, RateGates, RetryLimits, Secret, account, ensure_crypto, is_own_server, probe,
};
