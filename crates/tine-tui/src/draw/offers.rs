//! What the word under the cursor could become, above the line that is written.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{BOLD, CYAN, DIM, GREEN};
use crate::app::App;
use crate::words::{cut, fit};

/// Most rows that offers take.
const ROWS_MAX: usize = 8;

/// Columns that a name takes at most, where something is said of it.
const NAME_COLUMNS_MAX: usize = 24;

/// The offers around the marked one.
pub(super) fn lines(app: &App, width: usize) -> Vec<Line<'static>> {
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
    shown.map(row).collect()
}
