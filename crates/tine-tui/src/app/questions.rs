//! Requests for permission that wait for the person: which of them is shown, and whether keys answer it.

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent};
use tine_model::{AgentId, AgentState, Decision, PermissionId, PermissionScope, Standing};
use tine_runtime::{Answer, PermissionRequest};

use super::keys::Action;
use super::press::whole;
use super::{App, Effect, LETTERS, PAUSE_BEFORE_ANSWER_MS, title};
use crate::age::age;
use crate::words::{cut, one_line};

/// Columns of the name or task of the one who asks.
const LABEL_COLUMNS: usize = 40;

/// So long a question is in front before a letter answers it, in milliseconds: nobody reads faster, and what was typed for the line,
/// or for the question before it, must not be its answer.
pub(super) const GLANCE_MS: i64 = 400;

/// The requests, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    waiting: Vec<PermissionRequest>,
    /// Which of them is in front.
    at: usize,
    /// Since when it is.
    since_ms: i64,
    /// Whether keys answer it.
    pub(crate) has_keys: bool,
    /// Whether it took them by itself.
    came_by_itself: bool,
    /// Whether it takes them once nothing is being typed.
    may_take_keys: bool,
    /// When the person last answered one.
    answered_ms: Option<i64>,
    /// Whether the person went to the questions.
    is_called: bool,
    /// Those that could be seen whole.
    seen: HashSet<PermissionId>,
}

impl Questions {
    /// The one in front.
    pub(crate) fn front(&self) -> Option<&PermissionRequest> {
        self.waiting.get(self.at)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none does.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The how manieth is in front, counted from 1.
    pub(crate) fn number(&self) -> usize {
        self.at + 1
    }

    /// Takes all of them away.
    pub(crate) fn take_all(&mut self) -> Vec<PermissionRequest> {
        (self.has_keys, self.may_take_keys) = (false, false);
        std::mem::take(&mut self.waiting)
    }

    /// All of the one in front could be seen; said by whoever shows it.
    pub(crate) fn is_seen(&mut self) {
        let id = self.front().map(|request| request.id);
        self.seen.extend(id);
    }

    /// Whether all of the one in front could be seen.
    fn was_seen(&self) -> bool {
        self.front().is_some_and(|request| self.seen.contains(&request.id))
    }

    /// What this agent asks first.
    pub(crate) fn of(&self, agent: AgentId) -> Option<&PermissionRequest> {
        self.waiting.iter().find(|request| request.agent == agent)
    }

    /// Whether the deadline of one is past.
    pub(crate) fn is_overdue(&self, now_ms: i64) -> bool {
        self.waiting.iter().any(|request| request.deadline_ms <= now_ms)
    }

    /// Adds one; a request that waits already is put anew in its place.
    fn add(&mut self, request: PermissionRequest, now_ms: i64) {
        match self.waiting.iter_mut().find(|known| known.id == request.id) {
            Some(known) => *known = request,
            None => {
                if self.is_empty() {
                    (self.at, self.since_ms) = (0, now_ms);
                }
                self.waiting.push(request);
            }
        }
    }

    /// Takes one away; another comes to the front only where it was there.
    fn remove(&mut self, id: PermissionId, now_ms: i64) -> Option<PermissionRequest> {
        let place = self.waiting.iter().position(|request| request.id == id)?;
        let request = self.waiting.remove(place);
        if place < self.at {
            self.at -= 1;
        } else if place == self.at {
            self.since_ms = now_ms;
            self.at = if self.at < self.waiting.len() { self.at } else { 0 };
        }
        self.seen.remove(&id);
        self.has_keys &= !self.is_empty();
        self.may_take_keys &= !self.is_empty();
        Some(request)
    }

    /// Puts the next one in front, or the one before.
    pub(super) fn turn(&mut self, on: bool, now_ms: i64) {
        let count = self.len().max(1);
        self.at = (self.at + if on { 1 } else { count - 1 }) % count;
        // Who turns is there.
        (self.since_ms, self.came_by_itself, self.is_called) = (now_ms, false, true);
    }
}

impl App {
    /// Somebody asks. Only for what runs here, where the person is, a question takes keys by itself: whoever begins to write to an
    /// agent thinks of no other.
    pub(super) fn asked(&mut self, request: PermissionRequest) {
        self.questions.may_take_keys |=
            self.questions.is_empty() && self.lives.contains_key(&request.agent);
        self.questions.add(request, self.now_ms);
        self.take_keys_when_quiet();
    }

