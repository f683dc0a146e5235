//! Log entries ⇄ the opaque texts that the store keeps.
//!
//! A message that came from a provider is stored in the provider's own words; the blocks are read from them again. A
//! message that we wrote is stored block by block.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tine_model::{
    Block, DialectChange, Entry, EntryBody, EntryId, Message, RawJson, Role, SeenFile, ToolCallId,
    ToolInput, WireFormat,
};
use tine_store::{EntryKind, EntryRow, ForkEvent, NewEntry};

use crate::error::RuntimeError;

/// A message as stored. Exactly one of the two forms is present.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<StoredRole>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<Vec<StoredBlock>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<StoredSeen>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSeen {
    path: String,
    /// In hexadecimal digits, as are the lines: four digits each.
    hash: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    lines: String,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum StoredRole {
    User,
    Assistant,
    System,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredBlock {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    RedactedThinking(String),
    ToolUse { id: String, name: String, input: Box<RawValue> },
    InvalidToolUse { id: String, name: String, input: String },
    ToolResult { call: String, content: Vec<StoredBlock>, is_error: bool },
    Image(Box<RawValue>),
    Document(Box<RawValue>),
    Unknown(Box<RawValue>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMark {
    label: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRewind {
    to: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCompact {
    keep: Option<i64>,
    preface: StoredMessage,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredDialect {
    host: String,
    left_out: Vec<String>,
    refusal: Option<String>,
    from: Option<i64>,
    rewrites: bool,
    lost_tokens: u64,
    lost_micro_usd: Option<u64>,
}

/// A row for the log. Fork events are not among them: the store writes those itself.
pub(crate) fn message_row(message: &Message, at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Message, body: to_text(&store_message(message)), at_ms }
}

fn store_message(message: &Message) -> StoredMessage {
    let seen = message.seen().iter().map(store_seen).collect();
    match message.raw() {
        Some(raw) => StoredMessage {
            format: Some(raw.format.as_str().to_owned()),
            raw: Some(raw_value(&raw.json)),
            role: None,
            blocks: None,
            seen,
        },
        None => StoredMessage {
            format: None,
            raw: None,
            role: Some(store_role(message.role())),
            blocks: Some(message.blocks().iter().map(store_block).collect()),
            seen,
        },
    }
}

fn store_seen(seen: &SeenFile) -> StoredSeen {
    let hash = seen.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let lines = seen.lines.iter().map(|line| format!("{line:04x}")).collect();
    StoredSeen { path: seen.path.clone(), hash, lines }
}

fn read_seen(stored: StoredSeen) -> Result<SeenFile, String> {
    let StoredSeen { path, hash, lines } = stored;
    let hash = digits::<2>(&hash).map(|hash| hash.iter().map(|&byte| byte as u8).collect());
    let hash: Vec<u8> = hash.ok_or("the hash of a file is no hexadecimal number")?;
    let hash = hash.try_into().map_err(|_| "the hash of a file has not 64 digits")?;
    let lines = digits::<4>(&lines).ok_or("the lines of a file are no hexadecimal numbers")?;
    Ok(SeenFile { path, hash, lines })
}

/// Reads numbers of `N` hexadecimal digits each, at most four.
fn digits<const N: usize>(text: &str) -> Option<Vec<u16>> {
    let chunks = text.as_bytes().chunks(N).map(|chunk| {
        let chunk = std::str::from_utf8(chunk).ok().filter(|chunk| chunk.len() == N)?;
        u16::from_str_radix(chunk, 16).ok()
    });
    chunks.collect()
}

pub(crate) fn compact_row(keep: Option<EntryId>, preface: &Message, at_ms: i64) -> NewEntry {
    let stored = StoredCompact { keep: keep.map(|entry| entry.0), preface: store_message(preface) };
    NewEntry { kind: EntryKind::Compact, body: to_text(&stored), at_ms }
}

pub(crate) fn dialect_row(change: &DialectChange, at_ms: i64) -> NewEntry {
    let DialectChange { host, left_out, refusal, from, .. } = change.clone();
    let stored = StoredDialect {
        host,
        left_out,
        refusal,
        from: from.map(|entry| entry.0),
        rewrites: change.rewrites,
        lost_tokens: change.lost_tokens,
        lost_micro_usd: change.lost_micro_usd,
    };
    NewEntry { kind: EntryKind::Dialect, body: to_text(&stored), at_ms }
}

pub(crate) fn notice_row(text: &str, at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Notice, body: text.to_owned(), at_ms }
}

pub(crate) fn clear_row(at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Clear, body: String::new(), at_ms }
}

pub(crate) fn mark_row(label: Option<String>, at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Mark, body: to_text(&StoredMark { label }), at_ms }
}

pub(crate) fn rewind_row(to: Option<EntryId>, at_ms: i64) -> NewEntry {
    let stored = StoredRewind { to: to.map(|entry| entry.0) };
    NewEntry { kind: EntryKind::Rewind, body: to_text(&stored), at_ms }
}

/// Reads a row.
pub(crate) fn read_row(row: EntryRow) -> Result<Entry, RuntimeError> {
    let body = read_body(row.kind, &row.body)
        .map_err(|what| RuntimeError::Entry { entry: row.id, what })?;
    Ok(Entry { id: row.id, agent: row.agent, at_ms: row.at_ms, body })
}

fn read_body(kind: EntryKind, body: &str) -> Result<EntryBody, String> {
    Ok(match kind {
        EntryKind::Message => EntryBody::Message(Arc::new(read_message(body)?)),
        EntryKind::Fork => {
            let event = ForkEvent::parse(body).ok_or("not a fork event")?;
            EntryBody::Fork { role: event.role, other: event.other, fork_point: event.fork_point }
        }
        EntryKind::Clear => EntryBody::Clear,
        EntryKind::Mark => {
            let mark: StoredMark = parse(body)?;
            EntryBody::Mark { label: mark.label }
        }
        EntryKind::Rewind => {
            let rewind: StoredRewind = parse(body)?;
            EntryBody::Rewind { to: rewind.to.map(EntryId) }
        }
        EntryKind::Notice => EntryBody::Notice(body.to_owned()),
        EntryKind::Compact => {
            let compact: StoredCompact = parse(body)?;
            let preface = Arc::new(unstore_message(compact.preface)?);
            EntryBody::Compact { keep: compact.keep.map(EntryId), preface }
        }
        EntryKind::Dialect => {
            let stored: StoredDialect = parse(body)?;
            EntryBody::Dialect(Arc::new(DialectChange {
                host: stored.host,
                left_out: stored.left_out,
                refusal: stored.refusal,
                from: stored.from.map(EntryId),
                rewrites: stored.rewrites,
                lost_tokens: stored.lost_tokens,
                lost_micro_usd: stored.lost_micro_usd,
            }))
        }
    })
}

fn read_message(body: &str) -> Result<Message, String> {
    unstore_message(parse(body)?)
}

fn unstore_message(stored: StoredMessage) -> Result<Message, String> {
    let StoredMessage { format, raw, role, blocks, seen } = stored;
    let seen = seen.into_iter().map(read_seen).collect::<Result<_, _>>()?;
    match (format, raw, role, blocks) {
        (Some(format), Some(raw), None, None) => {
            let format = WireFormat::from_name(&format)
                .ok_or_else(|| format!("unknown wire format `{format}`"))?;
            let message = tine_wire::read_message(format, raw.get());
            message.map(|message| message.with_seen(seen)).map_err(|error| error.to_string())
        }
        (None, None, Some(role), Some(blocks)) => {
            let blocks = blocks.into_iter().map(read_block).collect();
            Ok(Message::new(read_role(role), blocks).with_seen(seen))
        }
        _ => Err("a message is either raw or made of blocks".to_owned()),
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a str) -> Result<T, String> {
    serde_json::from_str(body).map_err(|error| error.to_string())
}

#[expect(
    clippy::expect_used,
    reason = "our own structs of strings and checked JSON always serialise"
)]
fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data serialises")
}

