//! The death of the agent that the person sees: the focus goes to the nearest above it that lives, and the line goes along. What was
//! written for the dead agent is sent to nobody else unasked.

use tine_model::{AgentId, AgentRecord, AgentState};

use super::keys::Action;
use super::piece::Tone;
use super::questions::GLANCE_MS;
use super::room::Scroll;
use super::{App, Effect, Face, Overlay, called};
use crate::words::{first_line, one_line};

/// A line that may have been written for an agent that is dead. Enter asks once before it is sent.
#[derive(Debug, Clone)]
pub(super) struct Bequest {
    /// The name of the dead agent.
    from: String,
    /// Where the line is now; nobody where no agent above it lives.
    at: Option<AgentId>,
    /// When it came there.
    since_ms: i64,
}

impl App {
    /// Agents were killed at this terminal.
    pub(super) fn killed(&mut self, agents: &[AgentId]) -> Vec<Effect> {
        self.agents.bury(agents);
        let text = match agents {
            [one] => format!("Agent {one} terminated"),
            several => format!("Killed {} agents", several.len()),
        };
        self.tell(text);
        let mut effects = match self.focus.filter(|focus| agents.contains(focus)) {
            Some(focus) => self.leave_the_dead(focus, &self.line_above(focus)),
            None => Vec::new(),
        };
        for agent in agents {
            effects.extend(self.forget_work_of(*agent));
        }
        // The person knows of it, and an empty line holds nothing for the dead.
        if self.line().is_empty() {
            self.bequest = None;
        }
        effects
    }

    /// Returns the agents above the one that is seen, the nearest first, if these rows say that another process has killed it. A row
    /// that was listed and is no more was killed and reaped.
    pub(super) fn lost_focus(&self, rows: &[AgentRecord]) -> Option<(AgentId, Vec<AgentId>)> {
        let focus = self.focus?;
        let room = self.rooms.get(&focus)?;
        let is_dead = match rows.iter().find(|row| row.id == focus) {
            Some(row) => row.state == AgentState::Dead,
            None => !self.agents.is_new(focus),
        };
        let was_dead = room.record.state == AgentState::Dead;
        (is_dead && !was_dead).then(|| (focus, self.line_above(focus)))
    }

    /// All above an agent, the nearest first, as far as they are known.
    fn line_above(&self, agent: AgentId) -> Vec<AgentId> {
        let parent = |id: &AgentId| match (self.record(*id), self.rooms.get(id)) {
            (Some(record), _) => record.parent,
            (None, Some(room)) => room.record.parent,
            (None, None) => None,
        };
        std::iter::successors(Some(agent), parent).skip(1).collect()
    }

    /// The agent that the person sees was killed by another process.
    pub(super) fn mourn(&mut self, (dead, above): (AgentId, Vec<AgentId>)) -> Vec<Effect> {
        let gave_up = self.give_up_fork(dead);
        let mut effects: Vec<Effect> = gave_up.iter().cloned().collect();
        effects.extend(self.forget_work_of(dead));
        let name = self.name_of_dead(dead);
        if self.face == Face::Pipe {
            // The lines that come were written for this agent: its death answers them.
            self.say(None, Tone::Warning, format!("{name} was killed by another process"));
            return effects;
        }
        let had_line = !self.line().is_empty();
        effects.extend(self.leave_the_dead(dead, &above));
        let here = match self.room() {
            Some(room) => format!("this is {}, the nearest above it that lives", room.called()),
            None => "nobody above it lives; the next words begin with a new agent".to_owned(),
        };
        let mut text = format!("{name} was killed by another process; {here}");
        if gave_up.is_some() {
            text.push_str("\nNothing was forked from it.");
        }
        if had_line {
            text.push_str("\nWhat you were writing is in the line; Enter asks before it is sent.");
        }
        self.announce(Tone::Warning, text);
        effects
    }