    /// Gives the keys to the question in front that may take them, once nothing is being typed. An answer to the one before is
    /// nothing that was.
    pub(super) fn take_keys_when_quiet(&mut self) {
        let has_answered = self.questions.answered_ms == Some(self.pressed_ms);
        let is_quiet = has_answered || self.now_ms - self.pressed_ms >= PAUSE_BEFORE_ANSWER_MS;
        // Another may have come to the front meanwhile, of an agent that runs elsewhere.
        let is_here =
            self.questions.front().is_some_and(|front| self.lives.contains_key(&front.agent));
        if self.questions.may_take_keys && is_here && is_quiet && self.input().is_empty() {
            self.questions.may_take_keys = false;
            (self.questions.has_keys, self.questions.came_by_itself) = (true, !has_answered);
            (self.questions.is_called, self.questions.since_ms) = (false, self.now_ms);
        }
    }

    /// A request needs no answer any more; in what way, where that is to be told.
    pub(super) fn settled(&mut self, id: PermissionId, how: Option<String>) {
        self.questions.remove(id, self.now_ms);
        self.keep_keys();
        how.into_iter().for_each(|how| self.tell(how));
    }

    /// The person goes to the questions.
    pub(super) fn go_to_questions(&mut self) {
        if self.questions.is_empty() {
            self.tell("nobody asks anything");
            return;
        }
        (self.questions.has_keys, self.questions.came_by_itself) = (true, false);
        self.questions.is_called = true;
        // Who goes there means it.
        self.questions.since_ms = self.now_ms - GLANCE_MS;
    }

    /// Answers the one in front.
    pub(super) fn answer_with(&mut self, answer: Answer) -> Vec<Effect> {
        let Some(id) = self.questions.front().map(|request| request.id) else { return Vec::new() };
        self.questions.remove(id, self.now_ms);
        self.questions.came_by_itself = false;
        self.questions.answered_ms = Some(self.now_ms);
        self.keep_keys();
        vec![Effect::Answer(id, answer)]
    }

    /// The question that came to the front has the keys of the one before only where it could take them itself, or was called for.
    fn keep_keys(&mut self) {
        let is_here = |request: &PermissionRequest| self.lives.contains_key(&request.agent);
        let may = self.questions.is_called || self.questions.front().is_some_and(is_here);
        self.questions.has_keys &= may;
    }

