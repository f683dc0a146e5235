//! Pieces of a conversation as lines.

use tine_fork::tools::ToolAnswer;

use crate::app::{AnswerText, CallPiece};
use crate::figures::plural;
use crate::words::{first_line, one_line, summary};

/// Words of the person.
pub(super) fn user(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

/// A call, with the number by which all of it is shown.
pub(super) fn call(number: usize, call: &CallPiece) -> String {
    format!("[{number}] {} {}", call.tool, one_line(&call.line))
}

/// What came of a call.
pub(super) fn answer(number: usize, answer: &AnswerText) -> String {
    let AnswerText { text, is_error, .. } = answer;
    let told = summary(&ToolAnswer { is_error: *is_error, ..ToolAnswer::ok(text) });
    let how = if *is_error { "failed" } else { "answered" };
    format!("[{number}] {how}: {told}")
}

/// Reasoning in a line.
pub(super) fn thinking(number: usize, text: &str) -> String {
    let more = text.trim().lines().count().saturating_sub(1) as u64;
    let more =
        if more > 0 { format!(" (and {})", plural(more, "more line")) } else { String::new() };
    format!("[{number}] reasoning: {}{more}", first_line(text))
}
