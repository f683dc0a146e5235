//! The call that a question is about, in lines: in short for the panel, and whole with the numbers of lines and what stands around a change.

use std::time::Duration;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use tine_guard::{LookAlike, TextUse, look_alikes};
use tine_runtime::{PermissionRequest, Preview};

use super::look_alike::marked;
use crate::figures::plural;
use crate::words::{BOLD, CYAN, DIM, GREEN, RED, harmless, one_line, styled};

/// Lines around a change that are shown with it.
const CONTEXT_LINES: usize = 5;

/// After this a comparison may become coarser. It is the same change in any case.
const COMPARE_TIME_MAX: Duration = Duration::from_millis(500);

/// Longest description of a call on one line that is surely not cut, in characters.
const DESCRIBED_MAX: usize = 190;

/// A call that is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The call on one line.
    pub what: &'a str,
    /// Its arguments, as JSON.
    pub input: &'a str,
}

impl<'a> From<&'a PermissionRequest> for Asked<'a> {
    fn from(request: &'a PermissionRequest) -> Self {
        let PermissionRequest { tool, what, input, .. } = request;
        Self { tool, what, input: input.as_str() }
    }
}

/// The meaning of a part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shade {
    /// A command or a path.
    Subject,
    /// A line that stays as it is.
    Same,
    /// A line that goes.
    Removed,
    /// A line that comes.
    Added,
    /// Words of tine.
    Said,
}

impl Shade {
    /// The style on a terminal.
    pub fn style(self) -> anstyle::Style {
        match self {
            Self::Subject => BOLD.fg_color(CYAN.get_fg_color()),
            Self::Same | Self::Said => DIM,
            Self::Removed => RED,
            Self::Added => GREEN,
        }
    }

    /// The sign before such a line of a change.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Subject | Self::Said => "",
            Self::Same => "  ",
            Self::Removed => "- ",
            Self::Added => "+ ",
        }
    }
}

/// A line, without its sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedLine {
    /// Its meaning.
    pub shade: Shade,
    /// The number of the line in its file.
    pub number: Option<usize>,
    raw: String,
}

impl AskedLine {
    fn new(shade: Shade, text: &str) -> Self {
        Self { shade, number: None, raw: text.trim_end_matches('\n').to_owned() }
    }

    /// The text, harmless on any terminal, with a mark at each letter that looks like another.
    pub fn text(&self) -> String {
        match self.text_use() {
            Some(text_use) => harmless(&marked(&self.raw, text_use)),
            None => harmless(&self.raw),
        }
    }

    /// The letters that look like others.
    pub(super) fn look_alikes(&self) -> Vec<LookAlike> {
        let text_use = self.text_use();
        text_use.map(|text_use| look_alikes(&self.raw, text_use)).unwrap_or_default()
    }

    fn text_use(&self) -> Option<TextUse> {
        match self.shade {
            Shade::Subject => Some(TextUse::Exact),
            Shade::Same | Shade::Removed | Shade::Added => Some(TextUse::Content),
            Shade::Said => None,
        }
    }

    fn numbered(self, number: usize) -> Self {
        Self { number: Some(number), ..self }
    }
}

/// All that the call would do, as its arguments say it.
pub fn asked_lines(asked: &Asked<'_>) -> Vec<AskedLine> {
    let input: Value = serde_json::from_str(asked.input).unwrap_or_default();
    let field = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    match asked.tool {
        "Bash" => subject(field("command")),
        "FileEdit" => {
            let mut lines = subject(field("file_path"));
            lines.extend(compared(field("old_string"), field("new_string")));
            if input.get("replace_all").and_then(Value::as_bool) == Some(true) {
                lines.push(AskedLine::new(Shade::Said, "wherever it stands in the file"));
            }
            lines
        }
        "FileWrite" => {
            let mut lines = subject(field("file_path"));
            lines.extend(compared("", field("content")));
            lines
        }
        _ if asked.what.chars().count() <= DESCRIBED_MAX => subject(&one_line(asked.what)),
        _ => arguments(&input),
    }
}

