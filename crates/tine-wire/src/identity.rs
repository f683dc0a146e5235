//! Identities of messages and of whole beginnings of a request, by what they say.
//!
//! Programs write their requests anew: a mark moves on, a text becomes a list of one block, members change their order. A cache serves
//! all of these alike, so requests in the bytes of other programs are compared by identity and not by bytes.

use serde_json::value::RawValue;
use tine_history::{Hash, History, close_calls};
use tine_model::{Block, Message, Role, ToolInput, WireFormat};

use crate::difference::head_identity;
use crate::strip;

/// Settings of a request that no cache looks at: names of the person, the turn or the like, and what only shapes the reply. Source:
/// Anthropic, "Prompt caching", what invalidates the cache.
const LABELS: [&str; 11] = [
    "metadata",
    "client_metadata",
    "prompt_cache_key",
    "user",
    "safety_identifier",
    "service_tier",
    "stop",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
];

/// Identity of all that stands before the messages of a request and that a cache looks at. `settings` is the request without its
/// messages, as one JSON object.
pub(crate) fn beginning(format: WireFormat, settings: &[u8]) -> Hash {
    head_identity(format, &unlabelled(settings))
}

/// Identities of the beginnings of a conversation: of none of its messages, of one, and so on. Calls that a message leaves open count
/// as they are closed in a request. Takes time linear in the conversation.
pub(crate) fn beginnings(beginning: Hash, history: &History) -> Vec<Hash> {
    let mut hashes = Vec::with_capacity(history.len() + 1);
    hashes.push(beginning);
    let (mut hash, mut before): (Hash, Option<&Message>) = (beginning, None);
    for item in history.iter() {
        let message = &*item.message;
        let closed = close_calls(before, message);
        if !closed.placeholders.is_empty() {
            let mut hasher = blake3::Hasher::new();
            closed.placeholders.iter().for_each(|call| parts(&mut hasher, &["closed", &call.0]));
            hash = chained(&hash, hasher.finalize().as_bytes());
        }
        hash = chained(&hash, &identity(message));
        hashes.push(hash);
        before = Some(message);
    }
    hashes
}

/// The body without labels.
pub(crate) fn unlabelled(body: &[u8]) -> Vec<u8> {
    let cut = || {
        let raw: &RawValue = serde_json::from_slice(body).ok()?;
        let members = strip::members(raw).ok()?;
        let is_label =
            |key: &RawValue| LABELS.iter().any(|label| key.get().trim_matches('"') == *label);
        let mut cuts = Vec::new();
        strip::cut_members(raw.get(), &members, is_label, &mut cuts);
        Some(strip::remaining(raw.get(), &cuts).into_bytes())
    };
    cut().unwrap_or_else(|| body.to_vec())
}

/// Identity of a message by what it says: who speaks, and the blocks. Equal for a reply and for the message in which a program sends it
/// back, however its JSON is written; members that no block has, and cache marks, do not count.
pub fn identity(message: &Message) -> Hash {
    let mut hasher = blake3::Hasher::new();
    let role = match message.role() {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    part(&mut hasher, role);
    blocks(&mut hasher, message.blocks());
    *hasher.finalize().as_bytes()
}

fn blocks(hasher: &mut blake3::Hasher, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(text) => parts(hasher, &["text", text]),
            Block::Thinking { text, signature } => {
                parts(hasher, &["thinking", text, signature.as_deref().unwrap_or_default()]);
            }
            Block::RedactedThinking(data) => parts(hasher, &["redacted", data]),
            Block::ToolUse { id, name, input } => {
                let input = match input {
                    ToolInput::Valid(input) => plain(input.as_str()),
                    ToolInput::Invalid(_) => "{}".to_owned(),
                };
                parts(hasher, &["call", &id.0, name, &input]);
            }
            Block::ToolResult { call, content, is_error } => {
                parts(hasher, &["result", &call.0, if *is_error { "error" } else { "" }]);
                self::blocks(hasher, content);
                part(hasher, "end");
            }
            Block::Image(json) => parts(hasher, &["image", &plain(json.as_str())]),
            Block::Document(json) => parts(hasher, &["document", &plain(json.as_str())]),
            Block::Unknown(json) => parts(hasher, &["unknown", &plain(json.as_str())]),
        }
    }
}

fn parts(hasher: &mut blake3::Hasher, texts: &[&str]) {
    texts.iter().for_each(|text| part(hasher, text));
}

/// The length is in it, so that no two lists are one text.
fn part(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
}

/// JSON without blanks, and with one way to write each text.
fn plain(json: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(json);
    value.map_or_else(|_| json.to_owned(), |value| value.to_string())
}

/// Identity of a beginning and of what follows it.
pub(crate) fn chained(before: &Hash, next: &Hash) -> Hash {
    *blake3::Hasher::new_keyed(before).update(next).finalize().as_bytes()
}
