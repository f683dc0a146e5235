//! Waiting at a rate gate, and what is held while a request is under way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::state::{Passed, State};
use crate::HoldReason;
use crate::http::watch::reached;

/// What all requests of one account to one model pass. Its state is locked for moments only, never across a wait.
#[derive(Debug, Default)]
pub(crate) struct RateGate {
    state: Mutex<State>,
    /// Whether anything was answered at all: the address is right.
    is_answered: AtomicBool,
}

impl RateGate {
    /// Waits for this one's turn: first come, first served. Dropping the future leaves the queue without a trace.
    pub(crate) async fn pass(self: &Arc<Self>) -> Permit {
        let turn = Turn::join(self);
        loop {
            let passed = turn.gate.state().pass(turn.id, Instant::now());
            let again = match passed {
                Ok(passed) => return Permit { gate: Arc::clone(self), passed },
                Err(again) => again,
            };
            tokio::select! {
                () = turn.bell.notified() => {}
                () = reached(again) => {}
            }
        }
    }

    /// Why somebody who cannot pass cannot, and for how long if that is known.
    pub(crate) fn hold(&self) -> (HoldReason, Option<Duration>) {
        self.state().hold(Instant::now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing between lock and unlock panics; and if it did, the counts are still worth keeping.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue.
struct Turn<'a> {
    gate: &'a RateGate,
    id: u64,
    bell: Arc<Notify>,
}

impl<'a> Turn<'a> {
    fn join(gate: &'a RateGate) -> Self {
        let bell = Arc::new(Notify::new());
        let id = gate.state().join(Arc::clone(&bell));
        Self { gate, id, bell }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.gate.state().leave(self.id);
    }
}

/// Held while a request is under way; dropping it says that the request is over.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Arc<RateGate>,
    passed: Passed,
}

impl Permit {
    /// There is an answer, of whatever kind.
    pub(crate) fn answered(&self) {
        self.gate.is_answered.store(true, Ordering::Relaxed);
    }

    /// Whether any request at this gate had an answer yet.
    pub(crate) fn was_answered(&self) -> bool {
        self.gate.is_answered.load(Ordering::Relaxed)
    }

    /// The reply began: the provider took the request, and the next may follow.
    pub(crate) fn taken(&self) {
        self.gate.state().taken(self.passed);
    }

    /// The provider refused the request for its rate: nobody passes for so long.
    pub(crate) fn refused(&self, wait: Duration) {
        self.gate.state().refused(self.passed, wait, Instant::now());
    }

    /// The provider said that nothing is left for so long.
    pub(crate) fn used_up(&self, wait: Duration) {
        self.gate.state().used_up(wait, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.state().ended(self.passed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::IN_FLIGHT_MAX;
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tokio::task::JoinSet;
    use tokio::time::{sleep, timeout};

    /// Until a reply begins, and from there to its end.
    const FIRST_EVENT: Duration = Duration::from_millis(100);
    const REST: Duration = Duration::from_secs(5);

    /// Closes the gate as a refused request would.
    async fn refuse(gate: &Arc<RateGate>, wait: Duration) {
        gate.pass().await.refused(wait);
    }

    /// When each of so many requests was sent, in milliseconds.
    async fn sent_at(gate: &Arc<RateGate>, count: usize) -> Vec<u128> {
        let start = Instant::now();
        let mut requests = JoinSet::new();
        for _ in 0..count {
            let gate = Arc::clone(gate);
            requests.spawn(async move {
                let permit = gate.pass().await;
                let sent = start.elapsed().as_millis();
                sleep(FIRST_EVENT).await;
                permit.taken();
                sleep(REST).await;
                sent
            });
        }
        let mut sent = requests.join_all().await;
        sent.sort_unstable();
        sent
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_gate_holds_nobody_up_to_its_most_in_flight() {
        let gate = Arc::default();
        let sent = sent_at(&gate, IN_FLIGHT_MAX + 1).await;
        assert_eq!(sent[..IN_FLIGHT_MAX], [0; IN_FLIGHT_MAX]);
        assert_eq!(sent[IN_FLIGHT_MAX], (FIRST_EVENT + REST).as_millis());
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_refusal_requests_go_in_waves_as_replies_begin() {
        let gate = Arc::default();
        refuse(&gate, Duration::from_secs(1)).await;
        let waves = [1000, 1100, 1100, 1200, 1200, 1200, 1200, 1300, 1300, 1300];
        assert_eq!(sent_at(&gate, 10).await, waves);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_in_a_wave_closes_again_and_halves_the_wave() {
        let gate: Arc<RateGate> = Arc::default();
        refuse(&gate, Duration::from_secs(1)).await;
        for _ in 0..3 {
            gate.pass().await.taken();
        }
        refuse(&gate, Duration::from_secs(2)).await;
        assert_eq!(sent_at(&gate, 6).await, [2000, 2000, 2100, 2100, 2100, 2100]);
    }

    #[tokio::test(start_paused = true)]
    async fn siblings_refused_at_once_halve_the_wave_once() {
        let gate: Arc<RateGate> = Arc::default();
        let mut siblings = Vec::new();
        for _ in 0..8 {
            siblings.push(gate.pass().await);
        }
        for permit in siblings {
            permit.refused(Duration::from_secs(1));
        }
        assert_eq!(sent_at(&gate, 3).await, [1000, 1100, 1100]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_leaves_no_hole_in_the_queue() {
        let gate: Arc<RateGate> = Arc::default();
        refuse(&gate, Duration::from_secs(1)).await;
        let order = Arc::new(AtomicUsize::new(0));
        let mut requests = JoinSet::new();
        for number in 0..6 {
            let (gate, order) = (Arc::clone(&gate), Arc::clone(&order));
            requests.spawn(async move {
                // Every second one gives up before the gate opens, the first of the queue among them.
                let patience = Duration::from_millis(if number % 2 == 0 { 500 } else { 60_000 });
                let permit = timeout(patience, gate.pass()).await.ok()?;
                permit.taken();
                Some((order.fetch_add(1, Ordering::Relaxed), number))
            });
        }
        let mut passed: Vec<_> = requests.join_all().await.into_iter().flatten().collect();
        passed.sort_unstable();
        assert_eq!(passed, [(0, 1), (1, 3), (2, 5)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_before_it_begins_lets_the_next_through() {
        let gate: Arc<RateGate> = Arc::default();
        refuse(&gate, Duration::ZERO).await;
        let first = gate.pass().await;
        assert!(timeout(Duration::from_secs(1), gate.pass()).await.is_err());
        drop(first);
        assert!(timeout(Duration::from_secs(1), gate.pass()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_longer_closing_holds_those_who_wait_already() {
        let gate: Arc<RateGate> = Arc::default();
        let other = gate.pass().await;
        refuse(&gate, Duration::from_secs(1)).await;
        let later = async {
            sleep(Duration::from_millis(500)).await;
            other.used_up(Duration::from_secs(2));
        };
        let (sent, ()) = tokio::join!(sent_at(&gate, 1), later);
        assert_eq!(sent, [2500]);
    }
}
