//! A question with all that it is about.

use tine_runtime::PermissionRequest;

use crate::app::{App, beyond_once, letters, where_and_why, who_asks, whole_request};
use crate::words::one_line;

/// The question, and the letters that answer it.
pub(super) fn text(app: &App, request: &PermissionRequest) -> String {
    let who = who_asks(request);
    let mut text = format!("? {who} wants to use {}\n", one_line(&request.tool));
    let standing = app.standing_of(request).join(" · ");
    if !standing.is_empty() {
        text.push_str(&format!("  {}\n", one_line(&standing)));
    }
    for line in whole_request(request).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(warning) = &request.warning {
        text.push_str(&format!("  warning: {}\n", one_line(warning)));
    }
    text.push_str(&format!("  {}\n", where_and_why(request)));
    if let Some(beyond) = beyond_once(request) {
        text.push_str(&format!("  {beyond}\n"));
    }
    let letters: Vec<String> =
        letters(request).map(|(letter, word)| format!("{letter} {word}")).collect();
    text.push_str(&format!("Allow it? Answer with a letter: {}, n no", letters.join(", ")));
    let (number, count) = (app.questions.number(), app.questions.len());
    text.push_str(&format!("\n({}", app.default_of(request)));
    if count > 1 {
        text.push_str(&format!("; question {number} of {count}, `/answer next` puts the next one"));
    }
    text.push(')');
    text
}
