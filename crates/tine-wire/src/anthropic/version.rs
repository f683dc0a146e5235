//! Parts of messages that a later version of the API refuses.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role, WireFormat};

/// Returns true for messages that only the version before 2026-10-21 takes: documents in what the model said, citations in what the user
/// said.
pub(crate) fn is_of_version_before(message: &Message) -> bool {
    match message.role() {
        Role::Assistant => message.blocks().iter().any(|block| matches!(block, Block::Document(_))),
        Role::User | Role::System => has_citations(message),
    }
}

fn has_citations(message: &Message) -> bool {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow)]
        citations: Option<&'a RawValue>,
    }
    let raw = message.raw().filter(|raw| raw.format == WireFormat::Anthropic);
    // Most messages have none, and are not parsed for it.
    let Some(raw) = raw.filter(|raw| raw.json.as_str().contains("\"citations\"")) else {
        return false;
    };
    let parts: Option<Vec<Part<'_>>> = serde_json::from_str::<Said<'_>>(raw.json.as_str())
        .ok()
        .and_then(|said| serde_json::from_str(said.content.get()).ok());
    // A document says whether it may be cited in an object of that name; citations are a list.
    let is_cited = |list: &RawValue| {
        list.get().strip_prefix('[').is_some_and(|rest| !rest.trim_start().starts_with(']'))
    };
    parts.unwrap_or_default().iter().filter_map(|part| part.citations).any(is_cited)
}
