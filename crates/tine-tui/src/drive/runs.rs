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
    /// Whether the person has written since it began.
    was_written_to: bool,
}

impl Runs {
    pub(super) fn begin(&self, agent: AgentId, cancel: CancellationToken) {
        self.lock().insert(agent, Run { cancel, was_written_to: false });
    }

    /// Forgets a run; whether the agent was written to meanwhile, and may not have read it.
    pub(super) fn end(&self, agent: AgentId) -> bool {
        self.lock().remove(&agent).is_some_and(|run| run.was_written_to)
    }

    /// The person has written to an agent; whether its run looks at that before or after its end.
    pub(super) fn write_to(&self, agent: AgentId) -> bool {
        self.lock().get_mut(&agent).map(|run| run.was_written_to = true).is_some()
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
        assert_eq!((runs.end(a), runs.end(b)), (true, false));
        // From here on it must be run for it.
        assert!(!runs.write_to(a));
    }
}
