//! What somebody reads when a fork or a task has ended: one envelope, whoever sends it and whoever reads it.
//!
//! It is text, because models read it, and well-formed XML, because programs do. It never decides what a result means.

mod parse;

use std::fmt;

use tine_model::Outcome;

pub(crate) use self::parse::{Elements, content};
use crate::envelope::XmlText;
use crate::outcome::{ForkResult, in_words};
use crate::report::Report;

/// Longest summary, in characters: it stands on one line of a list.
pub const SUMMARY_CHARS_MAX: usize = 80;

/// The tag of the envelope.
const ENVELOPE: &str = "task-notification";

/// How a task ended, as far as its spawner has to tell endings apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotificationStatus {
    /// It did what it was asked, as far as it knows.
    Completed,
    /// It ended without that.
    Failed,
    /// Somebody stopped it.
    Killed,
    /// Its time was up.
    Timeout,
}

impl NotificationStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Completed, Self::Failed, Self::Killed, Self::Timeout];

    /// The word in the envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Timeout => "timeout",
        }
    }
}

impl From<&Outcome> for NotificationStatus {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Aborted => Self::Killed,
            Outcome::TimedOut => Self::Timeout,
            Outcome::TurnLimit
            | Outcome::LengthCut
            | Outcome::Refused
            | Outcome::BudgetExhausted
            | Outcome::Failed(_) => Self::Failed,
        }
    }
}

/// What a task used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotificationUsage {
    /// Tokens of all its requests, prompt and output together, whether or not a cache served them.
    pub total_tokens: u64,
    /// Tool calls that it made; not its turns.
    pub tool_uses: u32,
    /// From its start to its end in milliseconds, where that was measured.
    pub duration_ms: Option<u64>,
}

/// The notice that a task has ended. [`fmt::Display`] writes the envelope; [`Self::parse`] reads it.
///
/// ```
/// use tine_fork::notification::{NotificationStatus, NotificationUsage, TaskNotification};
///
/// let notice = TaskNotification {
///     task_id: "7".to_owned(),
///     status: NotificationStatus::Completed,
///     summary: TaskNotification::summary_of(Some("\nFound 3 files.\nThey are:"), "completed"),
///     result: Some("if a < b".to_owned()),
///     worktree: None,
///     usage: Some(NotificationUsage { total_tokens: 120, tool_uses: 3, duration_ms: None }),
/// };
/// assert_eq!(notice.summary, "Found 3 files.");
/// assert!(notice.to_string().contains("<result>if a &lt; b</result>"));
/// let mail = format!("A worker says:\n{notice}\nGo on.");
/// assert_eq!(TaskNotification::parse(&mail), Some(notice));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNotification {
    /// Which task.
    pub task_id: String,
    /// How it ended.
    pub status: NotificationStatus,
    /// One line; [`Self::summary_of`] makes one of at most [`SUMMARY_CHARS_MAX`] characters.
    pub summary: String,
    /// Its last words.
    pub result: Option<String>,
    /// Where its changes are, where it worked in a place of its own.
    pub worktree: Option<String>,
    /// What it used.
    pub usage: Option<NotificationUsage>,
}

/// The end of a task, for [`TaskNotification::of_end`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedTask {
    /// Which task.
    pub task_id: String,
    /// Its status at the end.
    pub status: NotificationStatus,
    /// Why it did not complete; ignored for a task that did.
    pub cause: Option<String>,
    /// Its last words.
    pub last_words: Option<String>,
    /// The worktree that holds its changes.
    pub worktree: Option<String>,
    /// Its usage.
    pub usage: NotificationUsage,
}

/// Returns the text that a report says under its result, unless it is blank.
fn finding(report: Report) -> Option<String> {
    report.result.filter(|result| !result.trim().is_empty())
}

impl TaskNotification {
    /// The first line of `told` that is not blank, else `otherwise`; cut to [`SUMMARY_CHARS_MAX`] characters.
    pub fn summary_of(told: Option<&str>, otherwise: &str) -> String {
        let is_break = |c: char| matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let lines = told.into_iter().flat_map(|text| text.split(is_break));
        let line = lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or(otherwise);
        let cut: String = line.chars().take(SUMMARY_CHARS_MAX).collect();
        cut.trim_end().to_owned()
    }

    /// The notice of an end, whoever has seen it. What completed is summed up by the first line of its result
    /// ([`Report::result`]), or of whatever it said last; every other end by its cause.
    pub fn of_end(end: EndedTask) -> Self {
        let EndedTask { task_id, status, cause, last_words, worktree, usage } = end;
        let words = last_words.as_deref();
        let summary = match status {
            NotificationStatus::Completed => match words.map(Report::parse).and_then(finding) {
                Some(result) => Self::summary_of(Some(&result), ""),
                None => Self::summary_of(words, status.as_str()),
            },
            NotificationStatus::Failed
            | NotificationStatus::Killed
            | NotificationStatus::Timeout => Self::summary_of(cause.as_deref(), status.as_str()),
        };
        Self { task_id, status, summary, result: last_words, worktree, usage: Some(usage) }
    }

    /// Reads the first envelope in `text` that says which task it is of and how that ended; `None` where there is none. Lenient
    /// with whatever a model or another program may have made of it: text around it, elements in any order, twice, unknown or
    /// missing, blanks, comments, entities, CDATA, a status in capitals, an end that was cut off. What is missing of the usage
    /// is 0. Never panics.
    pub fn parse(text: &str) -> Option<Self> {
        parse::envelope(text)
    }
}

