//! The answer to a call that is folded: its first lines, and how many more there are.

use ratatui::text::{Line, Span};
use tine_fork::tools::ToolAnswer;

use super::result::counted;
use super::{DIM, RED};
use crate::figures::plural;
use crate::words::{cut, said_lines, summary, without_tabs};

/// Lines of an answer that are shown.
const LINES_MAX: usize = 3;

/// Columns before a line.
const INDENT_COLUMNS: usize = 4;

/// Tools whose answer is counted, and not shown: the text of a file is no news.
const COUNTED: [&str; 1] = ["FileRead"];

/// The lines of an answer in a text that is harmless, on a screen of so many columns. The key opens the call.
pub(super) fn lines(
    tool: &str,
    answer: &ToolAnswer,
    (width, key): (usize, Option<&str>),
    lines: &mut Vec<Line<'static>>,
) {
    let style = if answer.is_error { RED } else { DIM };
    let changes = counted(&answer.text).filter(|_| !answer.is_error);
    let (said, _) = said_lines(&answer.text);
    let is_counted = changes.is_some() || !answer.is_error && COUNTED.contains(&tool);
    // The first line of an error says how its command ended.
    let first = match said.as_slice() {
        [first, _, ..] if !is_counted && !answer.is_error => (*first).to_owned(),
        _ => changes.unwrap_or_else(|| summary(answer)),
    };
    let room = width.saturating_sub(INDENT_COLUMNS);
    let mut add = |before: &str, text: &str, style| {
        let text = cut(without_tabs(text).trim_end(), room);
        lines.push(Line::from(Span::styled(format!("{before}{text}"), style)));
    };
    add("  ⎿ ", &first, style);
    if is_counted {
        return;
    }
    for line in said.iter().take(LINES_MAX).skip(1) {
        add("    ", line, style);
    }
    let more = said.len().saturating_sub(LINES_MAX);
    if more > 0 {
        let key = key.map(|key| format!(" ({key})")).unwrap_or_default();
        add("    ", &format!("… {}{key}", plural(more as u64, "more line")), DIM);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tool: &str, answer: ToolAnswer, key: Option<&str>) -> String {
        let mut out = Vec::new();
        lines(tool, &answer, (30, key), &mut out);
        out.iter().map(Line::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_folded_answer_shows_its_first_lines_and_counts_the_rest() {
        let many: String = (1..=40).map(|line| format!("\tline {line}\n\n")).collect();
        let changes = "Changed a\n@@ -1 +1 @@\n-a\n+b\n";
        let failed = |text: &str| ToolAnswer { is_error: true, ..ToolAnswer::ok(text) };
        let key = Some("Ctrl+O");
        let all = [
            shown("Bash", ToolAnswer::ok(format!("{many}[exit code 0]")), key),
            shown("Bash", ToolAnswer::ok("a\nb\nc\nd\n"), None),
            shown("Bash", ToolAnswer::ok("a\nb\n[exit code 0]"), key),
            shown("Bash", ToolAnswer::ok("[exit code 0]"), key),
            shown("Grep", ToolAnswer::ok("a line that is longer than the screen\nb"), key),
            shown("Bash", failed("one\ntwo\nthree\nfour\nfive\n[exit code 2]"), key),
            shown("FileEdit", failed("cannot find it"), key),
            shown("FileEdit", ToolAnswer::ok(changes), key),
            shown("FileRead", ToolAnswer::ok("1\ta\n2\tb\n"), key),
            shown("FileRead", failed("there is no `a`\nnear: `b`"), key),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        ⎿     line 1
              line 2
              line 3
          … 37 more lines (Ctrl+O)
        ⎿ a
          b
          c
          … 1 more line
        ⎿ a
          b
        ⎿ no output
        ⎿ a line that is longer tha…
          b
        ⎿ exit code 2: one
          two
          three
          … 2 more lines (Ctrl+O)
        ⎿ cannot find it
        ⎿ +1 -1
        ⎿ 2 lines
        ⎿ there is no `a`
          near: `b`
        ");
    }
}
