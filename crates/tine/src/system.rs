//! The machine's clock and randomness: the one place where they enter.

use tine_runtime::{Clock, Ids};

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where the time comes in")]
    fn now_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The system's random numbers.
pub(crate) struct SystemIds;

impl Ids for SystemIds {
    #[expect(
        clippy::expect_used,
        reason = "without randomness no id would be unique; no system that runs tine lacks it"
    )]
    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        bytes
    }
}
