//! No work: a task that asks for it, and no call.

use super::Evidence;
use super::terms::{is_path, words};

/// Verbs that cannot be obeyed without a tool.
const WORK: [&str; 31] = [
    "add",
    "build",
    "change",
    "check",
    "count",
    "create",
    "delete",
    "edit",
    "extract",
    "find",
    "fix",
    "implement",
    "inspect",
    "install",
    "list",
    "look",
    "measure",
    "move",
    "read",
    "refactor",
    "remove",
    "rename",
    "replace",
    "run",
    "scan",
    "search",
    "test",
    "update",
    "verify",
    "write",
    "grep",
];

/// A task asks for work when it has one of the verbs of work in it or names a file. (Tasks that ask for words alone, such as
/// `Summarise what we decided`, need no call.) A call that failed is work: it was tried.
pub(super) fn no_work(evidence: &Evidence<'_>) -> Option<String> {
    if !evidence.acts.is_empty() || !evidence.is_completed() {
        return None;
    }
    let task = evidence.task();
    let verb = words(task).find(|word| WORK.contains(&word.as_str()));
    let path = || task.split_whitespace().find(|word| is_path(word)).map(str::to_owned);
    let asked = verb.or_else(path)?;
    Some(format!("the task asks for work (`{asked}`) and no tool was called"))
}
