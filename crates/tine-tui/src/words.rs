//! Foreign text on a terminal: made harmless, put on one line, cut to a width.

use std::borrow::Cow;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use tine_fork::neighbour::is_note_of_neighbours;
use tine_fork::tools::{ToolAnswer, ToolCall};
use tine_guard::{Call, describe, is_unseen};
use tine_model::Leftover;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr;

use crate::figures::plural;

/// Less important.
pub const DIM: Style = Style::new().dimmed();
/// A name.
pub const BOLD: Style = Style::new().bold();
/// Something went wrong.
pub const RED: Style = AnsiColor::Red.on_default();
/// Something went well.
pub const GREEN: Style = AnsiColor::Green.on_default();
/// Something needs attention.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Something is under way.
pub const CYAN: Style = AnsiColor::Cyan.on_default();

/// A text in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A model's or a tool's text with its lines kept and everything else escaped that could move the cursor, change the
/// terminal or turn the reading direction.
pub fn harmless(text: &str) -> String {
    if !text.chars().any(|character| is_harmful(character) && !matches!(character, '\n' | '\t')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ if is_harmful(character) => out.extend(character.escape_default()),
            _ => out.push(character),
        }
    }
    out
}

/// Returns true for a character that moves the cursor, changes the terminal, turns the reading direction or hides text. The joiners
/// and variants that some scripts and pictures are written with are left to the terminal.
pub fn is_harmful(character: char) -> bool {
    is_unseen(character) && !matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// A text as it may be sent to a model: line ends and tabs stay, other control characters go, and with them the terminal's own
/// sequences. The number of those that went is returned, too. Marks that turn the reading direction are text, and stay.
pub fn sendable(text: &str) -> (Cow<'_, str>, usize) {
    let goes = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.contains(goes) {
        return (Cow::Borrowed(text), 0);
    }
    let (mut out, mut gone) = (String::with_capacity(text.len()), 0);
    let mut rest = text;
    while let Some(at) = rest.find(goes) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // A line end of another system is one.
        if let Some(after) = rest.strip_prefix('\r') {
            rest = after.strip_prefix('\n').unwrap_or(after);
            out.push('\n');
            continue;
        }
        let length = sequence(rest).or(rest.chars().next().map(char::len_utf8));
        rest = &rest[length.unwrap_or(rest.len())..];
        gone += 1;
    }
    out.push_str(rest);
    (Cow::Owned(out), gone)
}

/// The bytes of the terminal's sequence that a text begins with, such as a colour or an arrow key.
fn sequence(text: &str) -> Option<usize> {
    let (introducer, body) = match text.strip_prefix('\u{9b}') {
        Some(body) => ('[', body),
        None => {
            let mut body = text.strip_prefix('\u{1b}')?.chars();
            (body.next()?, body.as_str())
        }
    };
    let before = text.len() - body.len();
    match introducer {
        '[' => {
            let end = body.find(|c: char| !(' '..='?').contains(&c))?;
            matches!(body.as_bytes().get(end), Some(b'@'..=b'~')).then_some(before + end + 1)
        }
        'O' => {
            let key = body.chars().next().filter(char::is_ascii_alphabetic)?;
            Some(before + key.len_utf8())
        }
        ']' => {
            let end = body.find(['\u{7}', '\u{1b}', '\n'])?;
            let mut closes = ["\u{7}", "\u{1b}\\"].into_iter();
            let close = closes.find(|close| body[end..].starts_with(close))?;
            Some(before + end + close.len())
        }
        _ => None,
    }
}

/// Says that so many control characters were left out.
pub fn left_out(count: usize) -> String {
    format!("{} left out: they cannot be sent", plural(count as u64, "control character"))
}

/// Columns that a tabulator stands for.
const TAB: &str = "    ";

/// A text with blanks for its tabulators, which a screen does not draw.
pub fn without_tabs(text: &str) -> Cow<'_, str> {
    if text.contains('\t') { Cow::Owned(text.replace('\t', TAB)) } else { Cow::Borrowed(text) }
}

