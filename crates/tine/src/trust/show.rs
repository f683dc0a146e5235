//! Content and its changes as a person reads them before they trust it.

use std::time::Duration;

use similar::TextDiff;
use tine_guard::is_unseen;
use tine_tui::figures::plural;
use tine_tui::words::{BOLD, GREEN, RED, one_line, styled};

use super::content::{Content, Entry, SETTINGS_FILE};
use super::record::{Record, TrustedFile};

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// Longest time that one file's difference is looked for. After it the rest counts as replaced.
const DIFFERENCE_TIME_MAX: Duration = Duration::from_secs(1);

/// Most lines of one file that are shown. What stands before the question must be near it.
const LINES_SHOWN_MAX: usize = 200;

/// Most characters of a line that are shown: some lines of a terminal.
const LINE_CHARACTERS_MAX: usize = 500;

/// All files of a content, each with its text.
pub(crate) fn content_text(content: &Content) -> String {
    let file = |(path, entry): (&String, &Entry)| {
        let head = styled(BOLD, &one_line(path));
        match (entry, entry.text()) {
            (Entry::Link(target), _) => {
                format!(
                    "{head} -> {} (a link, never followed)\n",
                    one_line(&target.to_string_lossy())
                )
            }
            (Entry::File(bytes), None) => {
                format!("{head} ({}, not text)\n", plural(bytes.len() as u64, "byte"))
            }
            (Entry::File(_), Some(text)) => {
                let lines = text.lines().map(|line| format!("    {}\n", visible(line)));
                format!("{head}\n{}", bounded(lines))
            }
        }
    };
    let is_settings = |path: &String| path == SETTINGS_FILE;
    let (settings, others): (Vec<_>, Vec<_>) =
        content.0.iter().partition(|(path, _)| is_settings(path));
    others.into_iter().chain(settings).map(file).collect()
}

/// The difference between what was trusted and the content.
pub(crate) fn difference_text(record: &Record, content: &Content) -> String {
    let mut text = String::new();
    for (path, word) in changes(record, content) {
        let (before, after) = (record.files.get(path), content.0.get(path));
        text.push_str(&format!("{word}: {}\n", styled(BOLD, &one_line(path))));
        text.push_str(&lines_between(&before_text(before), &after_text(after)));
    }
    text
}

/// The files that differ from what was trusted, with `new`, `gone` or `changed`. The settings come last, next to the question.
pub(super) fn changes<'a>(
    record: &'a Record,
    content: &'a Content,
) -> Vec<(&'a String, &'static str)> {
    let gone = record.files.keys().filter(|path| !content.0.contains_key(*path));
    let mut paths: Vec<&String> = content.0.keys().chain(gone).collect();
    paths.sort_by_key(|path| (*path == SETTINGS_FILE, *path));
    let change = |path: &'a String| {
        let (before, after) = (record.files.get(path), content.0.get(path));
        let word = match (before, after) {
            _ if before.map(|file| &file.blake3) == after.map(Entry::hash).as_ref() => return None,
            (None, _) => "new",
            (_, None) => "gone",
            (Some(_), Some(_)) => "changed",
        };
        Some((path, word))
    };
    paths.into_iter().filter_map(change).collect()
}

fn before_text(file: Option<&TrustedFile>) -> String {
    match file {
        None => String::new(),
        Some(TrustedFile { text: Some(text), .. }) => text.clone(),
        Some(TrustedFile { link: Some(target), .. }) => format!("(a link to {target})\n"),
        Some(TrustedFile { blake3, .. }) => format!("(not text, {blake3})\n"),
    }
}

fn after_text(entry: Option<&Entry>) -> String {
    match entry {
        None => String::new(),
        Some(Entry::Link(target)) => format!("(a link to {})\n", target.display()),
        Some(entry) => match entry.text() {
            Some(text) => text.to_owned(),
            None => format!("(not text, {})\n", entry.hash()),
        },
    }
}

