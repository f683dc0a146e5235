//! What is on the screen, as data. Takes events, says what is to be done; touches nothing and reads no clock.
//!
//! Since nothing else is needed, tests play whole sessions (`tests.rs`). A conversation is shown from the log. `live.rs` holds
//! what is not in the log yet, and drops it when the log has it.

mod agents;
mod answers;
mod attention;
mod command;
mod command_line;
mod commands;
mod complete;
mod deaths;
mod edit;
mod escape;
mod event;
mod facts;
#[cfg(test)]
pub(crate) mod fixture;
mod forest;
mod forking;
mod history;
mod in_front;
mod input;
mod key;
mod keys;
mod lines;
mod live;
mod media;
mod mode;
mod notice;
mod other_words;
mod overlay;
mod past;
mod piece;
mod point;
mod press;
mod questions;
mod rewind;
mod room;
mod running;
mod search;
mod sent;
mod setup;
mod side;
mod tree;
mod tree_keys;
mod visits;
mod wait;
mod workers;

use std::collections::{HashMap, HashSet};

use crossterm::event::{KeyEventKind, MouseButton, MouseEventKind};
use tine_guard::PermissionMode;
use tine_model::{AgentId, AgentRecord, AgentState, TaskRecord};

use crate::host::CommandWords;
use crate::words::{first_line, left_out};

pub(crate) use answers::{is_bare, is_command};
pub(crate) use command::{COMMANDS, Command};
pub(crate) use command_line::CommandLine;
pub(crate) use complete::Offer;
pub(crate) use escape::Escape;
pub(crate) use event::{Effect, Event};
pub(crate) use facts::{Fact, Facts, Peek};
pub(crate) use forest::{Doing, Row, state_word};
pub(crate) use history::History;
pub(crate) use input::{Input, ROWS_MAX};
pub use key::KeyError;
pub use keys::Keys;
pub(crate) use keys::{Action, KEYS};
pub(crate) use lines::{Face, is_folded};
pub(crate) use live::{Happening, Live};
pub(crate) use mode::mode_word;
pub(crate) use overlay::{Help, Overlay, Page};
pub(crate) use past::PICKER_KEYS;
pub(crate) use piece::{AnswerText, Body, CallPiece, OWN_COMMAND, Piece, Tone};
pub(crate) use point::{POINT_KEYS, Seen};
pub(crate) use questions::{Questions, Standby, where_and_why, who_asks};
pub(crate) use room::{Cost, LastRequest, Room, Scroll, called};
pub(crate) use running::{RunningCall, last_lines};
pub(crate) use search::Search;
pub(crate) use setup::{Setup, Weight};
pub(crate) use side::{SideEvent, SidePage};
pub(crate) use tree::{Asks, Tree};
pub(crate) use tree_keys::TREE_KEYS;

use agents::Agents;
use attention::Attention;
use complete::Offers;
use deaths::Bequest;
use edit::Killed;
use forking::PendingFork;
use notice::Notices;
use wait::Wait;
pub(crate) use workers::WorkerLine;

/// How long a word at the bottom of the screen stays, in milliseconds.
const WORD_MS: i64 = 4_000;

/// How soon a second Ctrl+C leaves, in milliseconds: as long as the screen says so.
const LEAVE_MS: i64 = WORD_MS;

/// Lines that the wheel of a mouse scrolls.
const WHEEL_LINES: i32 = 3;

/// The files below an agent's directory.
#[derive(Debug, Clone, Default)]
struct Files {
    of: Option<AgentId>,
    /// Their paths, once they are found.
    paths: Option<Vec<String>>,
}

