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
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut pauses = Pauses::new();
    loop {
        if let Some(found) = look() {
            return found;
        }
        sleep(pauses.next(what));
    }
}

/// The same beside the tasks of a runtime. Paused time does not move meanwhile.
pub async fn until_some_async<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut pauses = Pauses::new();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        let pause = pauses.next(what);
        // A timer of the runtime would let paused time jump ahead. A thread that is waited for holds it.
        let _ = tokio::task::spawn_blocking(move || sleep(pause)).await;
    }
}

/// The pauses of one wait.
struct Pauses {
    began: Instant,
    next: Duration,
}

impl Pauses {
    fn new() -> Self {
        Self { began: Instant::now(), next: PAUSE_MIN }
    }

    #[track_caller]
    fn next(&mut self, what: &str) -> Duration {
        let waited = self.began.elapsed();
        assert!(waited < WAIT_MAX, "{what}: not after {} s", waited.as_secs());
        let pause = self.next;
        self.next = (pause * 2).min(PAUSE_MAX);
        pause
    }
}
