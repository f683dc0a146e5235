//! Calls that run, and what they print meanwhile.

use tine_guard::redact;
use tine_model::ToolCallId;

use crate::words::{cut, harmless, sendable};

/// Lines of its output that are shown of a running call.
const LINES_MAX: usize = 3;

/// Columns of such a line that are kept: more than screens have.
const LINE_COLUMNS_MAX: usize = 500;

/// A call that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunningCall {
    /// Which.
    pub(crate) id: ToolCallId,
    /// The tool.
    pub(crate) tool: String,
    /// The call in a line.
    pub(crate) line: String,
    /// The time at which its work began, in milliseconds since the Unix epoch. None while it waits for permission, and for tools that
    /// do not say it.
    pub(crate) began_ms: Option<i64>,
    /// The last lines that it has printed.
    pub(crate) printed: Vec<String>,
}

/// The last lines of what a call has printed, harmless and without secrets.
pub(crate) fn last_lines(tail: &str) -> Vec<String> {
    let lines: Vec<&str> = tail.lines().map(overwritten).collect();
    let text = lines.join("\n");
    // Colours in the middle of a secret would hide it.
    let (text, _) = sendable(&text);
    let text = harmless(&redact(&text));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(LINES_MAX);
    lines[from..].iter().map(|line| cut(line, LINE_COLUMNS_MAX)).collect()
}

/// What a terminal shows of a line that was written over itself, as bars of progress are.
fn overwritten(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_harmless_and_hold_no_secret() {
        let check = |tail: &str, lines: &[&str]| assert_eq!(last_lines(tail), lines, "{tail:?}");
        check("", &[]);
        check("a\n\n b\nc\nd\n\n", &[" b", "c", "d"]);
        check("10 %\r 50 %\r100 %\r\ndone\r\n", &["100 %", "done"]);
        check(
            "\u{1b}[1;31mred\u{1b}[0m\u{1b}]2;title\u{7} \u{202e}turned",
            &["red \\u{202e}turned"],
        );
        let key = format!("sk-ant-api03-{}", "a1B2".repeat(24));
        let (before, behind) = key.split_at(20);
        for text in [key.clone(), format!("{before}\u{1b}[0m{behind}")] {
            let lines = last_lines(&format!("key {text}\n"));
            assert!(lines[0].contains("[redacted"), "{lines:?}");
        }
        assert_eq!(last_lines(&"x".repeat(10_000))[0].chars().count(), LINE_COLUMNS_MAX);
    }
}
