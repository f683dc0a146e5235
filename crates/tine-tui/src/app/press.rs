//! What keys do, wherever the person is.

use std::mem;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tine_model::AgentId;

use super::command::{self, Typed};
use super::edit::{arrow_of, edit_of};
use super::escape::Escape;
use super::keys::Action;
use super::other_words;
use super::piece::Tone;
use super::room::Scroll;
use super::{App, Effect, Help, LEAVE_MS, Overlay, Page, called};
use crate::figures::plural;
use crate::words::one_line;

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.settle_bequest();
        self.pressed_ms = self.now_ms;
        let joins = mem::take(&mut self.killed.is_open);
        match &self.overlay {
            Some(Overlay::Tree(_)) => return self.tree_key(key),
            Some(Overlay::Help(_) | Overlay::Page(_)) => return self.page_key(key),
            Some(Overlay::Side(_)) => return self.side_key(key),
            None if self.is_pointing() => return self.point_key(key),
            None => {}
        }
        if self.is_searching() {
            return self.search_key(key);
        }
        if self.offers.is_some() && key.modifiers.is_empty() {
            match key.code {
                KeyCode::Tab => return self.take_offer(),
                KeyCode::Enter if self.enter_takes_offer() => return self.enter_offer(),
                KeyCode::Up | KeyCode::Down => {
                    self.choose(key.code == KeyCode::Down);
                    return Vec::new();
                }
                KeyCode::Esc => {
                    self.offers = None;
                    return Vec::new();
                }
                _ => {}
            }
        }
        if let Some(effects) = self.question_key(key) {
            return effects;
        }
        match self.keys.action(key) {
            // It leaves on an empty line only.
            Some(Action::Quit) if !self.input().is_empty() => self.write(key, joins),
            // Readline's key for the text before; it goes to a question only where one waits.
            Some(Action::Answer) if self.questions.is_empty() && arrow_of(key) != key => {
                self.write(key, joins)
            }
            Some(action) => self.act(action),
            None => self.write(key, joins),
        }
    }

    /// Gives a key to the line. A kill right behind another one joins it.
    pub(super) fn write(&mut self, key: KeyEvent, joins: bool) -> Vec<Effect> {
        let key = arrow_of(key);
        let input = match self.focus.and_then(|focus| self.rooms.get_mut(&focus)) {
            Some(room) => &mut room.input,
            None => &mut self.lobby,
        };
        match edit_of(key) {
            Some(edit) => {
                self.killed.is_open = joins;
                input.edit(edit, &mut self.killed);
            }
            None => input.key(key, &self.history),
        }
        if matches!(key.code, KeyCode::Up | KeyCode::Down) {
            // What was recalled is whole, and the next arrow goes on in the history.
            self.offers = None;
            return Vec::new();
        }
        self.offer()
    }

    fn page_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if let Some(Overlay::Help(help)) = &mut self.overlay
            && help.key(key)
        {
            return Vec::new();
        }
        if let Some(Overlay::Help(Help { from, .. }) | Overlay::Page(Page { from, .. })) =
            &mut self.overlay
        {
            match key.code {
                KeyCode::Up | KeyCode::Char('k') => *from = from.saturating_sub(1),
                KeyCode::Down | KeyCode::Char('j') => *from += 1,
                KeyCode::Home => *from = 0,
                // Whoever draws it knows where that is.
                KeyCode::End => *from = usize::MAX / 2,
                KeyCode::PageUp => *from = from.saturating_sub(usize::from(self.page)),
                KeyCode::PageDown | KeyCode::Char(' ') => *from += usize::from(self.page),
                code => {
                    self.overlay = self.beneath.take().map(Overlay::Tree);
                    // Whoever begins to write is done with the page, and loses no letter of it; one that would do something to a
                    // message only closes it.
                    let is_text = matches!(code, KeyCode::Char(letter) if letter != 'q')
                        && (key.modifiers - KeyModifiers::SHIFT).is_empty();
                    if is_text && !self.is_pointing() && self.overlay.is_none() {
                        return self.key(key);
                    }
                }
            }
        }
        Vec::new()
    }

    pub(super) fn act(&mut self, action: Action) -> Vec<Effect> {
        let page = i32::from(self.page.saturating_sub(1).max(1));
        match action {
            Action::Submit => return self.submit(),
            Action::Interrupt => return self.interrupt(),
            Action::Cancel => return self.cancel(),
            Action::Quit if self.input().is_empty() => return self.leave(),
            Action::Quit => {}
            Action::Tree => {
                self.has_seen(None);
                self.open_tree();
            }
            Action::Back => return self.go_back(),
            Action::Parent => return self.go_up(),
            Action::Child => return self.go_down(),
            Action::Older => return self.go_beside(false),
            Action::Newer => return self.go_beside(true),
            Action::Open => {
                if let Some(room) = self.room_mut() {
                    room.is_open = !room.is_open;
                    room.toggled.clear();
                }
            }
            Action::PageUp => self.move_lines -= page,
            Action::PageDown => self.move_lines += page,
            Action::LineUp => self.move_lines -= 1,
            Action::LineDown => self.move_lines += 1,
            Action::Top => {
                self.room_mut()
                    .into_iter()
                    .for_each(|room| room.scroll = Scroll::At { piece: 0, line: 0 });
            }
            Action::Bottom => {
                self.room_mut().into_iter().for_each(|room| room.scroll = Scroll::Bottom);
            }
            Action::Complete => return self.complete(),
            Action::Mode => return self.next_mode(),
            Action::Answer => self.go_to_questions(),
            Action::Help => self.overlay = Some(Overlay::Help(Help::default())),
            Action::Search => self.begin_search(),
            Action::Redraw => return vec![Effect::Redraw],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Editor => return vec![Effect::Edit(self.input().text())],
            Action::PointUp => self.point(false),
            Action::PointDown => self.point(true),
            Action::Mouse => return self.hand_over_mouse(),
        }
        Vec::new()
    }

    /// Stops the one thing that Esc stops now, and says which.
    pub(super) fn interrupt(&mut self) -> Vec<Effect> {
        match (self.interruption(), self.focus) {
            (Escape::GiveUpFork, Some(focus)) => {
                let gave_up = self.give_up_fork(focus);
                self.tell("the fork is given up; nothing has changed");
                return gave_up.into_iter().collect();
            }
            (Escape::WaitNoMore, _) => {
                self.wait = None;
                self.tell("you wait no more; nothing was stopped");
            }
            (Escape::StopCommand, _) => {
                let command = self.shell.as_deref().unwrap_or_default();
                self.tell(format!("stopping `{}`", one_line(command)));
                return vec![Effect::EndShell];
            }
            (Escape::StopBelow, Some(focus)) => {
                self.interrupted = None;
                let below = self.running_below(focus);
                self.tell(format!("interrupting {} below as well", plural(below, "agent")));
                return vec![Effect::StopAll(focus)];
            }
            (Escape::Interrupt, Some(focus)) => return self.stop(focus),
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn running_below(&self, agent: AgentId) -> u64 {
        self.agents_below(Some(agent)).filter(|below| self.runs(*below)).count() as u64
    }

    /// Leaves, unless something runs here of which the person does not think.
    pub(super) fn leave(&mut self) -> Vec<Effect> {
        let commands = self.facts.background().len() as u64;
        let is_idle = self.lives.is_empty() && commands == 0;
        if is_idle || self.now_ms - self.leaving_ms <= LEAVE_MS {
            return vec![Effect::Quit];
        }
        self.leaving_ms = self.now_ms;
        let agents = self.lives.len() as u64;
        let in_background = || format!("{} in the background", plural(commands, "command"));
        self.tell(match (agents, commands) {
            (0, _) => format!("leaving ends {}; once more leaves", in_background()),
            (_, 0) => {
                let agents = plural(agents, "agent");
                format!("leaving stops {agents}; once more leaves, and /resume takes them up")
            }
            (..) => format!(
                "leaving stops {}, and ends {}; once more leaves",
                plural(agents, "agent"),
                in_background()
            ),
        });
        Vec::new()
    }

    pub(super) fn stop(&mut self, agent: AgentId) -> Vec<Effect> {
        if !self.runs(agent) {
            self.tell("it does not run");
            return Vec::new();
        }
        if let Some(live) = self.lives.get_mut(&agent) {
            live.stopping = true;
        }
        let name = self.record(agent).map_or_else(|| agent.short(), called);
        // What is to come back is known before the run can end.
        let effects = self.take_back(agent).into_iter().chain([Effect::Stop(agent)]).collect();
        let below = self.running_below(agent);
        if below == 0 {
            self.tell(format!("interrupting {name}"));
            return effects;
        }
        let them = match self.keys.hint(Action::Interrupt) {
            Some(key) if Some(agent) == self.focus => format!("; {key} again stops that, too"),
            _ => String::new(),
        };
        let below = plural(below, "agent");
        self.tell(format!("interrupting {name}; what runs below it ({below}) goes on{them}"));
        self.interrupted = Some((agent, self.now_ms));
        effects
    }

    pub(super) fn cancel(&mut self) -> Vec<Effect> {
        if !self.input().is_empty() {
            let text = self.input().take();
            self.history.keep(&text);
            return Vec::new();
        }
        if self.interruption() != Escape::Nothing {
            return self.interrupt();
        }
        if self.now_ms - self.leaving_ms <= LEAVE_MS {
            return vec![Effect::Quit];
        }
        self.leaving_ms = self.now_ms;
        let key = self.keys.or(Action::Cancel, "/quit");
        self.tell(format!("{key} again leaves; what runs here stops, and can be taken up again"));
        Vec::new()
    }

    /// Takes the line away to be sent, and keeps it in the history.
    pub(super) fn take_line(&mut self) -> String {
        let text = self.input().take();
        self.history.remember(&text);
        text
    }

    pub(super) fn submit(&mut self) -> Vec<Effect> {
        self.offers = None;
        let text = self.input().text();
        if text.trim().is_empty() {
            return Vec::new();
        }
        // A line that ends so goes on.
        if let Some(line) = text.strip_suffix('\\') {
            self.input().set(&format!("{line}\n"));
            return Vec::new();
        }
        if self.asks_for_the_dead(&text) {
            return Vec::new();
        }
        if let Some(effects) = self.answer_line(&text) {
            return effects;
        }
        match command::read(&text) {
            Some(Typed::Command(verb, rest)) => {
                let rest = rest.to_owned();
                self.take_line();
                self.command(verb, &rest)
            }
            Some(Typed::Unknown(name, near)) => {
                if let Some(answer) = other_words::answer(name) {
                    let text = format!("There is no command /{name}: {answer}.");
                    self.take_line();
                    self.say(None, Tone::Plain, text);
                    return Vec::new();
                }
                let hint = near.map_or_else(
                    || "; /help lists all".to_owned(),
                    |near| format!("; did you mean /{near}?"),
                );
                self.tell(format!("there is no command /{name}{hint}"));
                Vec::new()
            }
            None if text.trim_start().starts_with('!') => self.submit_shell(),
            None if self.is_at_the_dead() => Vec::new(),
            None => {
                let text = self.take_line();
                match self.focus {
                    Some(agent) => self.say_to(agent, text),
                    None => self.say_in_lobby(text),
                }
            }
        }
    }

    /// Runs a command of the person's own.
    fn submit_shell(&mut self) -> Vec<Effect> {
        if self.shell.is_some() {
            let key = self.keys.or(Action::Interrupt, "Ctrl+C");
            self.tell(format!("a command runs already; {key} stops it"));
            return Vec::new();
        }
        let text = self.take_line();
        let command = text.trim_start().trim_start_matches('!').trim().to_owned();
        if command.is_empty() {
            return Vec::new();
        }
        self.shell = Some(command.clone());
        vec![Effect::Shell(self.focus, command)]
    }

    /// Offers what the word could become, where nothing is offered yet.
    fn complete(&mut self) -> Vec<Effect> {
        if self.input().text().trim_start().starts_with('!') {
            self.offer_paths()
        } else {
            self.offer()
        }
    }
}
