//! What is on the screen as lines of text, for screen readers, serial lines and pipes: all that is new, in order and once. No cursor is
//! moved and nothing is coloured. The other face of [`crate::draw`]; like it, it changes nothing that is meant.

mod page;
mod piece;
mod question;
mod stream;

use std::collections::{HashMap, HashSet, VecDeque};

use tine_model::{AgentId, EntryId, PermissionId, ToolCallId};

use crate::app::{App, Body, CallPiece, Piece, Room, called, is_folded, state_word};
use crate::figures::plural;
use crate::question::Step;
use crate::words::{harmless, one_line};
use stream::Streamed;

/// Most pieces of a conversation that are told when the person comes to it. `/log` has all of them.
const CAUGHT_UP_MAX: usize = 20;

/// Most texts that wait to be found in the log.
const TYPED_MAX: usize = 64;

/// What stands before the line that a person writes.
const SIGN: &str = "> ";

/// What was printed, and what is to be.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    /// Whether the terminal shows what is typed, so that it need not be printed, and a sign says that it may be.
    echoes: bool,
    /// Where the person was told to be.
    focus: Option<Option<AgentId>>,
    /// Whether the conversation there is told for the first time since.
    is_new: bool,
    /// Entries that were told, of whichever agent: a fork has those of its parent.
    told: HashSet<EntryId>,
    /// How many of each agent's words of the terminal were told.
    asides: HashMap<AgentId, usize>,
    /// The same of those before there was an agent.
    lobby: usize,
    /// Which state of a conversation was looked at last.
    looked: Option<(AgentId, u64, usize, Option<EntryId>)>,
    /// Calls that were told without an answer.
    open: HashSet<(EntryId, ToolCallId)>,
    streamed: Streamed,
    /// What was typed here and is not in the log yet.
    typed: VecDeque<String>,
    word: Option<(String, i64)>,
    /// The question that was told last: the chosen part of its answer, how many ask it, whether lines answer it, and the calls for it.
    question: Option<(PermissionId, Step, usize, bool, u64)>,
    /// How many questions of elsewhere were counted last, while none was told.
    elsewhere: usize,
    /// Who runs, besides the agent that is seen.
    others: Vec<AgentId>,
    /// Whether the agent that is seen ran.
    ran: bool,
    /// How many choices of models were told, and whether the search was still going on.
    offered: Option<(usize, bool)>,
    out: String,
    /// Whether a line is begun.
    is_inside: bool,
    /// Whether that line is the sign.
    is_sign: bool,
}

impl Printer {
    /// A printer; `echoes` says that the terminal shows what is typed.
    pub(crate) fn new(echoes: bool) -> Self {
        Self { echoes, ..Self::default() }
    }

    /// The person has typed this; the cursor stands at the beginning of a line again.
    pub(crate) fn typed(&mut self, text: &str) {
        (self.is_inside, self.is_sign) = (false, false);
        if self.echoes && !text.trim().is_empty() {
            // Commands are never found, and make room.
            if self.typed.len() == TYPED_MAX {
                self.typed.pop_front();
            }
            self.typed.push_back(text.to_owned());
        }
    }

    /// All that is new. `is_idle` says that nothing is under way. Pages are closed by being printed.
    pub(crate) fn look(&mut self, app: &mut App, is_idle: bool) -> String {
        self.place(app);
        self.offer(app);
        for (_, text) in app.lobby_words.iter().skip(self.lobby.min(app.lobby_words.len())) {
            self.lines(text);
        }
        self.lobby = app.lobby_words.len();
        if let Some(room) = app.room() {
            self.conversation(room);
            let live = app.lives.get(&room.record.id);
            // What was written down comes first.
            if let (false, Some(live)) = (room.is_stale, live) {
                let new = self.streamed.grown(&live.text);
                self.flow(&new);
            }
        }
        self.questions(app);
        self.words(app);
        // An answer that still comes in is printed once it is there.
        if let Some(overlay) = app.overlay.take_if(|overlay| overlay.is_whole()) {
            let text = page::text(app, &overlay);
            self.lines(&text);
        }
        self.runs(app);
        if self.echoes && is_idle && !self.is_inside {
            self.out.push_str(SIGN);
            (self.is_inside, self.is_sign) = (true, true);
        }
        std::mem::take(&mut self.out)
    }

