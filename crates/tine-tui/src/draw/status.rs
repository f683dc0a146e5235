//! The two lines around the line that is written: where one is among the agents, and what it costs.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tine_guard::PermissionMode;
use tine_model::{AgentState, Cap, Standing};
use tine_store::BudgetRow;
use unicode_width::UnicodeWidthStr;

use super::{BOLD, CYAN, DIM, RED, YELLOW};
use crate::app::{
    Action, App, Escape, LastRequest, POINT_KEYS, Scroll, Standby, called, is_command, mode_word,
};
use crate::figures::{money, plural, span, tokens};
use crate::question::{Said, said};
use crate::words::{cut, fit};

/// A budget with less than this share left is shown before what costs nothing, in percent.
const LOW_PERCENT: u64 = 20;

/// Millionths of a USD in one.
const MICRO: f64 = 1_000_000.0;

/// Millionths of a USD in a cent.
const CENT: u64 = 10_000;

/// Fewest dollars that are called saved.
const SAVED_MIN: f64 = 0.0001;

/// What stands between two parts of a line.
const BETWEEN: &str = " · ";

/// Where the agent stands: its name, its parent, its siblings and forks.
pub(super) fn rule(app: &App, width: usize) -> Line<'static> {
    let Some(room) = app.room() else {
        return Line::from(Span::styled("─".repeat(width), DIM));
    };
    let record = &room.record;
    let mut parts = vec![room.called()];
    if let Some(parent) = record.parent {
        parts.push(format!("↑ {}", app.record(parent).map_or_else(|| parent.short(), called)));
    }
    let lives = |agent: &&tine_model::AgentRecord| {
        agent.state != AgentState::Dead && agent.standing != Standing::Hidden
    };
    let beside = app.agents.iter().filter(lives).filter(|agent| agent.parent == record.parent);
    let beside = beside.filter(|agent| agent.id != record.id).count();
    if record.parent.is_some() && beside > 0 {
        parts.push(plural(beside as u64, "sibling"));
    }
    let below = app.agents.iter().filter(lives).filter(|agent| agent.parent == Some(record.id));
    match below.count() {
        0 => {}
        forks => parts.push(plural(forks as u64, "fork")),
    }
    if record.state == AgentState::Dead {
        parts.push("dead".to_owned());
    }
    if record.state == AgentState::Interrupted && !app.runs(record.id) {
        let how = if record.failure.is_some() { "failed" } else { "interrupted" };
        parts.push(format!("{how}: /resume goes on"));
    }
    if room.scroll != Scroll::Bottom {
        let key = app.keys.hint(Action::Bottom).map(|key| format!(" ({key})"));
        parts.push(format!("scrolled back{}", key.unwrap_or_default()));
    }
    let text = cut(&parts.join(" · "), width.saturating_sub(6));
    let line = "─".repeat(width.saturating_sub(text.chars().count() + 4));
    Line::from(vec![
        Span::styled("── ", DIM),
        Span::styled(text, BOLD),
        Span::styled(format!(" {line}"), DIM),
    ])
}