#[expect(clippy::expect_used, reason = "a RawJson was checked when it was made")]
fn raw_value(json: &RawJson) -> Box<RawValue> {
    RawValue::from_string(json.as_str().to_owned()).expect("checked JSON")
}

fn store_role(role: Role) -> StoredRole {
    match role {
        Role::User => StoredRole::User,
        Role::Assistant => StoredRole::Assistant,
        Role::System => StoredRole::System,
    }
}

fn read_role(role: StoredRole) -> Role {
    match role {
        StoredRole::User => Role::User,
        StoredRole::Assistant => Role::Assistant,
        StoredRole::System => Role::System,
    }
}

fn store_block(block: &Block) -> StoredBlock {
    match block {
        Block::Text(text) => StoredBlock::Text(text.clone()),
        Block::Thinking { text, signature } => {
            StoredBlock::Thinking { text: text.clone(), signature: signature.clone() }
        }
        Block::RedactedThinking(data) => StoredBlock::RedactedThinking(data.clone()),
        Block::ToolUse { id, name, input } => {
            let (id, name) = (id.0.clone(), name.clone());
            match input {
                ToolInput::Valid(json) => StoredBlock::ToolUse { id, name, input: raw_value(json) },
                ToolInput::Invalid(text) => {
                    StoredBlock::InvalidToolUse { id, name, input: text.clone() }
                }
            }
        }
        Block::ToolResult { call, content, is_error } => StoredBlock::ToolResult {
            call: call.0.clone(),
            content: content.iter().map(store_block).collect(),
            is_error: *is_error,
        },
        Block::Image(json) => StoredBlock::Image(raw_value(json)),
        Block::Document(json) => StoredBlock::Document(raw_value(json)),
        Block::Unknown(json) => StoredBlock::Unknown(raw_value(json)),
    }
}

