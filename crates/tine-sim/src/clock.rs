//! Where the simulator's time comes from. Cache lifetimes are measured by it; delays are not (they are the async
//! runtime's sleeps, which a test can pause).

use std::sync::atomic::{AtomicU64, Ordering};

/// A source of milliseconds since the Unix epoch.
pub trait Clock: Send + Sync {
    /// Now.
    fn now_ms(&self) -> u64;

    /// Moves the clock forward if it is one that stands still by itself; `false` when it is not.
    fn try_advance(&self, by_ms: u64) -> bool {
        let _ = by_ms;
        false
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the simulator reads the time"
    )]
    fn now_ms(&self) -> u64 {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that shows `now_ms`.
    pub fn new(now_ms: u64) -> Self {
        Self(AtomicU64::new(now_ms))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by_ms: u64) {
        self.0.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn try_advance(&self, by_ms: u64) -> bool {
        // Saturating: whoever asks from outside may ask for anything.
        let forward = |now: u64| Some(now.saturating_add(by_ms));
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, forward).is_ok()
    }
}
