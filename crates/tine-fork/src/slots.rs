//! Waiting for the slot that holds a request's prefix, where a server has slots that share nothing.
//!
//! Before each request a run looks whether an idle slot holds as much of it as any slot does. If not, it waits: in another slot the
//! whole prefix would be computed again. Between two turns of a run its slot is kept for it for a moment, so that what its own
//! turns added is not lost to a sibling's. Which slot holds what is the ledger's knowledge; the server is not asked.

use std::time::Duration;

use tine_cache::{Launch, Plan, Scope, SlotPass};
use tine_model::Boundary;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cache::{CacheLane, lock};

/// The wait of a request for the slot that holds its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlotWait {
    /// Not at all: siblings that are to start together.
    Never,
    /// As long as one reply usually takes, in all: agents that have nothing to do with each other.
    #[default]
    Briefly,
    /// As long as slots become free: siblings that go in turn.
    InTurn,
}

impl SlotWait {
    /// Returns the wait of siblings that start by this plan.
    pub fn of(plan: &Plan) -> Self {
        match plan.launch {
            Launch::Together => Self::Never,
            Launch::LeaderFirst => Self::Briefly,
            Launch::InTurn => Self::InTurn,
        }
    }
}

/// Longest wait of those who go in turn while no slot becomes free. All requests share the machine that computes, which takes
/// minutes for the prefix of a long conversation, so that waiting is rarely the slower way.
pub const SLOT_WAIT_MAX: Duration = Duration::from_secs(600);

/// The time for which a slot is kept for a run whose tools are at work. Most are done within milliseconds; a slow one, or a question to a
/// person, is not waited for.
const KEPT_FOR: Duration = Duration::from_secs(2);

/// Fewer bytes of difference are not worth a wait: some hundred tokens are computed faster than another's reply.
const WORTH_BYTES: u64 = 1_024;

/// A slot that is at work for a request, or is kept for the next one. Dropped, it is free.
#[derive(Debug)]
pub(crate) struct SlotUse {
    lane: CacheLane,
    pass: SlotPass,
    answered: bool,
}

impl SlotUse {
    /// Takes the slot that the server will choose; `None` where it has none.
    pub(crate) fn take(lane: &CacheLane, request: &[Boundary]) -> Option<Self> {
        let pass = lock(&lane.engine.ledger).take_slot(&lane.scope, &lane.facts, request)?;
        Some(Self { lane: lane.clone(), pass, answered: false })
    }

    pub(crate) fn pass(&self) -> SlotPass {
        self.pass
    }

    /// The request was answered: the slot holds all of it.
    pub(crate) fn answered(&mut self) {
        self.answered = true;
    }
}

impl Drop for SlotUse {
    fn drop(&mut self) {
        let lane = &self.lane;
        lock(&lane.engine.ledger).free_slot(&lane.scope, self.pass, self.answered);
        let own = (lane.scope, self.pass);
        lock(&lane.engine.kept_slots).retain(|kept| (kept.scope, kept.pass) != own);
        lane.engine.slot_freed.notify_waiters();
    }
}

/// A slot that waits for the next request of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptSlot {
    scope: Scope,
    pass: SlotPass,
    until: Instant,
}

/// The slot of one run, from turn to turn.
#[derive(Debug, Default)]
pub(crate) struct RunSlot {
    kept: Option<SlotUse>,
}

impl RunSlot {
    /// Waits for a slot that holds as much of a request as any does, and takes it. `None` where the server has no slots.
    pub(crate) async fn enter(
        &mut self,
        lane: &CacheLane,
        request: &[Boundary],
        on_wait: &(dyn Fn() + Sync),
        cancel: &CancellationToken,
    ) -> Option<SlotUse> {
        lane.facts.slots?;
        let mut kept = self.kept.take();
        let longest = longest(lane);
        let mut deadline = Instant::now() + longest;
        let mut is_first = true;
        loop {
            let freed = lane.engine.slot_freed.notified();
            tokio::pin!(freed);
            // Registered before the slots are looked at, so that no change in between is missed.
            freed.as_mut().enable();
            let taken = try_take(lane, request, kept.as_ref().map(SlotUse::pass));
            // Free already; dropping it tells the others.
            drop(kept.take());
            if taken.is_some() {
                return taken;
            }
            if std::mem::take(&mut is_first) {
                on_wait();
            }
            let next = earliest_end(lane).map_or(deadline, |end| end.min(deadline));
            // All branches are cancel-safe: they only wait.
            tokio::select! {
                () = freed => {
                    if lane.slot_wait == SlotWait::InTurn {
                        deadline = Instant::now() + longest;
                    }
                }
                () = tokio::time::sleep_until(next) => {
                    if Instant::now() >= deadline {
                        return SlotUse::take(lane, request);
                    }
                }
                () = cancel.cancelled() => return None,
            }
        }
    }

    /// Keeps the slot of an answered request for the run's next one, or frees it.
    pub(crate) fn keep(&mut self, slot: Option<SlotUse>, goes_on: bool) {
        let Some(mut slot) = slot else { return };
        slot.answered();
        if goes_on {
            let until = Instant::now() + KEPT_FOR;
            let lane = &slot.lane;
            let kept = KeptSlot { scope: lane.scope, pass: slot.pass, until };
            lock(&lane.engine.kept_slots).push(kept);
            self.kept = Some(slot);
        }
    }
}

/// The longest wait for a slot: what the user allows for whoever writes what others read, and for siblings in turn more.
fn longest(lane: &CacheLane) -> Duration {
    match lane.slot_wait {
        SlotWait::InTurn if !lane.leader_wait_max.is_zero() => {
            lane.leader_wait_max.max(SLOT_WAIT_MAX)
        }
        SlotWait::Never | SlotWait::Briefly | SlotWait::InTurn => lane.leader_wait_max,
    }
}

/// Takes a slot, unless a better one is at work; `own` is free from now on. All of it is one act.
fn try_take(lane: &CacheLane, request: &[Boundary], own: Option<SlotPass>) -> Option<SlotUse> {
    let mut ledger = lock(&lane.engine.ledger);
    if let Some(own) = own {
        ledger.free_slot(&lane.scope, own, true);
    }
    let now = Instant::now();
    let mut kept = lock(&lane.engine.kept_slots);
    // What was kept for too long belongs to whoever wants it. Its owner's guard frees it once more, which changes nothing.
    for late in kept.iter().filter(|kept| kept.until <= now) {
        ledger.free_slot(&late.scope, late.pass, true);
    }
    kept.retain(|kept| kept.until > now);
    let reach = ledger.slot_reach(&lane.scope, &lane.facts, request);
    let is_worth_waiting = reach.any_bytes.saturating_sub(reach.idle_bytes) >= WORTH_BYTES;
    if is_worth_waiting && lane.slot_wait != SlotWait::Never {
        return None;
    }
    let pass = ledger.take_slot(&lane.scope, &lane.facts, request)?;
    Some(SlotUse { lane: lane.clone(), pass, answered: false })
}

/// When the next slot that is kept will be kept no longer.
fn earliest_end(lane: &CacheLane) -> Option<Instant> {
    lock(&lane.engine.kept_slots).iter().map(|kept| kept.until).min()
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
