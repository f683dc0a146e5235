//! What came of a call, the way it reads best: changes as changes, files as code, all else as it is.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::highlight::Scanner;
use super::languages::{Language, of_file};
use super::wrap::{Run, broken, broken_runs};
use super::{BOLD, CYAN, DIM, GREEN, RED};
use crate::app::CallPiece;
use crate::figures::{grouped, plural};

/// Most lines of a result or an argument that are shown of a call which is opened. `tine show --full` has them all.
pub(super) const OPEN_LINES_MAX: usize = 200;

/// Columns of the number of a line.
const NUMBER_COLUMNS: usize = 4;

/// What stands before each line.
const INDENT: &str = "    ";

/// The lines of a result that is no error.
pub(super) fn lines(call: &CallPiece, text: &str, width: usize, lines: &mut Vec<Line<'static>>) {
    let path = || {
        let input: Value = serde_json::from_str(&call.input).unwrap_or_default();
        input.get("file_path").and_then(Value::as_str).map(str::to_owned)
    };
    let language = match call.tool.as_str() {
        "FileRead" => path().and_then(|path| of_file(&path)),
        _ => None,
    };
    match language {
        Some(language) => file(text, language, width, lines),
        None if text.lines().any(|line| hunk(line).is_some()) => changes(text, width, lines),
        None => plain(text, DIM, width, lines),
    }
}

/// Whether a result shows the changes of its call itself, with numbers.
pub(super) fn has_changes(call: &CallPiece) -> bool {
    let answer = call.answer.as_ref().filter(|answer| !answer.is_error);
    answer.is_some_and(|answer| answer.text.lines().any(|line| hunk(line).is_some()))
}

/// How many lines come and go by the changes in a result, where there are any: `+3 -1`.
pub(super) fn counted(text: &str) -> Option<String> {
    let mut place = Hunk::default();
    let (mut come, mut go, mut is_any) = (0, 0, false);
    for line in text.lines() {
        match hunk(line) {
            Some(begun) => (place, is_any) = (begun, true),
            None => match place.line(line).1 {
                GREEN => come += 1,
                RED => go += 1,
                _ => {}
            },
        }
    }
    is_any.then(|| format!("+{} -{}", grouped(come), grouped(go)))
}

/// Lines in one style.
pub(super) fn plain(text: &str, style: Style, width: usize, lines: &mut Vec<Line<'static>>) {
    let before = [Span::raw(INDENT)];
    for line in text.lines().take(OPEN_LINES_MAX) {
        lines.extend(broken(line, style, width, &before));
    }
    more(text, OPEN_LINES_MAX, lines);
}

/// Says how many lines are not shown, beyond so many.
pub(super) fn more(text: &str, shown: usize, lines: &mut Vec<Line<'static>>) {
    let more = text.lines().count().saturating_sub(shown);
    if more > 0 {
        let text = format!("{INDENT}… {}", plural(more as u64, "more line"));
        lines.push(Line::from(Span::styled(text, DIM)));
    }
}

/// A file with the numbers of its lines, each before a tabulator.
fn file(text: &str, language: &'static Language, width: usize, lines: &mut Vec<Line<'static>>) {
    let mut scanner = Scanner::new(language);
    for line in text.lines().take(OPEN_LINES_MAX) {
        let numbered = line
            .split_once('\t')
            .and_then(|(number, code)| Some((number.trim().parse::<u64>().ok()?, code)));
        match numbered {
            Some((number, code)) => numbered_line(number, scanner.line(code), width, lines),
            None => lines.extend(broken(line, DIM, width, &[Span::raw(INDENT)])),
        }
    }
    more(text, OPEN_LINES_MAX, lines);
}

fn numbered_line(number: u64, runs: Vec<Run>, width: usize, lines: &mut Vec<Line<'static>>) {
    let before = [Span::styled(format!("{INDENT}{number:>NUMBER_COLUMNS$} "), DIM)];
    lines.extend(broken_runs(runs, width, &before));
}