impl ForkResult {
    /// The notice of this end: killed where somebody stopped the fork, timeout where its time was up, failed for every other
    /// end but completion. The summary of a completed fork is the first line of its result, of every other one the cause.
    ///
    /// ```
    /// # use tine_fork::ForkResult;
    /// fn mail(result: &ForkResult) -> String {
    ///     result.to_task_notification().to_string()
    /// }
    /// ```
    pub fn to_task_notification(&self) -> TaskNotification {
        TaskNotification::of_end(EndedTask {
            task_id: self.run_id.to_string(),
            status: NotificationStatus::from(&self.outcome),
            cause: Some(in_words(&self.outcome)),
            last_words: self.final_text.clone(),
            worktree: None,
            usage: NotificationUsage {
                total_tokens: self.usage.prompt() + self.usage.output,
                tool_uses: self.tool_uses,
                duration_ms: Some(u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX)),
            },
        })
    }
}

impl fmt::Display for TaskNotification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "<{ENVELOPE}>")?;
        writeln!(f, "<task-id>{}</task-id>", XmlText(&self.task_id))?;
        writeln!(f, "<status>{}</status>", self.status.as_str())?;
        writeln!(f, "<summary>{}</summary>", XmlText(&self.summary))?;
        if let Some(result) = &self.result {
            writeln!(f, "<result>{}</result>", XmlText(result))?;
        }
        if let Some(worktree) = &self.worktree {
            writeln!(f, "<worktree>{}</worktree>", XmlText(worktree))?;
        }
        if let Some(usage) = &self.usage {
            write!(f, "<usage><total_tokens>{}</total_tokens>", usage.total_tokens)?;
            write!(f, "<tool_uses>{}</tool_uses>", usage.tool_uses)?;
            if let Some(duration_ms) = usage.duration_ms {
                write!(f, "<duration_ms>{duration_ms}</duration_ms>")?;
            }
            writeln!(f, "</usage>")?;
        }
        write!(f, "</{ENVELOPE}>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(told: Option<&str>, expected: &str) {
        assert_eq!(TaskNotification::summary_of(told, "turn limit"), expected);
    }

    #[test]
    fn a_summary_is_the_first_line_with_words_cut_at_a_character() {
        check(Some(" \n\t\r\n  One line.  \nTwo."), "One line.");
        check(Some("carriage\rreturn"), "carriage");
        check(Some("\u{2028}\u{85} next"), "next");
        check(Some("\n\n"), "turn limit");
        check(None, "turn limit");
        check(Some(&"é".repeat(200)), &"é".repeat(80));
        check(Some(&format!("{} {}", "a".repeat(79), "b")), &"a".repeat(79));
    }

    fn summed_up(status: NotificationStatus, cause: Option<&str>, words: Option<&str>) -> String {
        let notice = TaskNotification::of_end(EndedTask {
            task_id: "t".to_owned(),
            status,
            cause: cause.map(str::to_owned),
            last_words: words.map(str::to_owned),
            worktree: None,
            usage: NotificationUsage::default(),
        });
        assert_eq!(notice.result.as_deref(), words);
        notice.summary
    }

    #[test]
    fn a_completed_task_is_summed_up_by_its_result_and_not_by_its_task() {
        let check = |words: Option<&str>, expected: &str| {
            assert_eq!(summed_up(NotificationStatus::Completed, None, words), expected);
        };
        check(Some("Scope: count files\nResult: 3 files\nKey files: a"), "3 files");
        check(Some("**Scope:** count\n**Result:**\n\n  3 files:\n  a, b"), "3 files:");
        check(Some("I counted.\nThree."), "I counted.");
        check(Some("Scope: count\nResult: \nIssues: none"), "Scope: count");
        check(Some(" \n"), "completed");
        check(None, "completed");
    }

    #[test]
    fn every_other_end_is_summed_up_by_its_cause() {
        let words = Some("Scope: x\nResult: half");
        for status in NotificationStatus::ALL {
            if status != NotificationStatus::Completed {
                assert_eq!(summed_up(status, Some("turn limit"), words), "turn limit");
                assert_eq!(summed_up(status, None, words), status.as_str());
            }
        }
    }

    #[test]
    fn an_envelope_is_well_formed_whatever_is_in_it() {
        let notice = TaskNotification {
            task_id: "a&b".to_owned(),
            status: NotificationStatus::Timeout,
            summary: "</summary>\u{0}\u{b}".to_owned(),
            result: Some(" ]]> <result>\r\n& \u{1b}[31mred\u{ffff}\n".to_owned()),
            worktree: Some("/w/<1>: 2 files changed".to_owned()),
            usage: Some(NotificationUsage { duration_ms: Some(9), ..NotificationUsage::default() }),
        };
        insta::assert_snapshot!(notice, @r"
        <task-notification>
        <task-id>a&amp;b</task-id>
        <status>timeout</status>
        <summary>&lt;/summary&gt;��</summary>
        <result>&#32;]]&gt; &lt;result&gt;&#13;
        &amp; �[31mred�&#10;</result>
        <worktree>/w/&lt;1&gt;: 2 files changed</worktree>
        <usage><total_tokens>0</total_tokens><tool_uses>0</tool_uses><duration_ms>9</duration_ms></usage>
        </task-notification>
        ");
    }
}
