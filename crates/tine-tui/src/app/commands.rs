//! What commands do.

use tine_model::{AgentId, AgentState, Named, WordError, meant};
use tine_runtime::{RewindTo, is_living_root};

use super::command::Verb;
use super::command_line::CommandLine;
use super::keys::Action;
use super::piece::Tone;
use super::room::Room;
use super::{App, Effect, Help, Overlay};
use crate::words::one_line;

/// What an agent is told that was cut off within its reply.
pub(super) const GO_ON: &str = "Go on from where you were interrupted.";

impl App {
    pub(super) fn command(&mut self, verb: Verb, rest: &str) -> Vec<Effect> {
        match verb {
            Verb::Tree => {
                self.has_seen(None);
                self.open_tree();
                Vec::new()
            }
            Verb::Help => {
                self.overlay = Some(Overlay::Help(Help::of(rest)));
                Vec::new()
            }
            Verb::Quit => self.leave(),
            Verb::New => {
                self.visits.extend(self.focus);
                self.focus = None;
                self.questions.unread();
                Vec::new()
            }
            Verb::Back => self.go_back(),
            Verb::Model => self.model(rest),
            Verb::Show => self.show(rest),
            Verb::Answer => self.answer(rest),
            Verb::Mode => self.mode_command(rest),
            Verb::Send => match rest.split_once(char::is_whitespace) {
                Some((to, text)) if !text.trim().is_empty() => {
                    vec![Effect::SendTo(to.to_owned(), text.trim().to_owned())]
                }
                _ => self.refuse("usage: /send AGENT TEXT"),
            },
            Verb::ReportAll(words) => self.report(words, rest, None),
            Verb::LendAll(words) => self.lend(words, rest, None),
            // Before there is an agent, one may be named.
            Verb::Report(words) if self.focus.is_some() || !rest.is_empty() => {
                self.report(words, rest, self.focus)
            }
            Verb::Lend(words) if self.focus.is_some() || !rest.is_empty() => {
                self.lend(words, rest, self.focus)
            }
            Verb::Workers(name) => self.workers_command(name, rest),
            Verb::Fork if self.focus.is_none() => self.fork_of_nothing(rest),
            Verb::Wait => match self.wait(rest) {
                Ok(()) => Vec::new(),
                Err(why) => self.refuse(&why),
            },
            Verb::Reap if rest.is_empty() => vec![Effect::Reap(None)],
            Verb::Reap => match self.find(rest) {
                Ok(agent) => vec![Effect::Reap(Some(agent))],
                Err(why) => self.refuse(&why),
            },
            Verb::Resume if !rest.is_empty() => match self.find(rest) {
                Ok(agent) => self.go(agent),
                Err(why) => self.refuse(&why),
            },
            Verb::Resume if !self.focus.is_some_and(|focus| self.was_cut_off(focus)) => {
                self.open_picker()
            }
            Verb::Fork
            | Verb::Resume
            | Verb::Report(_)
            | Verb::Lend(_)
            | Verb::Side
            | Verb::Export
            | Verb::Parent
            | Verb::Child
            | Verb::Stop
            | Verb::Kill
            | Verb::Rename
            | Verb::Mark
            | Verb::Rewind
            | Verb::Clear
            | Verb::Compact => match self.focus {
                Some(focus) => self.command_of(verb, focus, rest),
                None => self.refuse("there is no agent yet; say something first"),
            },
        }
    }

    fn report(&mut self, command: &[&str], rest: &str, about: Option<AgentId>) -> Vec<Effect> {
        match CommandLine::read(command, rest) {
            Ok(line) => vec![Effect::Report(line.about(about))],
            Err(why) => self.refuse(why),
        }
    }

    fn lend(&mut self, command: &[&str], rest: &str, about: Option<AgentId>) -> Vec<Effect> {
        match CommandLine::read(command, rest) {
            Ok(line) => vec![Effect::Lend(line.about(about))],
            Err(why) => self.refuse(why),
        }
    }

    /// Whether a word names a command that an agent keeps in the background.
    fn keeps(&self, agent: AgentId, name: &str) -> bool {
        let mut commands = self.facts.background().iter();
        commands.any(|command| command.agent == agent && command.name == name)
    }

