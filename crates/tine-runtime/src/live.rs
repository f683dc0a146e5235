//! The runs of this process: how they are stopped, and how others learn that one has changed something.
//!
//! Nothing here is true for other processes. What must reach those stands in the store.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tine_model::{AgentId, PermissionId, StopKind};
use tine_store::Lease;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::events::Teller;

/// How a run is asked to stop, and whether it is.
#[derive(Debug)]
pub(crate) struct Stop {
    /// Ends the run at once.
    pub(crate) cancel: CancellationToken,
    asked: AtomicU8,
}

impl Stop {
    fn under(cancel: &CancellationToken) -> Self {
        Self { cancel: cancel.child_token(), asked: AtomicU8::new(0) }
    }

    /// Asks the run to stop. A stricter wish that stands is kept.
    pub(crate) fn ask(&self, how: StopKind) {
        let word = match how {
            StopKind::Soft => 1,
            StopKind::Interrupt => 2,
            StopKind::Hard => 3,
        };
        self.asked.fetch_max(word, Ordering::SeqCst);
        match how {
            StopKind::Soft => {}
            StopKind::Interrupt | StopKind::Hard => self.cancel.cancel(),
        }
    }

    /// What was asked.
    pub(crate) fn asked(&self) -> Option<StopKind> {
        match self.asked.load(Ordering::SeqCst) {
            1 => Some(StopKind::Soft),
            2 => Some(StopKind::Interrupt),
            3 => Some(StopKind::Hard),
            _ => None,
        }
    }
}

struct Running {
    /// The topmost ancestor of the agent.
    root: AgentId,
    /// The agent whose run, called from outside, holds this one.
    top: AgentId,
    stop: Arc<Stop>,
}

/// The runs of one process.
pub(crate) struct Live {
    runs: Mutex<HashMap<AgentId, Running>>,
    /// Requests that nobody here answers.
    left: Mutex<HashSet<PermissionId>>,
    /// Goes up whenever something of interest has happened.
    pulse: watch::Sender<u64>,
}

impl Default for Live {
    fn default() -> Self {
        Self { runs: Mutex::default(), left: Mutex::default(), pulse: watch::Sender::new(0) }
    }
}

impl Live {
    fn runs(&self) -> MutexGuard<'_, HashMap<AgentId, Running>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a run that begins, and is told of by `teller`; it is over when what is returned is dropped. Its stop derives from
    /// `cancel`.
    pub(crate) fn enter(
        self: &Arc<Self>,
        teller: Teller,
        top: AgentId,
        cancel: &CancellationToken,
    ) -> Entered {
        let stop = Arc::new(Stop::under(cancel));
        let running = Running { root: teller.root, top, stop: Arc::clone(&stop) };
        self.runs().insert(teller.agent, running);
        Entered { live: Arc::clone(self), teller: Arc::new(teller), top, stop }
    }

    /// The topmost ancestor of an agent that a run of this process has.
    pub(crate) fn root_of(&self, agent: AgentId) -> Option<AgentId> {
        self.runs().get(&agent).map(|running| running.root)
    }

    /// Asks a run of this process to stop; `false` when there is none.
    pub(crate) fn stop(&self, agent: AgentId, how: StopKind) -> bool {
        let stop = self.runs().get(&agent).map(|running| Arc::clone(&running.stop));
        stop.is_some_and(|stop| {
            stop.ask(how);
            true
        })
    }

    /// How a run of this process was asked to stop, if there is one and it was.
    pub(crate) fn asked(&self, agent: AgentId) -> Option<StopKind> {
        self.runs().get(&agent).and_then(|running| running.stop.asked())
    }

    /// The workers that run below a run that was called from outside.
    pub(crate) fn below(&self, top: AgentId) -> Vec<AgentId> {
        let runs = self.runs();
        let below = runs.iter().filter(|(agent, running)| running.top == top && **agent != top);
        below.map(|(agent, _)| *agent).collect()
    }

    /// Whether a run of this process has this agent.
    pub(crate) fn has(&self, agent: AgentId) -> bool {
        self.runs().contains_key(&agent)
    }

    /// Notes that nobody here answers a request.
    pub(crate) fn leave(&self, request: PermissionId) {
        self.left().insert(request);
        self.beat();
    }

    /// Returns true if nobody here answers a request.
    pub(crate) fn has_left(&self, request: PermissionId) -> bool {
        self.left().contains(&request)
    }

    fn left(&self) -> MutexGuard<'_, HashSet<PermissionId>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all who watch that something has happened.
    pub(crate) fn beat(&self) {
        self.pulse.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Watches from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        let mut receiver = self.pulse.subscribe();
        receiver.mark_unchanged();
        receiver
    }
}

/// A run that is under way.
pub(crate) struct Entered {
    live: Arc<Live>,
    /// Tells of it.
    pub(crate) teller: Arc<Teller>,
    top: AgentId,
    pub(crate) stop: Arc<Stop>,
}

impl Entered {
    /// Goes on under this lease.
    pub(crate) fn under(&mut self, lease: &Lease) {
        let teller = Teller { run: Some(lease.fence), ..(*self.teller).clone() };
        self.teller = Arc::new(teller);
    }

    /// The agent whose run, called from outside, holds this one.
    pub(crate) fn top(&self) -> AgentId {
        self.top
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut runs = self.live.runs();
        // A run of the same agent may have begun in the meantime.
        let agent = self.teller.agent;
        if runs.get(&agent).is_some_and(|running| Arc::ptr_eq(&running.stop, &self.stop)) {
            runs.remove(&agent);
        }
        drop(runs);
        self.live.beat();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_wish_stands_and_only_a_soft_one_lets_the_run_go_on() {
        let (live, cancel) = (Arc::new(Live::default()), CancellationToken::new());
        let [agent, top] = [1, 2].map(|byte| AgentId::from_random([byte; 16]));
        let entered = live.enter(Teller::silent(agent), top, &cancel);
        assert!(live.stop(agent, StopKind::Soft) && !entered.stop.cancel.is_cancelled());
        assert!(live.stop(agent, StopKind::Hard) && entered.stop.cancel.is_cancelled());
        live.stop(agent, StopKind::Interrupt);
        assert_eq!(entered.stop.asked(), Some(StopKind::Hard));
        assert!(!cancel.is_cancelled(), "stops run downwards only");
        assert_eq!(live.below(top), [agent]);
        drop(entered);
        assert!(!live.has(agent) && !live.stop(agent, StopKind::Hard));
    }
}
