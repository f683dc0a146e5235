//! One cold prefix, one writer: siblings wait until the first of them has made the cache entry.
//!
//! A provider's cache entry can be read only once the writer's response has begun, or has ended. Siblings that start
//! together on a cold prefix would each pay for writing it, so they go in stages: each goes when what the one before wrote
//! can be read. Nothing here knows prices or decides how large a stage is; that is [`tine_cache::plan`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tine_cache::SharesAt;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Longest wait for one stage's first events: a leader that is this slow is worth less than the time of the others.
pub const LEADER_WAIT_MAX: Duration = Duration::from_secs(5);

/// Longest wait for one stage's replies, where nothing can be read before they end: three times what a request usually takes
/// ([`tine_cache::REQUEST_MS`]). A reply that is longer is a task of its own, and not worth the others' time.
pub const REPLY_WAIT_MAX: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct State {
    /// The stage that may enter now; behind the last one everybody may.
    stage: usize,
    /// Members of this stage that have entered.
    entered: usize,
    /// Those of them whose entry can be read.
    shared: usize,
    /// The member that is to enter first of all, unless it will not.
    first: Option<usize>,
}

/// The siblings of one fork on their way to their first request.
#[derive(Debug)]
pub struct Flight {
    state: Mutex<State>,
    changed: Notify,
    /// How many enter in each stage. Who is left behind the last one enters freely.
    stages: Vec<usize>,
    shares_at: SharesAt,
    wait_max: Duration,
}

/// The usual longest wait for one stage of a flight.
pub fn leader_wait_max(shares_at: SharesAt) -> Duration {
    match shares_at {
        SharesAt::FirstEvent => LEADER_WAIT_MAX,
        SharesAt::End => REPLY_WAIT_MAX,
    }
}

impl Flight {
    /// All start at once: for a warm prefix.
    pub fn together() -> Arc<Self> {
        Self::staged(0, Vec::new(), SharesAt::FirstEvent, Duration::ZERO)
    }

    /// `stages[0]` members go at once, `first` among them and first; the next so many when what all of them write can be
    /// read, and so on; behind the last stage everybody goes. Nobody waits longer than `wait_max` for one stage
    /// ([`leader_wait_max`]).
    pub fn staged(
        first: usize,
        mut stages: Vec<usize>,
        shares_at: SharesAt,
        wait_max: Duration,
    ) -> Arc<Self> {
        stages.retain(|members| *members > 0);
        let state = State { stage: 0, entered: 0, shared: 0, first: Some(first) };
        let (state, changed) = (Mutex::new(state), Notify::new());
        Arc::new(Self { state, changed, stages, shares_at, wait_max })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody waits for anybody any more.
    pub(crate) fn is_open(&self) -> bool {
        self.state().stage >= self.stages.len()
    }

    /// A member's place. Every member takes its seat before any of them starts; latecomers follow.
    pub fn seat(self: &Arc<Self>, member: usize) -> Seat {
        Seat { flight: Arc::clone(self), member }
    }

    async fn enter(self: &Arc<Self>, member: usize, cancel: &CancellationToken) -> Ticket {
        let mut awaited = self.state().stage;
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
            let stage = self.state().stage;
            if stage != awaited {
                awaited = stage;
                deadline.set(tokio::time::sleep(self.wait_max));
            }
            // All branches are cancel-safe: they only wait.
            tokio::select! {
                () = changed => {}
                () = &mut deadline => self.pass(awaited),
                () = cancel.cancelled() => return Ticket { flight: Arc::clone(self), stage: None },
            }
        }
    }

    fn try_enter(self: &Arc<Self>, member: usize) -> Option<Ticket> {
        let mut state = self.state();
        let stage = match self.stages.get(state.stage) {
            None => None,
            Some(_) if state.first.is_some_and(|first| first != member) => return None,
            Some(most) if state.entered >= *most => return None,
            Some(_) => {
                state.entered += 1;
                Some(state.stage)
            }
        };
        if state.first.take().is_some() && stage.is_some() {
            drop(state);
            // The others of its stage may follow.
            self.changed.notify_waiters();
        }
        Some(Ticket { flight: Arc::clone(self), stage })
    }

    /// Lets another go first when the one who was to go first will not.
    fn give_up(&self, member: usize) {
        let mut state = self.state();
        if state.first == Some(member) {
            state.first = None;
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// A member of a stage has written what others can read.
    fn share(&self, stage: usize) {
        let mut state = self.state();
        if state.stage != stage {
            return;
        }
        state.shared += 1;
        if self.stages.get(stage).is_none_or(|members| state.shared >= *members) {
            *state = State { stage: stage + 1, entered: 0, shared: 0, first: None };
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// A member of a stage will not write anything: its place is free.
    fn leave(&self, stage: usize) {
        let mut state = self.state();
        if state.stage == stage {
            state.entered -= 1;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// A stage has taken too long: the next one goes without it.
    fn pass(&self, stage: usize) {
        let mut state = self.state();
        if state.stage == stage {
            *state = State { stage: stage + 1, entered: 0, shared: 0, first: None };
        }
        drop(state);
        self.changed.notify_waiters();
    }
}

/// A member's place in a flight. Whoever was to go first and whose seat is dropped, or whose wait is cancelled, before it
/// sends is replaced.
#[derive(Debug)]
pub struct Seat {
    flight: Arc<Flight>,
    member: usize,
}

impl Seat {
    /// Whether nobody has to wait in this flight.
    pub(crate) fn is_free(&self) -> bool {
        self.flight.is_open()
    }

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

/// The right to send the first request. Dropped before others can read what it writes, it lets another take its place.
#[derive(Debug)]
pub struct Ticket {
    flight: Arc<Flight>,
    /// The stage that waits for this member.
    stage: Option<usize>,
}

impl Ticket {
    /// The flight.
    pub(crate) fn flight(&self) -> &Arc<Flight> {
        &self.flight
    }

    /// Whether others wait for what this member writes.
    pub fn leads(&self) -> bool {
        self.stage.is_some()
    }

    /// The response has begun: where siblings share from then on, the entry can be read.
    pub fn begun(&mut self) {
        if self.flight.shares_at == SharesAt::FirstEvent {
            self.ended();
        }
    }

    /// The response is complete: the entry can be read.
    pub fn ended(&mut self) {
        if let Some(stage) = self.stage.take() {
            self.flight.share(stage);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(stage) = self.stage.take() {
            self.flight.leave(stage);
        }
    }
}

#[cfg(test)]
#[path = "flight_tests.rs"]
mod tests;
