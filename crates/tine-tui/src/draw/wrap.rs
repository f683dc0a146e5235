//! Styled text in lines of a width.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr;

use crate::words::without_tabs;

/// Text in one style.
pub(super) type Run = (String, Style);

/// Breaks runs into lines of at most `width` columns, between words where that is possible. `first` stands before the first line, `rest`
/// before the others.
pub(super) fn wrapped(
    runs: &[Run],
    width: usize,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let mut lines = Lines::new(width, first, rest);
    for (text, style) in runs {
        let text = without_tabs(text);
        let mut left = &*text;
        while !left.is_empty() {
            let is_blank = left.starts_with(' ');
            let end = left.find(|c: char| (c == ' ') != is_blank).unwrap_or(left.len());
            let (word, after) = left.split_at(end);
            lines.word(word, *style, is_blank);
            left = after;
        }
    }
    lines.end()
}

/// Breaks a line of code: at the width, wherever that is.
pub(super) fn broken(
    text: &str,
    style: Style,
    width: usize,
    before: &[Span<'static>],
) -> Vec<Line<'static>> {
    broken_runs([(text.to_owned(), style)], width, before)
}

/// The same of a line in several styles.
pub(super) fn broken_runs(
    runs: impl IntoIterator<Item = Run>,
    width: usize,
    before: &[Span<'static>],
) -> Vec<Line<'static>> {
    let mut lines = Lines::new(width, before, before);
    for (text, style) in runs {
        lines.hard(&without_tabs(&text), style);
    }
    lines.end()
}

struct Lines<'a> {
    width: usize,
    rest: &'a [Span<'static>],
    done: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
    column: usize,
    /// Where text begins on this line.
    begin: usize,
    /// Blanks behind the last word, not written yet.
    blanks: Option<Run>,
}

impl<'a> Lines<'a> {
    fn new(width: usize, first: &[Span<'static>], rest: &'a [Span<'static>]) -> Self {
        let begin = columns(first);
        let (spans, done) = (first.to_vec(), Vec::new());
        Self { width: width.max(1), rest, done, spans, column: begin, begin, blanks: None }
    }

    fn word(&mut self, word: &str, style: Style, is_blank: bool) {
        if is_blank {
            // Blanks at the beginning of a line that was broken are not text.
            if self.column > self.begin || self.done.is_empty() {
                self.blanks = Some((word.to_owned(), style));
            }
            return;
        }
        let before = self.blanks.as_ref().map_or(0, |(blanks, _)| wide(blanks));
        let fits = |column: usize, more: usize| column + more <= self.width;
        let wide = wide(word);
        if fits(self.column, before + wide) {
            if let Some((blanks, style)) = self.blanks.take() {
                self.put(&blanks, style);
            }
            self.put(word, style);
        } else if self.column > self.begin && fits(columns(self.rest), wide) {
            self.next();
            self.put(word, style);
        } else {
            if let Some((blanks, style)) = self.blanks.take() {
                self.hard(&blanks, style);
            }
            self.hard(word, style);
        }
    }

    /// Text that is broken wherever the line ends.
    fn hard(&mut self, text: &str, style: Style) {
        if text.is_ascii() && self.column + text.len() <= self.width {
            return self.put(text, style);
        }
        let mut part = String::new();
        let mut column = self.column;
        for cluster in text.graphemes(true) {
            let wide = cluster.width();
            if column + wide > self.width && column > self.begin {
                self.put(&std::mem::take(&mut part), style);
                self.next();
                column = self.column;
            }
            part.push_str(cluster);
            column += wide;
        }
        self.put(&part, style);
    }

    fn put(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        self.column += wide(text);
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => self.spans.push(Span::styled(text.to_owned(), style)),
        }
    }

    fn next(&mut self) {
        self.blanks = None;
        let spans = std::mem::replace(&mut self.spans, self.rest.to_vec());
        self.done.push(Line::from(spans));
        (self.column, self.begin) = (columns(self.rest), columns(self.rest));
    }

    fn end(mut self) -> Vec<Line<'static>> {
        self.next();
        self.done
    }
}

/// The columns of a text; most texts are ASCII, of which each character has one.
fn wide(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

fn columns(spans: &[Span<'_>]) -> usize {
    spans.iter().map(Span::width).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, width: usize) -> Vec<String> {
        let runs = [(text.to_owned(), Style::new())];
        let rest = [Span::raw("  ")];
        let lines = wrapped(&runs, width, &[Span::raw("• ")], &rest);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_break_between_words_and_in_words_that_are_too_long() {
        assert_eq!(shown("one two three", 9), ["• one two", "  three"]);
        assert_eq!(shown("abcdefghij k", 6), ["• abcd", "  efgh", "  ij k"]);
        assert_eq!(shown("日本語です", 6), ["• 日本", "  語で", "  す"]);
        assert_eq!(shown("", 6), ["• "]);
        assert_eq!(shown("abc\u{1f1e8}\u{1f1ed}", 6), ["• abc", "  \u{1f1e8}\u{1f1ed}"]);
    }

    #[test]
    fn a_tabulator_is_blanks() {
        assert_eq!(shown("a\tb\tc", 20), ["• a    b    c"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_too_wide(text in "[a-z日 ]{0,60}", width in 4_usize..20) {
            let lines = shown(&text, width);
            prop_assert!(lines.iter().all(|line| line.width() <= width), "{:?}", lines);
            let kept = |text: &str| text.chars().filter(|c| !" •".contains(*c)).collect::<String>();
            prop_assert_eq!(kept(&lines.concat()), kept(&text));
        }
    }
}
