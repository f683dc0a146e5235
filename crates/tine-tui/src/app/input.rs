//! The line that a person types: an editor with a history.

use std::borrow::Cow;
use std::mem;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_segmentation::UnicodeSegmentation as _;

use super::edit::{Edit, Killed, reach, target};
use super::history::History;
use crate::words::sendable;

/// Most texts of an agent's conversation that can be recalled in its line.
const SAID_MAX: usize = 500;

/// Most rows that the editor takes; longer texts scroll in it.
pub(crate) const ROWS_MAX: u16 = 8;

/// A text under way, and those that were sent before.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    area: TextArea<'static>,
    /// Texts of the conversation that this line belongs to. They are older than the history.
    said: Vec<String>,
    /// Which text is shown of those that can be recalled, and what was being written before it was.
    recalled: Option<(usize, String)>,
    /// How many control characters were left out of what came in.
    left_out: usize,
}

impl Default for Input {
    fn default() -> Self {
        Self { area: area(Vec::new()), said: Vec::new(), recalled: None, left_out: 0 }
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

    /// Puts back the editor as it was.
    pub(crate) fn restore(&mut self, area: TextArea<'static>) {
        self.area = area;
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
        let (before, at) = (self.text(), self.at());
        let word = before[..at].char_indices().rev().take(characters).last();
        self.cut(&before, at, word.map_or(at, |(begin, _)| begin));
        self.paste(text);
    }

    /// Takes the text away.
    pub(crate) fn take(&mut self) -> String {
        let text = self.text();
        self.recalled = None;
        self.set("");
        text
    }

    /// Lets a text of the conversation be recalled here.
    pub(crate) fn add_said(&mut self, text: &str) {
        self.said.retain(|known| known != text);
        if self.said.len() == SAID_MAX {
            self.said.remove(0);
        }
        self.said.push(text.to_owned());
    }

    /// Where the cursor is in the text, in bytes.
    fn at(&self) -> usize {
        let (row, column) = (self.area.cursor().0, self.area.cursor().1);
        let above = self.area.lines().iter().take(row).map(|line| line.len() + 1).sum::<usize>();
        let line = self.area.lines().get(row).map(String::as_str).unwrap_or_default();
        above + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
    }

    /// Moves the cursor to a place of the text, in bytes.
    pub(crate) fn go_to(&mut self, to: usize) {
        self.area.cancel_selection();
        let text = self.text();
        let line = text[..to].rfind('\n').map_or(0, |end| end + 1);
        let row = text[..line].matches('\n').count();
        let column = text[line..to].chars().count();
        if let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column)) {
            self.area.move_cursor(CursorMove::Jump(row, column));
            return;
        }
        // The editor cannot be told a place so far away. A step may be more than one character.
        while self.at() > to {
            self.area.move_cursor(CursorMove::Back);
        }
        while self.at() < to {
            self.area.move_cursor(CursorMove::Forward);
        }
    }

    /// Does what a key of readline does.
    pub(crate) fn edit(&mut self, edit: Edit, killed: &mut Killed) {
        let (text, at) = (self.text(), self.at());
        let joins = mem::take(&mut killed.is_open);
        match edit {
            Edit::Move(motion) => self.go_to(target(&text, at, motion)),
            Edit::Delete(motion) => drop(self.cut(&text, at, reach(&text, at, motion))),
            Edit::Kill(motion) => {
                let to = reach(&text, at, motion);
                let cut = self.cut(&text, at, to);
                killed.is_open = joins;
                // A kill of nothing keeps what was killed before.
                if !cut.is_empty() {
                    killed.add(cut, to < at);
                }
            }
            Edit::Yank => self.paste(killed.text()),
            Edit::Undo => self.undo(),
        }
    }

    /// Takes away what stands between the cursor and another place.
    fn cut<'t>(&mut self, text: &'t str, at: usize, to: usize) -> &'t str {
        let cut = &text[at.min(to)..at.max(to)];
        self.go_to(at.min(to));
        self.area.delete_str(cut.chars().count());
        cut
    }

    /// Takes the last change back. Characters that were typed or deleted one by one are one change, up to a blank.
    fn undo(&mut self) {
        let mut sign = None;
        loop {
            let (before, at) = (self.text(), self.at());
            if !self.area.undo() {
                return;
            }
            let after = self.text();
            let change = after.chars().count() as i64 - before.chars().count() as i64;
            let is_blank = before[..at].ends_with(char::is_whitespace);
            let joins = change.abs() == 1 && !(sign.is_some() && change < 0 && is_blank);
            match sign {
                None if joins => sign = Some(change),
                Some(sign) if joins && change == sign => {}
                // It is a change of its own.
                Some(_) => {
                    self.area.redo();
                    return;
                }
                None => return,
            }
        }
    }

    /// Inserts a text as it is, but for control characters; carriage returns are line ends.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = self.sendable(text);
        self.area.insert_str(text);
    }

    /// Takes a key of a person who writes. Keys that mean something to the screen do not come here.
    pub(crate) fn key(&mut self, key: KeyEvent, history: &History) {
        let plain = key.modifiers.is_empty();
        let is_held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Up if plain && self.area.cursor().0 == 0 => self.older(history),
            KeyCode::Down if plain && self.is_on_last_row() => self.newer(history),
            KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => {
                self.area.insert_newline();
            }
            KeyCode::Enter => self.area.insert_newline(),
            KeyCode::Char(letter) if letter.is_control() => self.left_out += 1,
            // The editor's own shortcuts are not those that people know from their shell.
            _ if is_held => {}
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

    /// The texts that can be recalled here, the newest last: those of the conversation, and behind them the history.
    fn recallable<'a>(&'a self, history: &'a History) -> Vec<&'a str> {
        let here: Vec<&str> = history.here().collect();
        let said = self.said.iter().map(String::as_str);
        said.filter(|text| !here.contains(text)).chain(here.iter().copied()).collect()
    }

    fn older(&mut self, history: &History) {
        let texts = self.recallable(history);
        let at = self.recalled.as_ref().map_or(texts.len(), |(at, _)| *at);
        let Some(at) = at.min(texts.len()).checked_sub(1) else { return };
        let text = texts.get(at).map(|text| (*text).to_owned()).unwrap_or_default();
        let draft = self.recalled.take().map_or_else(|| self.text(), |(_, draft)| draft);
        self.set(&text);
        self.recalled = Some((at, draft));
    }

    fn newer(&mut self, history: &History) {
        let Some((at, draft)) = self.recalled.take() else { return };
        match self.recallable(history).get(at + 1).map(|text| (*text).to_owned()) {
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
    use proptest::prelude::*;

    use super::super::edit::{Motion, edit_of};
    use super::*;

    fn press(input: &mut Input, code: KeyCode) {
        press_with(input, code, &History::default());
    }

    fn press_with(input: &mut Input, code: KeyCode, history: &History) {
        input.key(KeyEvent::new(code, KeyModifiers::NONE), history);
    }

    /// Presses keys of readline, such as `C-u` and `M-f`; other words are typed.
    fn keys(input: &mut Input, killed: &mut Killed, keys: &str) {
        for key in keys.split(' ') {
            let (modifiers, letter) = match key.split_at_checked(2) {
                Some(("C-", letter)) => (KeyModifiers::CONTROL, letter),
                Some(("M-", letter)) => (KeyModifiers::ALT, letter),
                _ => {
                    killed.is_open = false;
                    key.chars().for_each(|letter| press(input, KeyCode::Char(letter)));
                    continue;
                }
            };
            let code = match letter {
                "back" => KeyCode::Backspace,
                letter => KeyCode::Char(letter.chars().next().unwrap()),
            };
            input.edit(edit_of(KeyEvent::new(code, modifiers)).unwrap(), killed);
        }
    }

    /// What stands in the line after these keys, with the cursor.
    fn edited(text: &str, pressed: &str) -> String {
        let (mut input, mut killed) = (Input::default(), Killed::default());
        input.set(text);
        keys(&mut input, &mut killed, pressed);
        let at = input.at();
        let mut text = input.text();
        text.insert(at, '|');
        text
    }

    #[test]
    fn the_keys_of_readline_do_what_they_do_in_a_shell() {
        for (text, pressed, expected) in [
            ("one two three", "C-u", "|"),
            ("one two three", "M-b C-k", "one two |"),
            ("one two three", "M-b C-u", "|three"),
            ("see src/a.rs", "C-w", "see |"),
            ("see src/a.rs", "M-back", "see src/a.|"),
            ("one two", "C-a M-d", "| two"),
            ("one two", "C-a C-d C-f C-h", "|e two"),
            ("one two", "C-w C-w C-y", "one two|"),
            ("one two", "C-w C-a C-y", "two|one "),
            ("one two", "C-a M-d M-d C-y", "one two|"),
            ("one two", "C-u C-y C-y", "one twoone two|"),
            ("one two", "C-w x C-w C-y", "one x|"),
            ("a\nb", "C-u C-u C-u", "|"),
            ("a\nb", "C-u C-u C-u C-y", "a\nb|"),
            ("a\nb", "C-b C-k C-k", "a\n|"),
            ("日本語 ok", "C-w C-h C-h", "日本|"),
            ("one", "C-u C-_", "one|"),
            ("", "one C-u two C-_ C-_", "one|"),
            ("", "word C-_", "|"),
        ] {
            assert_eq!(edited(text, pressed), expected, "{text:?} {pressed}");
        }
    }

    proptest! {
        #[test]
        fn a_kill_and_a_yank_give_the_same_text(
            text in "[a-z é日\u{301}\u{1f1e8}\u{1f1ed}.\n]{0,24}",
            place in 0_usize..24,
            kills in prop::collection::vec(
                prop::sample::select(vec![
                    Motion::LineStart, Motion::LineEnd, Motion::WordBack,
                    Motion::WordForward, Motion::BlankBack,
                ]),
                1..6,
            ),
        ) {
            let (mut input, mut killed) = (Input::default(), Killed::default());
            input.set(&text);
            let places = text.grapheme_indices(true).map(|(at, _)| at);
            let place = places.chain([text.len()]).nth(place).unwrap_or(text.len());
            input.go_to(place);
            prop_assert_eq!(input.at(), place);
            for motion in kills {
                input.edit(Edit::Kill(motion), &mut killed);
            }
            input.edit(Edit::Yank, &mut killed);
            prop_assert_eq!(input.text(), text);
        }
    }

    #[test]
    fn what_was_sent_comes_back_and_a_draft_is_not_lost() {
        let (mut input, mut history) = (Input::default(), History::default());
        for text in ["one", "two", "two", "  "] {
            input.set(text);
            assert_eq!(input.take(), text);
            history.remember(text);
        }
        input.add_said("two");
        input.add_said("zero");
        input.set("draft");
        let mut seen = Vec::new();
        use KeyCode::{Down, Up};
        for code in [Up, Up, Up, Up, Down, Down, Down] {
            press_with(&mut input, code, &history);
            seen.push(input.text());
        }
        assert_eq!(seen, ["two", "one", "zero", "zero", "one", "two", "draft"]);
    }

    #[test]
    fn control_characters_stay_out_however_a_text_comes_in() {
        let mut input = Input::default();
        input.paste("a\u{1b}[31mb\tc\u{0}");
        press(&mut input, KeyCode::Char('\u{9b}'));
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
        input.add_said("old");
        input.paste("a\r\nb\rc");
        assert_eq!(input.text(), "a\nb\nc");
        press(&mut input, KeyCode::Up);
        assert_eq!(input.text(), "a\nb\nc");
        press(&mut input, KeyCode::Up);
        press(&mut input, KeyCode::Up);
        assert_eq!(input.text(), "old");
    }
}
