//! The line that a person types: an editor with a history.

use std::borrow::Cow;
use std::mem;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::words::sendable;

/// Most texts that one agent's history keeps.
const HISTORY_MAX: usize = 500;

/// Most rows that the editor takes; longer texts scroll in it.
pub(crate) const ROWS_MAX: u16 = 8;

/// A text under way, and those that were sent before.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    area: TextArea<'static>,
    history: Vec<String>,
    /// Which text of the history is shown, and what was being written before it was.
    recalled: Option<(usize, String)>,
    /// How many control characters were left out of what came in.
    left_out: usize,
}

impl Default for Input {
    fn default() -> Self {
        Self { area: area(Vec::new()), history: Vec::new(), recalled: None, left_out: 0 }
    }
}

impl Input {
    /// What stands there.
    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing stands there.
    pub(crate) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// The editor itself, to be drawn.
    pub(crate) fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    /// What comes in is what is sent: nothing in it drives a terminal.
    fn sendable<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let (text, left_out) = sendable(text);
        self.left_out += left_out;
        text
    }

    /// How many control characters were left out since this was asked last.
    pub(crate) fn take_left_out(&mut self) -> usize {
        mem::take(&mut self.left_out)
    }

    /// Puts a text in the place of what stands there, with the cursor behind it.
    pub(crate) fn set(&mut self, text: &str) {
        let text = self.sendable(text);
        self.area = area(text.split('\n').map(str::to_owned).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// What stands before the cursor on its line, and whether that is the first one.
    pub(crate) fn before_cursor(&self) -> (String, bool) {
        let cursor = self.area.cursor();
        let line = self.area.lines().get(cursor.0).map(String::as_str).unwrap_or_default();
        (line.chars().take(cursor.1).collect(), cursor.0 == 0)
    }

    /// Puts a text in the place of so many characters before the cursor.
    pub(crate) fn replace_before_cursor(&mut self, characters: usize, text: &str) {
        for _ in 0..characters {
            self.area.delete_char();
        }
        self.paste(text);
    }

    /// Takes the text away to be sent, and keeps it in the history.
    pub(crate) fn take(&mut self) -> String {
        let text = self.text();
        self.remember(&text);
        self.set("");
        text
    }

    /// Keeps a text in the history, once: as the last one.
    pub(crate) fn remember(&mut self, text: &str) {
        self.recalled = None;
        if text.trim().is_empty() {
            return;
        }
        self.history.retain(|known| known != text);
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(text.to_owned());
    }

    /// Inserts a text as it is, but for control characters; carriage returns are line ends.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = self.sendable(text);
        self.area.insert_str(text);
    }

    /// Takes a key of a person who writes. Keys that mean something to the screen do not come here.
    pub(crate) fn key(&mut self, key: KeyEvent) {
        let plain = key.modifiers.is_empty();
        match key.code {
            KeyCode::Up if plain && self.area.cursor().0 == 0 => self.older(),
            KeyCode::Down if plain && self.is_on_last_row() => self.newer(),
            KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => {
                self.area.insert_newline();
            }
            KeyCode::Enter => self.area.insert_newline(),
            KeyCode::Char(letter) if letter.is_control() => self.left_out += 1,
            _ => {
                // What is one to a person, such as a flag, is moved over and deleted whole.
                for _ in 0..self.characters_of(key).max(1) {
                    self.area.input(key);
                }
            }
        }
    }

    /// How many characters a key moves over or deletes: those of the cluster beside the cursor. None where it does something else.
    fn characters_of(&self, key: KeyEvent) -> usize {
        let is_selected = self.area.selection_range().is_some();
        if !key.modifiers.is_empty() || is_selected {
            return 0;
        }
        let (row, column) = (self.area.cursor().0, self.area.cursor().1);
        let line = self.area.lines().get(row).map(String::as_str).unwrap_or_default();
        let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        let (before, behind) = line.split_at(at);
        let cluster = match key.code {
            KeyCode::Backspace | KeyCode::Left => before.graphemes(true).next_back(),
            KeyCode::Delete | KeyCode::Right => behind.graphemes(true).next(),
            _ => None,
        };
        cluster.map_or(0, |cluster| cluster.chars().count())
    }

    fn is_on_last_row(&self) -> bool {
        self.area.cursor().0 + 1 >= self.area.lines().len()
    }

    fn older(&mut self) {
        let (at, draft) = match self.recalled.take() {
            Some((at, draft)) => (at.saturating_sub(1), draft),
            None if self.history.is_empty() => return,
            None => (self.history.len() - 1, self.text()),
        };
        if let Some(text) = self.history.get(at).cloned() {
            self.set(&text);
        }
        self.recalled = Some((at, draft));
    }

    fn newer(&mut self) {
        let Some((at, draft)) = self.recalled.take() else { return };
        match self.history.get(at + 1).cloned() {
            Some(text) => {
                self.set(&text);
                self.recalled = Some((at + 1, draft));
            }
            None => self.set(&draft),
        }
    }
}

fn area(lines: Vec<String>) -> TextArea<'static> {
    let mut area = TextArea::new(if lines.is_empty() { vec![String::new()] } else { lines });
    area.set_cursor_line_style(Style::default());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut Input, code: KeyCode) {
        input.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn what_was_sent_comes_back_and_a_draft_is_not_lost() {
        let mut input = Input::default();
        for text in ["one", "two", "two", "  "] {
            input.set(text);
            assert_eq!(input.take(), text);
        }
        input.set("draft");
        let mut seen = Vec::new();
        for code in [KeyCode::Up, KeyCode::Up, KeyCode::Up, KeyCode::Down, KeyCode::Down] {
            press(&mut input, code);
            seen.push(input.text());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "draft"]);
    }

    #[test]
    fn control_characters_stay_out_however_a_text_comes_in() {
        let mut input = Input::default();
        input.paste("a\u{1b}[31mb\tc\u{0}");
        input.key(KeyEvent::new(KeyCode::Char('\u{9b}'), KeyModifiers::NONE));
        assert_eq!((input.text().as_str(), input.take_left_out()), ("ab\tc", 3));
        input.set("one\u{7}\ntwo \u{202e}three");
        assert_eq!((input.text().as_str(), input.take_left_out()), ("one\ntwo \u{202e}three", 1));
        assert_eq!(input.take_left_out(), 0);
    }

    #[test]
    fn a_flag_is_moved_over_and_deleted_whole() {
        let mut input = Input::default();
        input.set("a\u{1f1e8}\u{1f1ed}\u{1f1e6}\u{1f1f9}e\u{301}");
        press(&mut input, KeyCode::Backspace);
        press(&mut input, KeyCode::Left);
        press(&mut input, KeyCode::Backspace);
        assert_eq!(input.text(), "a\u{1f1e6}\u{1f1f9}");
        press(&mut input, KeyCode::Delete);
        press(&mut input, KeyCode::Backspace);
        assert_eq!(input.text(), "");
    }

    #[test]
    fn arrows_move_in_a_text_of_several_lines_first() {
        let mut input = Input::default();
        input.remember("old");
        input.paste("a\r\nb\rc");
        assert_eq!(input.text(), "a\nb\nc");
        press(&mut input, KeyCode::Up);
        assert_eq!(input.text(), "a\nb\nc");
        press(&mut input, KeyCode::Up);
        press(&mut input, KeyCode::Up);
        assert_eq!(input.text(), "old");
    }
}
