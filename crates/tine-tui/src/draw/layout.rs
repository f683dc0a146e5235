//! Which lines of a conversation are on the screen. Only pieces that are seen are laid out, from where the person is upwards or downwards,
//! so a conversation costs the same however long it is.

use std::collections::HashMap;
use std::rc::Rc;

use ratatui::text::Line;
use tine_model::AgentId;

use super::piece;
use crate::app::{Body, Live, Room, Scroll};

/// Most pieces whose lines are kept.
const KEPT_MAX: usize = 2_000;

/// Lines that were laid out, kept for the next frame.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    of: Option<(AgentId, u64, usize)>,
    lines: HashMap<usize, Rc<Vec<Line<'static>>>>,
}

/// The conversation as a list that is laid out as far as it is looked at.
struct List<'a> {
    room: &'a Room,
    live: &'a [Body],
    width: usize,
    kept: &'a mut Kept,
}

impl List<'_> {
    fn len(&self) -> usize {
        self.room.pieces.len() + self.live.len()
    }

    fn lines(&mut self, index: usize) -> Rc<Vec<Line<'static>>> {
        let (room, width) = (self.room, self.width);
        match room.pieces.get(index) {
            Some(piece) => {
                let make = || {
                    let open = match &piece.body {
                        Body::Call(call) => room.is_open || room.opened.contains(&call.id),
                        _ => room.is_open,
                    };
                    Rc::new(piece::lines(&piece.body, width, open))
                };
                Rc::clone(self.kept.lines.entry(index).or_insert_with(make))
            }
            // What still grows is laid out anew each time.
            None => match self.live.get(index - room.pieces.len()) {
                Some(body) => Rc::new(piece::lines(body, width, room.is_open)),
                None => Rc::default(),
            },
        }
    }
}

/// The lines to be shown, at most `height`, and where that is: moved by `lines` from where the room says.
pub(super) fn view(
    room: &Room,
    live: &[Body],
    (width, height): (usize, usize),
    lines: i32,
    kept: &mut Kept,
) -> (Vec<Line<'static>>, Scroll) {
    let of = Some((room.record.id, room.revision, width));
    if kept.of != of || kept.lines.len() > KEPT_MAX {
        kept.of = of;
        kept.lines.clear();
    }
    let mut list = List { room, live, width, kept };
    let bottom = top_of_last(&mut list, height);
    let from = match room.scroll {
        Scroll::Bottom => bottom,
        Scroll::At { piece, line } => (piece, line),
    };
    let from = moved(&mut list, from, lines);
    let is_bottom = from >= bottom;
    let from = from.min(bottom);
    let scroll = match is_bottom {
        true => Scroll::Bottom,
        false => Scroll::At { piece: from.0, line: from.1 },
    };
    (taken(&mut list, from, height), scroll)
}

/// Where the last `height` lines begin.
fn top_of_last(list: &mut List<'_>, height: usize) -> (usize, usize) {
    let mut missing = height;
    for index in (0..list.len()).rev() {
        let lines = list.lines(index).len();
        if lines >= missing {
            return (index, lines - missing);
        }
        missing -= lines;
    }
    (0, 0)
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

fn taken(list: &mut List<'_>, from: (usize, usize), height: usize) -> Vec<Line<'static>> {
    let mut out = Vec::with_capacity(height);
    for index in from.0..list.len() {
        let skip = if index == from.0 { from.1 } else { 0 };
        let lines = list.lines(index);
        out.extend(lines.iter().skip(skip).take(height - out.len()).cloned());
        if out.len() == height {
            break;
        }
    }
    out
}

/// What is not in the log yet, as pieces.
pub(super) fn live_pieces(room: &Room, live: Option<&Live>) -> Vec<Body> {
    let mut pieces = Vec::new();
    pieces.extend(room.sent.clone().map(Body::User));
    let Some(live) = live else { return pieces };
    for (thinking, text) in [(&live.said.0, &live.said.1), (&live.thinking, &live.text)] {
        if !thinking.trim().is_empty() {
            pieces.push(Body::Thinking(thinking.clone()));
        }
        if !text.trim().is_empty() {
            pieces.push(Body::Model(text.clone()));
        }
    }
    pieces
}
