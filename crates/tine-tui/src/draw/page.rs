//! What a command of the command line printed, as a page.

use ansi_to_tui::IntoText as _;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

use super::wrap::{Run, wrapped};
use super::{BOLD, DIM};
use crate::app::Page;
use crate::figures::plural;
use crate::words::{cut, without_tabs};

/// The lines of a page at a width, kept for the next frame.
#[derive(Debug, Default)]
pub(super) struct LaidPage {
    /// Which page, and how wide.
    of: (u64, usize),
    lines: Vec<Line<'static>>,
}

impl LaidPage {
    fn lines(&mut self, page: &Page, width: usize) -> &[Line<'static>] {
        if self.of != (page.number, width) {
            *self = Self { of: (page.number, width), lines: lines(&page.text, width) };
        }
        &self.lines
    }
}

/// Draws the page; its first line is moved so that the page stays full.
pub(super) fn draw(page: &mut Page, laid: &mut LaidPage, frame: &mut Frame<'_>, area: Rect) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let (width, height) = (usize::from(area.width), usize::from(body.height));
    let lines = laid.lines(page, width);
    page.from = page.from.min(lines.len().saturating_sub(height));
    let below = lines.len().saturating_sub(page.from + height);
    frame.render_widget(Span::styled(cut(&page.title, width), BOLD), head);
    let shown: Vec<_> = lines.iter().skip(page.from).take(height).cloned().collect();
    frame.render_widget(Paragraph::new(shown), body);
    frame.render_widget(self::foot("", below, width), foot);
}

/// How many lines are below, and what keys do; something else stands before that.
pub(super) fn foot(before: &str, below: usize, width: usize) -> Span<'static> {
    let more = match below {
        0 => String::new(),
        below => format!("{} · ", plural(below as u64, "more line")),
    };
    let keys = format!("{before}{more}↑↓ PageUp PageDown scroll; any other key closes");
    Span::styled(cut(&keys, width), DIM)
}

/// The text with its colours; a line that is too long goes on below, as far to the right as it began.
fn lines(text: &str, width: usize) -> Vec<Line<'static>> {
    let text = without_tabs(text);
    let text: &str = &text;
    // Colours that cannot be read are no reason to show nothing.
    let text = text.into_text().unwrap_or_else(|_| Text::raw(text.to_owned()));
    text.lines.into_iter().flat_map(|line| folded(line, width)).collect()
}

fn folded(line: Line<'static>, width: usize) -> Vec<Line<'static>> {
    if line.width() <= width {
        return vec![line];
    }
    let style = line.style;
    let runs: Vec<Run> = line
        .spans
        .into_iter()
        .map(|span| (span.content.into_owned(), style.patch(span.style)))
        .collect();
    let blank = |text: &str| text.chars().take_while(|c| *c == ' ').count();
    let begin = runs.first().map_or(0, |(text, _)| blank(text)).min(width / 2);
    wrapped(&runs, width, &[], &[Span::raw(" ".repeat(begin))])
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    #[test]
    fn long_lines_go_on_where_they_began_and_keep_their_colours() {
        let lines = lines("short\n  \u{1b}[31mred words that go on\u{1b}[0m and on", 12);
        let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["short", "  red words", "  that go on", "  and on"]);
        let red = |line: &Line<'_>| line.spans.iter().any(|span| span.style.fg == Some(Color::Red));
        assert_eq!(lines.iter().map(red).collect::<Vec<_>>(), [false, true, true, false]);
    }
}
