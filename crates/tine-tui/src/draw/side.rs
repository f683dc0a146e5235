//! A question beside the conversation, and its answer.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::wrap::wrapped;
use super::{BOLD, CYAN, DIM, markdown};
use crate::app::SidePage;
use crate::words::{cut, harmless};

/// Draws the page; its first line is moved so that the page stays full.
pub(super) fn draw(page: &mut SidePage, frame: &mut Frame<'_>, area: Rect) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let width = usize::from(area.width);
    let title = "Beside the conversation; nothing of it is kept";
    frame.render_widget(Span::styled(cut(title, width), DIM), head);
    let bar = [Span::styled("▌ ", CYAN)];
    let mut lines = Vec::new();
    for line in harmless(&page.question).lines() {
        lines.extend(wrapped(&[(line.to_owned(), BOLD)], width, &bar, &bar));
    }
    lines.push(Line::default());
    lines.extend(markdown::lines(&page.answer, width));
    if let Some(error) = &page.error {
        let red = Style::new().fg(Color::Red);
        for line in harmless(error).lines() {
            lines.extend(wrapped(&[(line.to_owned(), red)], width, &[], &[]));
        }
    }
    page.from = page.from.min(lines.len().saturating_sub(usize::from(body.height)));
    let shown: Vec<_> = lines.into_iter().skip(page.from).take(usize::from(body.height)).collect();
    frame.render_widget(Paragraph::new(shown), body);
    let keys = match (&page.whole, &page.error) {
        (Some(_), _) => "f makes a fork that begins with it · Esc closes · arrows scroll",
        (None, Some(_)) => "Esc closes",
        (None, None) => "… asking · Esc takes the question back",
    };
    frame.render_widget(Span::styled(cut(keys, width), DIM), foot);
}
