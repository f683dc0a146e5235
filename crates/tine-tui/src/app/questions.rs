//! Requests for permission that wait for the person: their order, which one is shown, and from when on keys answer it.

use std::collections::HashSet;

use tine_model::{AgentId, AgentState, Decision, PermissionId, Standing};
use tine_runtime::PermissionRequest;

use super::in_front::Distance;
use super::{App, called};
use crate::age::age;
use crate::question::Step;
use crate::words::{cut, one_line};

/// Columns of the name or task of the one who asks.
const LABEL_COLUMNS: usize = 40;

/// Time for which a question must be seen, without any key, before a key can answer it, in milliseconds. Nobody reads faster, and
/// what was typed for the line or for the question before it must not answer this one.
pub(super) const GLANCE_MS: i64 = 500;

/// The requests, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    pub(super) waiting: Vec<PermissionRequest>,
    /// Index of the request in front.
    pub(super) at: usize,
    /// Time since which the person can see the one in front; `None` while something covers it.
    shown_ms: Option<i64>,
    /// True once keys count for the one in front. The line was empty at that time.
    is_armed: bool,
    /// True if the person went to the questions.
    pub(super) is_called: bool,
    /// Number of times that the person went to them.
    pub(crate) calls: u64,
    /// True if the person went to the one in front: words answer it, whoever asks.
    pub(super) is_entered: bool,
    /// The requests that the panel answers together: the one in front, and those of siblings that are equal to it.
    pub(super) together: Vec<PermissionId>,
    /// True if the person put the questions aside.
    pub(super) is_aside: bool,
    /// The part of the answer that is being chosen.
    pub(super) step: Step,
    /// Index of the marked choice.
    pub(super) marked: usize,
    /// Digits that moved the mark. They become text if a letter follows.
    pub(super) digits: String,
    /// A line that was set aside to answer, and whose line it is.
    set_aside: Option<(Option<AgentId>, String)>,
    /// True while all of one is read, to be shown.
    pub(crate) is_opening: bool,
    /// Requests of which all could be seen.
    seen: HashSet<PermissionId>,
    /// True where lines come from a program, which has read nothing too fast.
    pub(crate) counts_at_once: bool,
}

/// What the keys do to the question in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standby {
    /// The person has to go to it first.
    Inactive,
    /// It was not seen for long enough.
    Unread,
    /// The line holds words from before it was seen. They are no answer.
    Draft,
    /// Keys answer it.
    Armed,
}

impl Questions {
    /// The one in front.
    pub(crate) fn front(&self) -> Option<&PermissionRequest> {
        self.waiting.get(self.at)
    }

    /// Returns the number of requests, equal ones with it.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes all of them away.
    pub(crate) fn take_all(&mut self) -> Vec<PermissionRequest> {
        self.show_anew();
        std::mem::take(&mut self.waiting)
    }

    /// Records that all of the one in front could be seen; called by whoever shows it.
    pub(crate) fn is_seen(&mut self) {
        let id = self.front().map(|request| request.id);
        self.seen.extend(id);
    }

    /// Returns true if all of the one in front could be seen.
    pub(super) fn was_seen(&self) -> bool {
        self.front().is_some_and(|request| self.seen.contains(&request.id))
    }

    /// Returns the first request of this agent.
    pub(crate) fn of(&self, agent: AgentId) -> Option<&PermissionRequest> {
        self.waiting.iter().find(|request| request.agent == agent)
    }

    /// Returns true if the deadline of one is past.
    pub(crate) fn is_overdue(&self, now_ms: i64) -> bool {
        self.waiting.iter().any(|request| request.deadline_ms <= now_ms)
    }

    /// Returns true if the one in front was on the screen for a moment.
    pub(super) fn was_read(&self, now_ms: i64) -> bool {
        self.counts_at_once || self.shown_ms.is_some_and(|shown_ms| now_ms - shown_ms >= GLANCE_MS)
    }

    /// The part of the answer that is being chosen, and the marked choice.
    pub(crate) fn choosing(&self) -> (&Step, usize) {
        (&self.step, self.marked)
    }

    /// Keys count only after the question in front was seen again.
    pub(super) fn unread(&mut self) {
        (self.shown_ms, self.is_armed) = (None, false);
        self.digits.clear();
    }

    /// Another question, or another part of the answer, is in front.
    pub(super) fn show_anew(&mut self) {
        self.unread();
        (self.step, self.marked, self.is_entered) = (Step::Answer, 0, false);
    }

    /// Adds one; a request that waits already is put anew in its place.
    fn add(&mut self, request: PermissionRequest) {
        match self.waiting.iter_mut().find(|known| known.id == request.id) {
            Some(known) => *known = request,
            None => {
                if self.is_empty() {
                    self.at = 0;
                    self.show_anew();
                }
                self.waiting.push(request);
            }
        }
    }

    /// Takes one away; another comes to the front only where it was there.
    pub(super) fn remove(&mut self, id: PermissionId) {
        let Some(place) = self.waiting.iter().position(|request| request.id == id) else { return };
        self.waiting.remove(place);
        if place < self.at {
            self.at -= 1;
        } else if place == self.at {
            self.show_anew();
            self.at = if self.at < self.waiting.len() { self.at } else { 0 };
        }
        self.seen.remove(&id);
        if self.is_empty() {
            (self.is_called, self.is_aside) = (false, false);
        }
    }

    /// Puts the next one in front, or the one before.
    pub(super) fn turn(&mut self, forward: bool) {
        let count = self.len().max(1);
        self.at = (self.at + if forward { 1 } else { count - 1 }) % count;
        self.show_anew();
        self.call();
    }

