//! Checks on a fork that has ended: did it stay with its task?
//!
//! Pure functions over what the fork did ([`Evidence`]) and what it inherited. They know no suite, no store and no model, and they
//! judge nothing by its meaning: each looks for one shape that forks are known to take when they go astray. A finding is a
//! reason to look, not a proof. How much of what was inherited is looked at has limits, so that the end of a worker costs
//! milliseconds whatever it inherited.
//!
//! ```
//! use tine_fork::stray::{Evidence, examine, nudge};
//! use tine_fork::Outcome;
//! use tine_fork::worker::{Inherits, worker_directive};
//! use tine_fork::message::{Message, Role, Block};
//!
//! let directive = worker_directive("Run the tests.", &Inherits::default());
//! let own = [Message::new(Role::Assistant, vec![Block::Text("All is fine.".to_owned())])];
//! let evidence = Evidence::of_worker(&own, &Outcome::Completed, &[], &directive);
//! let findings = examine(&evidence);
//! let flags: Vec<&str> = findings.iter().map(|finding| finding.check.as_str()).collect();
//! assert_eq!(flags, ["no_work", "missing_scope"]);
//! assert!(nudge(&findings).is_some());
//! ```

mod claims;
mod echo;
mod evidence;
mod foreign;
mod handed;
mod nudge;
mod report;
mod terms;
#[cfg(test)]
mod tests;
mod work;

use std::fmt;
use std::str::FromStr;

use tine_model::Message;

pub use claims::Done;
pub use echo::{
    ECHO_BYTES_MAX, ECHO_RESULT_BYTES_MAX, ECHO_SHARE_MIN, ECHO_SHINGLES_MIN, SHINGLE_WORDS,
};
pub use evidence::{Act, Evidence};
pub use foreign::{FOREIGN_SHARE_MIN, OWN_SHARE_MIN, TASK_MESSAGES_MAX, TASKS_MAX};
pub use handed::{CYCLE_CALLS_MAX, CYCLE_TIMES_MIN, HANDED_ON_MIN};
pub use nudge::nudge;

use crate::run::RunReport;

/// A way to go astray.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Nothing was done although the task asks for it.
    NoWork,
    /// The report is equal, or nearly, to a text that was inherited.
    Echo,
    /// A worker's report without its scope.
    MissingScope,
    /// A task that is somebody else's was done: the parent's, or a sibling's.
    ForeignTask,
    /// The same calls again and again, or the task handed on instead of done.
    Loop,
    /// The report and what was done in the worker's own worktree contradict each other: files, or commits.
    Claims,
    /// A worker's report has more words than it may have.
    TooLong,
    /// Every call was denied, so that nothing was done.
    Denied,
}

impl Check {
    /// Every check.
    pub const ALL: [Self; 8] = [
        Self::NoWork,
        Self::Echo,
        Self::MissingScope,
        Self::ForeignTask,
        Self::Loop,
        Self::Claims,
        Self::TooLong,
        Self::Denied,
    ];

    /// The fault in a few words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoWork => "nothing was done",
            Self::Echo => "it repeats what it had inherited",
            Self::MissingScope => "the report says no scope",
            Self::ForeignTask => "it did somebody else's task",
            Self::Loop => "it made the same calls again and again",
            Self::Claims => "its report and its changes differ",
            Self::TooLong => "the report is too long",
            Self::Denied => "no call was allowed",
        }
    }

    /// The word in suites, in JSON and as a task's flag. Parsing reads it back.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoWork => "no_work",
            Self::Echo => "echo",
            Self::MissingScope => "missing_scope",
            Self::ForeignTask => "foreign_task",
            Self::Loop => "loop",
            Self::Claims => "claims",
            Self::TooLong => "too_long",
            Self::Denied => "denied",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Check {
    type Err = UnknownCheck;

    fn from_str(word: &str) -> Result<Self, UnknownCheck> {
        let check = Self::ALL.into_iter().find(|check| check.as_str() == word);
        check.ok_or_else(|| UnknownCheck(word.to_owned()))
    }
}

/// A word that is no check's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown check `{0}`, expected one of `no_work`, `echo`, `missing_scope`, `foreign_task`, `loop`, `claims`, `too_long`, `denied`"
)]
pub struct UnknownCheck(
    /// The word.
    pub String,
);

/// What a check has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which check.
    pub check: Check,
    /// What it has seen, in words; a fragment without a full stop.
    pub seen: String,
}

/// Everything that the checks have seen, in the order of [`Check::ALL`].
pub fn examine(evidence: &Evidence<'_>) -> Vec<Finding> {
    let seen = |check: Check| match check {
        Check::NoWork => work::no_work(evidence),
        Check::Echo => echo::echo(evidence),
        Check::MissingScope => report::missing_scope(evidence),
        Check::ForeignTask => foreign::foreign_task(evidence),
        Check::Loop => handed::looping(evidence),
        Check::Claims => claims::claims(evidence),
        Check::TooLong => claims::too_long(evidence),
        Check::Denied => evidence.denied.clone(),
    };
    let finding = |check: Check| seen(check).map(|seen| Finding { check, seen });
    Check::ALL.into_iter().filter_map(finding).collect()
}

/// Examines a worker's run: what it inherited, oldest first, and what it was told, a whole directive or the task alone. A worker that
/// ran more than once, because it was nudged or resumed, is examined with the messages of all its runs by
/// [`Evidence::of_worker`]; else work that it did before would count as none.
pub fn examine_worker<'a>(
    report: &'a RunReport,
    inherited: impl IntoIterator<Item = &'a Message>,
    directive: &str,
) -> Vec<Finding> {
    let own = report.messages.iter().map(|message| &**message);
    examine(&Evidence::of_worker(own, &report.outcome, inherited, directive))
}
