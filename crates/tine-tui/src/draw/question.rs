//! The panel of the question that waits: who wants what, where and why, and the choices.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tine_runtime::PermissionRequest;

use super::wrap::{broken, wrapped};
use super::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::app::{Action, App, Standby, is_bare, is_command, where_and_why, who_asks};
use crate::figures::plural;
use crate::question::{Said, Shade, Step, asked_lines, said, warning};
use crate::words::{cut, listed, one_line};

/// Lines of what is asked that are worth more than its circumstances.
const ASKED_LEAST: usize = 3;

/// The question in front, if there is one, in at most `room` lines: who asks, why, and the keys are always among them. Whether
/// all of what is asked is among them, too.
pub(super) fn lines(app: &App, width: usize, room: usize) -> (Vec<Line<'static>>, bool) {
    let Some(request) = app.shown_question() else { return (Vec::new(), false) };
    let mut asked = Vec::new();
    what(request, width, &mut asked);
    let all = around(app, request, width, false);
    // Where there is little room, what is asked needs it more than what is good to know about it.
    let (mut lines, end) = if all.0.len() + all.1.len() + asked.len().min(ASKED_LEAST) > room {
        around(app, request, width, true)
    } else {
        all
    };
    let left = room.saturating_sub(lines.len() + end.len());
    let is_whole = asked.len() <= left;
    if !is_whole {
        let hidden = asked.len() - left.saturating_sub(1);
        asked.truncate(left.saturating_sub(1));
        let key = app.keys.or(Action::Open, "a yes");
        let text = format!("  … {}: {key} shows all of it", plural(hidden as u64, "more line"));
        asked.push(Line::from(Span::styled(text, YELLOW)));
    }
    lines.extend(asked);
    lines.extend(end);
    (lines, is_whole)
}

/// What stands above and below what is asked; `is_brief` leaves out what an answer can do without.
fn around(
    app: &App,
    request: &PermissionRequest,
    width: usize,
    is_brief: bool,
) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
    let indent = [Span::raw("  ")];
    let mut lines = vec![Line::from(Span::styled("─".repeat(width), YELLOW))];
    lines.extend(who(app, request, width, is_brief));
    let mut end = Vec::new();
    for warning in request.warning.clone().into_iter().chain(warning(&request.into())) {
        let text = format!("warning: {}", one_line(&warning));
        end.extend(wrapped(&[(text, YELLOW)], width, &indent, &indent));
    }
    if is_brief {
        let why = cut(&where_and_why(request), width.saturating_sub(2));
        end.push(Line::from(Span::styled(format!("  {why}"), DIM)));
    } else {
        end.extend(wrapped(&[(where_and_why(request), DIM)], width, &indent, &indent))
    }
    end.extend(panel(app, request, width, is_brief));
    if !is_brief {
        end.push(place(app, request, width));
    }
    (lines, end)
}

/// Who wants to use what, and what that is to the agent that is seen.
fn who(app: &App, request: &PermissionRequest, width: usize, is_brief: bool) -> Vec<Line<'static>> {
    let standing = if is_brief { Vec::new() } else { app.standing_of(request) };
    let standing: String = standing.iter().map(|part| format!(" · {}", one_line(part))).collect();
    let askers = app.askers(request);
    let wants = if askers.len() > 1 { " want to use " } else { " wants to use " };
    let runs = [
        (listed(&askers), BOLD),
        (wants.to_owned(), Style::new()),
        (one_line(&request.tool), BOLD),
        (standing, DIM),
    ];
    wrapped(&runs, width, &[Span::styled("? ", YELLOW)], &[Span::raw("  ")])
}

/// What would be done, in full where that decides.
fn what(request: &PermissionRequest, width: usize, lines: &mut Vec<Line<'static>>) {
    for line in asked_lines(&request.into()) {
        let (style, indent) = match line.shade {
            Shade::Subject => (CYAN, "  "),
            Shade::Same => (DIM, "    "),
            Shade::Removed => (RED, "    "),
            Shade::Added => (GREEN, "    "),
            Shade::Said => (DIM, "  "),
        };
        let before = [Span::styled(format!("{indent}{}", line.shade.sign()), style)];
        lines.extend(broken(&line.text(), style, width, &before));
    }
}

