//! Foreign text on a terminal: made harmless, put on one line, cut to a width.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use tine_fork::{ToolAnswer, ToolCall, is_note_of_neighbours};
use tine_guard::{Call, describe, is_unseen};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// A text on one line: blanks and line ends become one blank each.
pub fn one_line(text: &str) -> String {
    harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "))
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
    for character in line.chars() {
        taken += character.width().unwrap_or(0);
        if taken >= columns {
            break;
        }
        out.push(character);
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
    let line = describe(&Call { tool: &call.name, input: &call.input, directory });
    match line.split_once(": ") {
        Some((tool, rest)) => (tool.to_owned(), rest.to_owned()),
        None => (line, String::new()),
    }
}

/// A result in a line: itself when it has one, else how much there is.
pub fn summary(answer: &ToolAnswer) -> String {
    let is_said = |line: &&str| !line.trim().is_empty() && !is_note_of_neighbours(line);
    let lines: Vec<&str> = answer.text.lines().filter(is_said).collect();
    // A command's last line says how it ended, in brackets.
    let (lines, ending) = match lines.split_last() {
        Some((last, rest)) if last.starts_with("[exit code") => {
            (rest, Some(last.trim_matches(['[', ']'])))
        }
        _ => (lines.as_slice(), None),
    };
    match (lines, ending) {
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
    fn a_line_is_cut_by_columns_not_by_characters() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("日本語です", 6), "日本…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(fit("日本", 6), "日本  ");
    }

    #[test]
    fn a_text_becomes_one_line() {
        assert_eq!(one_line("  a\n\n b\tc "), "a b c");
        assert_eq!(first_line("\n  \n first \n second"), "first");
    }

    #[test]
    fn a_result_is_told_in_a_line() {
        let told = |text: &str, is_error| summary(&ToolAnswer { text: text.to_owned(), is_error });
        assert_eq!(told("", false), "no output");
        assert_eq!(told("42\n", false), "42");
        assert_eq!(told("42\n[exit code 0]", false), "42");
        assert_eq!(told("[exit code 0]", false), "no output");
        assert_eq!(told("a\nb\n\nc\n", false), "3 lines");
        assert_eq!(told("no such file\nmore", true), "no such file");
        assert_eq!(told("cannot find x\nmore\n[exit code 1]", true), "exit code 1: cannot find x");
    }
}
