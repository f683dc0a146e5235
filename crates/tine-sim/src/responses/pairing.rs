//! What must stand together: a call and its output, reasoning and the item that it led to.

use super::items::Item;
use super::reply::{CUSTOM_CALL, required_reasoning};
use crate::refusal::Refusal;

/// Kinds of calls, as refusals name them. Source of the words: reports of both by users of Codex, 2026.
const FUNCTION: &str = "function call";
const CUSTOM: &str = "custom tool call";

/// Checks a whole input.
pub(super) fn check(items: &[Item]) -> Result<(), Refusal> {
    check_outputs(items)?;
    for (index, item) in items.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| items.get(before));
        check_follower(item, before)?;
        if item.kind() == "reasoning" && !items.get(index + 1).is_some_and(Item::is_from_model) {
            return Err(Refusal::invalid(format!(
                "Item '{}' of type 'reasoning' was provided without its required following item.",
                item.text("id")
            ))
            .at("input"));
        }
    }
    Ok(())
}

/// Every call is answered somewhere behind it, and every output answers a call of its kind once.
fn check_outputs(items: &[Item]) -> Result<(), Refusal> {
    // Each with its kind, as refusals name it.
    let mut open: Vec<(&str, &str)> = Vec::new();
    for item in items {
        let id = item.text("call_id");
        match item.kind() {
            "function_call" => open.push((FUNCTION, id)),
            CUSTOM_CALL => open.push((CUSTOM, id)),
            _ if item.is_output() => {
                let kind = if item.kind() == "function_call_output" { FUNCTION } else { CUSTOM };
                let Some(call) = open.iter().position(|call| *call == (kind, id)) else {
                    return Err(Refusal::invalid(format!(
                        "No tool call found for {kind} output with call_id {id}."
                    ))
                    .at("input"));
                };
                open.remove(call);
            }
            _ => {}
        }
    }
    match open.first() {
        None => Ok(()),
        Some((kind, id)) => {
            Err(Refusal::invalid(format!("No tool output found for {kind} {id}.")).at("input"))
        }
    }
}

/// An item that came with reasoning is sent back behind it. Its id tells; an item without an id is not judged.
fn check_follower(item: &Item, before: Option<&Item>) -> Result<(), Refusal> {
    let Some(required) = required_reasoning(item.text("id")) else { return Ok(()) };
    let is_there = before.is_some_and(|before| {
        let id = before.text("id");
        before.kind() == "reasoning" && (id.is_empty() || id == required)
    });
    if is_there {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "Item '{}' of type '{}' was provided without its required 'reasoning' item: '{required}'.",
            item.text("id"),
            item.kind()
        ))
        .at("input"))
    }
}
