//! Forks that a person has asked for: the wait for the tools of their parent, and who follows to the child.

use tine_model::AgentId;
use tine_runtime::{ForkMade, ForkWords, parse_fork};

use super::keys::Action;
use super::piece::Tone;
use super::room::Room;
use super::{App, Effect, Face, called};

/// A fork that was asked for and is not there yet. An agent has at most one.
#[derive(Debug, Clone)]
pub(crate) struct PendingFork {
    /// True once it waits for the tools of its parent.
    waits: bool,
    /// What stood in the parent's line when it was asked for.
    line: String,
    /// What will stand in the line of the child.
    draft: Option<String>,
    /// The command that asked for it, which comes back where it is refused.
    typed: Option<String>,
}

impl App {
    /// Returns true, and says so, if a fork of this agent is under way.
    pub(super) fn is_forking(&mut self, parent: AgentId) -> bool {
        let is_forking = self.forks.contains_key(&parent);
        if is_forking {
            self.say(None, Tone::Warning, "Fork already in progress".to_owned());
        }
        is_forking
    }

    /// Returns true if a fork waits for the tools of this agent.
    pub(crate) fn fork_waits(&self, parent: AgentId) -> bool {
        let fork = self.forks.get(&parent);
        fork.is_some_and(|fork| fork.waits)
    }

    /// `/fork`; a line that is refused comes back.
    pub(super) fn fork_command(&mut self, parent: AgentId, rest: &str) -> Vec<Effect> {
        let typed = format!("/fork {rest}");
        if parse_fork(rest).is_err() {
            self.give_back(Some(parent), typed.trim_end());
        }
        let is_forking = self.forks.contains_key(&parent);
        let effects = self.fork(parent, rest);
        if let Some(fork) = self.forks.get_mut(&parent).filter(|_| !is_forking) {
            fork.typed = Some(typed.trim_end().to_owned());
        }
        effects
    }

    /// A fork as it is written. What is wrong with it is said before anything waits.
    pub(super) fn fork(&mut self, parent: AgentId, arguments: &str) -> Vec<Effect> {
        let words = match parse_fork(arguments) {
            Ok(words) => words,
            Err(error) => return self.refuse(&error.to_string()),
        };
        if self.is_forking(parent) { Vec::new() } else { self.fork_with(parent, words, None) }
    }

    /// The same, once it is read. `draft` will stand in the line of the child.
    pub(super) fn fork_with(
        &mut self,
        parent: AgentId,
        words: ForkWords,
        draft: Option<String>,
    ) -> Vec<Effect> {
        let speaks =
            self.lives.get(&parent).is_some_and(|live| !live.stopping && live.running.is_empty());
        if speaks && words.at.is_none() {
            let text = "The fork begins before the reply that comes in now; this agent goes on";
            self.say(None, Tone::Plain, text.to_owned());
        }
        self.begin_fork(parent, draft);
        vec![Effect::Fork(parent, words)]
    }

    /// A fork of this agent is being made.
    pub(super) fn begin_fork(&mut self, parent: AgentId, draft: Option<String>) {
        let line = self.rooms.get(&parent).map(|room| room.input.text()).unwrap_or_default();
        self.forks.insert(parent, PendingFork { waits: false, line, draft, typed: None });
    }

    /// A fork waits for the tools of its parent.
    pub(super) fn fork_has_to_wait(&mut self, parent: AgentId) {
        let Some(fork) = self.forks.get_mut(&parent) else { return };
        fork.waits = true;
        let key = self.keys.hint(Action::Interrupt);
        let key = key.map(|key| format!(" ({key} gives it up)")).unwrap_or_default();
        self.say(Some(parent), Tone::Plain, format!("Waiting for tools to complete...{key}"));
    }

    /// Gives up the fork that waits for this agent's tools; nothing where none does.
    pub(super) fn give_up_fork(&mut self, parent: AgentId) -> Option<Effect> {
        if !self.fork_waits(parent) {
            return None;
        }
        self.forks.remove(&parent);
        Some(Effect::GiveUpFork(parent))
    }

    /// A fork was not made.
    pub(super) fn not_forked(&mut self, parent: AgentId, why: String) -> Vec<Effect> {
        let typed = self.forks.remove(&parent).and_then(|fork| fork.typed);
        typed.into_iter().for_each(|typed| self.give_back(Some(parent), &typed));
        self.say(Some(parent), Tone::Error, why);
        Vec::new()
    }

    /// A fork was made. The focus moves to it with a person who waits for it and writes nothing else.
    pub(super) fn forked(&mut self, made: &ForkMade, words: ForkWords) -> Vec<Effect> {
        let record = made.record.clone();
        let fork = self.forks.remove(&made.parent);
        let child = made.child;
        if words.background {
            // The log of the parent says it, too, and for good.
            self.tell(format!("Forked child {}", child.short()));
            self.agents.add(record);
            let prompt = words.prompt.map(|prompt| self.begin_run(child, Some(prompt)));
            return prompt.into_iter().collect();
        }
        let mut effects = if self.follows(made.parent, fork.as_ref()) {
            self.enter(record)
        } else {
            self.agents.add(record.clone());
            self.rooms.entry(child).or_insert_with(|| Room::new(record));
            self.announce(Tone::Plain, self.way_to(made));
            Vec::new()
        };
        self.begin_fork_room(made, fork.and_then(|fork| fork.draft));
        if let Some(prompt) = words.prompt {
            effects.extend(self.say_to(child, prompt));
        }
        effects
    }

    /// Returns true if the person is still at the parent of a fork, and has written nothing there since it was asked for.
    fn follows(&self, parent: AgentId, fork: Option<&PendingFork>) -> bool {
        let waited = fork.is_some_and(|fork| fork.waits);
        let is_there = self.focus == Some(parent) && self.overlay.is_none();
        let line = self.line().text();
        let is_unwritten = line.is_empty() || fork.is_some_and(|fork| fork.line == line);
        // Nobody sees a line that is begun where the terminal itself keeps it.
        let is_hidden = self.face == Face::Lines;
        is_there && is_unwritten && !(waited && (is_hidden || self.is_pointing()))
    }

    /// Says where a fork is to which the person was not taken.
    fn way_to(&self, made: &ForkMade) -> String {
        let child = made.child.short();
        if self.focus == Some(made.parent) {
            let key = self.keys.or(Action::Child, "/child");
            return format!("Forked child {child}; {key} goes to it");
        }
        let parent = self.record(made.parent).map_or_else(|| made.parent.short(), called);
        format!("Forked child {child} from {parent}; /resume {child} goes to it")
    }
}