    /// A key while a question has them.
    pub(super) fn answer_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(widest) = self.questions.front().map(|request| request.widest) else {
            self.questions.has_keys = false;
            return self.key(key);
        };
        let is_new = self.now_ms - self.questions.since_ms < GLANCE_MS;
        if is_new && self.questions.came_by_itself {
            // It was meant for the line.
            (self.questions.has_keys, self.questions.may_take_keys) = (false, true);
            return self.key(key);
        }
        let letter = match key.code {
            KeyCode::Char(letter) if key.modifiers.is_empty() => Some(letter),
            _ => None,
        };
        if let Some(letter) = letter {
            let scope = LETTERS.iter().find(|(known, ..)| *known == letter);
            return match scope.map(|(_, _, scope)| *scope) {
                _ if is_new => Vec::new(),
                Some(scope) if scope.is_within(widest) => match self.questions.was_seen() {
                    true => self.answer_with(Answer::Allow(scope)),
                    false => self.show_question(),
                },
                None if letter == 'n' => self.answer_with(Answer::Deny(PermissionScope::Once)),
                None if letter == 'v' => self.show_question(),
                Some(_) | None => Vec::new(),
            };
        }
        match (key.code, self.keys.action(key)) {
            (KeyCode::Right | KeyCode::Tab, _) if key.modifiers.is_empty() => {
                self.questions.turn(true, self.now_ms);
            }
            (KeyCode::Left | KeyCode::BackTab, _) => self.questions.turn(false, self.now_ms),
            (_, Some(Action::Answer | Action::Interrupt)) => {
                self.questions.has_keys = false;
                let back = self.keys.or(Action::Answer, "/answer");
                self.tell(format!("the question waits; {back} goes back to it"));
            }
            // What an answer may need to know.
            (
                _,
                Some(
                    action @ (Action::PageUp
                    | Action::PageDown
                    | Action::Cancel
                    | Action::Tree
                    | Action::Open
                    | Action::Help),
                ),
            ) => return self.act(action),
            _ => {}
        }
        Vec::new()
    }

    /// Shows all of the one in front on a page of its own.
    fn show_question(&mut self) -> Vec<Effect> {
        if let Some(request) = self.questions.front() {
            let title = format!("{} of {}", request.tool, request.agent.short());
            self.show_page(title, whole(request));
        }
        self.questions.is_seen();
        Vec::new()
    }

    /// What the one who asks is, and where it runs: to whom, in which tree, whether here. Nothing for the agent that the person sees.
    pub(crate) fn standing_of(&self, request: &PermissionRequest) -> Vec<String> {
        let Some(record) = self.record(request.agent) else { return Vec::new() };
        let name = |agent| self.record(agent).map_or_else(|| agent.short(), title);
        let mut parts = Vec::new();
        let parent = record.parent.map(|parent| (parent, name(parent)));
        parts.extend(match (record.standing, &parent) {
            _ if self.focus == Some(record.id) => None,
            (_, None) => Some("another tree".to_owned()),
            (Standing::Worker, Some((_, parent))) => Some(format!("worker of {parent}")),
            (Standing::Hidden, Some((_, parent))) => Some(format!("hidden run of {parent}")),
            (Standing::Root | Standing::Peer, Some((_, parent))) => {
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

    /// What becomes of a request that nobody answers, and when.
    pub(crate) fn default_of(&self, request: &PermissionRequest) -> String {
        let then = match request.fallback {
            Decision::Allow => "allowed",
            Decision::Deny => "denied",
        };
        format!("{then} by itself in {}", age(request.deadline_ms, self.now_ms))
    }
}

/// Who asks.
pub(crate) fn who_asks(request: &PermissionRequest) -> String {
    match &request.label {
        None => request.agent.short(),
        Some(label) => {
            format!("{} ({})", cut(&one_line(label), LABEL_COLUMNS), request.agent.short())
        }
    }
}

/// Where it would be done, and why nobody has decided it yet.
pub(crate) fn where_and_why(request: &PermissionRequest) -> String {
    format!("in {}: {}", one_line(&request.directory), one_line(&request.why))
}

/// What a yes for more than once would allow, where there can be one.
pub(crate) fn beyond_once(request: &PermissionRequest) -> Option<String> {
    PermissionScope::Agent.is_within(request.widest).then(|| {
        let rule = request.rule.as_ref().map(|rule| one_line(rule));
        format!("beyond once: {}", rule.as_deref().unwrap_or("this call with these arguments"))
    })
}

/// The letters that allow it, and what each says.
pub(crate) fn letters(
    request: &PermissionRequest,
) -> impl Iterator<Item = (char, &'static str)> + use<> {
    let widest = request.widest;
    let offered = LETTERS.into_iter().filter(move |(_, _, scope)| scope.is_within(widest));
    offered.map(|(letter, word, _)| (letter, word))
}
