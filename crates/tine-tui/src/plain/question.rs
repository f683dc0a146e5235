//! A question with all that it is about.

use tine_runtime::PermissionRequest;

use crate::app::{App, where_and_why};
use crate::question::{Step, asked_lines, warning};
use crate::words::{listed, one_line};

/// The question, and the answers to it.
pub(super) fn text(app: &App, request: &PermissionRequest) -> String {
    let askers = app.askers(request);
    let wants = if askers.len() > 1 { "want" } else { "wants" };
    let mut text = format!("? {} {wants} to use {}\n", listed(&askers), one_line(&request.tool));
    let standing = app.standing_of(request).join(" · ");
    if !standing.is_empty() {
        text.push_str(&format!("  {}\n", one_line(&standing)));
    }
    for line in asked_lines(&request.into()) {
        text.push_str(&format!("  {}{}\n", line.shade.sign(), line.text()));
    }
    for warning in request.warning.clone().into_iter().chain(warning(&request.into())) {
        text.push_str(&format!("  warning: {}\n", one_line(&warning)));
    }
    text.push_str(&format!("  {}\n", where_and_why(request)));
    let (step, _) = app.questions.choosing();
    if let Step::Reach(cover) = step {
        text.push_str(&format!("{}\n", cover.whole_words()));
    }
    for (place, choice) in app.panel_choices().iter().enumerate() {
        text.push_str(&format!("  {} {}\n", place + 1, choice.words()));
    }
    text.push_str(match (step, app.question_is_active()) {
        (_, false) => {
            "Answer with /answer y, /answer n, /answer n REASON or /answer NUMBER; /answer show shows it with line numbers."
        }
        (Step::Answer, true) if !app.words_answer() => {
            "Answer y, n or a number; other words go to the agent that you see. /answer n REASON tells this one what to do instead, /answer show shows it with line numbers."
        }
        (Step::Answer, true) => {
            "Answer y, n or a number; other words mean no, and what to do instead. /answer show shows it with line numbers."
        }
        (Step::Reach(_), true) => "A number adds this rule; n means no.",
    });
    let (number, count) = app.question_place();
    text.push_str(&format!("\n({}", app.default_of(request)));
    if count > 1 {
        text.push_str(&format!("; question {number} of {count}, `/answer next` puts the next one"));
    }
    text.push(')');
    text
}
