//! One cold prefix, one writer: siblings wait until the first of them has made the cache entry.
//!
//! A provider's cache entry can be read only once the writer's response has begun. Siblings that start together on a cold
//! prefix would each pay for writing it, so one leads and the rest follow on its first stream event.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Longest wait for the leader's first event: a leader that is this slow is worth less than the time of the others.
pub const LEADER_WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum State {
    /// Nobody has sent yet; only this member may begin.
    Waiting { leader: usize },
    /// The leader failed before its first event; whoever comes first leads.
    Vacant,
    /// A leader's request is under way.
    Led,
    /// The entry exists, or waiting was given up.
    Open,
}

/// The siblings of one fork on their way to their first request.
#[derive(Debug)]
pub struct Flight {
    state: Mutex<State>,
    changed: Notify,
    wait_max: Duration,
}

impl Flight {
    /// All start at once: for a warm prefix.
    pub fn together() -> Arc<Self> {
        Self::with(State::Open, Duration::ZERO)
    }

    /// `leader` goes first, the rest on its first event, or after `wait_max`.
    pub fn leader_first(leader: usize, wait_max: Duration) -> Arc<Self> {
        Self::with(State::Waiting { leader }, wait_max)
    }

    fn with(state: State, wait_max: Duration) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(state), changed: Notify::new(), wait_max })
    }

    /// A member's place. Every member takes its seat before any of them starts.
    pub fn seat(self: &Arc<Self>, member: usize) -> Seat {
        Seat { flight: Arc::clone(self), member }
    }

    async fn enter(self: &Arc<Self>, member: usize, cancel: &CancellationToken) -> Ticket {
        let deadline = tokio::time::sleep(self.wait_max);
        tokio::pin!(deadline);
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read, so that no change in between is missed.
            changed.as_mut().enable();
            if let Some(ticket) = self.try_enter(member) {
                return ticket;
            }
            // All branches are cancel-safe: they only wait.
            tokio::select! {
                () = changed => {}
                () = &mut deadline => self.open(),
                () = cancel.cancelled() => return Ticket { flight: Arc::clone(self), leads: false },
            }
        }
    }

    fn try_enter(self: &Arc<Self>, member: usize) -> Option<Ticket> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let leads = match *state {
            State::Open => false,
            State::Led => return None,
            State::Waiting { leader } if leader != member => return None,
            State::Waiting { .. } | State::Vacant => {
                *state = State::Led;
                true
            }
        };
        Some(Ticket { flight: Arc::clone(self), leads })
    }

    /// Lets another lead when the one who was to lead will not.
    fn give_up(&self, member: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Waiting { leader } if leader == member) {
            *state = State::Vacant;
            drop(state);
            self.changed.notify_waiters();
        }
    }

    fn open(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Open;
        self.changed.notify_waiters();
    }
}

/// A member's place in a flight. A leader whose seat is dropped, or whose wait is cancelled, before it sends is
/// replaced.
#[derive(Debug)]
pub struct Seat {
    flight: Arc<Flight>,
    member: usize,
}

impl Seat {
    /// Waits for the right to send. Returns at once for the leader, and when `cancel` is cancelled.
    pub async fn enter(self, cancel: &CancellationToken) -> Ticket {
        self.flight.enter(self.member, cancel).await
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.flight.give_up(self.member);
    }
}

/// The right to send the first request. Dropping a leader's ticket before [`Ticket::started`] lets another lead.
#[derive(Debug)]
pub struct Ticket {
    flight: Arc<Flight>,
    leads: bool,
}

impl Ticket {
    /// Whether this member makes the entry for the others.
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// The response has begun: the entry exists.
    pub fn started(&mut self) {
        if std::mem::take(&mut self.leads) {
            self.flight.open();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.leads {
            let mut state = self.flight.state.lock().unwrap_or_else(PoisonError::into_inner);
            if matches!(*state, State::Led) {
                *state = State::Vacant;
            }
            drop(state);
            self.flight.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn token() -> CancellationToken {
        CancellationToken::new()
    }

    #[tokio::test(start_paused = true)]
    async fn followers_wait_for_the_leaders_first_event() {
        let flight = Flight::leader_first(1, LEADER_WAIT_MAX);
        let cancel = token();
        let mut follower = Box::pin(flight.seat(0).enter(&cancel));
        assert!(follower.as_mut().now_or_never().is_none());
        let mut leader = flight.seat(1).enter(&cancel).await;
        assert!(leader.leads());
        assert!(follower.as_mut().now_or_never().is_none());
        leader.started();
        assert!(!follower.await.leads());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_leader_is_replaced_and_the_rest_keep_waiting() {
        let flight = Flight::leader_first(0, LEADER_WAIT_MAX);
        let cancel = token();
        let leader = flight.seat(0).enter(&cancel).await;
        let mut second = Box::pin(flight.seat(1).enter(&cancel));
        let mut third = Box::pin(flight.seat(2).enter(&cancel));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        drop(leader);
        let promoted = second.await;
        assert!(promoted.leads());
        assert!(third.as_mut().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_never_comes_is_replaced_at_once() {
        let flight = Flight::leader_first(0, LEADER_WAIT_MAX);
        let cancel = token();
        let mut follower = Box::pin(flight.seat(1).enter(&cancel));
        let leader = flight.seat(0);
        assert!(follower.as_mut().now_or_never().is_none());
        drop(leader);
        assert!(follower.await.leads());
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_is_capped() {
        let flight = Flight::leader_first(0, LEADER_WAIT_MAX);
        let cancel = token();
        let _leader = flight.seat(0).enter(&cancel).await;
        let before = tokio::time::Instant::now();
        assert!(!flight.seat(1).enter(&cancel).await.leads());
        assert_eq!(before.elapsed(), LEADER_WAIT_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_follower_does_not_wait() {
        let flight = Flight::leader_first(0, LEADER_WAIT_MAX);
        let cancel = token();
        cancel.cancel();
        assert!(!flight.seat(1).enter(&cancel).await.leads());
    }

    #[tokio::test(start_paused = true)]
    async fn a_warm_prefix_holds_nobody() {
        let flight = Flight::together();
        for member in 0..8 {
            assert!(!flight.seat(member).enter(&token()).await.leads());
        }
    }
}
