//! The client for providers behind an address. All that needs an HTTP library is in here, behind the feature `http`.

mod address;
mod body;
mod cached;
mod client;
mod crypto;
mod exchange;
mod failing;
mod gate;
mod incoming;
mod options;
mod probe;
mod retry;
mod secret;
mod tries;
mod watch;

pub use client::HttpClient;
pub use crypto::ensure_crypto;
pub use exchange::ERROR_BYTES_MAX;
pub use gate::RateGates;
pub use options::{
    GOOGLE_KEY_VARIABLE, HttpLimits, HttpOptions, HttpOverrides, RetryLimits, account,
};
pub use probe::{PROBE_WAIT_MAX, is_own_server, probe};
pub use secret::Secret;