    /// Goes from a dead agent to the nearest above it that lives, and takes the line along.
    fn leave_the_dead(&mut self, dead: AgentId, above: &[AgentId]) -> Vec<Effect> {
        let from = self.name_of_dead(dead);
        let lives =
            |id: &&AgentId| self.record(**id).is_some_and(|row| row.state != AgentState::Dead);
        let next = above.iter().find(lives).copied();
        let text = self.input().take();
        // What lies over the conversation is not about the focus, and stays.
        let over = (self.overlay.take(), self.beneath.take());
        let effects = match next {
            Some(next) => self.go(next),
            None => {
                self.focus = None;
                self.questions.unread();
                Vec::new()
            }
        };
        (self.overlay, self.beneath) = over;
        if !text.is_empty() {
            let draft = self.input().text();
            self.history.keep(&draft);
            self.input().set(&text);
        }
        self.bequest = Some(Bequest { from, at: next, since_ms: self.now_ms });
        effects
    }

    fn name_of_dead(&self, agent: AgentId) -> String {
        let room = self.rooms.get(&agent).map(|room| &room.record);
        one_line(&self.record(agent).or(room).map_or_else(|| agent.short(), called))
    }

    /// A dead agent runs no more, and no fork of it is made.
    pub(super) fn forget_work_of(&mut self, dead: AgentId) -> Option<Effect> {
        self.lives.remove(&dead);
        if let Some(room) = self.rooms.get_mut(&dead) {
            room.record.state = AgentState::Dead;
        }
        let gave_up = self.give_up_fork(dead)?;
        let name = self.name_of_dead(dead);
        self.say(None, Tone::Warning, format!("{name} is dead; nothing was forked from it"));
        Some(gave_up)
    }

    /// Says something where the person is, also where the end of the conversation is not seen.
    pub(super) fn announce(&mut self, tone: Tone, text: String) {
        let is_covered =
            matches!(self.overlay, Some(Overlay::Help(_) | Overlay::Page(_) | Overlay::Side(_)));
        let is_scrolled = self.room().is_some_and(|room| room.scroll != Scroll::Bottom);
        if self.face == Face::Screen && (is_covered || is_scrolled) {
            self.tell(first_line(&text));
        }
        self.say(None, tone, text);
    }

    /// An empty line, in which nothing was written for a moment, was written for nobody.
    pub(super) fn settle_bequest(&mut self) {
        let is_empty = self.line().is_empty();
        let (focus, now_ms, face) = (self.focus, self.now_ms, self.face);
        self.bequest.take_if(|bequest| {
            let is_seen = now_ms - bequest.since_ms >= GLANCE_MS;
            face == Face::Screen && bequest.at == focus && is_empty && is_seen
        });
    }

    /// Returns true, and says so, if a line may have been written for a dead agent. The next Enter sends it.
    pub(super) fn asks_for_the_dead(&mut self, text: &str) -> bool {
        let focus = self.focus;
        let Some(Bequest { from, .. }) = self.bequest.take_if(|bequest| bequest.at == focus) else {
            return false;
        };
        let here = match self.room() {
            Some(room) => format!("sends it to {}", room.called()),
            None => "begins a new agent with it".to_owned(),
        };
        match self.face {
            Face::Screen => {
                let key = self.keys.hint(Action::Submit).unwrap_or_default();
                self.tell(format!("this may be for {from}, which is dead; {key} again {here}"));
            }
            Face::Lines | Face::Pipe => {
                let text = format!(
                    "Not sent: {}\nIt may be for {from}, which is dead; the same line again {here}.",
                    one_line(text)
                );
                self.say(None, Tone::Warning, text);
            }
        }
        true
    }

    /// Returns true, and says so, if the agent that is seen is dead. Its line stays.
    pub(super) fn is_at_the_dead(&mut self) -> bool {
        let record = self.focus.and_then(|focus| self.rooms.get(&focus)).map(|room| &room.record);
        let Some(name) = record.filter(|row| row.state == AgentState::Dead).map(called) else {
            return false;
        };
        let key = self.keys.or(Action::Back, "/back");
        self.tell(format!("{} is dead; nothing was sent. {key} goes back", one_line(&name)));
        true
    }
}
