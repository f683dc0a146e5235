//! The keys of readline: where in a text each of them goes, and what was killed last.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

/// A place beside the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    /// The beginning of the line.
    LineStart,
    /// The end of the line.
    LineEnd,
    /// Before the grapheme cluster before the cursor.
    ClusterBack,
    /// Behind the grapheme cluster behind the cursor.
    ClusterForward,
    /// The beginning of the word before the cursor.
    WordBack,
    /// The end of the word behind the cursor.
    WordForward,
    /// The beginning of the word before the cursor, where words end at blanks only.
    BlankBack,
}

/// Something that a key does to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Goes there.
    Move(Motion),
    /// Takes away the text up to there, and keeps it to be yanked.
    Kill(Motion),
    /// Deletes the text up to there.
    Delete(Motion),
    /// Inserts what was killed last.
    Yank,
    /// Takes the last change back.
    Undo,
}

/// The text that was killed last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Killed {
    text: String,
    /// True right after a kill: the next one joins it.
    pub(super) is_open: bool,
}

impl Killed {
    /// What was killed last.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Keeps a text. It joins the one of the kill right before it, on the side where it stood.
    pub(super) fn add(&mut self, text: &str, was_before: bool) {
        if !std::mem::replace(&mut self.is_open, true) {
            self.text.clear();
        }
        if was_before { self.text.insert_str(0, text) } else { self.text.push_str(text) }
    }
}

/// Returns what a key does to the text; `None` of keys that write, and of unknown ones.
pub(super) fn edit_of(key: KeyEvent) -> Option<Edit> {
    use Edit::{Delete, Kill, Move, Undo, Yank};
    use Motion::*;
    let held = key.modifiers.difference(KeyModifiers::SHIFT);
    let (control, alt) = (held == KeyModifiers::CONTROL, held == KeyModifiers::ALT);
    let code = match key.code {
        KeyCode::Char(letter) => KeyCode::Char(letter.to_ascii_lowercase()),
        code => code,
    };
    Some(match code {
        KeyCode::Char('a') if control => Move(LineStart),
        KeyCode::Char('e') if control => Move(LineEnd),
        KeyCode::Char('b') if control => Move(ClusterBack),
        KeyCode::Char('f') if control => Move(ClusterForward),
        KeyCode::Char('b') if alt => Move(WordBack),
        KeyCode::Char('f') if alt => Move(WordForward),
        KeyCode::Left if control => Move(WordBack),
        KeyCode::Right if control => Move(WordForward),
        KeyCode::Char('u') if control => Kill(LineStart),
        KeyCode::Char('k') if control => Kill(LineEnd),
        KeyCode::Char('w') if control => Kill(BlankBack),
        KeyCode::Backspace if alt || control => Kill(WordBack),
        KeyCode::Char('d') if alt => Kill(WordForward),
        KeyCode::Delete if alt || control => Kill(WordForward),
        KeyCode::Char('h') if control => Delete(ClusterBack),
        KeyCode::Char('d') if control => Delete(ClusterForward),
        KeyCode::Char('y') if control => Yank,
        // Terminals send one byte for Ctrl+_, Ctrl+/ and Ctrl+7, and crossterm calls it the last of them.
        KeyCode::Char('_' | '/' | '7') if control => Undo,
        _ => return None,
    })
}

/// Returns the arrow for which a key of readline's stands, Ctrl+P or Ctrl+N; any other key as it is.
pub(super) fn arrow_of(key: KeyEvent) -> KeyEvent {
    let code = match (key.code, key.modifiers) {
        (KeyCode::Char('p'), KeyModifiers::CONTROL) => KeyCode::Up,
        (KeyCode::Char('n'), KeyModifiers::CONTROL) => KeyCode::Down,
        _ => return key,
    };
    KeyEvent::new(code, KeyModifiers::NONE)
}

/// The place of a motion in a text, from a place at which a character begins.
pub(super) fn target(text: &str, at: usize, motion: Motion) -> usize {
    let (before, behind) = text.split_at(at);
    match motion {
        Motion::LineStart => before.rfind('\n').map_or(0, |end| end + 1),
        Motion::LineEnd => at + behind.find('\n').unwrap_or(behind.len()),
        Motion::ClusterBack => at - before.graphemes(true).next_back().map_or(0, str::len),
        Motion::ClusterForward => at + behind.graphemes(true).next().map_or(0, str::len),
        Motion::WordBack => at - word(before.graphemes(true).rev(), is_of_word),
        Motion::WordForward => at + word(behind.graphemes(true), is_of_word),
        Motion::BlankBack => at - word(before.graphemes(true).rev(), is_no_blank),
    }
}

/// The text that a kill or a deletion takes away: at the end of a line that is the line's end itself.
pub(super) fn reach(text: &str, at: usize, motion: Motion) -> usize {
    match (motion, target(text, at, motion)) {
        (Motion::LineStart, to) if to == at => target(text, at, Motion::ClusterBack),
        (Motion::LineEnd, to) if to == at => target(text, at, Motion::ClusterForward),
        (_, to) => to,
    }
}

/// Bytes up to the end of the next word: what stands between words, and the word.
fn word<'t>(clusters: impl Iterator<Item = &'t str>, is_of_word: fn(&str) -> bool) -> usize {
    let mut has_begun = false;
    let is_on_the_way = |cluster: &&str| {
        has_begun |= is_of_word(cluster);
        !has_begun || is_of_word(cluster)
    };
    clusters.take_while(is_on_the_way).map(str::len).sum()
}

fn is_of_word(cluster: &str) -> bool {
    cluster.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

fn is_no_blank(cluster: &str) -> bool {
    !cluster.starts_with(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks the place of each motion from the `|` on.
    fn check(text: &str, motion: Motion, expected: &str) {
        let at = text.find('|').unwrap();
        let mut text = text.replace('|', "");
        let to = target(&text, at, motion);
        text.insert(to, '|');
        assert_eq!(text, expected, "{motion:?}");
    }

    #[test]
    fn motions_go_by_words_lines_and_clusters() {
        check("one two|", Motion::WordBack, "one |two");
        check("one two  |", Motion::WordBack, "one |two  ");
        check("a/b.rs|", Motion::WordBack, "a/b.|rs");
        check("see a/b.rs|", Motion::BlankBack, "see |a/b.rs");
        check("|  one two", Motion::WordForward, "  one| two");
        check("one|, two", Motion::WordForward, "one, two|");
        check("one\n|two", Motion::WordBack, "|one\ntwo");
        check("über 日本|語", Motion::WordBack, "über |日本語");
        check("a\ntw|o\nb", Motion::LineStart, "a\n|two\nb");
        check("a\ntw|o\nb", Motion::LineEnd, "a\ntwo|\nb");
        check("ae\u{301}|", Motion::ClusterBack, "a|e\u{301}");
        check("|\u{1f1e8}\u{1f1ed}x", Motion::ClusterForward, "\u{1f1e8}\u{1f1ed}|x");
        for motion in [Motion::WordBack, Motion::BlankBack, Motion::LineStart, Motion::ClusterBack]
        {
            check("|", motion, "|");
        }
    }
}
