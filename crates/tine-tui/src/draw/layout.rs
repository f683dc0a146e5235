//! Which lines of a conversation are on the screen. Only pieces that are seen are laid out, from where the person is upwards or downwards,
//! so a conversation costs the same however long it is.

use std::collections::HashMap;
use std::rc::Rc;

use ratatui::text::Line;
use tine_model::AgentId;

use super::growing::{Growing, Grown, Which};
use super::page::LaidPage;
use super::piece::{self, Fold};
use super::running;
use super::uneven::Uneven;
use crate::app::{Body, Live, Piece, Room, RunningCall, Scroll};

/// Most pieces whose lines are kept.
const KEPT_MAX: usize = 2_000;

/// Lines that were laid out, kept for the next frame.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    of: Option<(AgentId, u64, usize)>,
    lines: HashMap<usize, Laid>,
    grown: HashMap<Which, Grown>,
    /// The page over the conversation.
    pub(super) page: LaidPage,
    /// The key that opens what is folded, where there is one.
    pub(super) open_key: Option<String>,
    /// Clusters whose width terminals disagree about.
    pub(super) uneven: Uneven,
}

/// The lines of a piece, and what they depend on beside what it is: whether it is shown whole, whether it has its answer.
#[derive(Debug)]
struct Laid {
    state: (bool, bool),
    lines: Rc<Vec<Line<'static>>>,
}

/// What is shown of a conversation.
#[derive(Debug)]
pub(super) struct View {
    /// The lines.
    pub(super) lines: Vec<Line<'static>>,
    /// The piece of each, and which of the piece's lines it is.
    pub(super) places: Vec<(usize, usize)>,
    /// Where that is.
    pub(super) scroll: Scroll,
}

/// What goes on in a conversation at this moment.
pub(super) struct Growth<'a> {
    /// What is not in the log yet.
    pub(super) pieces: Vec<Growing<'a>>,
    /// The calls that run.
    pub(super) calls: &'a [RunningCall],
    /// The time, in milliseconds since the Unix epoch.
    pub(super) now_ms: i64,
}

/// The conversation as a list that is laid out as far as it is looked at.
struct List<'a> {
    room: &'a Room,
    live: &'a Growth<'a>,
    width: usize,
    kept: &'a mut Kept,
}

impl List<'_> {
    fn len(&self) -> usize {
        self.room.pieces.len() + self.live.pieces.len()
    }

    fn lines(&mut self, index: usize) -> Rc<Vec<Line<'static>>> {
        let (room, width) = (self.room, self.width);
        let Some(piece) = room.pieces.get(index) else {
            return match self.live.pieces.get(index - room.pieces.len()) {
                Some(growing) => growing.lines(width, room.is_open, &mut self.kept.grown),
                None => Rc::default(),
            };
        };
        let lines = self.piece_lines(index, piece);
        match self.running(&piece.body) {
            // It changes all the time, and is short.
            Some(call) => {
                let running = running::lines(call, self.live.now_ms, width);
                Rc::new(lines.iter().cloned().chain(running).collect())
            }
            None => lines,
        }
    }

    /// The call that a piece is, if it runs.
    fn running(&self, body: &Body) -> Option<&RunningCall> {
        match body {
            Body::Call(call) if call.answer.is_none() => {
                self.live.calls.iter().find(|running| running.id == call.id)
            }
            _ => None,
        }
    }

    fn piece_lines(&mut self, index: usize, piece: &Piece) -> Rc<Vec<Line<'static>>> {
        let width = self.width;
        let is_open = self.room.is_open(index);
        let is_answered = matches!(&piece.body, Body::Call(call) if call.answer.is_some());
        let state = (is_open, is_answered);
        if let Some(laid) = self.kept.lines.get(&index).filter(|laid| laid.state == state) {
            return Rc::clone(&laid.lines);
        }
        let fold =
            if is_open { Fold::Open } else { Fold::Folded { key: self.kept.open_key.as_deref() } };
        let lines = Rc::new(piece::lines(&piece.body, width, fold));
        self.kept.lines.insert(index, Laid { state, lines: Rc::clone(&lines) });
        lines
    }
}

