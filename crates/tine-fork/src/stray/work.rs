//! No work: a task that asks for it, and no call.

use std::collections::HashSet;

use tine_model::{Block, Message, ToolInput};

use super::Evidence;
use super::terms::{DOING, LOOKING, is_path, is_same_path, orders, paths, words_as_written};

/// A task asks for work when it orders to change something; and when it orders to look something up or names a file, unless every
/// file that it names was opened before the fork: then the answer was inherited, which is what a fork is for. Tasks that ask for
/// words alone, such as `Summarise what we decided`, need no call. A call that failed is work: it was tried.
pub(super) fn no_work(evidence: &Evidence<'_>) -> Option<String> {
    if !evidence.acts.is_empty() || !evidence.is_completed() {
        return None;
    }
    let task = &*evidence.task();
    let orders = orders(task);
    let one_of = |verbs: &[&str]| orders.iter().find(|order| verbs.contains(&order.as_str()));
    let named: Vec<String> = paths(task).collect();
    let asked = match (one_of(&DOING), one_of(&LOOKING).or(named.first())) {
        (Some(order), _) => order,
        (None, Some(_)) if !named.is_empty() && were_opened(&named, &evidence.inherited) => {
            return None;
        }
        (None, asked) => asked?,
    };
    Some(format!("the task asks for work (`{asked}`) and no tool was called"))
}

/// Whether inherited calls name all of these files and were answered. Looks from the end, and no farther than it has to.
fn were_opened(named: &[String], inherited: &[&Message]) -> bool {
    let mut missing: Vec<&str> = named.iter().map(String::as_str).collect();
    let mut answered = HashSet::new();
    for block in inherited.iter().rev().flat_map(|message| message.blocks().iter().rev()) {
        match block {
            Block::ToolResult { call, content, is_error: false } => {
                if content.iter().filter_map(Block::as_text).any(|text| !text.is_empty()) {
                    answered.insert(call);
                }
            }
            Block::ToolUse { id, input, .. } if answered.remove(id) => {
                let text = match input {
                    ToolInput::Valid(json) => json.as_str(),
                    ToolInput::Invalid(text) => text,
                };
                let files = words_as_written(text).filter(|word| is_path(word));
                let files: Vec<&str> = files.collect();
                missing.retain(|name| !files.iter().any(|file| is_same_path(file, name)));
                if missing.is_empty() {
                    return true;
                }
            }
            Block::ToolResult { .. }
            | Block::ToolUse { .. }
            | Block::Text(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => {}
        }
    }
    false
}
