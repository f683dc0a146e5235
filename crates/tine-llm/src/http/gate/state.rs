//! The rules of a rate gate, without a clock of their own: every moment comes in as a parameter.
//!
//! - Open, it lets everybody through, up to a number in flight.
//! - A refusal closes it for everybody until the wait is over. Behind that it lets through one request, and one more for each that
//!   the provider took: 1, 2, 4, 8 … A refusal of one that passed meanwhile closes it again and halves the wave.
//! - Who came first passes first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::HoldReason;

/// Most requests of one account to one model in flight. HTTP/2 peers commonly allow 100 streams on a connection; more would queue
/// there, unseen, and a loop gone wrong must not pay for a thousand replies at once.
pub(super) const IN_FLIGHT_MAX: usize = 100;

/// A request that was not refused for so long was taken, whatever it is silent about: providers refuse for the rate at once. One
/// slow reply must not hold up everybody.
pub(super) const SILENT_MAX: Duration = Duration::from_secs(10);

/// Longest closing. What asks for more is no rate but a quota of a day, and each request should hear of it by itself.
pub(super) const CLOSED_MAX: Duration = Duration::from_secs(3600);

/// Somebody in the queue.
#[derive(Debug)]
struct Waiting {
    id: u64,
    /// Rung when it is worth looking again, and only for the first of the queue.
    bell: Arc<Notify>,
}

#[derive(Debug, Clone, Copy)]
struct Closing {
    until: Instant,
    reason: HoldReason,
}

/// Somebody who passed: needed for what is said of the request later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) id: u64,
    /// Number of closings before it passed. A refusal of somebody who passed before the last closing says nothing new.
    closings: u64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    queue: VecDeque<Waiting>,
    next_id: u64,
    in_flight: usize,
    closed: Option<Closing>,
    /// So many times it was closed by surprise.
    closings: u64,
    /// Most requests of which it is not known yet whether they were taken; `None` when the gate is open.
    wave: Option<usize>,
    /// Those requests since the last closing, oldest first, and when they passed.
    unknown: VecDeque<(u64, Instant)>,
}

impl State {
    /// Joins the end of the queue.
    pub(super) fn join(&mut self, bell: Arc<Notify>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.queue.push_back(Waiting { id, bell });
        id
    }

    /// Leaves the queue; does nothing for who passed.
    pub(super) fn leave(&mut self, id: u64) {
        self.queue.retain(|waiting| waiting.id != id);
        self.ring();
    }

    /// Passes if it is this one's turn; else the moment at which to look again without having been rung for.
    pub(super) fn pass(&mut self, id: u64, now: Instant) -> Result<Passed, Option<Instant>> {
        if self.queue.front().is_none_or(|first| first.id != id) {
            return Err(None);
        }
        self.closed = self.closed.filter(|closing| now < closing.until);
        if let Some(closing) = self.closed {
            return Err(Some(closing.until));
        }
        while self.unknown.front().is_some_and(|(_, sent)| now.duration_since(*sent) >= SILENT_MAX)
        {
            self.unknown.pop_front();
            self.grow();
        }
        if self.in_flight >= IN_FLIGHT_MAX {
            return Err(None);
        }
        if self.wave.is_some_and(|wave| self.unknown.len() >= wave) {
            return Err(self.unknown.front().and_then(|(_, sent)| sent.checked_add(SILENT_MAX)));
        }
        self.queue.pop_front();
        self.in_flight += 1;
        if self.wave.is_some() {
            self.unknown.push_back((id, now));
        }
        self.ring();
        Ok(Passed { id, closings: self.closings })
    }

    /// The provider took the request: its reply began.
    pub(super) fn taken(&mut self, passed: Passed) {
        if self.forget(passed.id) {
            self.grow();
        }
        self.ring();
    }

    /// The request is over, whichever way.
    pub(super) fn ended(&mut self, passed: Passed) {
        self.forget(passed.id);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.ring();
    }

    /// The provider refused the request for its rate: nobody passes for so long.
    pub(super) fn refused(&mut self, passed: Passed, wait: Duration, now: Instant) {
        if passed.closings == self.closings {
            self.start_over(self.wave.map_or(1, |wave| (wave / 2).max(1)));
        }
        self.close(wait, HoldReason::Refused, now);
    }

    /// The provider said with an answer that nothing is left for so long.
    pub(super) fn used_up(&mut self, wait: Duration, now: Instant) {
        if self.wave.is_none() {
            self.start_over(1);
        }
        self.close(wait, HoldReason::UsedUp, now);
    }

