//! Tables: columns as wide as their longest cell, two blanks between them, nothing at the end of a line.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use tine_tui::words::{DIM, cut};

/// Blanks between two columns.
const GAP: &str = "  ";

/// A last column is not cut to less: what is left would say nothing.
const LAST_COLUMN_MIN: usize = 6;

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table. Rows are shown in the order in which they are added.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// One cell. Its text must be plain: one line, without control characters.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in a style.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; it should have a cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// The table without the columns in which no row has a word, of those with these names.
    pub(crate) fn without_empty(mut self, names: &[&str]) -> Self {
        for name in names {
            let Some(at) = self.columns.iter().position(|(column, _)| column == name) else {
                continue;
            };
            if self.rows.iter().all(|row| row.get(at).is_none_or(|cell| cell.text.is_empty())) {
                self.remove(name);
            }
        }
        self
    }

    /// The table with its last column cut so that it stands within so many columns of a screen, as far as that alone can do it.
    pub(crate) fn cut_to(mut self, columns: Option<usize>) -> Self {
        let widths = self.widths();
        let (Some(columns), Some((last, before))) = (columns, widths.split_last()) else {
            return self;
        };
        let before: usize = before.iter().map(|width| width + GAP.len()).sum();
        let room = columns.saturating_sub(before).max(LAST_COLUMN_MIN);
        if *last > room {
            for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(widths.len() - 1)) {
                cell.text = cut(&cell.text, room);
            }
        }
        self
    }

    /// The table for a screen of so many columns: without those of these columns, the first one first, that leave the last one less
    /// than `last_min`, and with that one cut.
    pub(crate) fn narrowed(
        mut self,
        columns: Option<usize>,
        names: &[&str],
        last_min: usize,
    ) -> Self {
        let Some(screen) = columns else { return self };
        for name in names {
            let widths = self.widths();
            let Some((last, before)) = widths.split_last() else { break };
            let taken: usize = before.iter().map(|width| width + GAP.len()).sum();
            if taken + last_min.min(*last) <= screen {
                break;
            }
            self.remove(name);
        }
        self.cut_to(columns)
    }

    fn remove(&mut self, name: &str) {
        let Some(at) = self.columns.iter().position(|(column, _)| *column == name) else { return };
        self.columns.remove(at);
        self.rows.iter_mut().filter(|row| at < row.len()).for_each(|row| {
            row.remove(at);
        });
    }

    /// The table with its header, every line ended.
    pub(crate) fn to_text(&self) -> String {
        let (header, widths) = (self.header(), self.widths());
        let lines = std::iter::once(&header).chain(&self.rows);
        lines.map(|line| self.line(line, &widths)).collect()
    }

    /// The table, or where so many columns of a screen cannot hold it, a block for each row: the first cell, and below it a line
    /// for each other.
    pub(crate) fn to_text_within(&self, columns: Option<usize>) -> String {
        let widths = self.widths();
        let width = widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
        if columns.is_none_or(|columns| width <= columns) {
            return self.to_text();
        }
        let header = self.header();
        let names = header.iter().map(|cell| cell.text.width()).max().unwrap_or(0);
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            for (column, (name, cell)) in header.iter().zip(row).enumerate() {
                let (style, value) = (cell.style, &cell.text);
                match (column, value.is_empty()) {
                    (_, true) => {}
                    (0, false) => text.push_str(&format!("{style}{value}{style:#}\n")),
                    (_, false) => {
                        let (dim, name) = (name.style, &name.text);
                        let blanks = names - name.width();
                        text.push_str(&format!(
                            "{GAP}{dim}{name}{dim:#}{:blanks$}{GAP}{style}{value}{style:#}\n",
                            ""
                        ));
                    }
                }
            }
        }
        text
    }

    fn header(&self) -> Vec<Cell> {
        self.columns.iter().map(|(name, _)| Cell::styled(*name, DIM)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |(column, (name, _)): (usize, &(&'static str, Align))| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.width()).max().unwrap_or(0).max(name.width())
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    fn line(&self, cells: &[Cell], widths: &[usize]) -> String {
        let mut text = String::new();
        // Blanks are written when something follows them.
        let mut owed = 0;
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            let missing = width.saturating_sub(cell.text.width());
            let (before, after) = match align {
                Align::Left => (0, missing),
                Align::Right => (missing, 0),
            };
            owed += before;
            if !cell.text.is_empty() {
                let style = cell.style;
                text.push_str(&" ".repeat(owed));
                text.push_str(&format!("{style}{}{style:#}", cell.text));
                owed = 0;
            }
            owed += after + GAP.len();
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_with_their_text() {
        let mut table =
            Table::new(&[("NAME", Align::Left), ("N", Align::Right), ("X", Align::Left)]);
        table.row(["日本".into(), "12".into(), "".into()]);
        table.row(["".into(), "3".into(), "y".into()]);
        let text = anstream::adapter::strip_str(&table.to_text()).to_string();
        insta::assert_snapshot!(text, @r"
        NAME   N  X
        日本  12
               3  y
        ");
        assert!(text.lines().all(|line| line.trim_end() == line));
    }

    #[test]
    fn a_column_that_may_go_goes_where_it_is_empty() {
        let table = |value: &'static str| {
            let mut table =
                Table::new(&[("A", Align::Left), ("B", Align::Left), ("C", Align::Left)]);
            table.row(["1".into(), value.into(), "3".into()]);
            let text = table.without_empty(&["B"]).to_text();
            anstream::adapter::strip_str(&text).to_string()
        };
        assert_eq!(table(""), "A  C\n1  3\n");
        assert_eq!(table("2"), "A  B  C\n1  2  3\n");
    }

    #[test]
    fn a_table_too_wide_for_the_screen_is_a_block_a_row() {
        let mut table =
            Table::new(&[("NAME", Align::Left), ("N", Align::Right), ("UNIT", Align::Left)]);
        table.row(["日本".into(), "12".into(), "".into()]);
        table.row(["other".into(), "3".into(), "y".into()]);
        let text =
            |columns| anstream::adapter::strip_str(&table.to_text_within(columns)).to_string();
        assert_eq!((text(Some(15)), text(None)), (text(Some(99)), text(Some(99))));
        insta::assert_snapshot!(text(Some(14)), @r"
        日本
          N     12

        other
          N     3
          UNIT  y
        ");
    }
}