/// The lines to be shown, at most `height`, and where that is: moved by `lines` from where the room says, or so far that the piece which
/// is sought is seen.
pub(super) fn view(
    room: &Room,
    live: &Growth<'_>,
    (width, height): (usize, usize),
    lines: i32,
    kept: &mut Kept,
) -> View {
    let of = Some((room.record.id, room.revision, width));
    if kept.of != of || kept.lines.len() > KEPT_MAX {
        kept.of = of;
        kept.lines.clear();
        kept.grown.clear();
    }
    kept.grown.retain(|which, _| live.pieces.iter().any(|growing| growing.which() == Some(*which)));
    let mut list = List { room, live, width, kept };
    let bottom = top_of_last(&mut list, height);
    let from = match room.scroll {
        Scroll::Bottom => bottom,
        Scroll::At { piece, line } => (piece, line),
    };
    let mut from = moved(&mut list, from, lines);
    if let (Some(sought), true) = (room.pointed, room.seeks) {
        from = seen_from(&mut list, from, sought, height);
    }
    let is_bottom = from >= bottom;
    let from = from.min(bottom);
    let scroll =
        if is_bottom { Scroll::Bottom } else { Scroll::At { piece: from.0, line: from.1 } };
    let (lines, places) = taken(&mut list, from, height);
    View { lines, places, scroll }
}

/// Where the last `height` lines begin.
fn top_of_last(list: &mut List<'_>, height: usize) -> (usize, usize) {
    let end = list.len();
    top_of(list, end, height)
}

/// Where the `height` lines before a piece begin.
fn top_of(list: &mut List<'_>, end: usize, height: usize) -> (usize, usize) {
    let mut missing = height;
    for index in (0..end).rev() {
        let lines = list.lines(index).len();
        if lines >= missing {
            return (index, lines - missing);
        }
        missing -= lines;
    }
    (0, 0)
}

/// The nearest place to `from` from which a piece is seen: all of it, or, where it is too long, its beginning.
fn seen_from(
    list: &mut List<'_>,
    from: (usize, usize),
    sought: usize,
    height: usize,
) -> (usize, usize) {
    let latest = (sought, 0);
    let earliest = top_of(list, sought + 1, height).min(latest);
    from.clamp(earliest, latest)
}

fn moved(list: &mut List<'_>, (mut piece, mut line): (usize, usize), by: i32) -> (usize, usize) {
    // A piece that became shorter meanwhile.
    line = line.min(list.lines(piece).len());
    for _ in 0..by.unsigned_abs() {
        match by < 0 {
            true if line > 0 => line -= 1,
            true => {
                let above = (0..piece).rev().find(|index| !list.lines(*index).is_empty());
                let Some(above) = above else { return (piece, line) };
                (piece, line) = (above, list.lines(above).len() - 1);
            }
            false if line + 1 < list.lines(piece).len() => line += 1,
            false if piece + 1 < list.len() => (piece, line) = (piece + 1, 0),
            false => return (piece, line),
        }
    }
    (piece, line)
}

fn taken(
    list: &mut List<'_>,
    from: (usize, usize),
    height: usize,
) -> (Vec<Line<'static>>, Vec<(usize, usize)>) {
    let mut out = Vec::with_capacity(height);
    let mut places = Vec::with_capacity(height);
    for index in from.0..list.len() {
        let skip = if index == from.0 { from.1 } else { 0 };
        let lines = list.lines(index);
        let shown = lines.iter().enumerate().skip(skip).take(height - out.len());
        for (number, line) in shown {
            out.push(line.clone());
            places.push((index, number));
        }
        if out.len() == height {
            break;
        }
    }
    (out, places)
}

/// What is not in the log yet, as pieces.
pub(super) fn live_pieces<'a>(room: &'a Room, live: Option<&'a Live>) -> Vec<Growing<'a>> {
    let mut pieces: Vec<_> = room.sent.as_deref().map(Growing::Said).into_iter().collect();
    let queued = room.queued.iter().map(|text| Growing::Queued(text));
    let Some(live) = live else { return pieces.into_iter().chain(queued).collect() };
    let (said, now) = (live.said_turn, live.turn);
    let texts = [(said, &live.said.0, &live.said.1), (now, &live.thinking, &live.text)];
    for (turn, thinking, text) in texts {
        let which = |is_thinking| Which { began_ms: live.began_ms, turn, is_thinking };
        if !thinking.trim().is_empty() {
            pieces.push(Growing::Thinking(which(true), thinking));
        }
        if !text.trim().is_empty() {
            pieces.push(Growing::Model(which(false), text));
        }
    }
    // The reply that comes in was not written for them.
    pieces.extend(queued);
    pieces
}