    /// Why somebody who cannot pass cannot, and until when if that is known.
    pub(super) fn hold(&self, now: Instant) -> (HoldReason, Option<Duration>) {
        match self.closed.filter(|closing| now < closing.until) {
            Some(Closing { until, reason }) => (reason, Some(until.duration_since(now))),
            None if self.in_flight >= IN_FLIGHT_MAX => (HoldReason::InFlight, None),
            None => (HoldReason::Wave, None),
        }
    }

    /// A new first wave. What passed before it is not counted in it.
    fn start_over(&mut self, wave: usize) {
        self.closings += 1;
        self.wave = Some(wave);
        self.unknown.clear();
    }

    /// A closing is never shortened by another one.
    fn close(&mut self, wait: Duration, reason: HoldReason, now: Instant) {
        let until = now.checked_add(wait.min(CLOSED_MAX)).unwrap_or(now);
        if self.closed.is_none_or(|closing| closing.until < until) {
            self.closed = Some(Closing { until, reason });
        }
        self.ring();
    }

    fn grow(&mut self) {
        self.wave = self.wave.map(|wave| wave + 1).filter(|wave| *wave < IN_FLIGHT_MAX);
        if self.wave.is_none() {
            self.unknown.clear();
        }
    }

    fn forget(&mut self, id: u64) -> bool {
        let before = self.unknown.len();
        self.unknown.retain(|(found, _)| *found != id);
        self.unknown.len() < before
    }