/// All of the call with the numbers of lines: a change with what stands around it, all else by its arguments.
pub fn whole(asked: &Asked<'_>, preview: Option<&Preview>) -> String {
    let input: Value = serde_json::from_str(asked.input).unwrap_or_default();
    let path = input.get("file_path").and_then(Value::as_str).unwrap_or_default();
    let lines = match preview {
        None => arguments(&input),
        Some(Preview::New { after }) => {
            let mut lines = subject(path);
            let count = plural(after.lines().count() as u64, "line");
            lines.push(AskedLine::new(Shade::Said, &format!("a new file of {count}")));
            lines.extend(in_file("", after));
            lines
        }
        Some(Preview::Changed { before, after }) => {
            let mut lines = subject(path);
            lines.extend(in_file(before, after));
            lines
        }
        Some(Preview::Unknown(why)) => {
            let mut lines = asked_lines(asked);
            lines.insert(1.min(lines.len()), AskedLine::new(Shade::Said, &one_line(why)));
            lines
        }
    };
    let columns = lines.iter().filter_map(|line| line.number).max().unwrap_or(0).to_string().len();
    lines.iter().map(|line| format!("{}\n", line_with_number(line, columns))).collect()
}

/// A line with its number, its sign and its style.
fn line_with_number(line: &AskedLine, columns: usize) -> String {
    let number = line.number.map(|number| styled(DIM, &format!("{number:>columns$} ")));
    let text = format!("{}{}", line.shade.sign(), line.text());
    format!("{}{}", number.unwrap_or_default(), styled(line.shade.style(), &text))
}

fn subject(text: &str) -> Vec<AskedLine> {
    text.lines().map(|line| AskedLine::new(Shade::Subject, line)).collect()
}

/// Each argument as it is.
fn arguments(input: &Value) -> Vec<AskedLine> {
    let mut lines = Vec::new();
    for (name, value) in input.as_object().into_iter().flatten() {
        match value {
            Value::String(text) => {
                lines.push(AskedLine::new(Shade::Said, &format!("{name}:")));
                lines.extend(subject(text));
            }
            other => lines.push(AskedLine::new(Shade::Said, &format!("{name}: {other}"))),
        }
    }
    lines
}

fn shade(tag: ChangeTag) -> Shade {
    match tag {
        ChangeTag::Delete => Shade::Removed,
        ChangeTag::Insert => Shade::Added,
        ChangeTag::Equal => Shade::Same,
    }
}

/// Both sides of a change, all lines of them.
fn compared(old: &str, new: &str) -> Vec<AskedLine> {
    if old.is_empty() {
        // A frame of the screen asks for this often, and a new file may be long.
        return new.lines().map(|line| AskedLine::new(Shade::Added, line)).collect();
    }
    let diff = TextDiff::configure().timeout(COMPARE_TIME_MAX).diff_lines(old, new);
    let line = |change: similar::Change<&str>| AskedLine::new(shade(change.tag()), change.value());
    diff.iter_all_changes().map(line).collect()
}

/// The lines of a file that change, with those around them. A line that goes has the number that it had.
fn in_file(before: &str, after: &str) -> Vec<AskedLine> {
    let diff = TextDiff::configure().timeout(COMPARE_TIME_MAX).diff_lines(before, after);
    let mut lines = Vec::new();
    let mut shown_to = 0;
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let from = group.first().map_or(0, |op| op.old_range().start);
        lines.extend(left_out(from.saturating_sub(shown_to)));
        shown_to = group.last().map_or(shown_to, |op| op.old_range().end);
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let index = match change.tag() {
                ChangeTag::Delete => change.old_index(),
                ChangeTag::Insert | ChangeTag::Equal => change.new_index(),
            };
            let line = AskedLine::new(shade(change.tag()), change.value());
            lines.push(line.numbered(index.unwrap_or_default() + 1));
            if change.missing_newline() && !before.is_empty() {
                lines.push(AskedLine::new(Shade::Said, "(the file ends here without a line end)"));
            }
        }
    }
    lines.extend(left_out(before.lines().count().saturating_sub(shown_to)));
    lines
}

/// Says that lines are left out which stay as they are.
fn left_out(count: usize) -> Option<AskedLine> {
    let text = format!("… {} as before", plural(count as u64, "line"));
    (count > 0).then(|| AskedLine::new(Shade::Said, &text))
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
