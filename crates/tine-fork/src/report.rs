//! A worker's report: five labelled parts in plain text.

/// A report, read leniently. The raw text is always kept; a part that is missing is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The task as the worker understood it.
    pub scope: Option<String>,
    /// What it found or did.
    pub result: Option<String>,
    /// Files that matter.
    pub key_files: Option<String>,
    /// Files it changed, with commits.
    pub files_changed: Option<String>,
    /// What went wrong or remains open.
    pub issues: Option<String>,
    /// The whole text as the worker wrote it.
    pub raw: String,
}

impl Report {
    /// Reads a worker's last text. Labels may be in any case and order, bold, in a heading or a list; what stands before
    /// the first label belongs to no part.
    pub fn parse(text: &str) -> Self {
        let mut report = Self { raw: text.to_owned(), ..Self::default() };
        let mut part: Option<(Label, String)> = None;
        for line in text.lines() {
            match label_of(line) {
                Some((label, rest)) => {
                    report.keep(part.take());
                    part = Some((label, rest.to_owned()));
                }
                None => {
                    if let Some((_, collected)) = &mut part {
                        collected.push('\n');
                        collected.push_str(line);
                    }
                }
            }
        }
        report.keep(part);
        report
    }

    /// Whether the report has the form that workers are told to use: it begins with its scope.
    pub fn is_conforming(&self) -> bool {
        self.scope.is_some()
            && self
                .raw
                .lines()
                .find(|line| !line.trim().is_empty())
                .is_some_and(|line| label_of(line).is_some_and(|(label, _)| label == Label::Scope))
    }

    fn keep(&mut self, part: Option<(Label, String)>) {
        let Some((label, text)) = part else { return };
        let slot = match label {
            Label::Scope => &mut self.scope,
            Label::Result => &mut self.result,
            Label::KeyFiles => &mut self.key_files,
            Label::FilesChanged => &mut self.files_changed,
            Label::Issues => &mut self.issues,
        };
        // A label that comes twice: the first one counts, for a report may quote another.
        slot.get_or_insert(text.trim().to_owned());
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Scope,
    Result,
    KeyFiles,
    FilesChanged,
    Issues,
}

const LABELS: [(&str, Label); 5] = [
    ("scope", Label::Scope),
    ("result", Label::Result),
    ("key files", Label::KeyFiles),
    ("files changed", Label::FilesChanged),
    ("issues", Label::Issues),
];

/// The label that a line begins with, and the rest of the line.
fn label_of(line: &str) -> Option<(Label, &str)> {
    let decoration = |c: char| c.is_whitespace() || matches!(c, '#' | '*' | '_' | '-' | '`');
    let line = line.trim_start_matches(decoration);
    let (head, rest) = line.split_once(':')?;
    let head = head.trim_end_matches(decoration).to_lowercase();
    let (_, label) = LABELS.iter().find(|(name, _)| *name == head)?;
    Some((*label, rest.trim_start_matches(['*', '_', '`'])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_the_five_parts() {
        let text = "Scope: count files\nResult: 3 files\n  a, b, c\nKey files: a\nFiles changed: none\nIssues: none\n";
        let report = Report::parse(text);
        assert!(report.is_conforming());
        assert_eq!(report.scope.as_deref(), Some("count files"));
        assert_eq!(report.result.as_deref(), Some("3 files\n  a, b, c"));
        assert_eq!(report.issues.as_deref(), Some("none"));
        assert_eq!(report.raw, text);
    }

    #[test]
    fn reads_decorated_labels_in_any_order() {
        let report = Report::parse("## **Result**: ok\n- *Scope:* the task\n**Key Files:** x");
        assert_eq!(report.result.as_deref(), Some("ok"));
        assert_eq!(report.scope.as_deref(), Some("the task"));
        assert_eq!(report.key_files.as_deref(), Some("x"));
        assert!(!report.is_conforming(), "it does not begin with its scope");
    }

    #[test]
    fn text_without_labels_is_kept_raw() {
        let report = Report::parse("I did it.");
        assert_eq!(report, Report { raw: "I did it.".into(), ..Report::default() });
        assert!(!report.is_conforming());
    }

    proptest! {
        #[test]
        fn never_panics_and_keeps_the_text(text in ".{0,300}") {
            prop_assert_eq!(Report::parse(&text).raw, text);
        }
    }
}
