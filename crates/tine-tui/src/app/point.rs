//! Pointing at a message: going back to it, forking from it, copying or opening it.

use crossterm::event::{KeyCode, KeyEvent};
use tine_runtime::{ForkMade, ForkWords, RewindTo};

use super::keys::Action;
use super::piece::{Body, Piece, Tone};
use super::room::{Room, Scroll};
use super::{App, Effect};
use crate::figures::grouped;

/// Most bytes of a text that is copied: more is refused or cut by terminals, without a word (xterm's buffer, in base64).
const COPY_BYTES_MAX: usize = 74_994;

/// What keys do while the person points, as it is told.
pub(crate) const POINT_KEYS: &str =
    "↑↓ move · f fork from here · r rewind to here · y copy · Enter open · Esc done";

/// The conversation as it was drawn last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// The row of the screen on which it begins.
    pub(crate) top: u16,
    /// The piece that each row is of, from there on, and which of its lines. Pieces that are not in the log yet have numbers behind all
    /// others.
    pub(crate) places: Vec<(usize, usize)>,
}

impl App {
    /// Whether the person points at a message.
    pub(crate) fn is_pointing(&self) -> bool {
        self.room().is_some_and(|room| room.pointed.is_some())
    }

    /// Points at the next message that can be pointed at; at the first, at one that is on the screen.
    pub(super) fn point(&mut self, down: bool) {
        let places = &self.seen.places;
        let (first, last) =
            (places.first().map(|(piece, _)| *piece), places.last().map(|(piece, _)| *piece));
        let Some(room) = self.room_mut() else { return };
        let can = |index: &usize| room.pieces.get(*index).is_some_and(is_pointable);
        let end = room.pieces.len();
        let next = match (room.pointed, down) {
            (Some(at), false) => (0..at).rev().find(can),
            (Some(at), true) => (at + 1..end).find(can),
            (None, false) => {
                let last = match room.scroll {
                    Scroll::Bottom => end,
                    Scroll::At { .. } => last.map_or(end, |last| (last + 1).min(end)),
                };
                (0..last).rev().find(can)
            }
            (None, true) => (first.unwrap_or(0)..end).find(can),
        };
        match (next, room.pointed, down) {
            (Some(_), _, _) => (room.pointed, room.seeks) = (next, true),
            // Below the last one there is the line again.
            (None, Some(_), true) => (room.pointed, room.scroll) = (None, Scroll::Bottom),
            (None, Some(_), false) => self.tell("nothing above it can be pointed at"),
            (None, None, _) => self.tell("there is no message yet"),
        }
    }

