//! Text that still comes in. Only its end is laid out anew: what stands before a place that later words cannot change keeps its lines.

use std::collections::HashMap;
use std::rc::Rc;

use ratatui::text::Line;

use super::piece::Fold;
use super::{markdown, piece};
use crate::app::Body;

/// Which text it is: of which run, of which turn, and whether it is reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Which {
    /// When the run began, in milliseconds since the Unix epoch.
    pub(super) began_ms: i64,
    /// The turn of the run.
    pub(super) turn: u64,
    /// Whether it is reasoning.
    pub(super) is_thinking: bool,
}

/// Something of a conversation that is not in the log yet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Growing<'a> {
    /// What was said to the agent.
    Said(&'a str),
    /// What waits for its next turn.
    Queued(&'a str),
    /// Its reasoning.
    Thinking(Which, &'a str),
    /// Its words.
    Model(Which, &'a str),
}

/// The lines of a text as far as it had come.
#[derive(Debug, Default)]
pub(super) struct Grown {
    width: usize,
    /// Bytes of the text whose lines do not change any more, and how many lines these are.
    settled: (usize, usize),
    lines: Rc<Vec<Line<'static>>>,
}

impl Growing<'_> {
    /// Which text it is, where that grows.
    pub(super) fn which(&self) -> Option<Which> {
        match self {
            Self::Said(_) | Self::Queued(_) => None,
            Self::Thinking(which, _) | Self::Model(which, _) => Some(*which),
        }
    }

    /// Its lines.
    pub(super) fn lines(
        &self,
        width: usize,
        is_open: bool,
        grown: &mut HashMap<Which, Grown>,
    ) -> Rc<Vec<Line<'static>>> {
        match self {
            Self::Said(text) => {
                let fold = Fold::Folded { key: None };
                Rc::new(piece::lines(&Body::User((*text).to_owned()), width, fold))
            }
            Self::Queued(text) => Rc::new(piece::queued(text, width)),
            Self::Thinking(_, text) if !is_open => {
                let mut lines = Vec::new();
                piece::thinking(text, width, false, &mut lines);
                Rc::new(lines)
            }
            Self::Thinking(which, text) => {
                grown.entry(*which).or_default().take(text, width, settled_thought, thought)
            }
            Self::Model(which, text) => {
                grown.entry(*which).or_default().take(text, width, markdown::settled, words)
            }
        }
    }
}

impl Grown {
    /// The lines of a text that begins as the last one did. `settled` says how much of a part stays as it is; `lay` makes lines of a
    /// part, behind so many lines.
    fn take(
        &mut self,
        text: &str,
        width: usize,
        settled: fn(&str) -> usize,
        lay: fn(&str, usize, usize) -> Vec<Line<'static>>,
    ) -> Rc<Vec<Line<'static>>> {
        if self.width != width || text.get(self.settled.0..).is_none() {
            *self = Self { width, ..Self::default() };
        }
        let lines = Rc::make_mut(&mut self.lines);
        lines.truncate(self.settled.1);
        let rest = text.get(self.settled.0..).unwrap_or_default();
        let (stays, grows) = rest.split_at(settled(rest));
        if !stays.is_empty() {
            let laid = lay(stays, width, lines.len());
            lines.extend(laid);
            self.settled = (self.settled.0 + stays.len(), lines.len());
        }
        let laid = lay(grows, width, lines.len());
        lines.extend(laid);
        Rc::clone(&self.lines)
    }
}

/// The model's words: a blank line before each part.
fn words(part: &str, width: usize, _before: usize) -> Vec<Line<'static>> {
    let mut lines = markdown::lines(part, width);
    if !lines.is_empty() {
        lines.insert(0, Line::default());
    }
    lines
}

/// Reasoning: whole lines do not change.
fn settled_thought(text: &str) -> usize {
    text.rfind('\n').map_or(0, |end| end + 1)
}

fn thought(part: &str, width: usize, before: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    match before {
        0 => piece::thinking(part, width, true, &mut lines),
        _ => piece::more_thinking(part, width, &mut lines),
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn which() -> Which {
        Which { began_ms: 0, turn: 0, is_thinking: false }
    }

    fn shown(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_growing_reply_keeps_the_lines_of_what_is_settled() {
        let mut grown = HashMap::new();
        let text = "# One\n\nwords\n\n```rust\nfn a() {}\n\nfn b() {}\n```\n\n- x\n\n- y\n\nend";
        for end in 0..=text.len() {
            Growing::Model(which(), &text[..end]).lines(40, false, &mut grown);
        }
        let lines = Growing::Model(which(), text).lines(40, false, &mut grown);
        assert_eq!(shown(&lines)[1..], shown(&markdown::lines(text, 40)));
        assert_eq!(text[grown[&which()].settled.0..], *"end");
    }

    #[test]
    fn another_text_begins_anew() {
        let mut grown = HashMap::new();
        Growing::Model(which(), "one\n\ntwo\n\nthree").lines(40, false, &mut grown);
        let lines = Growing::Model(which(), "four").lines(40, false, &mut grown);
        assert_eq!(shown(&lines), ["", "four"]);
    }

    proptest! {
        #[test]
        fn words_that_come_bit_by_bit_look_as_if_they_came_at_once(
            blocks in prop::collection::vec(
                prop_oneof![
                    "[a-z]{1,9}( [a-z]{1,9}){0,8}",
                    "# [a-z]{1,9}",
                    "- [a-z]{1,9}\n- [a-z]{1,9}\n\n- [a-z]{1,9}",
                    "- [a-z]{1,9}\n\n  [a-z]{1,9}",
                    "1\\. [a-z]{1,9}\n2\\. [a-z]{1,9}",
                    "> [a-z]{1,9}",
                    "```[a-z]{0,3}\n[a-z]{1,9}\n\n[a-z]{1,9}\n```",
                    "\\| a \\| b \\|\n\\|--\\|--\\|\n\\| c \\| d \\|",
                ],
                1..6,
            ),
            step in 1_usize..9,
        ) {
            let text = blocks.join("\n\n");
            let mut grown = HashMap::new();
            for end in (0..text.len()).step_by(step) {
                Growing::Model(which(), &text[..end]).lines(30, false, &mut grown);
            }
            let lines = Growing::Model(which(), &text).lines(30, false, &mut grown);
            prop_assert_eq!(&shown(&lines)[1..], shown(&markdown::lines(&text, 30)));
        }
    }
}
