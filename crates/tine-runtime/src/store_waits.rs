//! Tells somebody of writes that wait because another process holds the store's lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Called when a write begins to wait, on the task that writes: must be quick.
pub type WaitListener = Arc<dyn Fn() + Send + Sync>;

/// Those who want to hear of waits. A wait is told once, to who has listened longest: a screen that shows several runs, or the run that
/// began first. A handle: clones share everything.
#[derive(Clone, Default)]
pub struct StoreWaits {
    listeners: Arc<Mutex<Listeners>>,
}

#[derive(Default)]
struct Listeners {
    next: u64,
    listening: Vec<(u64, WaitListener)>,
}

impl StoreWaits {
    /// Tells of a wait. Returns false if nobody listens.
    pub fn tell(&self) -> bool {
        let first = self.lock().listening.first().map(|(_, listener)| Arc::clone(listener));
        let Some(listener) = first else { return false };
        // The write goes on, whatever becomes of the words.
        if catch_unwind(AssertUnwindSafe(|| listener())).is_err() {
            tracing::warn!("a listener panicked; the write goes on");
        }
        true
    }

    /// Listens until the guard is dropped.
    pub fn listen(&self, listener: WaitListener) -> Listening {
        let mut listeners = self.lock();
        let number = listeners.next;
        listeners.next += 1;
        listeners.listening.push((number, listener));
        Listening { waits: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who hears of waits.
#[must_use]
pub struct Listening {
    waits: StoreWaits,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.waits.lock().listening.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_first_who_listens_is_told_and_a_panic_ends_nothing() {
        let waits = StoreWaits::default();
        assert!(!waits.tell());
        let heard: [Arc<AtomicUsize>; 2] = Default::default();
        let [first, second] = heard.clone().map(|heard| {
            waits.listen(Arc::new(move || {
                heard.fetch_add(1, Ordering::Relaxed);
            }))
        });
        assert!(waits.tell() && waits.tell());
        drop(first);
        assert!(waits.tell());
        drop(second);
        let _bad = waits.listen(Arc::new(|| panic!("a bug")));
        assert!(waits.tell());
        assert_eq!(heard.map(|heard| heard.load(Ordering::Relaxed)), [2, 1]);
    }
}