/// The screen.
#[derive(Debug, Default)]
pub(crate) struct App {
    /// The agents that were looked at.
    pub(crate) rooms: HashMap<AgentId, Room>,
    /// Whom the person sees; nobody before the first words.
    pub(crate) focus: Option<AgentId>,
    /// What is written before there is an agent.
    pub(crate) lobby: Input,
    /// The texts that were sent before.
    pub(crate) history: History,
    /// The text that was killed last, in whichever line.
    killed: Killed,
    /// The search of the history that is under way.
    pub(crate) search: Option<Search>,
    /// What the terminal has said before there was one.
    pub(crate) lobby_words: Vec<(Tone, String)>,
    /// What can be done about a model.
    pub(crate) setup: Setup,
    /// What was said before there was a model.
    first_words: Option<String>,
    /// The directory of the session.
    pub(crate) directory: String,
    /// The permission mode of the session.
    pub(crate) mode: PermissionMode,
    /// True if the session may come back to the mode that asks nothing.
    may_bypass: bool,
    /// The model that a new agent would have.
    pub(crate) new_model: Option<String>,
    /// Runs of this process.
    pub(crate) lives: HashMap<AgentId, Live>,
    /// Runs of this process that have ended, and whose rows were not read since.
    ended: HashSet<AgentId>,
    /// All agents.
    pub(crate) agents: Agents,
    /// All tasks.
    pub(crate) tasks: HashMap<AgentId, TaskRecord>,
    /// Requests for permission, of agents anywhere.
    pub(crate) questions: Questions,
    /// What lies over the conversation.
    pub(crate) overlay: Option<Overlay>,
    /// How the person and the session talk.
    pub(crate) face: Face,
    /// Forks that were asked for and are not there yet, by their parents.
    pub(crate) forks: HashMap<AgentId, PendingFork>,
    /// A line that may have been written for a dead agent.
    bequest: Option<Bequest>,
    /// A word at the bottom, and until when.
    pub(crate) word: Option<(String, i64)>,
    /// The time, in milliseconds since the Unix epoch.
    pub(crate) now_ms: i64,
    /// Lines that fit on the screen of what lies in front, the conversation or a page; said by whoever draws it.
    pub(crate) page: u16,
    /// Lines by which the view is to move, the next time that it is laid out.
    pub(crate) move_lines: i32,
    /// Which piece each line of the conversation on the screen is of; said by whoever draws it.
    pub(crate) seen: Seen,
    /// True while the screen has the mouse, and not the terminal, which selects text with it.
    pub(crate) has_mouse: bool,
    /// What is known of the person's attention.
    attention: Attention,
    /// What else is known of them.
    pub(crate) facts: Facts,
    /// The tree that a page lies over, and that is seen again once it is closed.
    beneath: Option<Box<Tree>>,
    /// Whom the person looked at before, the last one last.
    visits: Vec<AgentId>,
    /// What the word that is being written could become.
    pub(crate) offers: Option<Offers>,
    /// Whom the person waits for.
    pub(crate) wait: Option<Wait>,
    /// The person's own command that runs.
    pub(crate) shell: Option<String>,
    /// What keys mean.
    pub(crate) keys: Keys,
    /// What may follow the commands that start workers.
    pub(crate) worker_words: Vec<CommandWords>,
    /// What happened elsewhere.
    pub(crate) notices: Notices,
    files: Files,
    /// How many pages were shown.
    pages: u64,
    pressed_ms: i64,
    leaving_ms: i64,
    /// Which agent was interrupted alone while others below it run, and when.
    interrupted: Option<(AgentId, i64)>,
}

impl App {
    /// A screen at this time.
    pub(crate) fn at(now_ms: i64) -> Self {
        // Nothing was pressed yet, and nobody is leaving.
        let long_ago = now_ms.saturating_sub(LEAVE_MS + 1);
        Self { now_ms, pressed_ms: long_ago, leaving_ms: long_ago, ..Self::default() }
    }