    /// Where the person is, when that has changed.
    fn place(&mut self, app: &App) {
        if self.focus == Some(app.focus) {
            return;
        }
        (self.focus, self.is_new, self.looked) = (Some(app.focus), true, None);
        self.streamed = Streamed::default();
        self.ran = app.focus.is_some_and(|focus| app.runs(focus) || app.is_ending(focus));
        match app.room() {
            Some(room) => self.lines(&head(app, room)),
            None => {
                let model = app.new_model.as_deref().unwrap_or("no model");
                self.lines(&format!("[no agent yet · {model}]"));
                if !app.setup.is_open {
                    self.lines("Say what is to be done; /help lists all commands.");
                }
            }
        }
    }

    /// What can be done about a model, as far as it is known, and later what was found.
    fn offer(&mut self, app: &App) {
        if !app.setup.is_open || app.focus.is_some() {
            self.offered = None;
            return;
        }
        let now = (app.setup.offer.choices.len(), app.setup.is_looking);
        let (from, was_looking) = match self.offered {
            Some(before) if before == now => return,
            Some((told, _)) if told > now.0 => (0, false),
            Some(before) => before,
            None => (0, false),
        };
        let mut lines = Vec::new();
        if self.offered.is_none() {
            lines.extend(app.setup.head(app.new_model.is_none()));
        }
        lines.extend(app.setup.choices(from));
        if self.offered.is_none() || (was_looking && !now.1) {
            lines.extend(app.setup.foot());
        }
        lines.iter().for_each(|(_, text)| self.lines(text));
        self.offered = Some(now);
    }

    /// What is new of a conversation.
    fn conversation(&mut self, room: &Room) {
        let agent = room.record.id;
        // An answer to a call adds no piece.
        let now = (agent, room.revision, room.pieces.len(), room.last);
        if self.looked == Some(now) {
            return;
        }
        self.looked = Some(now);
        let (mut number, mut aside) = (0, 0);
        let asides = self.asides.get(&agent).copied().unwrap_or(0);
        let mut new = Vec::new();
        for piece in &room.pieces {
            number += usize::from(is_folded(&piece.body));
            let is_told = match &piece.body {
                Body::Aside(..) => {
                    aside += 1;
                    aside <= asides
                }
                _ => self.told.contains(&piece.entry),
            };
            match &piece.body {
                _ if !is_told => new.push((number, piece)),
                Body::Call(call) => self.answered((number, piece.entry), call),
                _ => {}
            }
        }
        let hidden = if self.is_new { new.len().saturating_sub(CAUGHT_UP_MAX) } else { 0 };
        if hidden > 0 {
            self.lines(&format!("({hidden} earlier parts are left out; /log has all)"));
        }
        new.drain(..hidden);
        self.reply_first(&mut new);
        new.into_iter().for_each(|(number, part)| self.piece(number, part));
        let of_log = room.pieces.iter().filter(|piece| !matches!(piece.body, Body::Aside(..)));
        self.told.extend(of_log.map(|piece| piece.entry));
        self.asides.insert(agent, aside);
        self.is_new &= room.is_stale;
    }

    /// Reasoning stands before its reply. Where the reply was begun already, all of it comes first.
    fn reply_first(&self, new: &mut [(usize, &Piece)]) {
        let is_reply = |body: &Body| matches!(body, Body::Model(_));
        let is_reasoning = |body: &Body| matches!(body, Body::Thinking(_));
        let Some(at) = new.iter().position(|(_, piece)| is_reply(&piece.body)) else { return };
        let is_next = new[..at].iter().all(|(_, piece)| is_reasoning(&piece.body));
        if self.streamed.is_begun() && is_next {
            new[..=at].rotate_right(1);
        }
    }

