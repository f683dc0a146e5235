//! What can be done about a model, where there is no agent yet.

use ratatui::text::{Line, Span};

use super::wrap::wrapped;
use super::{BOLD, CYAN, DIM};
use crate::app::{App, Weight};

/// The lines of the offer.
pub(super) fn lines(app: &App, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let parts = [app.setup.head(app.new_model.is_none()), app.setup.choices(0), app.setup.foot()];
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        for (weight, text) in part {
            let (style, indent) = match weight {
                Weight::Head => (BOLD, ""),
                Weight::Text => (ratatui::style::Style::new(), ""),
                Weight::Choice => (CYAN, "  "),
                Weight::Aside => (DIM, ""),
            };
            let indent = [Span::raw(indent)];
            lines.extend(wrapped(&[(text, style)], width, &indent, &indent));
        }
        lines.push(Line::default());
    }
    lines
}
