//! Messages and items of OpenAI's formats as pieces of a frame, with the places where a breakpoint may stand.
//!
//! Breakpoints stand on content parts only, so a content that is one string is made a list of one part. No other byte
//! of a piece is changed here.

use std::ops::Range;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tine_history::{Frame, Slot};
use tine_model::{Block, Lifetime};

use crate::head::HeadSlot;
use crate::json::Object;
use crate::{dialect, strip};

/// One message or item of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) json: String,
    /// Before the closing brace of each part that takes a breakpoint; offsets and blocks count from the piece's start.
    pub(crate) slots: Vec<Slot>,
    /// Its parts, or one when it has none.
    pub(crate) blocks: usize,
}

impl Piece {
    /// A piece that takes no breakpoint.
    pub(crate) fn plain(json: impl Into<String>) -> Self {
        Self { json: json.into(), slots: Vec::new(), blocks: 1 }
    }

    /// A piece whose member `key` is its content; one text is made a part of this kind. An empty text stays as it is:
    /// it is valid as a string only.
    pub(crate) fn in_parts(json: &str, key: &str, kind: &str) -> Self {
        let Some((span, value)) = member(json, key) else { return Self::plain(json) };
        match value.get().as_bytes().first() {
            Some(b'"') if value.get() != "\"\"" => {
                let part = Object::new().string("type", kind).raw("text", value.get()).end();
                let offset = span.start + part.len();
                let json = format!("{}[{part}]{}", &json[..span.start], &json[span.end..]);
                Self { json, slots: vec![Slot { offset, block: 0 }], blocks: 1 }
            }
            Some(b'[') => {
                let parts: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
                let markable = parts.iter().enumerate().filter(|(_, part)| takes_breakpoint(part));
                let slot = |(block, part): (usize, &&RawValue)| Slot {
                    offset: place(json, part).end - 1,
                    block,
                };
                let slots = markable.map(slot).collect();
                Self { json: json.to_owned(), slots, blocks: parts.len().max(1) }
            }
            _ => Self::plain(json),
        }
    }
}

/// The texts of a content.
pub(crate) fn texts(content: &[Block]) -> Vec<&str> {
    content.iter().filter_map(Block::as_text).collect()
}

/// A result whose call is no longer there, in words.
pub(crate) fn earlier_result(call: &str, content: &[Block]) -> String {
    format!("Result of the earlier call {call}: {}", texts(content).join("\n"))
}

/// Where `part`, which is a piece of `text`, stands in it.
fn place(text: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.get().len()
}

/// The value of a member of the object `json`, and where it stands.
fn member<'a>(json: &'a str, key: &str) -> Option<(Range<usize>, &'a RawValue)> {
    let object: &RawValue = serde_json::from_str(json).ok()?;
    let members = strip::members(object).ok()?;
    let quoted = format!("\"{key}\"");
    let (_, value) = members.into_iter().find(|(name, _)| name.get() == quoted)?;
    Some((place(json, value), value))
}

/// `json` with another value for its member `key`, and no other byte changed.
pub(crate) fn with_member(json: &str, key: &str, value: &str) -> String {
    match member(json, key) {
        Some((span, _)) => format!("{}{value}{}", &json[..span.start], &json[span.end..]),
        None => json.to_owned(),
    }
}

/// The text of an object without one of its members.
pub(crate) fn without_member(json: &str, key: &str) -> String {
    let path = [key.to_owned()];
    dialect::without(json, std::iter::once(&path[..])).unwrap_or_else(|| json.to_owned())
}

/// The parts of a request's own words, in Responses and in chat. Source: OpenAI, "Prompt caching", explicit breakpoints.
fn takes_breakpoint(part: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        kind: String,
    }
    let kind: Option<Kind> = serde_json::from_str(part.get()).ok();
    part.get().starts_with('{')
        && kind.is_some_and(|Kind { kind }| {
            let responses = ["input_text", "input_image", "input_file"].contains(&kind.as_str());
            responses || ["text", "image_url", "input_audio", "file"].contains(&kind.as_str())
        })
}

/// The slots of a system prompt whose piece stands at `offset` of the head: the end of each block that asks for a mark, and the
/// end of the last. Its parts are these blocks, one for one; where the piece has no parts there is no slot.
pub(crate) fn head_slots(
    piece: &Piece,
    offset: usize,
    blocks: &[(&str, Option<Lifetime>)],
) -> Vec<HeadSlot> {
    let last = piece.slots.len().saturating_sub(1);
    let slots = piece.slots.iter().zip(blocks).enumerate();
    let slots = slots.filter(|(index, (_, (_, cache)))| cache.is_some() || *index == last);
    let slot = |(_, (slot, (_, cache))): (usize, (&Slot, &(&str, Option<Lifetime>)))| HeadSlot {
        offset: offset + slot.offset,
        lifetime: cache.unwrap_or_default(),
    };
    slots.map(slot).collect()
}

/// The pieces of one message, one behind the other: `leading` closed calls, results of its own, the other closed calls, the
/// rest. Behind results of the message's own the closed calls are not what siblings share.
pub(crate) fn frame(
    results: Vec<Piece>,
    (closed, leading): (Vec<Piece>, usize),
    others: Vec<Piece>,
) -> Frame {
    let (first, behind) = closed.split_at(leading);
    let placeholders = leading;
    let pieces = [first, &results, behind, &others].concat();
    let mut text = String::new();
    let (mut slots, mut blocks) = (Vec::new(), 0);
    for piece in pieces {
        if !text.is_empty() {
            text.push(',');
        }
        let (offset, block) = (text.len(), blocks);
        let moved = |slot: Slot| Slot { offset: slot.offset + offset, block: slot.block + block };
        slots.extend(piece.slots.into_iter().map(moved));
        text.push_str(&piece.json);
        blocks += piece.blocks;
    }
    Frame { bytes: Bytes::from(text), slots, blocks, placeholders }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slots are shown as bars.
    fn check(json: &str, expected: &str, blocks: usize) {
        let piece = Piece::in_parts(json, "content", "text");
        let mut shown = piece.json.clone();
        for slot in piece.slots.iter().rev() {
            shown.insert(slot.offset, '|');
        }
        assert_eq!((shown.as_str(), piece.blocks), (expected, blocks));
    }

    #[test]
    fn one_text_becomes_a_part_and_lists_stay_as_they_are() {
        check(
            r#"{ "role":"user", "content" : "h\u00e9" ,"n":1.0}"#,
            r#"{ "role":"user", "content" : [{"type":"text","text":"h\u00e9"|}] ,"n":1.0}"#,
            1,
        );
        check(
            r#"{"content":[{"type":"text","text":"}"}, {"type":"later"},{"type":"file" }]}"#,
            r#"{"content":[{"type":"text","text":"}"|}, {"type":"later"},{"type":"file" |}]}"#,
            3,
        );
    }

    #[test]
    fn what_holds_no_part_takes_no_breakpoint() {
        for json in [r#"{"content":""}"#, r#"{"content":null}"#, r#"{"role":"x"}"#, "[]"] {
            check(json, json, 1);
        }
        check(r#"{"content":[["text"]]}"#, r#"{"content":[["text"]]}"#, 1);
    }
}
