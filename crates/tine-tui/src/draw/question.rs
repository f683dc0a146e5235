//! The question that waits: who wants what, where and why, and which keys answer it.

use ratatui::text::{Line, Span};
use serde_json::Value;
use tine_model::PermissionScope;
use tine_runtime::PermissionRequest;

use super::piece::diff;
use super::wrap::{broken, wrapped};
use super::{BOLD, CYAN, DIM, YELLOW};
use crate::app::{App, LETTERS};
use crate::figures::plural;
use crate::words::{cut, harmless, one_line};

/// Columns of the name or task of the one who asks.
const LABEL_COLUMNS: usize = 40;

/// The first question, if there is one, in at most `room` lines: who asks, why, and the keys are always among them.
pub(super) fn lines(app: &App, width: usize, room: usize) -> Vec<Line<'static>> {
    let Some(request) = app.questions.front() else { return Vec::new() };
    let mut lines = vec![Line::from(Span::styled("─".repeat(width), YELLOW))];
    let who = match &request.label {
        None => request.agent.short(),
        Some(label) => {
            format!("{} ({})", cut(&one_line(label), LABEL_COLUMNS), request.agent.short())
        }
    };
    lines.push(Line::from(vec![
        Span::styled("? ", YELLOW),
        Span::styled(who, BOLD),
        Span::raw(" wants to use "),
        Span::styled(one_line(&request.tool), BOLD),
    ]));
    let mut asked = Vec::new();
    what(request, width, &mut asked);
    let indent = [Span::raw("  ")];
    let mut end = Vec::new();
    if let Some(warning) = &request.warning {
        let text = format!("warning: {}", one_line(warning));
        end.extend(wrapped(&[(text, YELLOW)], width, &indent, &indent));
    }
    let why = format!("in {}: {}", one_line(&request.directory), one_line(&request.why));
    end.extend(wrapped(&[(why, DIM)], width, &indent, &indent));
    if PermissionScope::Agent.is_within(request.widest) {
        let rule = request.rule.as_ref().map(|rule| one_line(rule));
        let rule = rule.unwrap_or_else(|| "this call with these arguments".to_owned());
        let rule = cut(&format!("beyond once: {rule}"), width.saturating_sub(2));
        end.push(Line::from(Span::styled(format!("  {rule}"), DIM)));
    }
    end.push(choices(app, request));
    let left = room.saturating_sub(lines.len() + end.len());
    if asked.len() > left {
        let hidden = asked.len() - left.saturating_sub(1);
        asked.truncate(left.saturating_sub(1));
        let text = format!("  … {}: v shows all of it", plural(hidden as u64, "more line"));
        asked.push(Line::from(Span::styled(text, YELLOW)));
    }
    lines.extend(asked);
    lines.extend(end);
    lines
}

/// What would be done, in full where that decides.
fn what(request: &PermissionRequest, width: usize, lines: &mut Vec<Line<'static>>) {
    let input: Value = serde_json::from_str(request.input.as_str()).unwrap_or_default();
    let field =
        |name: &str| input.get(name).and_then(Value::as_str).map(harmless).unwrap_or_default();
    let indent = [Span::raw("  ")];
    match request.tool.as_str() {
        "Bash" => {
            for line in field("command").lines() {
                lines.extend(broken(line, CYAN, width, &indent));
            }
        }
        "FileEdit" | "FileWrite" => {
            lines.extend(broken(&field("file_path"), CYAN, width, &indent));
            let new = format!("{}{}", field("new_string"), field("content"));
            diff(&field("old_string"), &new, width, lines);
        }
        _ => lines.extend(wrapped(&[(one_line(&request.what), CYAN)], width, &indent, &indent)),
    }
}

fn choices(app: &App, request: &PermissionRequest) -> Line<'static> {
    if !app.answers {
        return Line::from(Span::styled("  Ctrl+P answers", YELLOW));
    }
    let mut spans = vec![Span::raw("  Allow it?")];
    let offered = LETTERS.iter().filter(|(_, _, scope)| scope.is_within(request.widest));
    for (letter, word, _) in offered {
        spans.push(Span::styled(format!(" [{letter}]"), YELLOW));
        spans.push(Span::raw(format!(" {word}")));
    }
    spans.push(Span::styled(" [n]", YELLOW));
    spans.push(Span::raw(" no"));
    let more = app.questions.len() - 1;
    if more > 0 {
        spans.push(Span::styled(format!("  ({} behind it)", plural(more as u64, "question")), DIM));
    }
    Line::from(spans)
}