fn read_block(block: StoredBlock) -> Block {
    match block {
        StoredBlock::Text(text) => Block::Text(text),
        StoredBlock::Thinking { text, signature } => Block::Thinking { text, signature },
        StoredBlock::RedactedThinking(data) => Block::RedactedThinking(data),
        StoredBlock::ToolUse { id, name, input } => {
            let input = ToolInput::Valid(RawJson::from_raw(&input));
            Block::ToolUse { id: ToolCallId(id), name, input }
        }
        StoredBlock::InvalidToolUse { id, name, input } => {
            Block::ToolUse { id: ToolCallId(id), name, input: ToolInput::Invalid(input) }
        }
        StoredBlock::ToolResult { call, content, is_error } => Block::ToolResult {
            call: ToolCallId(call),
            content: content.into_iter().map(read_block).collect(),
            is_error,
        },
        StoredBlock::Image(json) => Block::Image(RawJson::from_raw(&json)),
        StoredBlock::Document(json) => Block::Document(RawJson::from_raw(&json)),
        StoredBlock::Unknown(json) => Block::Unknown(RawJson::from_raw(&json)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tine_model::AgentId;

    use super::*;

    fn block() -> impl Strategy<Value = Block> {
        let json = || prop_oneof![Just("{}"), Just(r#"{"b":1.0,"a":[ 2 ]}"#)];
        let raw = move || json().prop_map(|text| RawJson::parse(text).unwrap());
        let leaf = prop_oneof![
            ".{0,20}".prop_map(Block::Text),
            (".{0,9}", prop::option::of("[a-z]{3}"))
                .prop_map(|(text, signature)| Block::Thinking { text, signature }),
            "[a-z]{3}".prop_map(Block::RedactedThinking),
            ("[a-z]{3}", raw()).prop_map(|(id, input)| Block::ToolUse {
                id: ToolCallId(id),
                name: "T".into(),
                input: ToolInput::Valid(input)
            }),
            (".{0,9}").prop_map(|text| Block::ToolUse {
                id: ToolCallId("x".into()),
                name: "T".into(),
                input: ToolInput::Invalid(text)
            }),
            raw().prop_map(Block::Image),
            raw().prop_map(Block::Unknown),
        ];
        leaf.prop_recursive(2, 8, 4, |inner| {
            (prop::collection::vec(inner, 0..3), any::<bool>()).prop_map(|(content, is_error)| {
                Block::ToolResult { call: ToolCallId("c".into()), content, is_error }
            })
        })
    }

    proptest! {
        #[test]
        fn a_message_comes_back_as_it_was(blocks in prop::collection::vec(block(), 0..5)) {
            let hash = std::array::from_fn(|at| at as u8 * 7);
            let seen = SeenFile { path: "src/ä".into(), hash, lines: vec![0, 255, u16::MAX] };
            let message = Message::new(Role::User, blocks).with_seen(vec![seen]);
            let row = message_row(&message, 7);
            let agent = AgentId::from_random([0; 16]);
            let row = EntryRow { id: EntryId(1), agent, kind: row.kind, body: row.body, at_ms: 7 };
            let EntryBody::Message(read) = read_row(row).unwrap().body else { panic!("a message") };
            prop_assert_eq!(&*read, &message);
        }

        #[test]
        fn a_compaction_comes_back_as_it_was(
            blocks in prop::collection::vec(block(), 0..5),
            keep in prop::option::of(any::<i64>().prop_map(EntryId)),
        ) {
            let message = Message::new(Role::User, blocks);
            let row = compact_row(keep, &message, 7);
            let agent = AgentId::from_random([0; 16]);
            let row = EntryRow { id: EntryId(1), agent, kind: row.kind, body: row.body, at_ms: 7 };
            let body = read_row(row).unwrap().body;
            prop_assert_eq!(body, EntryBody::Compact { keep, preface: Arc::new(message) });
        }

        #[test]
        fn damaged_rows_are_named_and_never_panic(body in ".{0,80}") {
            for kind in EntryKind::ALL {
                let agent = AgentId::from_random([0; 16]);
                let row = EntryRow { id: EntryId(9), agent, kind, body: body.clone(), at_ms: 0 };
                if let Err(error) = read_row(row) {
                    prop_assert!(error.to_string().starts_with("entry 9 of the log"));
                }
            }
        }
    }

    #[test]
    fn a_providers_words_are_stored_verbatim() {
        let json = r#"{"role":"assistant","content":[{"type":"text","text":"a","zz":1.0}]}"#;
        let message = tine_wire::read_message(WireFormat::Anthropic, json).unwrap();
        let row = message_row(&message, 0);
        assert_eq!(row.body, format!(r#"{{"format":"anthropic","raw":{json}}}"#));
    }
}
