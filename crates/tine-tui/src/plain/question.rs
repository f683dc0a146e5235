//! A question with all that it is about.

use tine_model::PermissionScope;
use tine_runtime::PermissionRequest;

use crate::app::{App, LETTERS, whole_request};
use crate::words::one_line;

/// The question, and the letters that answer it.
pub(super) fn text(app: &App, request: &PermissionRequest) -> String {
    let who = match &request.label {
        None => request.agent.short(),
        Some(label) => format!("{} ({})", one_line(label), request.agent.short()),
    };
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
    text.push_str(&format!("  in {}: {}\n", one_line(&request.directory), one_line(&request.why)));
    if PermissionScope::Agent.is_within(request.widest) {
        let rule = request.rule.as_ref().map(|rule| one_line(rule));
        let rule = rule.unwrap_or_else(|| "this call with these arguments".to_owned());
        text.push_str(&format!("  beyond once: {rule}\n"));
    }
    let offered = LETTERS.iter().filter(|(_, _, scope)| scope.is_within(request.widest));
    let letters: Vec<String> =
        offered.map(|(letter, word, _)| format!("{letter} {word}")).collect();
    text.push_str(&format!("Allow it? Answer with a letter: {}, n no", letters.join(", ")));
    let (number, count) = (app.questions.number(), app.questions.len());
    text.push_str(&format!("\n({}", app.default_of(request)));
    if count > 1 {
        text.push_str(&format!("; question {number} of {count}, `/answer next` puts the next one"));
    }
    text.push(')');
    text
}