    fn piece(&mut self, number: usize, part: &Piece) {
        match &part.body {
            Body::Model(text) => {
                let rest = self.streamed.written(text);
                self.flow(&rest);
                self.end_line();
            }
            Body::User(text) => {
                self.streamed.next();
                let typed = self.typed.iter().position(|typed| typed.trim() == text.trim());
                match typed {
                    Some(at) => drop(self.typed.drain(..=at)),
                    None => self.lines(&piece::user(text)),
                }
            }
            Body::Call(call) => {
                self.lines(&piece::call(number, call));
                self.open.insert((part.entry, call.id.clone()));
                self.answered((number, part.entry), call);
            }
            Body::Thinking(text) => self.lines(&piece::thinking(number, text)),
            Body::Event(text) => self.lines(&format!("* {}", one_line(text))),
            Body::Aside(_, text) => self.lines(text),
        }
    }

    /// The answer to a call that was told without. A server may number its calls anew in each reply.
    fn answered(&mut self, (number, entry): (usize, EntryId), call: &CallPiece) {
        if let Some(answer) = &call.answer
            && self.open.remove(&(entry, call.id.clone()))
        {
            self.lines(&piece::answer(number, answer));
        }
    }

    fn questions(&mut self, app: &mut App) {
        app.question_is_shown();
        if app.shown_question().is_some() {
            // All of it is printed.
            app.questions.is_seen();
        }
        let is_active = app.question_is_active();
        let Some(request) = app.shown_question() else {
            self.question = None;
            let count = app.questions.len();
            if std::mem::replace(&mut self.elsewhere, count) < count {
                let questions = plural(count as u64, "question");
                self.lines(&format!("{questions} elsewhere; /answer goes there"));
            }
            return;
        };
        // Asked for again, it is told again.
        let (step, _) = app.questions.choosing();
        let told =
            (request.id, step.clone(), app.askers(request).len(), is_active, app.questions.calls);
        if self.question.as_ref() == Some(&told) {
            return;
        }
        self.question = Some(told);
        self.lines(&question::text(app, request));
    }

    /// Words that a screen shows for a moment.
    fn words(&mut self, app: &App) {
        if let Some((word, until_ms)) = &app.word
            && self.word.as_ref() != Some(&(word.clone(), *until_ms))
        {
            self.word = Some((word.clone(), *until_ms));
            self.lines(word);
        }
    }

    /// Who has begun: others in one line each. Where the agent stands that is seen, once its run has ended. That others have ended is said
    /// in words of the moment.
    fn runs(&mut self, app: &App) {
        let others: Vec<AgentId> =
            app.lives.keys().copied().filter(|id| Some(*id) != app.focus).collect();
        let name = |id: &AgentId| app.record(*id).map_or_else(|| id.short(), called);
        let before = std::mem::take(&mut self.others);
        for id in others.iter().filter(|id| !before.contains(id)) {
            self.lines(&format!("* {} works in the background", name(id)));
        }
        self.others = others;
        let Some(room) = app.room() else { return };
        let runs = app.runs(room.record.id);
        // Until its new row has come, the one that is known says that it runs.
        let is_known = !room.is_stale && !app.is_ending(room.record.id);
        if self.ran && !runs && is_known {
            self.lines(&head(app, room));
        }
        self.ran = runs || (self.ran && !is_known);
    }

    /// Adds a text that stands on lines of its own.
    fn lines(&mut self, text: &str) {
        self.end_line();
        self.out.push_str(harmless(text).trim_end_matches('\n'));
        self.out.push('\n');
    }

    /// Adds a part of a text that goes on.
    fn flow(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.is_sign {
            self.end_line();
        }
        self.out.push_str(&harmless(text));
        self.is_inside = !text.ends_with('\n');
    }

    fn end_line(&mut self) {
        if self.is_inside {
            self.out.push('\n');
        }
        (self.is_inside, self.is_sign) = (false, false);
    }
}

/// Who is seen, with which model, and what it does.
fn head(app: &App, room: &Room) -> String {
    let record = &room.record;
    let state =
        if app.runs(record.id) { "running" } else { state_word(record, app.tasks.get(&record.id)) };
    format!("[agent {} · {} · {state}]", one_line(&room.called()), record.settings.model)
}

#[cfg(test)]
mod tests;
