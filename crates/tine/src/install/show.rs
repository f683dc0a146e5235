//! A change of settings, as a person reads it.

use similar::{ChangeTag, TextDiff};
use tine_guard::redact;
use tine_tui::words::{GREEN, RED, harmless, styled};

/// Characters of a line that are shown on each side of what changes in it: settings may be one line of a megabyte.
const AROUND_MAX: usize = 100;

/// Characters of a line that are shown at most.
const LINE_MAX: usize = 400;

/// A line that goes, comes, or stands beside one that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    tag: ChangeTag,
    text: String,
}

impl Line {
    /// The line behind its sign.
    pub(super) fn plain(&self) -> String {
        let sign = match self.tag {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        if self.text.is_empty() { sign.to_string() } else { format!("{sign} {}", self.text) }
    }

    /// The line for a screen: coloured, with its end.
    pub(super) fn coloured(&self) -> String {
        let line = format!("  {}", harmless(&self.plain()));
        match self.tag {
            ChangeTag::Delete => format!("{}\n", styled(RED, &line)),
            ChangeTag::Insert => format!("{}\n", styled(GREEN, &line)),
            ChangeTag::Equal => format!("{line}\n"),
        }
    }
}

/// The lines that differ, without keys and passwords.
pub(super) fn changed_lines(before: &str, after: &str) -> Vec<Line> {
    // As wholes: a part of a key is not known as one.
    let (before, after) = (redact(before), redact(after));
    let start = common(before.chars(), after.chars());
    let end = common(before[start..].chars().rev(), after[start..].chars().rev());
    let before = around(&before, start, before.len() - end);
    let after = around(&after, start, after.len() - end);
    let difference = TextDiff::from_lines(&before, &after);
    let changes = difference.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    changes.map(|change| Line { tag: change.tag(), text: shown(change.value()) }).collect()
}

/// The bytes of characters that two texts have in common at their beginning.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum()
}

/// The lines of a part of a text, cut at what is far from it.
fn around(text: &str, start: usize, end: usize) -> String {
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |newline| end + newline);
    let from = text.floor_char_boundary(start.saturating_sub(AROUND_MAX)).max(line_start);
    let to = text.ceil_char_boundary(end.saturating_add(AROUND_MAX)).min(line_end);
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", cut(from > line_start), &text[from..to], cut(to < line_end))
}

fn shown(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    match line.char_indices().nth(LINE_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
