//! The port to a model, and its HTTP implementation: sending, time limits, retries, the rate gate, cancellation.
//!
//! [`LlmClient`] is what the rest of tine talks to; [`HttpClient`] is the implementation for providers behind an
//! address. A request arrives as bytes and leaves as those bytes; what comes back is read by `tine-wire`. Clients of one account
//! and model share a gate ([`RateGates`]): when the provider limits the rate, all wait, and none retries in step with another.
//!
//! This crate knows no agents and no provider's JSON. It never changes a request, never follows a redirect, never
//! sends a request again once a part of its reply has been reported, and never shows a key.

mod address;
mod body;
mod cached;
mod client;
mod crypto;
mod error;
mod exchange;
mod gate;
mod http;
mod incoming;
mod options;
mod retry;
mod secret;
mod tries;
mod watch;

pub use client::{LlmClient, Progress, Request};
pub use crypto::ensure_crypto;
pub use error::{BrokenCause, LlmError, TimeLimit, TransportError};
pub use exchange::{ERROR_BYTES_MAX, REPLY_BYTES_MAX};
pub use gate::{HoldReason, RateGates};
pub use http::HttpClient;
pub use options::{HttpLimits, HttpOptions, HttpOverrides, RetryLimits};
pub use secret::Secret;
