//! A conversation as tests show it.

use tine_model::{Block, Message};

use super::{Carries, Counts, ImportedConversation};

/// What was read, one message a line: in its own words where it has some, else block by block.
pub(super) fn shown(read: &ImportedConversation) -> String {
    let mut lines = Vec::new();
    lines.extend(read.system.iter().map(|system| format!("system: {system}")));
    lines.extend(read.messages.iter().map(message));
    lines.push(format!("model: {}", read.model.as_deref().unwrap_or("-")));
    if let Carries::Digest { reason } = &read.carries {
        lines.push(format!("digest: {reason}"));
    }
    lines.push(format!("left out: {}", counts(&read.left_out)));
    lines.push(format!("rewritten: {}", counts(&read.rewritten)));
    if !read.damaged_lines.is_empty() {
        lines.push(format!("damaged: {:?}", read.damaged_lines));
    }
    lines.join("\n")
}

fn message(message: &Message) -> String {
    match message.raw() {
        Some(raw) => raw.json.to_string(),
        None => {
            let blocks: Vec<String> = message.blocks().iter().map(block).collect();
            format!("{:?}: {}", message.role(), blocks.join(" + "))
        }
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{text:?}"),
        other => format!("{other:?}"),
    }
}

fn counts(counts: &Counts) -> String {
    let counts: Vec<String> =
        counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if counts.is_empty() { "-".to_owned() } else { counts.join(", ") }
}
