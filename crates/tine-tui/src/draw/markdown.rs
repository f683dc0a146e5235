//! Markdown as lines: what models write, whole or as far as it has come.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::highlight::Scanner;
use super::languages::{Language, named};
use super::wrap::{Run, broken_runs, wrapped};
use super::{DIM, GREEN, RED};
use crate::words::{harmless, without_tabs};

/// Code, in a text and in blocks.
const CODE: Style = Style::new().fg(Color::Cyan);
/// Names of parts.
const HEADING: Style = Style::new().add_modifier(Modifier::BOLD);

/// Fewest columns that lists and quotes leave to the text in them.
const TEXT_COLUMNS_MIN: usize = 6;

/// Fewest signs that begin a block of code.
const FENCE_MIN: usize = 3;

/// Narrowest cell of a table, in columns; a table that would need narrower ones is shown as its text.
const CELL_COLUMNS_MIN: usize = 3;

/// A text in lines of at most `width` columns.
pub(super) fn lines(text: &str, width: usize) -> Vec<Line<'static>> {
    let text = harmless(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page { width, ..Page::default() };
    for event in Parser::new_ext(&text, options) {
        page.take(event);
    }
    page.flush();
    page.lines
}

/// How many bytes of a text look the same whatever comes behind it: all before the last block that begins at the margin behind a blank
/// line. What may go on with a list, a quote or code does not begin one.
pub(super) fn settled(text: &str) -> usize {
    let mut fence: Option<(char, usize)> = None;
    let (mut at, mut end, mut is_after_blank) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        if is_after_blank && fence.is_none() && begins_block(line) {
            end = at;
        }
        let trimmed = line.trim();
        is_after_blank = trimmed.is_empty();
        let sign = trimmed.chars().next().filter(|sign| matches!(sign, '`' | '~'));
        if let Some(sign) = sign {
            let count = trimmed.chars().take_while(|next| *next == sign).count();
            match fence {
                None if count >= FENCE_MIN => fence = Some((sign, count)),
                Some((open, least)) if open == sign && count >= least && trimmed.len() == count => {
                    fence = None;
                }
                None | Some(_) => {}
            }
        }
        at += line.len();
    }
    end
}

/// Whether a line behind a blank one can only be the beginning of a block of its own.
fn begins_block(line: &str) -> bool {
    let mut characters = line.chars();
    match (characters.next(), characters.next()) {
        (Some('*'), second) => second == Some('*'),
        (Some(first), _) => {
            !first.is_whitespace()
                && !first.is_ascii_digit()
                && !matches!(first, '-' | '+' | '<' | '>')
        }
        (None, _) => false,
    }
}

