//! The two lines around the line that is written: where one is among the agents, and what it costs.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tine_model::AgentState;
use unicode_width::UnicodeWidthStr;

use super::{BOLD, CYAN, DIM, YELLOW};
use crate::app::{App, POINT_KEYS, Scroll, title};
use crate::figures::{money, plural, tokens};
use crate::words::{cut, fit};

/// What stands between two parts of a line.
const BETWEEN: &str = " · ";

/// Where the agent stands: its name, its parent, its siblings and forks.
pub(super) fn rule(app: &App, width: usize) -> Line<'static> {
    let Some(room) = app.room() else {
        return Line::from(Span::styled("─".repeat(width), DIM));
    };
    let record = &room.record;
    let mut parts = vec![room.title()];
    if let Some(parent) = record.parent {
        parts.push(format!("↑ {}", app.record(parent).map_or_else(|| parent.short(), title)));
    }
    let lives = |agent: &&tine_model::AgentRecord| agent.state != AgentState::Dead;
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
    if record.state == AgentState::Interrupted {
        parts.push("interrupted: /resume goes on".to_owned());
    }
    if room.scroll != Scroll::Bottom {
        parts.push("scrolled back (Ctrl+End)".to_owned());
    }
    let text = cut(&parts.join(" · "), width.saturating_sub(6));
    let line = "─".repeat(width.saturating_sub(text.chars().count() + 4));
    Line::from(vec![
        Span::styled("── ", DIM),
        Span::styled(text, BOLD),
        Span::styled(format!(" {line}"), DIM),
    ])
}

/// Model, questions, agents, context, cache, money, the most urgent first; or the word of the moment.
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
    match app.questions.len() {
        0 => {}
        count => add(format!("{} (Ctrl+P)", plural(count as u64, "question")), YELLOW),
    }
    let running = app.agents.iter().filter(|agent| app.runs(agent.id)).count();
    if running > 0 {
        add(format!("{running} running"), CYAN);
    }
    if let Some((read, prompt)) = app.room().and_then(|room| room.last_request) {
        add(format!("{} context", tokens(prompt)), DIM);
        if let (Some(read), true) = (read, prompt > 0) {
            add(format!("{}% cached", read.min(prompt) * 100 / prompt), DIM);
        }
    }
    match app.room().and_then(|room| room.cost) {
        Some((Some(own), Some(tree))) if tree > own => {
            add(format!("{} (tree {})", money(own), money(tree)), DIM);
        }
        Some((Some(own), _)) => add(money(own), DIM),
        Some((None, _)) | None => {}
    }
    line
}
