//! A report against what was done: files that it says were changed, commits that it names, and how long it is.

use super::Evidence;
use super::terms::{is_path, is_same_path, words_as_written};
use crate::report::Report;
use crate::worker::REPORT_WORDS_MAX;

/// Shortest and longest name of a commit that is taken for one.
const COMMIT_CHARS: std::ops::RangeInclusive<usize> = 7..=40;

/// Files and commits that are named in a finding; of more, how many.
const NAMED_MAX: usize = 3;

/// The work that a worker has really done in a worktree of its own, whatever it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// Every file that is not as it was, relative to the top of the checkout.
    pub files: Vec<String>,
    /// The commits that it made, by their whole names in hexadecimal.
    pub commits: Vec<String>,
}

/// A worker that completed, and whose report names files that did not change or commits that it did not make; or that changed files
/// and names none of them. Only where it is known what was done.
pub(super) fn claims(evidence: &Evidence<'_>) -> Option<String> {
    let done = evidence.done.as_ref().filter(|_| evidence.is_worker && evidence.is_completed())?;
    let report = Report::parse(evidence.report.as_deref()?);
    let claimed = report.files_changed.as_deref().unwrap_or_default();
    let files = words_as_written(claimed).filter(|word| is_path(word));
    let unchanged = files.filter(|name| !done.files.iter().any(|file| is_same_path(file, name)));
    let commits = words_as_written(claimed).filter(|word| is_commit(word));
    let is_made = |name: &&str| {
        let name = name.to_ascii_lowercase();
        !done.commits.iter().any(|commit| commit.starts_with(&name))
    };
    let mut seen = Vec::new();
    seen.extend(listed("reported as changed, and not changed", unchanged));
    seen.extend(listed("reported as committed, and no commit of its own", commits.filter(is_made)));
    let is_named = |file: &String| {
        words_as_written(&report.raw).any(|word| is_path(word) && is_same_path(file, word))
            || report.raw.contains(file.as_str())
    };
    if !done.files.is_empty() && !done.files.iter().any(is_named) {
        seen.extend(listed("changed, and not reported", done.files.iter().map(String::as_str)));
    }
    (!seen.is_empty()).then(|| seen.join("; "))
}

/// A worker's report of more than [`REPORT_WORDS_MAX`] words.
pub(super) fn too_long(evidence: &Evidence<'_>) -> Option<String> {
    let report = evidence.report.as_deref().filter(|_| evidence.is_worker)?;
    let words = report.split_whitespace().count();
    (words > REPORT_WORDS_MAX)
        .then(|| format!("the report has {words} words of at most {REPORT_WORDS_MAX}"))
}

/// Returns true if a word looks like a commit's name. What is all digits, or all letters, is more likely something else.
fn is_commit(word: &str) -> bool {
    COMMIT_CHARS.contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn listed<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(NAMED_MAX)].join("`, `");
    match names.len().saturating_sub(NAMED_MAX) {
        _ if names.is_empty() => None,
        0 => Some(format!("{what}: `{shown}`")),
        more => Some(format!("{what}: `{shown}` and {more} more")),
    }
}

#[cfg(test)]
mod tests {
    use tine_model::{Block, Message, Outcome, Role};

    use super::*;
    use crate::worker::fresh_directive;

    fn evidence<'a>(said: &'a [Message], outcome: &'a Outcome, done: Option<Done>) -> Evidence<'a> {
        let evidence = Evidence::of_worker(said, outcome, &[], &fresh_directive("Change it."));
        Evidence { done, ..evidence }
    }

    /// Checks the finding about the report of a worker that changed `src/new.txt` and `b.rs` and made one commit.
    fn check(report: &str, expected: Option<&str>) {
        let said = [Message::new(Role::Assistant, vec![Block::Text(report.to_owned())])];
        let done = Done {
            files: vec!["src/new.txt".to_owned(), "b.rs".to_owned()],
            commits: vec!["abc1234def5678abc1234def5678abc1234def56".to_owned()],
        };
        let evidence = evidence(&said, &Outcome::Completed, Some(done));
        assert_eq!(claims(&evidence).as_deref(), expected, "{report}");
    }

    #[test]
    fn a_report_is_held_against_what_was_done() {
        let report = |changed: &str| format!("Scope: x\nResult: done\nFiles changed: {changed}");
        check(&report("src/new.txt, b.rs (abc1234)"), None);
        check(&report("- `new.txt` in commit ABC1234DEF\n- /w/1/b.rs"), None);
        check(
            &report("other.txt (abc1234)"),
            Some(
                "reported as changed, and not changed: `other.txt`; changed, and not reported: `src/new.txt`, `b.rs`",
            ),
        );
        check(
            &report("b.rs (0000aaa)"),
            Some("reported as committed, and no commit of its own: `0000aaa`"),
        );
        check(&report("none"), Some("changed, and not reported: `src/new.txt`, `b.rs`"));
        check("Scope: x\nResult: I wrote b.rs.", None);
        check(&report("b.rs; 1234567 bytes, facade added"), None);
        check(
            &report("b.rs, a.rs, c.rs, d.rs, e.rs"),
            Some("reported as changed, and not changed: `a.rs`, `c.rs`, `d.rs` and 1 more"),
        );
    }

    #[test]
    fn nothing_is_held_against_what_is_not_known() {
        let text = "Scope: x\nFiles changed: other.txt (abc1234)";
        let said = [Message::new(Role::Assistant, vec![Block::Text(text.to_owned())])];
        assert_eq!(claims(&evidence(&said, &Outcome::Completed, None)), None);
        let done = Some(Done::default());
        assert_eq!(claims(&evidence(&said, &Outcome::Aborted, done.clone())), None);
        assert!(claims(&evidence(&said, &Outcome::Completed, done.clone())).is_some());
        assert_eq!(claims(&evidence(&[], &Outcome::Completed, done)), None);
    }

    #[test]
    fn words_over_the_limit_are_seen() {
        for (words, expected) in
            [(500, None), (501, Some("the report has 501 words of at most 500"))]
        {
            let said = [Message::new(Role::Assistant, vec![Block::Text("word\n".repeat(words))])];
            let evidence = evidence(&said, &Outcome::Completed, None);
            assert_eq!(too_long(&evidence).as_deref(), expected);
            assert_eq!(too_long(&Evidence { is_worker: false, ..evidence }), None);
        }
    }
}