#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<Line<'static>>,
    /// The paragraph under way.
    runs: Vec<Run>,
    styles: Vec<Style>,
    /// Lists around this place: the number of the next item, where they are numbered.
    lists: Vec<Option<u64>>,
    /// What stands before the next line: the sign of an item.
    sign: Option<String>,
    quotes: usize,
    /// The code under way, and its language where that is known.
    code: Option<(String, Option<&'static Language>)>,
    /// Whether that code is changes.
    is_diff: bool,
    link: Option<String>,
    table: Option<Vec<Vec<Vec<Run>>>>,
    /// Whether a blank line is due before the next block.
    gap: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((code, _)) => code.push_str(&text),
                None => self.push(&text.replace('\n', " "), Style::new()),
            },
            Event::Code(code) => self.push(&code, CODE),
            Event::InlineHtml(html) | Event::Html(html) => self.push(&html, DIM),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text, CODE),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]"), DIM),
            Event::SoftBreak => self.push(" ", Style::new()),
            Event::HardBreak => self.flush_runs(),
            Event::Rule => {
                self.block();
                self.runs.push(("─".repeat(self.width / 2), DIM));
                self.flush();
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }, CODE),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                let style = match level {
                    HeadingLevel::H1 => HEADING.add_modifier(Modifier::UNDERLINED),
                    _ => HEADING,
                };
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let mut language = None;
                self.is_diff = false;
                if let CodeBlockKind::Fenced(name) = kind
                    && !name.is_empty()
                {
                    language = named(&name);
                    self.is_diff = matches!(&*name, "diff" | "patch");
                    self.runs.push((name.to_string(), DIM));
                    self.flush_runs();
                }
                self.code = Some((String::new(), language));
            }
            Tag::List(first) => {
                self.flush_runs();
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush_runs();
                self.gap = false;
                self.sign = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                });
            }
            Tag::Emphasis => self.styles.push(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(Style::new().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => {
                self.styles.push(Style::new().add_modifier(Modifier::CROSSED_OUT));
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.styles.push(Style::new().add_modifier(Modifier::UNDERLINED));
                self.link = Some(dest_url.to_string());
            }
            Tag::Table(_) => {
                self.block();
                self.table = Some(Vec::new());
            }
            Tag::TableHead => {
                self.styles.push(HEADING);
                self.table.iter_mut().for_each(|rows| rows.push(Vec::new()));
            }
            Tag::TableRow => self.table.iter_mut().for_each(|rows| rows.push(Vec::new())),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.flush();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush_runs();
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                // One without words still stands there.
                if self.sign.is_some() {
                    self.runs.push((String::new(), Style::new()));
                }
                self.flush_runs();
                self.gap = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let said = self.runs.last().map(|(text, _)| text.clone()).unwrap_or_default();
                if let Some(url) = self.link.take().filter(|url| *url != said) {
                    self.push(&format!(" ({url})"), DIM);
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.runs);
                if let Some(row) = self.table.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => drop(self.styles.pop()),
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        let style = self.styles.iter().fold(style, |style, outer| outer.patch(style));
        self.runs.push((without_tabs(text).into_owned(), style));
    }

    /// A block begins: a blank line before it, unless it is the first.
    fn block(&mut self) {
        self.flush_runs();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let before = Line::from(self.before());
            let fits = before.width() < self.width;
            self.lines.push(if fits { before } else { Line::default() });
        }
    }

    fn flush(&mut self) {
        self.flush_runs();
        self.gap = true;
    }

    fn flush_runs(&mut self) {
        if self.runs.is_empty() {
            return;
        }
        let runs = std::mem::take(&mut self.runs);
        let (first, rest) = self.prefixes();
        self.lines.extend(wrapped(&runs, self.width, &first, &rest));
    }

    /// What stands before every line at this place.
    fn before(&self) -> Vec<Span<'static>> {
        let mut before = Vec::new();
        if self.quotes > 0 {
            before.push(Span::styled("▎ ".repeat(self.quotes), DIM));
        }
        let indent = self.lists.len().saturating_sub(1) * 2;
        if indent > 0 {
            before.push(Span::raw(" ".repeat(indent)));
        }
        before
    }

    fn prefixes(&mut self) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let before = self.before();
        let (mut first, mut rest) = (before.clone(), before);
        let sign = self.sign.take();
        let columns = match (&sign, self.lists.last()) {
            (Some(sign), _) => sign.width(),
            (None, Some(Some(number))) => format!("{number}. ").width(),
            (None, Some(None)) => 2,
            (None, None) => 0,
        };
        if columns > 0 {
            first.push(Span::styled(sign.unwrap_or_else(|| " ".repeat(columns)), DIM));
            rest.push(Span::raw(" ".repeat(columns)));
        }
        // Where lists and quotes are too deep for the screen, their text is what counts.
        let room = self.width.saturating_sub(TEXT_COLUMNS_MIN);
        let is_too_wide = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>() > room;
        if is_too_wide(&first) || is_too_wide(&rest) {
            (Vec::new(), Vec::new())
        } else {
            (first, rest)
        }
    }

    fn end_code(&mut self) {
        let (code, language) = self.code.take().unwrap_or_default();
        let (mut before, _) = self.prefixes();
        before.push(Span::styled("│ ", DIM));
        let mut scanner = language.map(Scanner::new);
        for line in code.lines() {
            let runs = match &mut scanner {
                Some(scanner) => scanner.line(line),
                None => vec![(line.to_owned(), of_changes(line, self.is_diff))],
            };
            self.lines.extend(broken_runs(runs, self.width, &before));
        }
        self.gap = true;
    }

    fn end_table(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        self.gap = true;
        let text = |cell: &Vec<Run>| cell.iter().map(|(text, _)| text.as_str()).collect::<String>();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let natural = (0..count).map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| text(cell).width()).max()
        });
        let mut widths: Vec<usize> = natural.map(|width| width.unwrap_or(0).max(1)).collect();
        let room = self.width.saturating_sub(count.saturating_sub(1) * 2);
        // The widest gives way first.
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > CELL_COLUMNS_MIN => *widest -= 1,
                _ => break,
            }
        }
        for (number, row) in rows.iter().enumerate() {
            self.row(row, &widths);
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                self.lines.push(Line::from(Span::styled(rules.join("  "), DIM)));
            }
        }
    }

    /// A row of a table, whose cells may take several lines.
    fn row(&mut self, row: &[Vec<Run>], widths: &[usize]) {
        let cells: Vec<Vec<Line<'static>>> =
            row.iter().zip(widths).map(|(cell, width)| wrapped(cell, *width, &[], &[])).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let mut spans = Vec::new();
            for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let part = cell.get(line).cloned().unwrap_or_default();
                let missing = width.saturating_sub(part.width());
                spans.extend(part.spans);
                if column + 1 < cells.len() {
                    spans.push(Span::raw(" ".repeat(missing + 2)));
                }
            }
            self.lines.push(Line::from(spans));
        }
    }
}

