//! One piece of a conversation as lines.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use tine_fork::tools::ToolAnswer;

use super::highlight::Scanner;
use super::languages::named;
use super::result::{self, OPEN_LINES_MAX, plain};
use super::wrap::{broken, broken_runs, wrapped};
use super::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, folded, markdown};
use crate::app::{Body, CallPiece, OWN_COMMAND, Tone};
use crate::figures::plural;
use crate::words::{cut, first_line, harmless, one_line};

/// Lines that a command of the person's own shows by itself.
const OWN_LINES_MAX: usize = 10;

/// How much of calls and reasoning is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold<'k> {
    /// All of it.
    Open,
    /// The beginning. The key opens it, where there is one.
    Folded { key: Option<&'k str> },
}

/// The lines of a piece, with a blank one before those that begin something.
pub(super) fn lines(body: &Body, width: usize, fold: Fold<'_>) -> Vec<Line<'static>> {
    let open = fold == Fold::Open;
    let mut lines = Vec::new();
    match body {
        Body::User(text) => {
            lines.push(Line::default());
            let bar = [Span::styled("▌ ", CYAN)];
            for line in harmless(text).lines() {
                lines.extend(wrapped(&[(line.to_owned(), BOLD)], width, &bar, &bar));
            }
        }
        Body::Model(text) if text.trim().is_empty() => {}
        Body::Model(text) => {
            lines.push(Line::default());
            lines.extend(markdown::lines(text, width));
        }
        Body::Thinking(text) => thinking(text, width, open, &mut lines),
        Body::Call(call) => called(call, width, fold, &mut lines),
        Body::Event(text) => {
            let before = [Span::styled("  ", DIM)];
            lines.extend(wrapped(&[(one_line(text), DIM)], width, &before, &before));
        }
        Body::Aside(tone, text) => {
            let style = match tone {
                Tone::Plain => DIM,
                Tone::Warning => YELLOW,
                Tone::Error => RED,
            };
            lines.push(Line::default());
            for line in harmless(text).lines() {
                lines.extend(wrapped(&[(line.to_owned(), style)], width, &[], &[]));
            }
        }
    }
    lines
}

/// Words that wait for the next turn of the agent.
pub(super) fn queued(text: &str, width: usize) -> Vec<Line<'static>> {
    let bar = [Span::styled("▌ ", DIM)];
    let text = format!("{}  (queued: read at its next turn)", harmless(text).trim_end());
    let line = |line: &str| wrapped(&[(line.to_owned(), DIM)], width, &bar, &bar);
    [Line::default()].into_iter().chain(text.lines().flat_map(line)).collect()
}

/// Reasoning: its first line, or all of it.
pub(super) fn thinking(text: &str, width: usize, open: bool, lines: &mut Vec<Line<'static>>) {
    lines.push(Line::default());
    let sign = [Span::styled("∴ ", DIM)];
    if !open {
        let more = text.trim().lines().count().saturating_sub(1);
        let more =
            if more > 0 { format!(" (+{})", plural(more as u64, "line")) } else { String::new() };
        let line = cut(&first_line(text), width.saturating_sub(2 + more.len()));
        lines.push(Line::from(vec![sign[0].clone(), Span::styled(format!("{line}{more}"), DIM)]));
        return;
    }
    let rest = [Span::raw("  ")];
    for (number, line) in harmless(text.trim()).lines().enumerate() {
        let first = if number == 0 { &sign } else { &rest };
        lines.extend(wrapped(&[(line.to_owned(), DIM)], width, first, &rest));
    }
}

/// Reasoning that goes on.
pub(super) fn more_thinking(text: &str, width: usize, lines: &mut Vec<Line<'static>>) {
    let before = [Span::raw("  ")];
    for line in harmless(text.trim_end()).lines() {
        lines.extend(wrapped(&[(line.to_owned(), DIM)], width, &before, &before));
    }
}

fn called(call: &CallPiece, width: usize, fold: Fold<'_>, lines: &mut Vec<Line<'static>>) {
    let sign = match &call.answer {
        None => Span::styled("○ ", YELLOW),
        Some(answer) if answer.is_error => Span::styled("● ", RED),
        Some(_) => Span::styled("● ", GREEN),
    };
    lines.push(Line::default());
    let room = width.saturating_sub(3 + call.tool.chars().count());
    lines.push(Line::from(vec![
        sign,
        Span::styled(call.tool.clone(), BOLD),
        Span::raw(format!(" {}", cut(&one_line(&call.line), room))),
    ]));
    if fold == Fold::Open {
        arguments(call, width, lines);
    }
    let Some(answer) = &call.answer else { return };
    let style = if answer.is_error { RED } else { DIM };
    let text = harmless(&answer.text);
    match fold {
        Fold::Folded { .. }
            if call.tool == OWN_COMMAND && own_output(&text, style, width, lines) => {}
        Fold::Folded { key } => {
            let answer = ToolAnswer { is_error: answer.is_error, ..ToolAnswer::ok(text) };
            folded::lines(&call.tool, &answer, (width, key), lines);
        }
        Fold::Open if answer.is_error => plain(&text, style, width, lines),
        Fold::Open => result::lines(call, &text, width, lines),
    }
}

/// What a command of the person's own has said, to its first lines. False where one line can tell it.
fn own_output(text: &str, style: Style, width: usize, lines: &mut Vec<Line<'static>>) -> bool {
    let output = text.trim_end();
    let output = output.strip_suffix("[exit code 0]").unwrap_or(output).trim_end();
    let first: Vec<&str> = output.lines().take(OWN_LINES_MAX).collect();
    if first.len() < 2 {
        return false;
    }
    plain(&first.join("\n"), style, width, lines);
    result::more(output, OWN_LINES_MAX, lines);
    true
}