    /// The first of the queue looks again; whoever passes rings for the next.
    fn ring(&self) {
        if let Some(first) = self.queue.front() {
            first.bell.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Join,
        Leave(prop::sample::Index),
        Pass(prop::sample::Index),
        Taken(prop::sample::Index),
        Ended(prop::sample::Index),
        Refused(prop::sample::Index, u64),
        UsedUp(u64),
        Later(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let index = any::<prop::sample::Index>;
        let step = prop_oneof![
            4 => Just(Step::Join),
            1 => index().prop_map(Step::Leave),
            8 => index().prop_map(Step::Pass),
            3 => index().prop_map(Step::Taken),
            2 => index().prop_map(Step::Ended),
            2 => (index(), 0u64..3_000).prop_map(|(at, wait)| Step::Refused(at, wait)),
            1 => (0u64..3_000).prop_map(Step::UsedUp),
            3 => (1u64..4_000).prop_map(Step::Later),
        ];
        prop::collection::vec(step, 0..200)
    }

    /// The gate beside a plain account of what happened to it.
    struct Run {
        state: State,
        now: Instant,
        queue: Vec<u64>,
        flying: Vec<Passed>,
        /// Passed in the present round of waves, and neither known to be taken nor ended.
        unknown: Vec<(u64, Instant)>,
        closed_until: Instant,
    }

    impl Run {
        fn new(now: Instant) -> Self {
            let (queue, flying, unknown) = (Vec::new(), Vec::new(), Vec::new());
            Self { state: State::default(), now, queue, flying, unknown, closed_until: now }
        }

        fn take(&mut self, at: &prop::sample::Index) -> Option<Passed> {
            (!self.flying.is_empty()).then(|| *at.get(&self.flying))
        }

        fn pass(&mut self, id: u64) -> Result<bool, TestCaseError> {
            let Ok(passed) = self.state.pass(id, self.now) else { return Ok(false) };
            prop_assert_eq!(self.queue.first(), Some(&id), "who came first passes first");
            self.queue.remove(0);
            prop_assert!(self.closed_until <= self.now, "passed a closed gate");
            self.flying.push(passed);
            prop_assert!(self.flying.len() <= IN_FLIGHT_MAX);
            self.unknown.push((id, self.now));
            self.unknown.retain(|(_, sent)| self.now.duration_since(*sent) < SILENT_MAX);
            if let Some(wave) = self.state.wave {
                prop_assert!(self.unknown.len() <= wave, "more than the wave");
            }
            Ok(true)
        }

        fn close(&mut self, wait: u64) {
            self.closed_until = self.closed_until.max(self.now + Duration::from_millis(wait));
        }

        fn play(&mut self, step: &Step) -> Result<(), TestCaseError> {
            match step {
                Step::Join => self.queue.push(self.state.join(Arc::default())),
                Step::Leave(at) if !self.queue.is_empty() => {
                    let id = self.queue.remove(at.index(self.queue.len()));
                    self.state.leave(id);
                }
                Step::Pass(at) if !self.queue.is_empty() => {
                    self.pass(*at.get(&self.queue))?;
                    self.pass(self.queue.first().copied().unwrap_or_default())?;
                }
                Step::Leave(_) | Step::Pass(_) => {}
                Step::Taken(at) => {
                    if let Some(passed) = self.take(at) {
                        self.unknown.retain(|(id, _)| *id != passed.id);
                        self.state.taken(passed);
                    }
                }
                Step::Ended(at) => {
                    if let Some(passed) = self.take(at) {
                        self.flying.retain(|found| *found != passed);
                        self.unknown.retain(|(id, _)| *id != passed.id);
                        self.state.ended(passed);
                    }
                }
                Step::Refused(at, wait) => {
                    if let Some(passed) = self.take(at) {
                        let (wave, closings) = (self.state.wave, self.state.closings);
                        self.state.refused(passed, Duration::from_millis(*wait), self.now);
                        if self.state.closings > closings {
                            self.unknown.clear();
                            let expected = wave.map_or(1, |wave| (wave / 2).max(1));
                            prop_assert_eq!(self.state.wave, Some(expected));
                        } else {
                            prop_assert_eq!(self.state.wave, wave, "halved twice for one refusal");
                        }
                        self.close(*wait);
                    }
                }
                Step::UsedUp(wait) => {
                    if self.state.wave.is_none() {
                        self.unknown.clear();
                    }
                    self.state.used_up(Duration::from_millis(*wait), self.now);
                    self.close(*wait);
                }
                Step::Later(wait) => self.now += Duration::from_millis(*wait),
            }
            Ok(())
        }

        /// Everybody who waits passes in the end, if only the requests in flight end.
        fn drain(&mut self) -> Result<(), TestCaseError> {
            while let Some(first) = self.queue.first().copied() {
                if self.pass(first)? {
                    continue;
                }
                match self.state.pass(first, self.now) {
                    Err(Some(until)) if self.closed_until > self.now => self.now = until,
                    Err(_) => {
                        prop_assert!(!self.flying.is_empty(), "held by nobody");
                        let passed = self.flying.remove(0);
                        self.unknown.retain(|(id, _)| *id != passed.id);
                        self.state.ended(passed);
                    }
                    Ok(passed) => prop_assert!(false, "passed only when asked twice: {passed:?}"),
                }
            }
            for passed in self.flying.drain(..) {
                self.state.ended(passed);
            }
            let State { queue, in_flight, unknown, .. } = &self.state;
            prop_assert!(queue.is_empty() && *in_flight == 0 && unknown.is_empty(), "a leak");
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn no_more_than_the_wave_in_order_and_nobody_stays(steps in steps()) {
            let mut run = Run::new(Instant::now());
            for step in &steps {
                run.play(step)?;
            }
            run.drain()?;
        }
    }

    #[test]
    fn a_silent_request_holds_the_others_for_a_while_only() {
        let (mut state, now) = (State::default(), Instant::now());
        state.used_up(Duration::ZERO, now);
        let ids: Vec<u64> = (0..4).map(|_| state.join(Arc::default())).collect();
        assert!(state.pass(ids[0], now).is_ok());
        assert_eq!(state.pass(ids[1], now), Err(Some(now + SILENT_MAX)));
        let later = now + SILENT_MAX;
        assert!(state.pass(ids[1], later).is_ok());
        assert!(state.pass(ids[2], later).is_ok());
        assert_eq!(state.pass(ids[3], later), Err(Some(later + SILENT_MAX)));
    }

    #[test]
    fn enough_taken_requests_open_the_gate_again() {
        let (mut state, now) = (State::default(), Instant::now());
        state.used_up(Duration::ZERO, now);
        for taken in 1..IN_FLIGHT_MAX {
            assert_eq!(state.wave, Some(taken));
            let id = state.join(Arc::default());
            let passed = state.pass(id, now).unwrap();
            state.taken(passed);
            state.ended(passed);
        }
        assert_eq!(state.wave, None);
    }

    #[test]
    fn a_closing_beyond_all_clocks_is_cut() {
        let (mut state, now) = (State::default(), Instant::now());
        state.used_up(Duration::MAX, now);
        assert_eq!(state.hold(now), (HoldReason::UsedUp, Some(CLOSED_MAX)));
    }
}