    fn command_of(&mut self, verb: Verb, focus: AgentId, rest: &str) -> Vec<Effect> {
        let (rest, is_sure) = match verb {
            Verb::Kill => sure(rest),
            _ => (rest, false),
        };
        let whom = match (verb, rest) {
            (Verb::Stop, name) if self.keeps(focus, name) => {
                return vec![Effect::StopCommand(focus, name.to_owned())];
            }
            (Verb::Stop | Verb::Kill, named) if !named.is_empty() => match self.find(named) {
                Ok(agent) => agent,
                Err(why) => return self.refuse(&why),
            },
            _ => focus,
        };
        let runs = self.runs(focus);
        let label = (!rest.is_empty()).then(|| rest.to_owned());
        match verb {
            Verb::Fork => self.fork_command(focus, rest),
            Verb::Parent => self.go_up(),
            Verb::Child => self.go_down(),
            Verb::Stop => self.stop(whom),
            Verb::Kill => self.kill_command(whom, is_sure),
            Verb::Rename if rest.is_empty() => self.refuse("usage: /rename NAME"),
            Verb::Rename => vec![Effect::Rename(focus, rest.to_owned())],
            Verb::Mark | Verb::Rewind | Verb::Clear | Verb::Compact if runs => {
                self.refuse_while_it_runs()
            }
            Verb::Mark => vec![Effect::Mark(focus, label)],
            Verb::Rewind => {
                vec![Effect::Rewind(focus, label.map_or(RewindTo::LastPrompt, RewindTo::Mark))]
            }
            Verb::Clear => vec![Effect::Clear(focus)],
            Verb::Compact => match kept_tokens(rest) {
                Ok(keep) => vec![Effect::Compact(focus, keep)],
                Err(why) => self.refuse(why),
            },
            Verb::Resume if runs => self.refuse("the agent runs"),
            Verb::Resume => self.resume(focus),
            Verb::Side if rest.is_empty() => self.refuse("usage: /side QUESTION"),
            Verb::Side => self.ask_side(focus, rest),
            Verb::Export => vec![Effect::Report(export(focus, rest))],
            Verb::Model
            | Verb::Report(_)
            | Verb::Lend(_)
            | Verb::Show
            | Verb::Answer
            | Verb::Mode
            | Verb::Tree
            | Verb::Back
            | Verb::New
            | Verb::Send
            | Verb::Wait
            | Verb::Reap
            | Verb::Help
            | Verb::Quit
            | Verb::LendAll(_)
            | Verb::ReportAll(_)
            | Verb::Workers(_) => Vec::new(),
        }
    }

    /// Lets an agent go on where it was cut off, and the workers that it started and that were cut off with it. One that has begun its
    /// reply is told to.
    fn resume(&mut self, agent: AgentId) -> Vec<Effect> {
        let mut effects = self.resume_workers(agent);
        let is_missing = self.room().is_some_and(Room::lacks_reply);
        let state = self.record(agent).map(|agent| agent.state);
        effects.extend(match (is_missing, state) {
            (true, _) => vec![self.begin_run(agent, None)],
            (false, Some(AgentState::Interrupted)) => self.say_to(agent, GO_ON.to_owned()),
            (false, _) => Vec::new(),
        });
        effects
    }

    /// Returns true where `/resume` has something to go on with: the agent that is seen runs, or it or one of its workers was cut off.
    fn was_cut_off(&self, agent: AgentId) -> bool {
        let state = self.record(agent).map(|agent| agent.state);
        self.runs(agent)
            || self.room().is_some_and(Room::lacks_reply)
            || state == Some(AgentState::Interrupted)
            || !self.resume_workers(agent).is_empty()
    }

    /// Ends an agent and all below it. A root is not ended by a key or a word: everything would be gone from sight with it.
    pub(super) fn kill(&mut self, agent: AgentId) -> Vec<Effect> {
        if self.record(agent).is_some_and(is_living_root) {
            let short = agent.short();
            let why = format!("Cannot kill root agent; in a shell, tine kill --root {short} does");
            if self.overlay.is_some() {
                // The conversation, where it would be said, is not seen.
                self.tell(why);
                return Vec::new();
            }
            return self.refuse(&why);
        }
        vec![Effect::Kill(agent)]
    }

    pub(super) fn refuse(&mut self, why: &str) -> Vec<Effect> {
        self.say(None, Tone::Error, format!("Error: {why}"));
        Vec::new()
    }