/// The choices, one in a line, or all in one where there is little room. The marked one has the sign.
fn panel(
    app: &App,
    request: &PermissionRequest,
    width: usize,
    is_brief: bool,
) -> Vec<Line<'static>> {
    let indent = [Span::raw("  ")];
    let standby = app.standby();
    let (step, marked) = app.questions.choosing();
    let style = |place: usize| match standby {
        Standby::Armed if place == marked && app.line().is_empty() => BOLD,
        Standby::Armed => Style::new(),
        Standby::Inactive | Standby::Unread | Standby::Draft => DIM,
    };
    let mut lines = Vec::new();
    if let Step::Reach(cover) = step {
        lines.extend(wrapped(&[(cover.whole_words(), CYAN)], width, &indent, &indent));
    }
    let mut runs = Vec::new();
    // A line that is begun goes where the hint says; Enter takes no choice then.
    let is_armed = standby == Standby::Armed && app.line().is_empty();
    for (place, choice) in app.panel_choices().iter().enumerate() {
        let sign = if place == marked && is_armed { "▸" } else { " " };
        let text = format!("{sign} {} {}", place + 1, choice.words());
        if is_brief {
            runs.push((format!("{text}  "), style(place)))
        } else {
            let text = cut(&text, width.saturating_sub(2));
            lines.push(Line::from(vec![Span::raw("  "), Span::styled(text, style(place))]));
        }
    }
    lines.extend(wrapped(&runs, width, &indent, &indent).into_iter().filter(|_| is_brief));
    let (hint, style) = hint(app, request, is_brief);
    lines.extend(wrapped(&[(hint, style)], width, &indent, &indent));
    lines
}

/// The effect of the keys, and of Enter above all.
fn hint(app: &App, request: &PermissionRequest, is_brief: bool) -> (String, Style) {
    let answer = app.keys.or(Action::Answer, "/answer");
    let escape = |what: &str| match app.keys.hint(Action::Interrupt) {
        Some(key) => format!(" · {key} {what}"),
        None => String::new(),
    };
    let is_step_two = matches!(app.questions.choosing(), (Step::Reach(_), _));
    let aside = escape(if is_step_two { "goes back" } else { "answers later" });
    let text = app.line().text();
    match app.standby() {
        Standby::Inactive => (format!("{answer} answers"), YELLOW),
        Standby::Unread => ("Read it; keys count in a moment".to_owned(), DIM),
        Standby::Draft if is_bare(&text) => {
            ("Enter keeps your line from the model and marks the choice".to_owned(), DIM)
        }
        Standby::Draft => {
            (format!("Enter sends your line as a prompt · {answer} keeps it and answers"), DIM)
        }
        Standby::Armed if is_command(&text) => {
            ("Enter runs the command; the question waits".to_owned(), DIM)
        }
        Standby::Armed if !text.trim().is_empty() => match said(&text) {
            Said::Yes => ("Enter: yes, once".to_owned(), YELLOW),
            Said::No => ("Enter: no".to_owned(), YELLOW),
            Said::Instead(digit) if is_bare(&text) => (format!("there is no choice {digit}"), DIM),
            Said::Instead(_) if !app.words_answer() => {
                let whom = app.room().map_or_else(|| "the model".to_owned(), |room| room.called());
                let whom = one_line(&whom);
                (
                    format!(
                        "Enter sends your line to {whom} · {answer} keeps it and answers{aside}"
                    ),
                    DIM,
                )
            }
            Said::Instead(_) => {
                let who = who_asks(request);
                (format!("Enter: no, and {who} is told this{aside}"), YELLOW)
            }
        },
        Standby::Armed if is_brief => (format!("Enter confirms{aside}"), YELLOW),
        Standby::Armed if is_step_two => (format!("Enter adds this rule{aside}"), YELLOW),
        Standby::Armed => {
            let whole = app.keys.hint(Action::Open).map(|key| format!(" · {key} shows all"));
            let whole = whole.unwrap_or_default();
            let words = if app.words_answer() {
                "or type what to do instead".to_owned()
            } else {
                format!("{answer} takes words")
            };
            let text = "Enter confirms · ↑↓ or a digit chooses";
            (format!("{text} · {words}{whole}{aside}"), YELLOW)
        }
    }
}

/// Which of the questions this is, and what becomes of it without an answer.
fn place(app: &App, request: &PermissionRequest, width: usize) -> Line<'static> {
    let mut parts = Vec::new();
    let (number, count) = app.question_place();
    if count > 1 {
        parts.push(format!("{number} of {count}"));
    }
    parts.push(app.default_of(request));
    if count > 1 && app.question_is_active() {
        parts.push("←→ the others".to_owned());
    }
    let text = cut(&parts.join(" · "), width.saturating_sub(2));
    Line::from(Span::styled(format!("  {text}"), DIM))
}
