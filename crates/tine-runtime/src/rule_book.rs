//! The place of rules that count in later runs.

use tine_model::Decision;

/// The place of rules that count in later runs, too.
pub trait RuleBook: Send + Sync {
    /// Adds a rule. Returns what a person is told of it.
    fn keep(&self, decision: Decision, rule: &str) -> Result<String, NotKept>;
}

/// A rule could not be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKept {
    /// The reason.
    pub why: String,
    /// The way to keep it by hand.
    pub hint: String,
}