/// Text in which changes stand as `diff -u` and git write them: what goes red, what comes green, each with its number.
fn changes(text: &str, width: usize, lines: &mut Vec<Line<'static>>) {
    let mut place = Hunk::default();
    for line in text.lines().take(OPEN_LINES_MAX) {
        let (number, style) = match hunk(line) {
            Some(begun) => {
                place = begun;
                (None, CYAN)
            }
            None => place.line(line),
        };
        match number {
            Some(number) => {
                numbered_line(number, vec![(line.to_owned(), style)], width, lines);
            }
            None => lines.extend(broken(line, style, width, &[Span::raw(INDENT)])),
        }
    }
    more(text, OPEN_LINES_MAX, lines);
}

/// Where one is in a block of changes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk {
    /// The numbers of the next lines, as they were and as they are.
    next: (u64, u64),
    /// How many lines of each are still to come.
    left: (u64, u64),
}

/// A line that begins a block of changes: `@@ -1,4 +1,5 @@`.
fn hunk(line: &str) -> Option<Hunk> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(u64, u64)> {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    let ((old_first, old_count), (new_first, new_count)) = (range(old)?, range(new)?);
    Some(Hunk { next: (old_first, new_first), left: (old_count, new_count) })
}

impl Hunk {
    /// The number of a line and its style. Outside of a block only what git says of files stands out.
    fn line(&mut self, line: &str) -> (Option<u64>, Style) {
        let was = |hunk: &mut Self| {
            hunk.left.0 = hunk.left.0.saturating_sub(1);
            hunk.next.0 += 1;
            hunk.next.0 - 1
        };
        let is = |hunk: &mut Self| {
            hunk.left.1 = hunk.left.1.saturating_sub(1);
            hunk.next.1 += 1;
            hunk.next.1 - 1
        };
        if self.left == (0, 0) {
            let is_of_file = ["diff ", "--- ", "+++ "].iter().any(|sign| line.starts_with(sign));
            return (None, if is_of_file { BOLD } else { DIM });
        }
        match line.chars().next() {
            Some('-') => (Some(was(self)), RED),
            Some('+') => (Some(is(self)), GREEN),
            // The end of a file without a line end.
            Some('\\') => (None, DIM),
            Some(_) | None => {
                was(self);
                (Some(is(self)), DIM)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;
    use tine_model::ToolCallId;

    use super::*;

    /// Each line with a letter for its colour.
    fn shown(tool: &str, input: &str, text: &str) -> String {
        let call = CallPiece {
            id: ToolCallId("t1".to_owned()),
            tool: tool.into(),
            line: String::new(),
            input: input.into(),
            answer: None,
        };
        let mut out = Vec::new();
        lines(&call, text, 60, &mut out);
        let line = |line: &Line<'_>| {
            let style = line.spans.last().map(|span| span.style).unwrap_or_default();
            let letter = match style.fg {
                Some(Color::Red) => 'r',
                Some(Color::Green) => 'g',
                Some(Color::Cyan) => 'c',
                _ if style == BOLD => 'b',
                _ if style == DIM => 'd',
                _ => ' ',
            };
            format!("{letter}{line}")
        };
        out.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn changes_are_coloured_and_numbered_and_what_stands_around_them_is_not() {
        let text = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -9,3 +9,3 @@ fn main\n a\n--- b\n+++ c\n d\n- no change\n[exit code 0]";
        insta::assert_snapshot!(shown("Bash", "{}", text), @"
        b    diff --git a/a.rs b/a.rs
        b    --- a/a.rs
        b    +++ b/a.rs
        c    @@ -9,3 +9,3 @@ fn main
        d       9  a
        r      10 --- b
        g      10 +++ c
        d      11  d
        d    - no change
        d    [exit code 0]
        ");
    }

    #[test]
    fn a_file_that_is_read_has_numbers_and_colours() {
        let text = "     9\tfn a() {\n    10\t}\n(1 more line; go on with offset 11)";
        insta::assert_snapshot!(shown("FileRead", r#"{"file_path":"a.rs"}"#, text), @"
                9 fn a() {
               10 }
        d    (1 more line; go on with offset 11)
        ");
    }

    #[test]
    fn only_what_git_would_read_begins_changes() {
        for line in ["@@ -1 +1 @@", "@@ -1,2 +3,4 @@ fn"] {
            assert!(hunk(line).is_some(), "{line}");
        }
        for line in ["@@ -a +1 @@", "@@ -1", "@@", "- a", "@@ -1 +1"] {
            assert!(hunk(line).is_none(), "{line}");
        }
    }
}