    /// Takes in what happened, and says what is to be done.
    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.take_in(event);
        self.tell_left_out();
        effects.extend(self.refresh_tree());
        effects
    }

    fn take_in(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Event::Key(key) => self.key(key),
            Event::Mouse(mouse) if matches!(self.overlay, Some(Overlay::Tree(_))) => {
                self.tree_mouse(mouse)
            }
            Event::Mouse(mouse) => {
                match mouse.kind {
                    MouseEventKind::ScrollUp => self.move_lines -= WHEEL_LINES,
                    MouseEventKind::ScrollDown => self.move_lines += WHEEL_LINES,
                    MouseEventKind::Down(MouseButton::Left) if self.overlay.is_none() => {
                        self.click(mouse.row);
                    }
                    _ => {}
                }
                Vec::new()
            }
            Event::Paste(text) if matches!(self.overlay, Some(Overlay::Tree(_))) => {
                self.paste_in_tree(&text);
                Vec::new()
            }
            Event::Paste(text) => {
                self.point_no_more();
                self.killed.is_open = false;
                if self.is_searching() {
                    return self.search_more(&text);
                }
                self.input().paste(&text);
                self.offer()
            }
            Event::Written(text) => {
                self.questions.unread();
                self.input().set(text.trim_end_matches('\n'));
                Vec::new()
            }
            Event::FirstWords(text) => {
                self.input().set(&text);
                // Behind a list, or a question that it would answer, it waits in the line.
                if self.overlay.is_some() || self.words_answer() {
                    Vec::new()
                } else {
                    self.submit()
                }
            }
            Event::ForkWaits(parent) => {
                self.fork_has_to_wait(parent);
                Vec::new()
            }
            Event::Rewound(agent, rewound) => {
                self.rewound(agent, &rewound);
                Vec::new()
            }
            Event::GivenBack(agent, text) => {
                self.give_back(agent, &text);
                Vec::new()
            }
            Event::Resize | Event::Tick => self.pass(),
            Event::Happened(agent, happening) => self.happened(agent, happening),
            Event::Registry(agents, tasks) => self.registry(agents, tasks),
            Event::Log { agent, after, entries } => {
                self.log_was_read(agent, after, &entries);
                Vec::new()
            }
            Event::TakenBack(agent, texts) => {
                self.taken_back(agent, &texts);
                Vec::new()
            }
            Event::Cost(agent, cost) => {
                if let Some(room) = self.rooms.get_mut(&agent) {
                    room.cost = Some(cost);
                }
                Vec::new()
            }
            Event::Means(agent, budget, window) => {
                if let Some(room) = self.rooms.get_mut(&agent) {
                    (room.budget, room.window) = (budget.map(|budget| *budget), window);
                }
                Vec::new()
            }
            Event::Made(record) => {
                let effects = self.enter(*record);
                let held = self.first_words.take();
                held.into_iter().for_each(|held| self.input().set(&held));
                effects
            }
            Event::Forked(forked) => {
                let (made, words) = *forked;
                self.forked(&made, words)
            }
            Event::NotForked(parent, why) => self.not_forked(parent, why),
            Event::Killed(agents) => self.killed(&agents),
            Event::Told(agent, tone, text) => {
                self.say(agent, tone, text);
                Vec::new()
            }
            Event::Facts(fact) => {
                self.facts.take(*fact);
                self.look_again();
                Vec::new()
            }
            Event::Report(words, text) => {
                self.show_page(words, text);
                // It may have changed a budget.
                self.focus.map(Effect::Price).into_iter().collect()
            }
            Event::Line(text) => self.typed_line(&text),
            Event::Break => self.cancel(),
            Event::Offered(offer) => self.setup.offered(*offer),
            Event::Found(choices) => self.setup.found(choices),
            Event::Looked => self.models_are_known(),
            Event::Chosen(model, first_words) => self.chosen(model, first_words),
            Event::Files(of, paths) => {
                self.files = Files { of, paths: Some(paths) };
                self.find_offers();
                Vec::new()
            }
            Event::Side(event) => {
                self.side(event);
                Vec::new()
            }
            Event::ShellOver(text) => {
                self.shell = None;
                text.into_iter().for_each(|text| self.say(None, Tone::Plain, text));
                Vec::new()
            }
            Event::Asked(request) => {
                let call = self.call_to_question(&request);
                self.asked(*request);
                call.into_iter().collect()
            }
            Event::Focus(is_focused) => {
                self.focus_changed(is_focused);
                Vec::new()
            }
            Event::Settled(id, how) => {
                self.settled(id, how);
                Vec::new()
            }
            Event::Opened(id, text) => {
                self.question_opened(id, text);
                Vec::new()
            }
        }
    }

    /// The agent that the person sees.
    pub(crate) fn room(&self) -> Option<&Room> {
        self.rooms.get(&self.focus?)
    }

    /// The same, to be changed.
    pub(crate) fn room_mut(&mut self) -> Option<&mut Room> {
        self.rooms.get_mut(&self.focus?)
    }

    /// The line that is being written, to be read.
    pub(crate) fn line(&self) -> &Input {
        self.room().map_or(&self.lobby, |room| &room.input)
    }

    /// The line that is being written.
    pub(crate) fn input(&mut self) -> &mut Input {
        match self.focus.and_then(|focus| self.rooms.get_mut(&focus)) {
            Some(room) => &mut room.input,
            None => &mut self.lobby,
        }
    }

    /// Says that control characters were left out of the line.
    fn tell_left_out(&mut self) {
        match self.input().take_left_out() {
            0 => {}
            count => self.tell(left_out(count)),
        }
    }

    /// The row of an agent, as it is known.
    pub(crate) fn record(&self, agent: AgentId) -> Option<&AgentRecord> {
        self.agents.get(agent)
    }

    /// Says something at the bottom of the screen, for a moment.
    pub(crate) fn tell(&mut self, word: impl Into<String>) {
        self.word = Some((word.into(), self.now_ms + WORD_MS));
    }

    /// Says something to the person where an agent is; without one, where the person is.
    pub(crate) fn say(&mut self, agent: Option<AgentId>, tone: Tone, text: String) {
        let text = command::as_typed_here(&text);
        if matches!(self.overlay, Some(Overlay::Tree(_))) {
            // The conversation is not seen.
            self.tell(first_line(&text));
        }
        match agent.or(self.focus).and_then(|agent| self.rooms.get_mut(&agent)) {
            Some(room) => room.say(tone, text),
            None => self.lobby_words.push((tone, text)),
        }
    }

    /// The agents that run, here or elsewhere, the oldest first. Costs no more than there are of them.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = &AgentRecord> {
        let here = self.lives.keys().filter_map(|agent| self.agents.place(*agent));
        let mut places: Vec<usize> = self.agents.running().iter().copied().chain(here).collect();
        places.sort_unstable();
        places.dedup();
        let records = places.into_iter().filter_map(|place| (*self.agents).get(place));
        records.filter(|record| !self.ended.contains(&record.id))
    }

    /// The topmost above an agent that is known, or itself.
    pub(crate) fn root_of(&self, agent: AgentId) -> AgentId {
        let above = |id: &AgentId| self.record(*id)?.parent;
        std::iter::successors(Some(agent), above).last().unwrap_or(agent)
    }

    /// Whether an agent runs, here or elsewhere.
    pub(crate) fn runs(&self, agent: AgentId) -> bool {
        let is_running = |record: &AgentRecord| record.state == AgentState::Running;
        self.lives.contains_key(&agent)
            || !self.ended.contains(&agent) && self.record(agent).is_some_and(is_running)
    }

    /// Returns true where a run of this process has ended, and the agent's row from before that is all that is known.
    pub(crate) fn is_ending(&self, agent: AgentId) -> bool {
        self.ended.contains(&agent)
    }

    /// Whether time alone changes what is seen.
    pub(crate) fn moves_with_time(&self) -> bool {
        let tells_ages = matches!(self.overlay, Some(Overlay::Tree(_)));
        let has_time =
            |room: &Room| room.budget.as_ref().is_some_and(|row| row.caps.time_ms.is_some());
        tells_ages
            || self.word.is_some()
            || self.wait.is_some()
            || self.bequest.is_some()
            || !self.questions.is_empty()
            || !self.notices.ended.is_empty()
            || self.room().is_some_and(has_time)
            || !self.lives.is_empty()
            || self.agents.iter().any(|agent| agent.state == AgentState::Running)
    }

    fn pass(&mut self) -> Vec<Effect> {
        if self.word.as_ref().is_some_and(|(_, until_ms)| *until_ms <= self.now_ms) {
            self.word = None;
        }
        self.tell_notices();
        self.look_at_wait();
        self.settle_bequest();
        if self.questions.is_overdue(self.now_ms) { vec![Effect::LookAtQueue] } else { Vec::new() }
    }

    fn happened(&mut self, agent: AgentId, happening: Happening) -> Vec<Effect> {
        if happening == Happening::Began {
            self.begun(agent);
            return Vec::new();
        }
        if let Some(live) = self.lives.get_mut(&agent) {
            live.take(&happening, self.now_ms);
        }
        match happening {
            Happening::Ended => {
                let mut effects: Vec<Effect> = self.call_to_end(agent).into_iter().collect();
                self.lives.remove(&agent);
                self.ended.insert(agent);
                effects.extend(self.refresh(agent));
                effects.push(Effect::Price(agent));
                // What a worker costs, its tree costs.
                let focus = self.focus.filter(|focus| *focus != agent);
                let focus = focus.filter(|focus| self.root_of(*focus) == self.root_of(agent));
                effects.extend(focus.map(Effect::Price));
                effects
            }
            Happening::Warning(text) => {
                self.say(Some(agent), Tone::Warning, text);
                Vec::new()
            }
            Happening::Answered { usage, is_expired } => {
                if let Some(room) = self.rooms.get_mut(&agent) {
                    let (read, prompt) = (usage.read, usage.prompt());
                    room.last_request = Some(LastRequest { read, prompt, is_expired });
                }
                if self.focus == Some(agent) { vec![Effect::Price(agent)] } else { Vec::new() }
            }
            Happening::Written => self.refresh(agent),
            Happening::ToolFinished(_)
            | Happening::Began
            | Happening::Waiting
            | Happening::Request
            | Happening::Text(_)
            | Happening::Thinking(_)
            | Happening::Calling(_)
            | Happening::ToolStarted { .. }
            | Happening::ToolProgress { .. }
            | Happening::Held(..) => Vec::new(),
        }
    }

    /// Reads what was written since, of an agent that the person sees; of others once they are looked at.
    fn refresh(&mut self, agent: AgentId) -> Vec<Effect> {
        let is_seen = self.focus == Some(agent);
        let Some(room) = self.rooms.get_mut(&agent) else { return Vec::new() };
        room.is_stale = true;
        if is_seen { vec![Effect::Read(agent, room.reads())] } else { Vec::new() }
    }

    fn registry(&mut self, agents: Vec<AgentRecord>, tasks: Vec<TaskRecord>) -> Vec<Effect> {
        let focus = self.focus;
        let lost = self.lost_focus(&agents);
        let before = focus.and_then(|focus| self.record(focus)).map(|record| record.updated_ms);
        for record in &agents {
            if let Some(room) = self.rooms.get_mut(&record.id) {
                // Whoever wrote into it, it is read again once it is looked at. What a run of this process writes into the one that
                // is seen is told by the run, and until then its words go on.
                let is_told = focus == Some(record.id) && self.lives.contains_key(&record.id);
                room.is_stale |= room.record.updated_ms != record.updated_ms && !is_told;
                room.record = record.clone();
            }
            let is_lost = lost.as_ref().is_some_and(|(dead, _)| *dead == record.id);
            if record.state == AgentState::Dead && !is_lost {
                self.forget_work_of(record.id);
            }
        }
        self.notice(&agents, &tasks);
        self.agents.replace(agents);
        self.bring_forward();
        let agents = &self.agents;
        let is_stale =
            |id: &AgentId| agents.get(*id).map(|row| row.state) == Some(AgentState::Running);
        self.ended.retain(is_stale);
        self.tasks = tasks.into_iter().map(|task| (task.agent, task)).collect();
        self.tell_notices();
        self.look_at_wait();
        self.look_again();
        if let Some(lost) = lost {
            return self.mourn(lost);
        }
        let Some(focus) = focus else { return Vec::new() };
        let now = self.record(focus).map(|record| record.updated_ms);
        // Another process may have written.
        if before != now && !self.lives.contains_key(&focus) {
            self.refresh(focus)
        } else {
            Vec::new()
        }
    }

    /// The person goes to an agent.
    pub(crate) fn enter(&mut self, record: AgentRecord) -> Vec<Effect> {
        let agent = record.id;
        self.agents.add(record.clone());
        self.has_seen(Some(agent));
        self.note_visit(agent);
        self.focus = Some(agent);
        // The line there may hold words from before the question was seen.
        self.questions.unread();
        self.questions.is_entered = false;
        self.bring_forward();
        (self.overlay, self.beneath) = (None, None);
        self.offers = None;
        let room = self.rooms.entry(agent).or_insert_with(|| Room::new(record));
        if room.is_stale {
            vec![Effect::Read(agent, room.reads()), Effect::Price(agent)]
        } else {
            Vec::new()
        }
    }

    /// The same, by its id.
    pub(crate) fn go(&mut self, agent: AgentId) -> Vec<Effect> {
        match self.record(agent).cloned() {
            Some(record) => self.enter(record),
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod complete_tests;
#[cfg(test)]
mod focus_tests;
#[cfg(test)]
mod fork_tests;
#[cfg(test)]
mod notice_tests;
#[cfg(test)]
mod point_tests;
#[cfg(test)]
mod questions_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tree_tests;
