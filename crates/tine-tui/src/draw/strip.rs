//! What goes on, in lines between the conversation and the line that is written: the agent in front, those below it, and the others.
//! It takes no key.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tine_model::{AgentId, AgentRecord};

use super::{CYAN, DIM, GREEN, RED};
use crate::app::{Action, App, Escape, Live, called};
use crate::figures::span;
use crate::words::{cut, one_line};

/// Fewest and most agents that are named.
const ROWS: (usize, usize) = (3, 6);

/// Rows of the screen for each of them.
const SCREEN_ROWS_EACH: usize = 8;

/// What an agent does whose call waits for a word.
const ASKS: &str = "asks for permission";

/// What an agent does that runs elsewhere.
const ELSEWHERE: &str = "running in another process";

/// The lines, on a screen of so many columns and rows.
pub(super) fn lines(app: &App, width: usize, height: usize) -> Vec<Line<'static>> {
    let line = |sign: &'static str, style: Style, text: &str| {
        let text = cut(&one_line(text), width.saturating_sub(2));
        Line::from(vec![Span::styled(sign, style), Span::styled(text, DIM)])
    };
    let mut lines = Vec::new();
    // The key does one thing at a time: it stands behind that.
    let (escape, hint) = (app.escape(), app.escape_hint());
    let key = |does: Escape| match &hint {
        Some(hint) if escape == does => format!(" · {hint}"),
        _ => String::new(),
    };
    match app.focus.map(|focus| (focus, app.lives.get(&focus))) {
        Some((focus, Some(live))) => {
            let since = u64::try_from(app.now_ms - live.began_ms).unwrap_or(0);
            let doing = format!("{} · {}", doing(app, focus, live), span(since));
            lines.push(line("… ", CYAN, &format!("{doing}{}", key(Escape::Interrupt))));
        }
        Some((focus, None)) if app.runs(focus) => {
            lines.push(line("… ", CYAN, &format!("{ELSEWHERE}{}", key(Escape::Interrupt))));
        }
        Some((_, None)) | None => {}
    }
    let waits = app.focus.is_some_and(|focus| app.fork_waits(focus));
    let asides = [
        (waits.then(|| "a fork waits for the tools".to_owned()), Escape::GiveUpFork),
        (app.waiting_for(), Escape::WaitNoMore),
        (app.shell.as_ref().map(|command| format!("! {}", one_line(command))), Escape::StopCommand),
        (
            (escape == Escape::StopBelow).then(|| "what runs below goes on".to_owned()),
            Escape::StopBelow,
        ),
    ];
    let asides = asides.into_iter().filter_map(|(what, does)| Some((what?, key(does))));
    lines.extend(asides.map(|(what, key)| line("… ", CYAN, &format!("{what}{key}"))));
    let kept = app.facts.background().iter().filter(|command| Some(command.agent) == app.focus);
    lines.extend(kept.map(|command| {
        let text = format!("{} in the background: {}", command.name, command.command);
        line("& ", CYAN, &text)
    }));
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
        None => app.record(agent).map_or_else(|| agent.short(), called),
    }
}

/// What an agent of this terminal does.
fn doing(app: &App, agent: AgentId, live: &Live) -> String {
    match app.questions.of(agent) {
        Some(_) => ASKS.to_owned(),
        None => app.doing_now(agent, live),
    }
}

/// What an agent does now, and since when.
fn running_line(app: &App, agent: &AgentRecord) -> String {
    let live = app.lives.get(&agent.id);
    let doing = match live {
        Some(live) => doing(app, agent.id, live),
        None if app.questions.of(agent.id).is_some() => ASKS.to_owned(),
        None => ELSEWHERE.to_owned(),
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
