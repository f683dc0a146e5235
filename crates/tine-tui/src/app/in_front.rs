//! Which of the questions comes before the person by itself. The others are counted, and wait until the person goes to them.

use tine_model::{AgentId, AgentState, PermissionId};
use tine_runtime::PermissionRequest;

use super::App;
use super::questions::who_asks;

/// How much the question of an agent concerns the person at this screen, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Distance {
    /// A run of this terminal asks.
    Here,
    /// A run of another process asks, in the tree or the directory that the person sees.
    Near,
    /// No run waits for the answer, or one of another tree in another directory.
    Far,
}

impl App {
    /// How much the question of an agent concerns the person.
    pub(super) fn distance(&self, agent: AgentId) -> Distance {
        if self.lives.contains_key(&agent) {
            return Distance::Here;
        }
        let directory = |agent| self.record(agent).map(|record| record.directory.as_str());
        let root = self.root_of(agent);
        let (is_same_tree, here) = match self.focus {
            Some(focus) => (self.root_of(focus) == root, directory(self.root_of(focus))),
            None => (false, Some(self.directory.as_str())),
        };
        let runs = self.record(agent).is_some_and(|row| row.state == AgentState::Running);
        if runs && (is_same_tree || directory(root) == here) {
            Distance::Near
        } else {
            Distance::Far
        }
    }

    /// The question that stands before the person: one that concerns them, or one that they went to.
    pub(crate) fn shown_question(&self) -> Option<&PermissionRequest> {
        let front = self.questions.front()?;
        let is_shown = self.questions.is_called || self.distance(front.agent) < Distance::Far;
        is_shown.then_some(front)
    }

    /// Returns true if siblings ask for the same, so that one answer can be for both.
    fn are_equal(&self, one: &PermissionRequest, other: &PermissionRequest) -> bool {
        let parent = |request: &PermissionRequest| self.record(request.agent)?.parent;
        let call = |request: &PermissionRequest| {
            (request.tool.clone(), request.input.clone(), request.directory.clone())
        };
        let circumstances = |request: &PermissionRequest| {
            (request.why.clone(), request.warning.clone(), request.widest)
        };
        let are_siblings = parent(one).is_some() && parent(one) == parent(other);
        one.id == other.id
            || are_siblings
                && self.distance(one.agent) == self.distance(other.agent)
                && call(one) == call(other)
                && circumstances(one) == circumstances(other)
    }

    /// The requests that are equal to one, itself with them.
    pub(super) fn together(&self, one: &PermissionRequest) -> Vec<PermissionId> {
        let equal = self.questions.waiting.iter().filter(|other| self.are_equal(one, other));
        equal.map(|request| request.id).collect()
    }

    /// The place of the question in front, counted from 1, and how many there are; equal ones count as one.
    pub(crate) fn question_place(&self) -> (usize, usize) {
        let (mut number, mut firsts) = (0, Vec::<&PermissionRequest>::new());
        for (place, request) in self.questions.waiting.iter().enumerate() {
            let known = firsts.iter().position(|first| self.are_equal(first, request));
            let at = known.unwrap_or(firsts.len());
            if known.is_none() {
                firsts.push(request);
            }
            if place == self.questions.at {
                number = at + 1;
            }
        }
        (number, firsts.len())
    }

    /// Puts the next question in front, or the one before, past those that are equal.
    pub(super) fn turn_question(&mut self, forward: bool) {
        let Some(front) = self.questions.front() else { return };
        let together = self.together(front);
        for _ in 0..self.questions.len() {
            self.questions.turn(forward);
            if self.questions.front().is_some_and(|front| !together.contains(&front.id)) {
                break;
            }
        }
    }

    /// Names those whose questions the panel answers.
    pub(crate) fn askers(&self, request: &PermissionRequest) -> Vec<String> {
        let together = &self.questions.together;
        let others = self.questions.waiting.iter().filter(|other| together.contains(&other.id));
        let others = others.filter(|other| other.id != request.id);
        std::iter::once(request).chain(others).map(who_asks).collect()
    }

    /// Returns true if words at the question in front answer it: the agent on the line asks, or the person went to the question.
    pub(crate) fn words_answer(&self) -> bool {
        let is_own = self.questions.front().is_some_and(|front| Some(front.agent) == self.focus);
        is_own || self.questions.is_entered
    }

    /// Puts the question in front that concerns the person most, unless they went to the questions.
    pub(super) fn bring_forward(&mut self) {
        let distances = self.questions.waiting.iter().map(|request| self.distance(request.agent));
        let distances: Vec<Distance> = distances.collect();
        let Some(nearest) = distances.iter().min() else { return };
        if self.questions.is_called {
            return;
        }
        // What was put aside is gone; the next question is shown again.
        self.questions.is_aside &= *nearest < Distance::Far;
        let first = distances.iter().position(|distance| distance == nearest).unwrap_or(0);
        if distances.get(self.questions.at) != Some(nearest) {
            self.questions.at = first;
            self.questions.show_anew();
        }
    }

    /// Takes a question away. Whoever went to one that concerns them has not gone to those that do not.
    pub(super) fn remove_question(&mut self, id: PermissionId) {
        let distance = |app: &Self| app.questions.front().map(|front| app.distance(front.agent));
        let before = distance(self);
        self.questions.remove(id);
        if before < Some(Distance::Far) && distance(self) == Some(Distance::Far) {
            self.questions.is_called = false;
        }
        self.bring_forward();
    }
}
