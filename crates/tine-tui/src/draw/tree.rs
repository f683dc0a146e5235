//! The picture of all agents.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tine_model::{AgentId, AgentState};

use super::{BOLD, CYAN, DIM, GREEN, YELLOW};
use crate::age::age;
use crate::app::{App, Overlay, rows, state_word, title};
use crate::words::{cut, one_line};

/// Columns of what an agent was asked to do.
const TASK_COLUMNS: usize = 48;

/// Draws it over an area.
pub(super) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let Some(Overlay::Tree(tree)) = &app.overlay else { return };
    let rows = rows(&app.agents, tree.shows_dead);
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let running = app.agents.iter().filter(|agent| app.runs(agent.id)).count();
    let dead = app.agents.iter().filter(|agent| agent.state == AgentState::Dead).count();
    let counts = format!("  {} agents, {running} running, {dead} dead", app.agents.len());
    let title = Line::from(vec![Span::styled("Agents", BOLD), Span::styled(counts, DIM)]);
    frame.render_widget(Paragraph::new(vec![title, Line::default()]), head);
    let at = rows.iter().position(|row| Some(row.agent) == tree.marked).unwrap_or(0);
    let height = usize::from(body.height);
    let first = (at + 1).saturating_sub(height);
    let lines: Vec<Line<'static>> = rows
        .iter()
        .enumerate()
        .skip(first)
        .take(height)
        .map(|(number, row)| {
            line(app, row.agent, &row.branch, number == at, usize::from(body.width))
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), body);
    let keys = "Enter go · s interrupt · x kill · d show the dead · any other key closes";
    frame.render_widget(Span::styled(cut(keys, usize::from(foot.width)), DIM), foot);
}

fn line(app: &App, id: AgentId, branch: &str, is_marked: bool, width: usize) -> Line<'static> {
    let Some(agent) = app.record(id) else { return Line::default() };
    let task = app.tasks.get(&id);
    let state = state_word(agent, task);
    let style = match agent.state {
        _ if app.runs(id) => CYAN,
        AgentState::Idle => Style::new(),
        AgentState::Running => CYAN,
        AgentState::Interrupted => YELLOW,
        AgentState::Dead => DIM,
    };
    let here = if app.focus == Some(id) { "*" } else { " " };
    let mut spans = vec![
        Span::styled(if is_marked { "▸" } else { " " }, GREEN),
        Span::styled(format!("{here} "), GREEN),
        Span::styled(branch.to_owned(), DIM),
        Span::styled(title(agent), style.add_modifier(Modifier::BOLD)),
        Span::styled(format!("  {state}"), style),
    ];
    let said = task.map(|task| task.description.as_deref().unwrap_or(&task.directive));
    if let Some(said) = said {
        spans.push(Span::raw(format!("  {}", cut(&one_line(said), TASK_COLUMNS))));
    }
    let model = &agent.settings.model;
    let made = age(app.now_ms, agent.updated_ms);
    spans.push(Span::styled(format!("  {model} · {made} ago"), DIM));
    let line = Line::from(spans);
    match line.width() > width {
        true => Line::from(cut(&line.to_string(), width)).style(style),
        false => line,
    }
}
