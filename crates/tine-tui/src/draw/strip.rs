//! What goes on, in lines between the conversation and the line that is written: the agent in front, those below it, and the others.
//! It takes no key.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tine_model::{AgentId, AgentRecord};

use super::{CYAN, DIM, GREEN, RED, YELLOW};
use crate::app::{Action, App, Live, title};
use crate::figures::span;
use crate::words::{cut, one_line};

/// Fewest and most agents that are named.
const ROWS: (usize, usize) = (3, 6);

/// Rows of the screen for each of them.
const SCREEN_ROWS_EACH: usize = 8;

/// What an agent does whose call waits for a word.
const ASKS: &str = "asks for permission";

/// The lines, on a screen of so many columns and rows.
pub(super) fn lines(app: &App, width: usize, height: usize) -> Vec<Line<'static>> {
    let line = |sign: &'static str, style: Style, text: &str| {
        let text = cut(&one_line(text), width.saturating_sub(2));
        Line::from(vec![Span::styled(sign, style), Span::styled(text, DIM)])
    };
    let mut lines = Vec::new();
    if let Some((focus, live)) = app.focus.and_then(|focus| Some((focus, app.lives.get(&focus)?))) {
        let since = u64::try_from(app.now_ms - live.began_ms).unwrap_or(0);
        // At a question the key is for the question.
        let key = match app.question_is_active() {
            true => String::new(),
            false => format!(" · {} interrupts", app.keys.or(Action::Interrupt, "/stop")),
        };
        let text = format!("{} · {}{key}", doing(app, focus, live), span(since));
        lines.push(line("… ", CYAN, &text));
    } else if app.waiting.is_some() {
        lines.push(Line::from(Span::styled("… Waiting for tools to complete...", YELLOW)));
    }
    let key = |what: &str| match app.keys.hint(Action::Interrupt) {
        Some(key) => format!(" · {key} {what}"),
        None => String::new(),
    };
    let asides = [
        app.waiting_for().map(|what| format!("{what}{}", key("waits no more"))),
        app.shell.as_ref().map(|command| format!("! {}{}", one_line(command), key("stops it"))),
    ];
    lines.extend(asides.into_iter().flatten().map(|aside| line("… ", CYAN, &aside)));
    let running = app.at_work().filter(|agent| Some(agent.id) != app.focus);
    let running = running.map(|agent| (agent.id, "◦ ", CYAN, running_line(app, agent)));
    let ended = app.notices.ended.iter().filter(|ended| !app.runs(ended.agent)).map(|ended| {
        let (sign, style) = if ended.is_well { ("✓ ", GREEN) } else { ("✗ ", RED) };
        (ended.agent, sign, style, format!("{}: {}", name(app, ended.agent), ended.text))
    });
    let mut rows: Vec<(AgentId, &str, Style, String)> = running.chain(ended).collect();
    rows.sort_by_cached_key(|(agent, ..)| !is_below(app, *agent));
    let (least, most) = ROWS;
    let room = (height / SCREEN_ROWS_EACH).clamp(least, most);
    let hidden = rows.len().saturating_sub(room);
    lines.extend(rows.iter().take(room).map(|(_, sign, style, text)| line(sign, *style, text)));
    if hidden > 0 {
        let key = app.keys.or(Action::Tree, "/tree");
        lines.push(line("  ", DIM, &format!("and {hidden} more ({key})")));
    }
    lines
}

/// Whether an agent stands below the one that is seen.
fn is_below(app: &App, agent: AgentId) -> bool {
    let above = |id: &AgentId| app.record(*id)?.parent;
    let mut line = std::iter::successors(above(&agent), above);
    line.any(|id| Some(id) == app.focus)
}

/// Who an agent is, and what it is to do where it has a task.
fn name(app: &App, agent: AgentId) -> String {
    match app.tasks.get(&agent) {
        Some(task) => app.name_with(agent, task),
        None => app.record(agent).map_or_else(|| agent.short(), title),
    }
}

/// What an agent of this terminal does.
fn doing(app: &App, agent: AgentId, live: &Live) -> String {
    match app.questions.of(agent) {
        Some(_) => ASKS.to_owned(),
        None => live.doing(),
    }
}

/// What an agent does now, and since when.
fn running_line(app: &App, agent: &AgentRecord) -> String {
    let live = app.lives.get(&agent.id);
    let doing = match live {
        Some(live) => doing(app, agent.id, live),
        None if app.questions.of(agent.id).is_some() => ASKS.to_owned(),
        None => "running in another process".to_owned(),
    };
    let began_ms = match (live, app.tasks.get(&agent.id)) {
        (Some(live), _) => Some(live.began_ms),
        (None, Some(task)) => Some(task.created_ms),
        (None, None) => None,
    };
    let since = began_ms.map(|began_ms| u64::try_from(app.now_ms - began_ms).unwrap_or(0));
    let since = since.map(|since| format!(" · {}", span(since))).unwrap_or_default();
    format!("{}: {doing}{since}", name(app, agent.id))
}