/// What a call was given, the way it reads best: both sides of an edit, the lines of a file, a command.
fn arguments(call: &CallPiece, width: usize, lines: &mut Vec<Line<'static>>) {
    let input: Value = serde_json::from_str(&call.input).unwrap_or_default();
    let field = |name: &str| input.get(name).and_then(Value::as_str).map(harmless);
    match call.tool.as_str() {
        "FileEdit" if result::has_changes(call) => {}
        "FileEdit" => {
            let (old, new) = (field("old_string"), field("new_string"));
            diff(&old.unwrap_or_default(), &new.unwrap_or_default(), width, lines);
        }
        "FileWrite" => diff("", &field("content").unwrap_or_default(), width, lines),
        "Bash" => code(&field("command").unwrap_or_default(), "sh", width, lines),
        _ => code(&harmless(&call.input), "json", width, lines),
    }
}

/// What is given to a tool, in the colours of its language.
fn code(text: &str, language: &str, width: usize, lines: &mut Vec<Line<'static>>) {
    let Some(language) = named(language) else { return plain(text, CYAN, width, lines) };
    let mut scanner = Scanner::new(language);
    let before = [Span::raw("    ")];
    for line in text.lines().take(OPEN_LINES_MAX) {
        lines.extend(broken_runs(scanner.line(line), width, &before));
    }
    result::more(text, OPEN_LINES_MAX, lines);
}

/// What goes and what comes.
fn diff(old: &str, new: &str, width: usize, lines: &mut Vec<Line<'static>>) {
    let changes = similar::TextDiff::from_lines(old, new);
    for change in changes.iter_all_changes().take(OPEN_LINES_MAX) {
        let (sign, style) = match change.tag() {
            similar::ChangeTag::Delete => ("- ", RED),
            similar::ChangeTag::Insert => ("+ ", GREEN),
            similar::ChangeTag::Equal => ("  ", DIM),
        };
        let before = [Span::styled(format!("    {sign}"), style)];
        lines.extend(broken(change.value().trim_end_matches('\n'), style, width, &before));
    }
}

#[cfg(test)]
mod tests {
    use tine_model::{EntryId, ToolCallId};

    use super::*;
    use crate::app::AnswerText;

    fn shown(body: &Body, open: bool) -> String {
        let fold = if open { Fold::Open } else { Fold::Folded { key: Some("Ctrl+O") } };
        let lines: Vec<String> = lines(body, 40, fold)
            .iter()
            .map(|line| line.to_string().trim_end().to_owned())
            .collect();
        lines.join("\n")
    }

    fn call(tool: &str, input: &str, answer: &str, is_error: bool) -> Body {
        Body::Call(CallPiece {
            id: ToolCallId("t1".to_owned()),
            tool: tool.into(),
            line: "in a line".into(),
            input: input.into(),
            answer: Some(AnswerText { entry: EntryId(2), text: answer.into(), is_error }),
        })
    }

    #[test]
    fn a_call_shows_its_first_lines_and_opens_to_all_of_it() {
        let command = call("Bash", r#"{"command":"ls\ncat a"}"#, "a\nb\n[exit code 0]\n", false);
        let edit = call(
            "FileEdit",
            r#"{"file_path":"a","old_string":"one\ntwo","new_string":"one\n2"}"#,
            "cannot find `two`",
            true,
        );
        let all = [(&command, false), (&command, true), (&edit, false), (&edit, true)];
        let all: Vec<String> = all.map(|(body, open)| shown(body, open)).to_vec();
        insta::assert_snapshot!(all.join("\n"), @"
        ● Bash in a line
          ⎿ a
            b

        ● Bash in a line
            ls
            cat a
            a
            b
            [exit code 0]

        ● FileEdit in a line
          ⎿ cannot find `two`

        ● FileEdit in a line
              one
            - two
            + 2
            cannot find `two`
        ");
    }

    #[test]
    fn a_command_of_ones_own_shows_what_it_said_and_how_it_failed() {
        let many: String = (1..=12).map(|line| format!("{line}\n")).collect();
        let all = [
            shown(&call("!", "seq 12", &format!("{many}[exit code 0]"), false), false),
            shown(&call("!", "echo a", "a\n[exit code 0]", false), false),
            shown(&call("!", "false", "[exit code 1]", true), false),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        ● ! in a line
            1
            2
            3
            4
            5
            6
            7
            8
            9
            10
            … 2 more lines

        ● ! in a line
          ⎿ a

        ● ! in a line
          ⎿ exit code 1
        ");
    }

    #[test]
    fn words_of_both_sides_are_told_apart() {
        let thought = Body::Thinking("First this,\nthen that,\nand at last the third thing".into());
        let all = [
            shown(&Body::User("Please look at\nthis \u{1b}[2J".into()), false),
            shown(&thought, false),
            shown(&thought, true),
            shown(&Body::Event("Forked child 1a2b3c4d".into()), false),
            shown(&Body::Aside(Tone::Error, "Error: no\nhint: yes".into()), false),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        ▌ Please look at
        ▌ this \u{1b}[2J

        ∴ First this, (+2 lines)

        ∴ First this,
          then that,
          and at last the third thing
          Forked child 1a2b3c4d

        Error: no
        hint: yes
        ");
    }
}