/// Model, questions, agents, context, cache, money, budget, the most urgent first; or the word of the moment.
pub(super) fn line(app: &App, width: usize) -> Line<'static> {
    if let Some((word, _)) = &app.word {
        return Line::from(Span::styled(fit(word, width), YELLOW));
    }
    if app.is_pointing() {
        return Line::from(Span::styled(cut(POINT_KEYS, width), CYAN));
    }
    let mut line = Line::default();
    // What does not fit is left out whole, the least urgent first.
    let mut add = |text: String, style: Style| {
        let between = if line.spans.is_empty() { "" } else { BETWEEN };
        if line.width() + between.width() + text.width() <= width {
            line.push_span(Span::styled(between, DIM));
            line.push_span(Span::styled(text, style));
        }
    };
    let model = app.room().map(|room| room.record.settings.model.to_string());
    let model = model.or_else(|| app.new_model.clone());
    add(model.unwrap_or_else(|| "no model".to_owned()), CYAN);
    let mode = app.keys.hint(Action::Mode).map(|key| format!(" ({key})")).unwrap_or_default();
    let mode = format!("{}{mode}", mode_word(app.mode));
    let style = match app.mode {
        PermissionMode::Bypass => Some(RED),
        PermissionMode::AcceptEdits | PermissionMode::ReadOnly => Some(YELLOW),
        PermissionMode::Default => None,
    };
    style.into_iter().for_each(|style| add(mode.clone(), style));
    let escape = app.escape_hint().filter(|_| is_said_here(app));
    escape.into_iter().for_each(|hint| add(hint, CYAN));
    match app.question_place().1 {
        0 => {}
        count => {
            let key = app.keys.or(Action::Answer, "/answer");
            add(format!("{} ({key})", plural(count as u64, "question")), YELLOW);
        }
    }
    let running = app.at_work().count();
    if running > 0 {
        add(format!("{running} running"), CYAN);
    }
    let left = app.room().and_then(|room| budget_left(room.budget.as_ref()?, app.now_ms));
    let (short, left) = match left {
        Some((text, style)) if style != DIM => (Some((text, style)), None),
        left => (None, left),
    };
    short.into_iter().for_each(|(text, style)| add(text, style));
    if let Some((room, last)) = app.room().and_then(|room| Some((room, room.last_request?))) {
        let LastRequest { read, prompt, is_expired } = last;
        let share = room.window.filter(|window| *window > 0).map(|window| prompt * 100 / window);
        let share = share.filter(|share| *share > 0).map(|share| format!(" ({share}%)"));
        let share = share.unwrap_or_default();
        add(format!("{} context{share}", tokens(prompt)), DIM);
        if let (Some(read), true) = (read, prompt > 0) {
            let share = read.min(prompt) * 100 / prompt;
            let why = if is_expired { ", the rest had expired" } else { "" };
            add(format!("last request {share}% cached{why}"), DIM);
        }
    }
    if let Some(cost) = app.room().and_then(|room| room.cost) {
        match (cost.own, cost.tree) {
            (Some(own), Some(tree)) if tree > own => {
                add(format!("{} (tree {})", money(own), money(tree)), DIM);
            }
            (Some(own), _) => add(money(own), DIM),
            (None, _) => {}
        }
        let saved = cost.saved.filter(|saved| *saved >= SAVED_MIN);
        saved.into_iter().for_each(|saved| add(format!("the cache saved {}", money(saved)), DIM));
    }
    left.into_iter().for_each(|(text, style)| add(text, style));
    if app.mode == PermissionMode::Default {
        add(mode, DIM);
    }
    line
}

/// Returns true if what Esc does stands nowhere else on the screen.
fn is_said_here(app: &App) -> bool {
    match app.escape() {
        Escape::NoOffers => true,
        // The panel says it where Enter would confirm, or tell what to do instead.
        Escape::AnswerAnew | Escape::AnswerLater => {
            let text = app.line().text();
            let is_instead = !is_command(&text) && matches!(said(&text), Said::Instead(_));
            let is_word = !text.trim().is_empty() && !is_instead;
            app.standby() != Standby::Armed || is_word
        }
        // The strip, the foot of the tree or page, or the keys of the pointing.
        Escape::LeaveFoot
        | Escape::LeaveSearch
        | Escape::ShowAll
        | Escape::Close
        | Escape::TakeBack
        | Escape::PointNoMore
        | Escape::GiveUpFork
        | Escape::WaitNoMore
        | Escape::StopCommand
        | Escape::StopBelow
        | Escape::Interrupt
        | Escape::Nothing => false,
    }
}

/// What is left of the cap of a tree that is nearest to its end; nothing where no cap holds its requests back.
fn budget_left(budget: &BudgetRow, now_ms: i64) -> Option<(String, Style)> {
    let left = |cap: Cap| {
        let most = budget.caps.get(cap)?;
        let left = most.saturating_sub(budget.used(cap, now_ms));
        // A cap of nothing is used up.
        let percent = left.saturating_mul(100).checked_div(most).unwrap_or(0);
        Some((percent, cap, left))
    };
    let caps = [Cap::Money, Cap::Tokens, Cap::Time].into_iter().filter_map(left);
    let (percent, cap, left) = caps.min_by_key(|(percent, ..)| *percent)?;
    let text = match cap {
        _ if left == 0 => "budget used up".to_owned(),
        Cap::Money if left >= CENT => format!("${:.2} left", left as f64 / MICRO),
        Cap::Money => "less than a cent left".to_owned(),
        Cap::Time => format!("{} left", span(left)),
        Cap::Tokens | Cap::Agents | Cap::Running => format!("{} tokens left", tokens(left)),
    };
    let style = match percent {
        _ if left == 0 => RED,
        0..LOW_PERCENT => YELLOW,
        _ => DIM,
    };
    Some((text, style))
}
