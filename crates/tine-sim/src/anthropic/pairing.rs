//! Who may speak after whom, and that every tool call has its result where it belongs.

use std::collections::HashSet;

use super::models;
use super::request::{Role, Turn};
use crate::refusal::Refusal;

/// Checks the order of a conversation's turns, as a model takes them.
pub(super) fn check(turns: &[Turn], model: &str) -> Result<(), Refusal> {
    let (Some(first), Some(last)) = (turns.first(), turns.last()) else {
        return Err(Refusal::invalid("messages: at least one message is required"));
    };
    if first.role != Role::User {
        return Err(Refusal::invalid("messages: first message must use the \"user\" role"));
    }
    let mut ids = HashSet::new();
    for (index, turn) in turns.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| turns.get(before));
        match turn.role {
            Role::User => check_results(turn, before)?,
            Role::Assistant => check_calls(turn, turns.get(index + 1), &mut ids)?,
            Role::System if !models::takes_system_messages(model) => {
                return Err(Refusal::invalid(format!(
                    "{}.role: this model does not support \"system\" messages; use the top-level `system`",
                    turn.path
                )));
            }
            Role::System => check_system(turn, before, turns.get(index + 1))?,
        }
    }
    match last.role {
        // Dangling calls were reported above; this is text that the model is to continue.
        Role::Assistant if models::takes_prefill(model) => Ok(()),
        Role::Assistant => Err(Refusal::invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )),
        Role::User | Role::System => Ok(()),
    }
}

fn calls(turn: &Turn) -> impl Iterator<Item = &str> {
    turn.blocks.iter().filter(|block| block.kind() == "tool_use").map(|block| block.text_of("id"))
}

/// `ids` are those of all calls so far.
fn check_calls<'t>(
    turn: &'t Turn,
    next: Option<&Turn>,
    ids: &mut HashSet<&'t str>,
) -> Result<(), Refusal> {
    if let Some(twice) = calls(turn).find(|id| !ids.insert(*id)) {
        return Err(Refusal::invalid(format!(
            "{}: `tool_use` ids must be unique, {twice} is not",
            turn.path
        )));
    }
    let answered: HashSet<&str> = next
        .filter(|next| next.role == Role::User)
        .into_iter()
        .flat_map(|next| &next.blocks)
        .filter(|block| block.kind() == "tool_result")
        .map(|block| block.text_of("tool_use_id"))
        .collect();
    let open: Vec<&str> = calls(turn).filter(|id| !answered.contains(id)).collect();
    if open.is_empty() {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block needs its `tool_result` in the next message.",
            turn.path,
            open.join(", ")
        )))
    }
}

fn check_results(turn: &Turn, before: Option<&Turn>) -> Result<(), Refusal> {
    let mut open: HashSet<&str> = before
        .filter(|before| before.role == Role::Assistant)
        .map(calls)
        .into_iter()
        .flatten()
        .collect();
    let has_calls = !open.is_empty();
    let mut is_past_results = false;
    for block in &turn.blocks {
        let (path, id) = (&block.path, block.text_of("tool_use_id"));
        if block.kind() != "tool_result" {
            is_past_results = true;
        } else if !open.remove(id) {
            return Err(Refusal::invalid(format!(
                "{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block needs its `tool_use` block in the previous message, and answers it once."
            )));
        } else if has_calls && is_past_results {
            return Err(Refusal::invalid(format!(
                "{path}: `tool_result` blocks must come first in a message, before any other content"
            )));
        }
    }
    Ok(())
}

fn check_system(turn: &Turn, before: Option<&Turn>, next: Option<&Turn>) -> Result<(), Refusal> {
    let is_after_user = before.is_some_and(|before| before.role == Role::User);
    let is_before_answer = next.is_none_or(|next| next.role == Role::Assistant);
    if is_after_user && is_before_answer {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "{}: a \"system\" message must follow a user message and stand before an assistant message or last",
            turn.path
        )))
    }
}
