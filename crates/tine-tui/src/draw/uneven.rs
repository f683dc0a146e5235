//! Clusters of several characters, such as the flag of a country. Terminals disagree about their widths: one draws a flag in two
//! columns, another its two letters one after the other, in columns that the screen holds to be blank. So all that stands behind
//! them is written again in each frame, and once more in the first frame without them.

use ratatui::buffer::{Buffer, CellDiffOption};

/// Bytes of the longest single character. A longer cell is a cluster.
const CHARACTER_BYTES_MAX: usize = 4;

/// Columns of the next row that a cluster at the end of a row may reach into.
const OVERHANG: u16 = 8;

/// Where clusters stood in the last frame: the first column of each row that has one.
#[derive(Debug, Default)]
pub(crate) struct Uneven(Vec<(u16, u16)>);

impl Uneven {
    /// Has the cells behind clusters written, those of the last frame and those of this one.
    pub(super) fn rewrite(&mut self, buffer: &mut Buffer) {
        let area = buffer.area;
        let is_cluster = |x: &u16, y: u16| {
            buffer.cell((*x, y)).is_some_and(|cell| cell.symbol().len() > CHARACTER_BYTES_MAX)
        };
        let first = |y: u16| Some(((area.left()..area.right()).find(|x| is_cluster(x, y))?, y));
        let now: Vec<(u16, u16)> = (area.top()..area.bottom()).filter_map(first).collect();
        let before = std::mem::replace(&mut self.0, now.clone());
        for (left, y) in before.into_iter().chain(now) {
            let behind = (left..area.right()).map(|x| (x, y));
            let below = (area.left()..area.right()).take(usize::from(OVERHANG)).map(|x| (x, y + 1));
            for place in behind.chain(below) {
                if let Some(cell) = buffer.cell_mut(place) {
                    cell.set_diff_option(CellDiffOption::AlwaysUpdate);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    /// A terminal that draws each character of a cluster in columns of its own.
    struct OldTerminal(Vec<Vec<char>>);

    impl OldTerminal {
        fn take(&mut self, before: &Buffer, now: &Buffer) {
            for (x, y, cell) in before.diff(now) {
                let (mut x, mut y) = (usize::from(x), usize::from(y));
                for character in cell.symbol().chars() {
                    if x == self.0[y].len() {
                        (x, y) = (0, y + 1);
                    }
                    self.0[y][x] = character;
                    x += 1;
                }
            }
        }

        fn rows(&self) -> Vec<String> {
            let row = |row: &Vec<char>| row.iter().collect::<String>().trim_end().to_owned();
            self.0.iter().map(row).collect()
        }
    }

    fn frame(rows: [&str; 2], uneven: &mut Uneven) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 2));
        for (y, row) in (0..).zip(rows) {
            buffer.set_string(0, y, row, Style::new());
        }
        uneven.rewrite(&mut buffer);
        buffer
    }

    #[test]
    fn no_terminal_keeps_a_part_of_a_flag_that_is_gone() {
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        for cluster in ["\u{1f1e8}\u{1f1ed}", family] {
            for row in [format!("a {cluster}"), format!("{cluster} b"), format!("123456{cluster}")]
            {
                let mut uneven = Uneven::default();
                let mut terminal = OldTerminal(vec![vec![' '; 8]; 2]);
                let empty = Buffer::empty(Rect::new(0, 0, 8, 2));
                let with = frame([&row, ""], &mut uneven);
                terminal.take(&empty, &with);
                let without = frame(["help", ""], &mut uneven);
                terminal.take(&with, &without);
                assert_eq!(terminal.rows(), ["help", ""], "{row}");
                let after = frame(["help", ""], &mut uneven);
                terminal.take(&without, &after);
                let last = frame(["help", ""], &mut uneven);
                assert!(after.diff(&last).is_empty(), "nothing is written for ever");
            }
        }
    }
}
