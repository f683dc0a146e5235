//! Content and its changes as a person reads them before they trust it.

use similar::TextDiff;
use tine_tui::figures::plural;
use tine_tui::words::{BOLD, GREEN, RED, is_unseen, one_line, styled};

use super::content::{Content, Entry};
use super::record::{Record, TrustedFile};

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

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
            (Entry::File(_), Some(text)) => format!("{head}\n{}", indented(text)),
        }
    };
    content.0.iter().map(file).collect()
}

/// The difference between what was trusted and the content.
pub(crate) fn difference_text(record: &Record, content: &Content) -> String {
    let mut text = String::new();
    let gone = record.files.keys().filter(|path| !content.0.contains_key(*path));
    let mut paths: Vec<&String> = content.0.keys().chain(gone).collect();
    paths.sort();
    for path in paths {
        let (before, after) = (record.files.get(path), content.0.get(path));
        if before.map(|file| &file.blake3) == after.map(Entry::hash).as_ref() {
            continue;
        }
        let word = match (before, after) {
            (None, _) => "new: ",
            (_, None) => "gone: ",
            (Some(_), Some(_)) => "changed: ",
        };
        text.push_str(&format!("{word}{}\n", styled(BOLD, &one_line(path))));
        text.push_str(&lines_between(&before_text(before), &after_text(after)));
    }
    text
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
    let differences = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for group in differences.grouped_ops(CONTEXT_LINES) {
        for change in group.iter().flat_map(|op| differences.iter_changes(op)) {
            let line = visible(change.value().trim_end_matches('\n'));
            text.push_str(&match change.tag() {
                similar::ChangeTag::Delete => styled(RED, &format!("  - {line}")),
                similar::ChangeTag::Insert => styled(GREEN, &format!("  + {line}")),
                similar::ChangeTag::Equal => format!("    {line}"),
            });
            text.push('\n');
        }
    }
    text
}

/// The text with every character escaped that a person would not see on a terminal. Models read them all.
fn visible(text: &str) -> String {
    let is_hidden = |character: char| {
        (is_unseen(character) && !matches!(character, '\n' | '\t'))
            || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}')
            || matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
    };
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match is_hidden(character) {
            true => out.extend(character.escape_unicode()),
            false => out.push(character),
        }
    }
    out
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {}\n", visible(line))).collect()
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