/// The style of a line of code whose language has no words.
fn of_changes(line: &str, is_diff: bool) -> Style {
    match line.chars().next() {
        Some('+') if is_diff => GREEN,
        Some('-') if is_diff => RED,
        _ => CODE,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, width: usize) -> String {
        let lines: Vec<String> =
            lines(text, width).iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        lines.join("\n")
    }

    #[test]
    fn what_models_write_reads_well() {
        let text = "# Result\n\nI found **two** places in `src/main.rs`:\n\n- one, which is far too long for a line of this width\n  - below it\n- two\n\n1. first\n2. second\n\n> quoted words\n\n```rust\nfn main() {\n\tprintln!(\"a long line of code that does not fit\");\n}\n```\n\nSee [the page](https://example.com).\n\n| file | lines |\n|---|---|\n| a.rs | 12 |\n| b.rs | 3 |\n\n---\nend";
        insta::assert_snapshot!(shown(text, 40), @r#"
        Result

        I found two places in src/main.rs:

        • one, which is far too long for a line
          of this width
          • below it
        • two

        1. first
        2. second

        ▎ quoted words

        rust
        │ fn main() {
        │     println!("a long line of code that
        │  does not fit");
        │ }

        See the page (https://example.com).

        file  lines
        ────  ─────
        a.rs  12
        b.rs  3

        ────────────────────

        end
        "#);
    }

    #[test]
    fn what_has_come_so_far_is_shown() {
        insta::assert_snapshot!(shown("Look:\n\n```sh\nls -", 40), @"
        Look:

        sh
        │ ls -
        ");
        insta::assert_snapshot!(shown("This is **bol", 40), @"This is **bol");
        insta::assert_snapshot!(shown("| a | b |\n|--", 40), @"| a | b | |--");
    }

    proptest! {
        #[test]
        fn any_text_is_drawn_within_its_width(
            text in "(?s)([#>|*`\\-\\[\\]() \n]|[a-z]{1,12}|日|1\\. ){0,60}",
            width in 12_usize..60,
        ) {
            for line in lines(&text, width) {
                // A table of too many columns is wider, and cut.
                prop_assert!(line.width() <= width || text.contains('|'), "{line:?}");
            }
        }
    }
}
