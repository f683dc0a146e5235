//! All commands and keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::wrap::wrapped;
use super::{BOLD, CYAN, DIM, YELLOW, page};
use crate::app::{COMMANDS, Command, Help, KEYS, Keys, TREE_KEYS};
use crate::words::{cut, one_line};

/// Columns of the names of keys.
const KEY_COLUMNS: usize = 12;

/// Keys of the line that is written.
const WRITING: [(&str, &str); 8] = [
    ("/ @ !", "begin a command, the name of a file, a command of the shell"),
    (
        "Ctrl+J",
        "a new line; Shift+Enter and Alt+Enter as well, where the terminal tells them apart",
    ),
    ("↑ ↓", "what was sent before in this directory, also in earlier sessions"),
    ("Enter", "where a command or file is marked: takes it; a command that needs no more is sent"),
    (
        "Ctrl+A E B F",
        "to the beginning or end of the line, a character back or on; Alt+B, Alt+F: a word",
    ),
    (
        "Ctrl+U K W",
        "kill to the beginning or end of the line, or the word before; Alt+Backspace, Alt+D: by words",
    ),
    ("Ctrl+Y", "yank what was killed last; Ctrl+_ takes the last change back"),
    (
        "a question",
        "Enter on an empty line confirms the marked choice, ↑ ↓ or a digit marks another; y or n and Enter; other words mean no and are told to the agent, if it is the one on the line or you went to its question by an arrow or by Ctrl+P; else they go to the agent on the line",
    ),
];

/// A command or a key: what is looked for stands in it, or not.
struct Entry {
    lines: Vec<Line<'static>>,
}

impl Entry {
    fn has(&self, wanted: &str) -> bool {
        let text: Vec<String> = self.lines.iter().map(|line| line.to_string()).collect();
        let text = text.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>();
        text.join(" ").to_lowercase().contains(&wanted.to_lowercase())
    }
}

/// Draws the page from a line on; the line is moved so that the page stays full.
pub(super) fn draw(keys: &Keys, help: &mut Help, frame: &mut Frame<'_>, area: Rect) {
    let [area, foot_area] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(area);
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let lines = lines(keys, &help.wanted, width);
    help.from = help.from.min(lines.len().saturating_sub(height));
    let below = lines.len().saturating_sub(help.from + height);
    let shown: Vec<_> = lines.into_iter().skip(help.from).take(height).collect();
    frame.render_widget(Paragraph::new(shown), area);
    frame.render_widget(foot(help, below, width), foot_area);
}

/// What is looked for, or what keys do.
fn foot(help: &Help, below: usize, width: usize) -> Line<'static> {
    let wanted = cut(&one_line(&help.wanted), width / 2);
    match (help.is_asking, wanted.is_empty()) {
        (true, _) => Line::from(vec![
            Span::styled("find: ", YELLOW),
            Span::raw(wanted),
            Span::styled("▏", CYAN),
            Span::styled("  Esc shows all", DIM),
        ]),
        (false, true) => page::foot("/ finds · ", below, width).into(),
        (false, false) => page::foot(&format!("with `{wanted}` · "), below, width).into(),
    }
}

fn lines(keys: &Keys, wanted: &str, width: usize) -> Vec<Line<'static>> {
    let sections = [
        ("Commands", commands(keys, width)),
        ("Keys", of_keys(keys, width)),
        ("Keys in the tree", of_tree(width)),
    ];
    let mut lines = Vec::new();
    for (title, entries) in sections {
        let found: Vec<Entry> = entries.into_iter().filter(|entry| entry.has(wanted)).collect();
        if found.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(Span::styled(title, BOLD)));
        lines.extend(found.into_iter().flat_map(|entry| entry.lines));
    }
    if lines.is_empty() {
        let text = cut(&format!("nothing here has `{}`", one_line(wanted)), width);
        lines.push(Line::from(Span::styled(text, DIM)));
    }
    lines
}

fn commands(keys: &Keys, width: usize) -> Vec<Entry> {
    let indent = [Span::raw("      ")];
    let entry = |command: &Command| {
        let names: Vec<String> = command.names.iter().map(|name| format!("/{name}")).collect();
        let key = command.action.map(|action| keys.told(action)).filter(|key| !key.is_empty());
        let key = key.map_or(String::new(), |key| format!("  ({key})"));
        let runs =
            [(names.join(", "), CYAN), (format!(" {}", command.usage), Style::new()), (key, DIM)];
        let mut lines = wrapped(&runs, width, &[Span::raw("  ")], &indent);
        lines.extend(wrapped(&[(command.help.to_owned(), DIM)], width, &indent, &indent));
        Entry { lines }
    };
    COMMANDS.iter().map(entry).collect()
}

fn of_keys(keys: &Keys, width: usize) -> Vec<Entry> {
    let indent = [Span::raw(" ".repeat(KEY_COLUMNS + 3))];
    let writing = WRITING.iter().map(|(key, help)| ((*key).to_owned(), *help));
    let keys = KEYS.iter().map(|binding| (keys.told(binding.action), binding.help));
    let entry = |(key, help): (String, &str)| {
        let missing = " ".repeat(KEY_COLUMNS.saturating_sub(key.width()));
        // A name that is too long for its column pushes what it does to the right.
        let before = [Span::styled(format!("  {key}{missing} "), CYAN)];
        Entry { lines: wrapped(&[(help.to_owned(), DIM)], width, &before, &indent) }
    };
    writing.chain(keys).map(entry).collect()
}

fn of_tree(width: usize) -> Vec<Entry> {
    let told = TREE_KEYS.map(|(key, what)| format!("{key} {what}")).join(" · ");
    let lines = wrapped(&[(told, DIM)], width, &[Span::raw("  ")], &[Span::raw("  ")]);
    vec![Entry { lines }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(wanted: &str) -> String {
        let lines = lines(&Keys::default(), wanted, 80);
        lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn no_line_is_wider_than_the_screen_or_cut() {
        for width in [40, 80, 100] {
            let lines = lines(&Keys::default(), "", width);
            let is_whole =
                |line: &&Line<'_>| line.width() <= width && !line.to_string().contains('…');
            let cut: Vec<_> = lines.iter().filter(|line| !is_whole(line)).collect();
            assert!(cut.is_empty(), "{cut:?}");
        }
    }

    #[test]
    fn what_has_a_word_is_found_in_whatever_case_and_over_the_end_of_a_line() {
        insta::assert_snapshot!(shown("SHELL"), @"
        Keys
          / @ !        begin a command, the name of a file, a command of the shell
          Ctrl+Z       back to the shell; `fg` comes back
        ");
        let of_a_question = shown("other words mean no and are told to the agent, if it");
        assert!(of_a_question.starts_with("Keys\n  a question   Enter"), "{of_a_question}");
        assert!(!of_a_question.contains("Ctrl+Z"), "{of_a_question}");
        insta::assert_snapshot!(shown("nowhere"), @"nothing here has `nowhere`");
    }
}
