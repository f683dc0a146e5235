//! Waiting for what another thread or process does.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The pause before the second look. Each later one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// The longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// Only something that never comes takes so long.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// Looks until `condition` holds. Panics after two minutes, and names `what` was waited for.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, || condition().then_some(()));
}

/// Looks until `look` finds something, and returns it. Panics after two minutes, and names `what` was waited for.
#[track_caller]
pub fn until_some<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    match find_within(WAIT_MAX, look) {
        Some(found) => found,
        None => never(what),
    }
}

/// The same beside the tasks of a runtime. Paused time does not move meanwhile.
pub async fn until_some_async<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut pauses = Pauses::new(WAIT_MAX);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        let pause = pauses.next().unwrap_or_else(|| never(what));
        // A timer of the runtime would let paused time jump ahead. A thread that is waited for holds it.
        let _ = tokio::task::spawn_blocking(move || sleep(pause)).await;
    }
}

/// Looks until `look` finds something, and returns it, or `None` after `limit`.
pub(crate) fn find_within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let mut pauses = Pauses::new(limit);
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        sleep(pauses.next()?);
    }
}

#[track_caller]
fn never(what: &str) -> ! {
    panic!("{what}: not after {} s", WAIT_MAX.as_secs())
}

/// The pauses of one wait.
struct Pauses {
    began: Instant,
    limit: Duration,
    next: Duration,
}

impl Pauses {
    fn new(limit: Duration) -> Self {
        Self { began: Instant::now(), limit, next: PAUSE_MIN }
    }

    /// The next pause. `None` when the limit is over.
    fn next(&mut self) -> Option<Duration> {
        if self.began.elapsed() >= self.limit {
            return None;
        }
        let pause = self.next;
        self.next = (pause * 2).min(PAUSE_MAX);
        Some(pause)
    }
}
