//! What others said, written so that it can be taken for nothing of ours.

use super::DIGEST_TAG;
use crate::worker::BOILERPLATE_TAG;

/// What stands before each line of a quotation but one that follows a label.
const INDENT: &str = "  ";

/// Tags that mean something to tine: in a quotation they are plain text. A worker's rules that were said to somebody else are
/// no rules here, and the end of a task that was told before is not told again.
const TAGS: [&str; 3] = [DIGEST_TAG, BOILERPLATE_TAG, "task-notification"];

/// Characters of a name or an id of a provider's: real ones are far shorter.
const WORD_CHARS_MAX: usize = 80;

/// Everything that some program takes for the end of a line.
fn ends_a_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Appends a text behind a label: its first line goes on there, all others are indented.
pub(super) fn quote(out: &mut String, text: &str) {
    let mut rest = text.trim_end();
    while let Some(end) = rest.find(ends_a_line) {
        plain(out, &rest[..end]);
        let ending = if rest[end..].starts_with("\r\n") { 2 } else { char_len(&rest[end..]) };
        rest = &rest[end + ending..];
        out.push('\n');
        out.push_str(if rest.starts_with(ends_a_line) { "" } else { INDENT });
    }
    plain(out, rest);
}

/// Appends a text as a block below a label: every line is indented.
pub(super) fn quote_below(out: &mut String, text: &str) {
    out.push('\n');
    out.push_str(INDENT);
    quote(out, text);
}

/// The same on one line: line ends become blanks.
pub(super) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let blank = text.replace(ends_a_line, " ");
    plain(&mut line, &blank);
    line
}

/// A name or an id as one plain word.
pub(super) fn word(text: &str) -> String {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "[]()<>,".contains(c);
    text.chars().take(WORD_CHARS_MAX).map(|c| if odd(c) { '_' } else { c }).collect()
}

fn char_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Appends a line in which our tags are no tags.
fn plain(out: &mut String, line: &str) {
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        out.push_str(if is_tag(rest) { "&lt;" } else { "<" });
    }
    out.push_str(rest);
}

/// Whether what stands behind a `<` is one of our tags, closing or opening, however it is written.
fn is_tag(rest: &str) -> bool {
    let name = rest.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    TAGS.iter().any(|tag| {
        name.as_bytes()
            .get(..tag.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(tag.as_bytes()))
    })
}
