//! A worker's report without its scope.

use super::Evidence;
use crate::report::Report;

/// A worker is told to begin with its scope: one that does not say it may not have understood that it has one. Only for workers
/// that ended of their own will; where the scope stands does not matter.
pub(super) fn missing_scope(evidence: &Evidence<'_>) -> Option<String> {
    if !evidence.is_worker || !evidence.is_completed() {
        return None;
    }
    let Some(report) = &evidence.report else { return Some("there is no report".to_owned()) };
    if Report::parse(report).scope.is_none_or(|scope| scope.is_empty()) {
        Some("the report says no scope".to_owned())
    } else {
        None
    }
}
