//! All commands and keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::wrap::wrapped;
use super::{BOLD, CYAN, DIM, page};
use crate::app::{COMMANDS, KEYS, Keys, TREE_KEYS};
use crate::words::fit;

/// Columns of the names of keys.
const KEY_COLUMNS: usize = 12;

/// Keys of the line that is written.
const WRITING: [(&str, &str); 4] = [
    ("/ @ !", "begin a command, the name of a file, a command of the shell"),
    (
        "Ctrl+J",
        "a new line; Shift+Enter and Alt+Enter as well, where the terminal tells them apart",
    ),
    ("↑ ↓", "what was written before"),
    (
        "a question",
        "Enter on an empty line confirms the marked choice, ↑ ↓ or a digit marks another; y or n and Enter; other words mean no and are told to the agent, if it is the one on the line or you went to its question by an arrow or by Ctrl+P; else they go to the agent on the line",
    ),
];

/// Draws the page from a line on; the line is moved so that the page stays full.
pub(super) fn draw(keys: &Keys, from: &mut usize, frame: &mut Frame<'_>, area: Rect) {
    let [area, foot] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(area);
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let lines = lines(keys, width);
    *from = (*from).min(lines.len().saturating_sub(height));
    let below = lines.len().saturating_sub(*from + height);
    let shown: Vec<_> = lines.into_iter().skip(*from).take(height).collect();
    frame.render_widget(Paragraph::new(shown), area);
    frame.render_widget(page::foot(below, width), foot);
}

fn lines(keys: &Keys, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(Span::styled("Commands", BOLD))];
    let indent = [Span::raw("      ")];
    for command in COMMANDS {
        let names: Vec<String> = command.names.iter().map(|name| format!("/{name}")).collect();
        let key = command.action.map(|action| keys.told(action)).filter(|key| !key.is_empty());
        let key = key.map_or(String::new(), |key| format!("  ({key})"));
        lines.push(Line::from(vec![
            Span::styled(format!("  {}", names.join(", ")), CYAN),
            Span::raw(format!(" {}", command.usage)),
            Span::styled(key, DIM),
        ]));
        lines.extend(wrapped(&[(command.help.to_owned(), DIM)], width, &indent, &indent));
    }
    lines.push(Line::default());
    lines.push(Line::from(Span::styled("Keys", BOLD)));
    let keys = KEYS.iter().map(|binding| (keys.told(binding.action), binding.help));
    for (key, help) in WRITING.map(|(key, help)| (key.to_owned(), help)).into_iter().chain(keys) {
        lines.push(Line::from(vec![
            Span::styled(format!("  {}", fit(&key, KEY_COLUMNS)), CYAN),
            Span::styled(help, DIM),
        ]));
    }
    lines.push(Line::default());
    lines.push(Line::from(Span::styled("Keys in the tree", BOLD)));
    let told = TREE_KEYS.map(|(key, what)| format!("{key} {what}")).join(" · ");
    lines.extend(wrapped(&[(told, DIM)], width, &[Span::raw("  ")], &[Span::raw("  ")]));
    lines
}