    pub(super) fn refuse_while_it_runs(&mut self) -> Vec<Effect> {
        let key = self.keys.or(Action::Interrupt, "/stop");
        self.refuse(&format!("the agent runs; {key} interrupts it first"))
    }

    pub(super) fn go_up(&mut self) -> Vec<Effect> {
        let parent = self.focus.and_then(|focus| self.record(focus)).and_then(|agent| agent.parent);
        match parent {
            Some(parent) => self.go(parent),
            None => {
                self.tell("this agent has no parent");
                Vec::new()
            }
        }
    }

    pub(super) fn go_down(&mut self) -> Vec<Effect> {
        let is_child =
            |agent: &&_| lives(agent) && self.focus.is_some() && agent.parent == self.focus;
        match self.agents.iter().rev().find(is_child).map(|agent| agent.id) {
            Some(child) => self.go(child),
            None => {
                self.tell("nothing was forked from this agent");
                Vec::new()
            }
        }
    }

    /// To the sibling before or behind, and round at the ends.
    pub(super) fn go_beside(&mut self, behind: bool) -> Vec<Effect> {
        let Some(here) = self.focus.and_then(|focus| self.record(focus)) else { return Vec::new() };
        let siblings: Vec<AgentId> = self
            .agents
            .iter()
            .filter(|agent| agent.id == here.id || (lives(agent) && agent.parent == here.parent))
            .map(|agent| agent.id)
            .collect();
        let at = siblings.iter().position(|id| *id == here.id).unwrap_or(0);
        let step = if behind { 1 } else { siblings.len().saturating_sub(1) };
        match siblings.get((at + step) % siblings.len().max(1)).copied() {
            Some(sibling) if siblings.len() > 1 => self.go(sibling),
            _ => {
                self.tell("this agent has no siblings");
                Vec::new()
            }
        }
    }

    /// Finds the agent that a person means: by its name, or the beginning of its id.
    pub(super) fn find(&self, text: &str) -> Result<AgentId, String> {
        let named = self.agents.iter().map(|agent| Named {
            id: agent.id,
            name: agent.name.as_deref(),
            is_alive: lives(agent),
        });
        meant(text, named).map_err(|error| match error {
            WordError::Unknown => format!("Agent not found: {text}"),
            WordError::Ambiguous(agents) => {
                let candidates: Vec<String> = agents.iter().map(|id| self.candidate(*id)).collect();
                format!(
                    "`{text}` names more than one agent; give more characters of an id: {}",
                    candidates.join(", ")
                )
            }
        })
    }

    /// Names one of the agents that a word could mean.
    fn candidate(&self, agent: AgentId) -> String {
        match self.record(agent).and_then(|record| record.name.as_deref()) {
            Some(name) => format!("{agent} ({})", one_line(name)),
            None => agent.to_string(),
        }
    }
}

/// What follows a command, without the word that spares its question.
fn sure(rest: &str) -> (&str, bool) {
    // A name may end in it: `fix-y` is an agent.
    let is_yes = |word: &str| word == "--yes" || word == "-y";
    let (first, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (before, last) = rest.rsplit_once(char::is_whitespace).unwrap_or(("", rest));
    match (is_yes(first), is_yes(last)) {
        (true, _) => (behind.trim(), true),
        (false, true) => (before.trim(), true),
        (false, false) => (rest, false),
    }
}

/// How many tokens of the end of a conversation stay as they are.
fn kept_tokens(rest: &str) -> Result<Option<u64>, &'static str> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        [] => Ok(None),
        ["--keep-tokens", count] => {
            count.parse().map(Some).map_err(|_| "--keep-tokens takes a whole number")
        }
        _ => Err("usage: /compact [--keep-tokens N]"),
    }
}

/// The command that writes a conversation into a file, whose name tells the shape; without one, that shows it.
fn export(focus: AgentId, file: &str) -> CommandLine {
    let format = if file.is_empty() || file.ends_with(".md") { "markdown" } else { "messages" };
    let mut words = vec![focus.to_string(), "--format".into(), format.into()];
    if !file.is_empty() {
        words.extend(["--output".to_owned(), file.to_owned()]);
    }
    CommandLine::of(&["export"], words)
}

fn lives(agent: &tine_model::AgentRecord) -> bool {
    agent.state != AgentState::Dead
}