/// A text on one line: blanks and line ends become one blank each.
pub fn one_line(text: &str) -> String {
    harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A write waits for the store.
pub const STORE_WAITS: &str =
    "another process holds the database's lock: waiting for it, up to 10 minutes";

/// Processes that were left of calls that were cut off, on one line.
pub fn left_behind(left: &[Leftover]) -> String {
    one_line(&format!("a command outlived its tine. {}", Leftover::note(left)))
}

/// Names in a row: `a, b and c`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The first line of a text that is not blank.
pub fn first_line(text: &str) -> String {
    one_line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

/// The first `columns` columns of a line without styles; what is cut off shows as `…`.
pub fn cut(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let (mut taken, mut out) = (0, String::new());
    for cluster in line.graphemes(true) {
        taken += cluster.width();
        if taken >= columns {
            break;
        }
        out.push_str(cluster);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// The text in lines of at most so many columns, broken between words; a longer word stands on a line of its own.
pub fn folded(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > columns {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// A line cut or filled up to exactly `columns` columns.
pub fn fit(line: &str, columns: usize) -> String {
    let mut text = cut(line, columns);
    let missing = columns.saturating_sub(text.width());
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// A call as its tool and the rest: `Bash` and `git log --oneline`.
pub fn call_line(call: &ToolCall, directory: &Path) -> (String, String) {
    let line = describe(&Call::new(&call.name, &call.input, directory));
    match line.split_once(": ") {
        Some((tool, rest)) => (tool.to_owned(), rest.to_owned()),
        None => (line, String::new()),
    }
}

/// The lines of a result that say something, and how its command ended where the last line tells that.
pub(crate) fn said_lines(text: &str) -> (Vec<&str>, Option<&str>) {
    let is_said = |line: &&str| !line.trim().is_empty() && !is_note_of_neighbours(line);
    let mut lines: Vec<&str> = text.lines().filter(is_said).collect();
    // A command's last line says how it ended, in brackets.
    let ending = lines.pop_if(|last| last.starts_with("[exit code"));
    (lines, ending.map(|ending| ending.trim_matches(['[', ']'])))
}

/// A result in a line: itself when it has one, else how much there is.
pub fn summary(answer: &ToolAnswer) -> String {
    let (lines, ending) = said_lines(&answer.text);
    match (lines.as_slice(), ending) {
        ([], Some(ending)) if answer.is_error => ending.to_owned(),
        ([], _) => "no output".to_owned(),
        ([first, ..], Some(ending)) if answer.is_error => format!("{ending}: {}", one_line(first)),
        ([first], _) => one_line(first),
        ([first, ..], _) if answer.is_error => one_line(first),
        (several, _) => plural(several.len() as u64, "line"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_drive_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\tc\nd\r"), "a\\u{1b}[2Jb\tc\nd\\r");
        assert_eq!(harmless("\u{202e}evil"), "\\u{202e}evil");
    }

    #[test]
    fn what_is_sent_has_no_control_characters_but_line_ends_and_tabs() {
        let cases = [
            ("plain\ttext\n", "plain\ttext\n", 0),
            ("a\r\nb\rc", "a\nb\nc", 0),
            ("\u{1b}[1;31mred\u{1b}[0m", "red", 2),
            ("up\u{1b}[A\u{1b}OB\u{9b}2Kdown", "updown", 3),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b", "ab", 2),
            ("\u{1b}", "", 1),
            ("\u{1b}[é\u{1b}]none\n", "[é]none\n", 2),
            ("nul\0 del\u{7f} c1\u{85}", "nul del c1", 3),
            ("\u{202e}turned\u{200f}", "\u{202e}turned\u{200f}", 0),
        ];
        for (text, sent, gone) in cases {
            assert_eq!(sendable(text), (sent.into(), gone), "{text:?}");
        }
        assert_eq!(left_out(1), "1 control character left out: they cannot be sent");
    }

    #[test]
    fn a_line_is_cut_by_columns_not_by_characters() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("日本語です", 6), "日本…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut("a\u{1f1e8}\u{1f1ed}bc", 3), "a…");
        assert_eq!(fit("日本", 6), "日本  ");
    }

    #[test]
    fn a_text_becomes_one_line() {
        assert_eq!(one_line("  a\n\n b\tc "), "a b c");
        assert_eq!(first_line("\n  \n first \n second"), "first");
    }

    #[test]
    fn a_result_is_told_in_a_line() {
        let told = |text: &str, is_error| summary(&ToolAnswer { is_error, ..ToolAnswer::ok(text) });
        assert_eq!(told("", false), "no output");
        assert_eq!(told("42\n", false), "42");
        assert_eq!(told("42\n[exit code 0]", false), "42");
        assert_eq!(told("[exit code 0]", false), "no output");
        assert_eq!(told("a\nb\n\nc\n", false), "3 lines");
        assert_eq!(told("no such file\nmore", true), "no such file");
        assert_eq!(told("cannot find x\nmore\n[exit code 1]", true), "exit code 1: cannot find x");
    }
}
