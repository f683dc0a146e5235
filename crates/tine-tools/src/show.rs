//! Text cut to what a model can use, always saying what was cut. Nothing here reads or writes.

use std::time::Duration;

use similar::TextDiff;

/// The first `characters_max` characters of a line, and how many are missing.
pub(crate) fn line(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        None => text.to_owned(),
        Some((end, _)) => {
            let missing = text[end..].chars().count();
            format!("{}… ({missing} more characters)", &text[..end])
        }
    }
}

/// `one` or `many` after its number.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Above this a diff would take longer than it is worth to look at.
const DIFF_BYTES_MAX: usize = 1024 * 1024;

/// Lines of a diff that are shown; a larger change is better read in the file.
const DIFF_LINES_MAX: usize = 120;

/// Lines around a change that are shown.
const DIFF_CONTEXT_LINES: usize = 3;

/// After this the diff may become coarser; only the picture of the change depends on it.
const DIFF_TIME_MAX: Duration = Duration::from_millis(500);

/// Characters of a diff line that are shown.
const DIFF_LINE_CHARACTERS_MAX: usize = 500;

/// A small unified diff of a change that was made.
pub(crate) fn diff(old: &[u8], new: &[u8]) -> String {
    if old.len() + new.len() > DIFF_BYTES_MAX {
        return "(the file is too large to show the difference)".to_owned();
    }
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(&*old, &*new);
    let text = diff
        .unified_diff()
        .context_radius(DIFF_CONTEXT_LINES)
        .missing_newline_hint(true)
        .to_string();
    let total = text.lines().count();
    let mut shown: Vec<String> = text
        .lines()
        .take(DIFF_LINES_MAX)
        .map(|text| line(text, DIFF_LINE_CHARACTERS_MAX))
        .collect();
    if total > DIFF_LINES_MAX {
        shown.push(format!("… {} more lines of difference", total - DIFF_LINES_MAX));
    }
    shown.join("\n")
}

/// Result lines up to a number and a size; what comes after is only counted.
#[derive(Debug)]
pub(crate) struct Lines {
    kept: Vec<String>,
    bytes: usize,
    lines_max: usize,
    more: usize,
}

/// The largest list of results, about 25,000 tokens: more would crowd out the conversation.
pub(crate) const RESULT_BYTES_MAX: usize = 100_000;

impl Lines {
    pub(crate) fn new(lines_max: usize) -> Self {
        Self { kept: Vec::new(), bytes: 0, lines_max, more: 0 }
    }

    pub(crate) fn push(&mut self, line: String) {
        let full = self.kept.len() >= self.lines_max || self.bytes + line.len() > RESULT_BYTES_MAX;
        if full || self.more > 0 {
            self.more += 1;
        } else {
            self.bytes += line.len() + 1;
            self.kept.push(line);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.more == 0
    }

    /// The lines, and `… N more` where some are missing; `advice` says how to see them.
    pub(crate) fn finish(mut self, advice: &str) -> String {
        if self.more > 0 {
            self.kept.push(format!("… {} more ({advice})", self.more));
        }
        self.kept.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_counts_characters_not_bytes() {
        assert_eq!(line("äöü", 3), "äöü");
        assert_eq!(line("äöüß!", 3), "äöü… (2 more characters)");
    }

    #[test]
    fn a_large_difference_is_cut_and_counted() {
        let old: String = (0..300).map(|n| format!("{n}\n")).collect();
        let text = diff(old.as_bytes(), b"");
        assert_eq!(text.lines().last(), Some("… 181 more lines of difference"));
        insta::assert_snapshot!(diff(b"a\nb\n", b"a\nc"), @r"
        @@ -1,2 +1,2 @@
         a
        -b
        +c
        \ No newline at end of file
        ");
    }

    #[test]
    fn results_stop_at_the_size_too() {
        let mut lines = Lines::new(10);
        lines.push("x".repeat(RESULT_BYTES_MAX));
        lines.push("y".to_owned());
        lines.push("z".to_owned());
        assert!(lines.finish("ask for less").ends_with("x\n… 2 more (ask for less)"));
    }
}
