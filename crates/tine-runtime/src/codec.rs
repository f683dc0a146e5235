//! Log entries ⇄ the opaque texts that the store keeps.
//!
//! How a message is written is [`PortableMessage`]'s.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tine_model::{DialectChange, Entry, EntryBody, EntryId, Message};
use tine_store::{EntryKind, EntryRow, ForkEvent, NewEntry};
use tine_wire::PortableMessage;

use crate::error::RuntimeError;
use crate::title;

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
    preface: PortableMessage<'static>,
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
    let body = to_text(&PortableMessage::from(message));
    NewEntry { kind: EntryKind::Message, body, at_ms, title: title::of(message) }
}

pub(crate) fn compact_row(keep: Option<EntryId>, preface: &Message, at_ms: i64) -> NewEntry {
    let preface = PortableMessage(Cow::Owned(preface.clone()));
    let stored = StoredCompact { keep: keep.map(|entry| entry.0), preface };
    NewEntry { kind: EntryKind::Compact, body: to_text(&stored), at_ms, title: None }
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
    NewEntry { kind: EntryKind::Dialect, body: to_text(&stored), at_ms, title: None }
}

pub(crate) fn notice_row(text: &str, at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Notice, body: text.to_owned(), at_ms, title: None }
}

pub(crate) fn clear_row(at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Clear, body: String::new(), at_ms, title: None }
}

pub(crate) fn mark_row(label: Option<String>, at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Mark, body: to_text(&StoredMark { label }), at_ms, title: None }
}

pub(crate) fn rewind_row(to: Option<EntryId>, at_ms: i64) -> NewEntry {
    let stored = StoredRewind { to: to.map(|entry| entry.0) };
    NewEntry { kind: EntryKind::Rewind, body: to_text(&stored), at_ms, title: None }
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
            let preface = Arc::new(compact.preface.into_message());
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
    parse(body).map(PortableMessage::into_message)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tine_model::{AgentId, Block, RawJson, Role, SeenFile, ToolCallId, ToolInput, WireFormat};

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