    /// A key while the person points. One that writes ends that, and writes.
    pub(super) fn point_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let plain = key.modifiers.is_empty();
        match key.code {
            KeyCode::Up if plain => self.point(false),
            KeyCode::Down if plain => self.point(true),
            KeyCode::Enter | KeyCode::Char('o') if plain => self.open_pointed(),
            KeyCode::Char('f') if plain => return self.fork_from_here(),
            KeyCode::Char('r') if plain => return self.rewind_to_here(),
            KeyCode::Char('y') if plain => return self.copy(),
            _ => match self.keys.action(key) {
                Some(Action::Interrupt) => self.point_no_more(),
                Some(action @ (Action::Submit | Action::Cancel | Action::Quit)) => {
                    self.point_no_more();
                    return self.act(action);
                }
                Some(action) => return self.act(action),
                None => {
                    self.point_no_more();
                    return self.write(key, false);
                }
            },
        }
        Vec::new()
    }

    /// A click opens what is folded, folds what is open, and points at a prompt.
    pub(super) fn click(&mut self, row: u16) {
        let line = row.checked_sub(self.seen.top).map(usize::from);
        let Some((index, _)) = line.and_then(|line| self.seen.places.get(line).copied()) else {
            return;
        };
        let top = self.seen.places.first().copied();
        let Some(room) = self.room_mut() else { return };
        match room.pieces.get(index).map(|piece| &piece.body) {
            Some(Body::Call(_) | Body::Thinking(_)) => toggle(room, index, top),
            Some(Body::User(_)) => room.pointed = Some(index),
            Some(Body::Model(_) | Body::Event(_) | Body::Aside(..)) | None => {}
        }
    }

    /// The screen takes the mouse, or the terminal gets it back.
    pub(super) fn hand_over_mouse(&mut self) -> Vec<Effect> {
        self.has_mouse = !self.has_mouse;
        let key = self.keys.hint(Action::Mouse).unwrap_or_default();
        self.tell(if self.has_mouse {
            format!("the mouse scrolls and opens now; {key} lets it select text again")
        } else {
            "the mouse selects text again".to_owned()
        });
        vec![Effect::Mouse(self.has_mouse)]
    }

    /// What a fork that the person goes to begins with: words to be edited, and where it parts if not where it was asked to.
    pub(super) fn begin_fork_room(&mut self, made: &ForkMade, draft: Option<String>) {
        if let Some(parent) = self.rooms.get_mut(&made.parent) {
            parent.pointed = None;
        }
        if let (Some(asked), Some(point)) = (made.moved_from, made.fork_point) {
            let text = format!(
                "The fork point moved to entry {point}: the calls of entry {asked} keep their results"
            );
            self.say(Some(made.child), Tone::Plain, text);
        }
        if let Some(room) = self.rooms.get_mut(&made.child) {
            draft.into_iter().for_each(|draft| room.input.set(&draft));
        }
    }

    /// Ends it.
    pub(super) fn point_no_more(&mut self) {
        self.room_mut().into_iter().for_each(|room| room.pointed = None);
    }

    fn pointed(&self) -> Option<&Piece> {
        let room = self.room()?;
        room.pieces.get(room.pointed?)
    }

    fn open_pointed(&mut self) {
        let is_foldable = self
            .pointed()
            .is_some_and(|piece| matches!(piece.body, Body::Call(_) | Body::Thinking(_)));
        if !is_foldable {
            return self.tell("only calls and reasoning are folded");
        }
        let top = self.seen.places.first().copied();
        if let Some(room) = self.room_mut()
            && let Some(index) = room.pointed
        {
            toggle(room, index, top);
        }
    }

    /// From a prompt: a fork that has not heard it, with the prompt in its line. From anything else: one that has heard it.
    fn fork_from_here(&mut self) -> Vec<Effect> {
        let (Some(parent), Some(piece)) = (self.focus, self.pointed()) else { return Vec::new() };
        let entry = piece.entry;
        let prompt = prompt(piece);
        if self.is_forking(parent) {
            return Vec::new();
        }
        let before = self.room().and_then(|room| room.before(entry));
        let at = if prompt.is_some() { before } else { Some(entry) };
        match at {
            Some(_) => self.fork_with(parent, ForkWords { at, ..ForkWords::default() }, prompt),
            None => {
                self.begin_fork(parent, prompt);
                vec![Effect::ForkEmpty(parent)]
            }
        }
    }

    /// To before a prompt, which comes back into the line; else to behind the message and the results of its calls.
    fn rewind_to_here(&mut self) -> Vec<Effect> {
        let (Some(agent), Some(piece)) = (self.focus, self.pointed()) else { return Vec::new() };
        let (entry, is_prompt) = (piece.entry, prompt(piece).is_some());
        if self.runs(agent) {
            return self.refuse_while_it_runs();
        }
        let Some(room) = self.room_mut() else { return Vec::new() };
        room.pointed = None;
        room.scroll = Scroll::Bottom;
        if is_prompt {
            vec![Effect::Rewind(agent, RewindTo::Before(entry))]
        } else {
            vec![Effect::Rewind(agent, RewindTo::Entry(entry))]
        }
    }

    fn copy(&mut self) -> Vec<Effect> {
        let text = self.pointed().map(|piece| match &piece.body {
            Body::User(text) | Body::Model(text) | Body::Thinking(text) => text.clone(),
            Body::Call(call) => match &call.answer {
                Some(answer) => answer.text.clone(),
                None => call.input.clone(),
            },
            Body::Event(text) | Body::Aside(_, text) => text.clone(),
        });
        let Some(text) = text else { return Vec::new() };
        if text.len() > COPY_BYTES_MAX {
            let bytes = grouped(text.len() as u64);
            self.tell(format!("{bytes} bytes are more than a terminal's clipboard takes"));
            return Vec::new();
        }
        self.tell(format!("copied {} characters", grouped(text.chars().count() as u64)));
        vec![Effect::Copy(text)]
    }
}

/// Whether a person can point at it.
fn is_pointable(piece: &Piece) -> bool {
    match &piece.body {
        Body::User(_) | Body::Thinking(_) | Body::Call(_) => true,
        Body::Model(text) => !text.trim().is_empty(),
        Body::Event(_) | Body::Aside(..) => false,
    }
}

/// What the person wrote, where it is that.
fn prompt(piece: &Piece) -> Option<String> {
    match &piece.body {
        Body::User(text) => Some(text.clone()),
        Body::Model(_) | Body::Thinking(_) | Body::Call(_) | Body::Event(_) | Body::Aside(..) => {
            None
        }
    }
}

/// Opens or folds a piece, below what stands at the top of the screen.
fn toggle(room: &mut Room, index: usize, top: Option<(usize, usize)>) {
    if let Some((piece, line)) = top {
        room.scroll = Scroll::At { piece, line };
    }
    let place = room.place(index);
    if !room.toggled.remove(&place) {
        room.toggled.insert(place);
    }
}
