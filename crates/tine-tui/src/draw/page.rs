//! What a command of the command line printed, as a page.

use ansi_to_tui::IntoText as _;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Span, Text};
use ratatui::widgets::Paragraph;

use super::{BOLD, DIM};
use crate::words::cut;

/// Draws the page from a line on; the line is moved so that the page stays full.
pub(super) fn draw(
    (words, text): (&str, &str),
    from: &mut usize,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let width = usize::from(area.width);
    // Colours that cannot be read are no reason to show nothing.
    let text = text.into_text().unwrap_or_else(|_| Text::raw(text.to_owned()));
    *from = (*from).min(text.lines.len().saturating_sub(usize::from(body.height)));
    let below = text.lines.len().saturating_sub(*from + usize::from(body.height));
    frame.render_widget(Span::styled(cut(words, width), BOLD), head);
    let shown: Vec<_> = text.lines.into_iter().skip(*from).take(usize::from(body.height)).collect();
    frame.render_widget(Paragraph::new(shown), body);
    let more = if below > 0 { format!("{below} more lines · ") } else { String::new() };
    let keys = format!("{more}arrows, PageUp and PageDown scroll; any other key closes");
    frame.render_widget(Span::styled(cut(&keys, width), DIM), foot);
}