    /// The person is at the questions.
    pub(super) fn call(&mut self) {
        (self.is_called, self.is_aside, self.is_entered) = (true, false, true);
        self.calls += 1;
    }
}

impl App {
    /// An agent asks.
    pub(super) fn asked(&mut self, request: PermissionRequest) {
        self.questions.add(request);
        self.bring_forward();
    }

    /// Returns true if the question in front may take keys: it comes from a run of this terminal, or the person went to it.
    pub(crate) fn question_is_active(&self) -> bool {
        let Some(front) = self.questions.front() else { return false };
        let is_here = self.distance(front.agent) == Distance::Here;
        (is_here || self.questions.is_called) && !self.questions.is_aside
    }

    /// Returns what the keys do to the question in front.
    pub(crate) fn standby(&self) -> Standby {
        match self.question_is_active() {
            false => Standby::Inactive,
            true if self.questions.is_armed => Standby::Armed,
            true if self.line().is_empty() => Standby::Unread,
            true => Standby::Draft,
        }
    }

    /// The question in front is on the screen now. Keys count once it was there for a moment in which nothing was typed, with an
    /// empty line. Called by whoever shows it, before it is shown, so that the screen says what counts.
    pub(crate) fn question_is_shown(&mut self) {
        if self.shown_question().is_none() || self.overlay.is_some() || self.is_pointing() {
            self.questions.unread();
            return;
        }
        let together = self.shown_question().map(|shown| self.together(shown)).unwrap_or_default();
        if together != self.questions.together {
            self.show_together(together);
        }
        self.questions.shown_ms.get_or_insert(self.now_ms);
        let is_quiet = self.now_ms - self.pressed_ms >= GLANCE_MS || self.questions.counts_at_once;
        let is_read = is_quiet && self.questions.was_read(self.now_ms);
        self.questions.is_armed |= is_read && self.question_is_active() && self.line().is_empty();
    }

    /// A request needs no answer any more; in what way, where that is to be told.
    pub(super) fn settled(&mut self, id: PermissionId, how: Option<String>) {
        self.remove_question(id);
        self.restore_line();
        how.into_iter().for_each(|how| self.tell(how));
    }

    /// The person goes to the questions. A line that was begun waits until they come back.
    pub(super) fn go_to_questions(&mut self) {
        if self.questions.is_empty() {
            self.tell("nobody asks anything");
            return;
        }
        let text = self.input().text();
        if !text.is_empty() {
            self.input().set("");
            self.questions.set_aside = Some((self.focus, text));
        }
        self.questions.call();
        self.questions.unread();
    }

    /// The person goes back to the line.
    pub(super) fn put_questions_aside(&mut self) {
        self.questions.show_anew();
        (self.questions.is_called, self.questions.is_aside) = (false, true);
        self.bring_forward();
        self.restore_line();
    }

    /// Gives a line back that was set aside, once no question needs it. What stands there by then is not written over.
    pub(super) fn restore_line(&mut self) {
        if self.question_is_active() {
            return;
        }
        let Some((agent, text)) = self.questions.set_aside.take() else { return };
        let line = match agent.and_then(|agent| self.rooms.get_mut(&agent)) {
            Some(room) => &mut room.input,
            None => &mut self.lobby,
        };
        if line.is_empty() { line.set(&text) } else { drop(self.history.keep(&text)) }
    }

    /// Describes the one who asks: its parent, its tree, and the process that runs it. Nothing for the agent on the screen.
    pub(crate) fn standing_of(&self, request: &PermissionRequest) -> Vec<String> {
        let Some(record) = self.record(request.agent) else { return Vec::new() };
        let name = |agent| self.record(agent).map_or_else(|| agent.short(), called);
        let mut parts = Vec::new();
        let parent = record.parent.map(|parent| (parent, name(parent)));
        parts.extend(match (record.standing, &parent) {
            _ if self.focus == Some(record.id) => None,
            (_, None) => Some("another tree".to_owned()),
            (Standing::Worker, Some((_, parent))) => Some(format!("worker of {parent}")),
            (Standing::Hidden, Some((_, parent))) => Some(format!("hidden run of {parent}")),
            (Standing::Root | Standing::Peer | Standing::Guest, Some((_, parent))) => {
                Some(format!("fork of {parent}"))
            }
        });
        let root = self.root_of(record.id);
        let is_other = self.focus.is_some_and(|focus| self.root_of(focus) != root);
        if is_other && parent.is_some_and(|(parent, _)| parent != root) {
            parts.push(format!("tree of {}", name(root)));
        }
        if !self.lives.contains_key(&record.id) {
            parts.push(match record.state {
                AgentState::Running => "in another process".to_owned(),
                AgentState::Idle | AgentState::Interrupted | AgentState::Dead => {
                    "cut off; it reads the answer once it is resumed".to_owned()
                }
            });
        }
        parts
    }

    /// The default of a request that nobody answers, and its time.
    pub(crate) fn default_of(&self, request: &PermissionRequest) -> String {
        let then = match request.fallback {
            Decision::Allow => "allowed",
            Decision::Deny => "denied",
        };
        format!("auto-{then} in {}", age(request.deadline_ms, self.now_ms))
    }
}

/// Names the one who asks.
pub(crate) fn who_asks(request: &PermissionRequest) -> String {
    match &request.label {
        None => request.agent.short(),
        Some(label) => {
            format!("{} ({})", cut(&one_line(label), LABEL_COLUMNS), request.agent.short())
        }
    }
}

/// The directory of the call, and the reason for the question.
pub(crate) fn where_and_why(request: &PermissionRequest) -> String {
    format!("in {}: {}", one_line(&request.directory), one_line(&request.why))
}
