//! What others said, written so that it can be taken for nothing of ours.

use std::borrow::Cow;

use crate::envelope::escape_frame_tags;

/// What stands before each line of a quotation but one that follows a label.
const INDENT: &str = "  ";

/// Characters of a name or an id of a provider's: real ones are far shorter.
const WORD_CHARS_MAX: usize = 80;

/// Everything that some program takes for the end of a line.
fn ends_a_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Appends a text behind a label: its first line goes on there, all others are indented.
pub(super) fn quote(out: &mut String, text: &str) {
    // Before it is split: a tag may go over a line's end.
    let text = plain(text.trim_end());
    let mut rest = &*text;
    while let Some(end) = rest.find(ends_a_line) {
        out.push_str(&rest[..end]);
        let ending = if rest[end..].starts_with("\r\n") { 2 } else { char_len(&rest[end..]) };
        rest = &rest[end + ending..];
        out.push('\n');
        out.push_str(if rest.starts_with(ends_a_line) { "" } else { INDENT });
    }
    out.push_str(rest);
}

/// Appends a text as a block below a label: every line is indented.
pub(super) fn quote_below(out: &mut String, text: &str) {
    out.push('\n');
    out.push_str(INDENT);
    quote(out, text);
}

/// The same on one line: line ends become blanks.
pub(super) fn on_one_line(text: &str) -> String {
    plain(&text.replace(ends_a_line, " ")).into_owned()
}

/// A name or an id as one plain word.
pub(super) fn word(text: &str) -> String {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "[]()<>,".contains(c);
    text.chars().take(WORD_CHARS_MAX).map(|c| if odd(c) { '_' } else { c }).collect()
}

fn char_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// The text, in which tags of frames are plain text. A worker's rules that were said to somebody else are no rules here, and the end
/// of a task that was told before is not told again.
fn plain(text: &str) -> Cow<'_, str> {
    escape_frame_tags(text)
}
