//! Whom the person looked at before, so that there is a way back.

use tine_model::{AgentId, AgentState};

use super::{App, Effect};

/// Most agents on the way back.
const VISITS_MAX: usize = 64;

impl App {
    /// Notes that the person leaves the agent that they see for another.
    pub(super) fn note_visit(&mut self, next: AgentId) {
        let Some(left) = self.focus.filter(|left| *left != next) else { return };
        if self.visits.len() >= VISITS_MAX {
            self.visits.remove(0);
        }
        self.visits.push(left);
    }

    /// To the agent that was looked at before, of those that live; to the parent where none was.
    pub(super) fn go_back(&mut self) -> Vec<Effect> {
        while let Some(last) = self.visits.pop() {
            let lives = |agent: &tine_model::AgentRecord| agent.state != AgentState::Dead;
            if Some(last) != self.focus && self.record(last).is_some_and(lives) {
                let kept = std::mem::take(&mut self.visits);
                let effects = self.go(last);
                self.visits = kept;
                return effects;
            }
        }
        self.go_up()
    }
}
