//! Which agents run here, what stops each of them, and who was written to meanwhile.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tine_model::AgentId;
use tokio_util::sync::CancellationToken;

/// Runs of this process.
#[derive(Debug, Default)]
pub(super) struct Runs(Mutex<HashMap<AgentId, Run>>);

#[derive(Debug)]
struct Run {
    cancel: CancellationToken,
    meanwhile: Meanwhile,
}

/// What the person has done since a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Meanwhile {
    /// The agent was written to, since it was stopped if it was, and may not have read it.
    pub(super) was_written_to: bool,
    /// The agent was stopped.
    pub(super) was_stopped: bool,
}

impl Runs {
    /// A run begins, unless it was announced; what stops it.
    pub(super) fn begin(&self, agent: AgentId, cancel: CancellationToken) -> CancellationToken {
        let begun = || Run { cancel, meanwhile: Meanwhile::default() };
        self.lock().entry(agent).or_insert_with(begun).cancel.clone()
    }

    /// Forgets a run, and tells what the person has done meanwhile.
    pub(super) fn end(&self, agent: AgentId) -> Meanwhile {
        self.lock().remove(&agent).map(|run| run.meanwhile).unwrap_or_default()
    }

    /// The person stops an agent. What was written before waits for what they say next.
    pub(super) fn stop(&self, agent: AgentId) {
        if let Some(run) = self.lock().get_mut(&agent) {
            run.meanwhile = Meanwhile { was_written_to: false, was_stopped: true };
        }
    }

    /// Returns true if the person has stopped the run of an agent.
    pub(super) fn was_stopped(&self, agent: AgentId) -> bool {
        self.lock().get(&agent).is_some_and(|run| run.meanwhile.was_stopped)
    }

    /// The person has written to an agent; whether its run looks at that before or after its end.
    pub(super) fn write_to(&self, agent: AgentId) -> bool {
        self.lock().get_mut(&agent).map(|run| run.meanwhile.was_written_to = true).is_some()
    }

    pub(super) fn cancel(&self, agent: AgentId) {
        self.lock().get(&agent).into_iter().for_each(|run| run.cancel.cancel());
    }

    /// How many run beside one.
    pub(super) fn beside(&self, agent: Option<AgentId>) -> usize {
        self.lock().keys().filter(|other| Some(**other) != agent).count()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_written_to_is_known_when_its_run_ends_and_nobody_is_after_it() {
        let runs = Runs::default();
        let [a, b] = [1, 2].map(|byte| AgentId::from_random([byte; 16]));
        let cancel = CancellationToken::new();
        runs.begin(a, cancel.clone());
        runs.begin(b, CancellationToken::new());
        assert!(runs.write_to(a));
        assert_eq!((runs.beside(Some(a)), runs.beside(None)), (1, 2));
        runs.cancel(a);
        assert!(cancel.is_cancelled());
        // What was stopped before it began does not begin.
        assert!(runs.begin(a, CancellationToken::new()).is_cancelled());
        let written = Meanwhile { was_written_to: true, was_stopped: false };
        assert_eq!((runs.end(a), runs.end(b)), (written, Meanwhile::default()));
        // From here on it must be run for it.
        assert!(!runs.write_to(a));
    }

    #[test]
    fn what_was_written_before_a_stop_waits_and_what_comes_behind_it_does_not() {
        let runs = Runs::default();
        let agent = AgentId::from_random([1; 16]);
        runs.begin(agent, CancellationToken::new());
        assert!(runs.write_to(agent));
        runs.stop(agent);
        assert_eq!(runs.end(agent), Meanwhile { was_written_to: false, was_stopped: true });
        runs.begin(agent, CancellationToken::new());
        runs.stop(agent);
        assert!(runs.write_to(agent));
        assert_eq!(runs.end(agent), Meanwhile { was_written_to: true, was_stopped: true });
    }
}