fn lines_between(before: &str, after: &str) -> String {
    let differences = TextDiff::configure().timeout(DIFFERENCE_TIME_MAX).diff_lines(before, after);
    let groups = differences.grouped_ops(CONTEXT_LINES);
    let changes = groups.iter().flatten().flat_map(|op| differences.iter_changes(op));
    bounded(changes.map(|change| {
        let line = visible(change.value().trim_end_matches('\n'));
        let line = match change.tag() {
            similar::ChangeTag::Delete => styled(RED, &format!("  - {line}")),
            similar::ChangeTag::Insert => styled(GREEN, &format!("  + {line}")),
            similar::ChangeTag::Equal => format!("    {line}"),
        };
        format!("{line}\n")
    }))
}

/// The first lines, and how many more there are.
fn bounded(lines: impl Iterator<Item = String>) -> String {
    let mut lines = lines;
    let mut text: String = lines.by_ref().take(LINES_SHOWN_MAX).collect();
    let more = lines.count() as u64;
    if more > 0 {
        text.push_str(&format!("    … {}: read the file itself\n", plural(more, "more line")));
    }
    text
}

/// A line with every character escaped that a person would not see on a terminal, as far as it is shown. Models read them all.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LINE_CHARACTERS_MAX));
    for character in text.chars().take(LINE_CHARACTERS_MAX) {
        if is_unseen(character) && !matches!(character, '\n' | '\t') {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    let more = text.chars().skip(LINE_CHARACTERS_MAX).count() as u64;
    if more > 0 {
        out.push_str(&format!(" … ({})", plural(more, "more character")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(files: &[(&str, &str)]) -> Content {
        let entry = |(path, text): &(&str, &str)| {
            ((*path).to_owned(), Entry::File(text.as_bytes().to_vec()))
        };
        Content(files.iter().map(entry).collect())
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn content_is_shown_whole_and_moves_no_cursor() {
        let mut content =
            content(&[(".tine/config.toml", "model = \"a/b\"\n\u{1b}[2Jx\u{200b}\u{e0041}\n")]);
        content.0.insert(".tine/a".to_owned(), Entry::Link("/etc/passwd".into()));
        content.0.insert(".tine/b".to_owned(), Entry::File(vec![0xff]));
        insta::assert_snapshot!(plain(&content_text(&content)), @r#"
        .tine/a -> /etc/passwd (a link, never followed)
        .tine/b (1 byte, not text)
        .tine/config.toml
            model = "a/b"
            \u{1b}[2Jx\u{200b}\u{e0041}
        "#);
    }

    #[test]
    fn long_content_is_bounded_and_the_settings_come_last() {
        let long = format!("{}\n", "x".repeat(LINE_CHARACTERS_MAX + 3)).repeat(LINES_SHOWN_MAX + 7);
        let content = content(&[(".tine/config.toml", "a = 1\n"), (".tine/z", &long)]);
        let text = plain(&content_text(&content));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), LINES_SHOWN_MAX + 4);
        assert!(lines[1].ends_with("x … (3 more characters)"), "{}", lines[1]);
        let end = &lines[LINES_SHOWN_MAX + 1..];
        assert_eq!(
            end,
            ["    … 7 more lines: read the file itself", ".tine/config.toml", "    a = 1"]
        );
    }

    /// Without a limit this takes most of a minute.
    #[test]
    fn a_difference_of_many_lines_is_found_in_time() {
        let lines = |from: u32| (from..from + 30_000).map(|at| format!("{}\n", at * 7 % 30_011));
        let (before, after): (String, String) = (lines(0).collect(), lines(13).rev().collect());
        assert!(lines_between(&before, &after).contains("more lines"));
    }

    #[test]
    fn a_change_is_shown_line_by_line() {
        let before = content(&[("a", "1\n2\n3\n4\n5\n6\n"), ("b", "x\n"), ("c", "same\n")]);
        let after = content(&[("a", "1\n2\n3\n4\n5\nsix\n"), ("c", "same\n"), ("d", "y\n")]);
        let record = Record::new("/srv".as_ref(), &before, 0);
        insta::assert_snapshot!(plain(&difference_text(&record, &after)), @"
        changed: a
            3
            4
            5
          - 6
          + six
        gone: b
          - x
        new: d
          + y
        ");
        assert_eq!(difference_text(&record, &before), "");
    }
}
