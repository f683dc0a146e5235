//! Below the line that is written: what the word under the cursor could become, or what is sought in the history.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{BOLD, CYAN, DIM, GREEN, YELLOW};
use crate::app::{Action, App, Search};
use crate::words::{cut, fit, one_line};

/// Most rows that offers take.
const ROWS_MAX: usize = 8;

/// Columns that a name takes at most, where something is said of it.
const NAME_COLUMNS_MAX: usize = 24;

/// The offers around the marked one.
pub(super) fn lines(app: &App, width: usize) -> Vec<Line<'static>> {
    if let (Some(search), true) = (&app.search, app.is_searching()) {
        return vec![search_line(app, search, width)];
    }
    let Some(offers) = &app.offers else { return Vec::new() };
    let first = offers.marked.saturating_sub(ROWS_MAX - 1);
    let shown = offers.offers.iter().enumerate().skip(first).take(ROWS_MAX);
    let has_help = offers.offers.iter().any(|offer| !offer.help.is_empty());
    let widest = offers.offers.iter().map(|offer| offer.text.width()).max().unwrap_or(0);
    let room = width.saturating_sub(2);
    let columns = if has_help { widest.min(NAME_COLUMNS_MAX).min(room) } else { room };
    let row = |(number, offer): (usize, &crate::app::Offer)| {
        let is_marked = number == offers.marked;
        let left = room.saturating_sub(columns + 1);
        Line::from(vec![
            Span::styled(if is_marked { "▸ " } else { "  " }, GREEN),
            Span::styled(fit(offer.text.trim_end(), columns), if is_marked { BOLD } else { CYAN }),
            Span::styled(format!(" {}", cut(&offer.help, left)), DIM),
        ])
    };
    let mut lines: Vec<_> = shown.map(row).collect();
    let below = offers.total.saturating_sub(first + lines.len());
    if below > 0 {
        lines.push(Line::from(Span::styled(cut(&format!("  … {below} more"), width), DIM)));
    }
    lines
}

/// What is sought in the history, and what keys do meanwhile.
fn search_line(app: &App, search: &Search, width: usize) -> Line<'static> {
    let wanted = cut(&one_line(&search.wanted), width / 3);
    let (sign, style) =
        if search.has_failed { ("(search, nothing more) ", YELLOW) } else { ("(search) ", CYAN) };
    let further = app.keys.hint(Action::Search).map(|key| format!("{key} older · "));
    let keys = format!("{}Enter takes · Esc gives up", further.unwrap_or_default());
    let sought = Span::styled(format!("{sign}`{wanted}`: "), style);
    let left = width.saturating_sub(sought.width());
    Line::from(vec![sought, Span::styled(cut(&keys, left), DIM)])
}
