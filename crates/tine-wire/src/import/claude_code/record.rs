//! One record of a transcript. A field of an unexpected type is as good as none: a record that is no part of the conversation
//! may hold anything.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::import::lines::{Line, flag, object, text};
use crate::json::Object;

/// The fields that matter.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shape<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    uuid: Option<&'a RawValue>,
    parent_uuid: Option<&'a RawValue>,
    is_sidechain: Option<&'a RawValue>,
    is_compact_summary: Option<&'a RawValue>,
    is_api_error_message: Option<&'a RawValue>,
    is_visible_in_transcript_only: Option<&'a RawValue>,
    request_ref: Option<&'a RawValue>,
    requested_model: Option<&'a RawValue>,
    subtype: Option<&'a RawValue>,
    compact_metadata: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
}

/// What a record is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A message of the user or of the harness, or answers to calls.
    User,
    /// Part of an answer of the model.
    Assistant,
    /// Anything else, by its name.
    Other(String),
}

impl Kind {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Other(name) => name,
        }
    }
}

/// What stands before a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parent {
    /// Nothing: a conversation begins.
    None,
    /// The record of this id.
    Of(String),
    /// The record in the file before it: it has no id of its own, and so no place in the tree.
    Preceding,
}

/// Messages that a compaction kept word for word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// The record behind which they stand now.
    pub(super) anchor: String,
    /// Their ids, in order; empty when only the ends are known.
    pub(super) ids: Vec<String>,
    /// First and last of them.
    pub(super) ends: Option<(String, String)>,
}

/// One block of a message.
#[derive(Debug, Clone)]
pub(super) struct Piece<'a> {
    pub(super) json: Cow<'a, str>,
    /// The call that it makes.
    pub(super) makes: Option<String>,
    /// The call that it answers.
    pub(super) answers: Option<String>,
}

/// One record.
#[derive(Debug, Clone)]
pub(super) struct Record<'a> {
    pub(super) line: usize,
    pub(super) kind: Kind,
    pub(super) id: Option<String>,
    pub(super) parent: Parent,
    pub(super) is_sidechain: bool,
    pub(super) is_summary: bool,
    /// Seen by the user and never by the model: errors of the API, notes of the harness.
    pub(super) is_shown_only: bool,
    /// Whether an earlier record has the same id.
    pub(super) is_copy: bool,
    /// On the record of a compaction: what it kept, if it says so.
    pub(super) compaction: Option<Option<Kept>>,
    /// The provider's id of the message.
    pub(super) message: Option<String>,
    pub(super) model: Option<String>,
    /// The model that was asked for.
    pub(super) asked: Option<String>,
    /// The record of the request that it answers.
    pub(super) request: Option<String>,
    /// The content as it stands there.
    pub(super) content: Option<&'a str>,
    /// Its blocks; one text is one.
    pub(super) pieces: Vec<Piece<'a>>,
}

/// The model that the harness names when it speaks itself.
const NO_MODEL: &str = "<synthetic>";

impl<'a> Record<'a> {
    pub(super) fn of(line: &Line<'a, Shape<'a>>) -> Self {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            model: Option<&'a RawValue>,
            content: Option<&'a RawValue>,
        }
        let shape = &line.record;
        let message: Option<Message<'a>> = shape.message.and_then(|raw| object(raw.get()));
        let kind = match text(shape.kind).as_deref() {
            Some("user") if message.is_some() => Kind::User,
            Some("assistant") if message.is_some() => Kind::Assistant,
            other => Kind::Other(other.unwrap_or("record without a kind").to_owned()),
        };
        let id = text(shape.uuid);
        let parent = match text(shape.parent_uuid) {
            Some(parent) => Parent::Of(parent),
            None if id.is_none() => Parent::Preceding,
            None => Parent::None,
        };
        let model = message.as_ref().and_then(|message| text(message.model));
        let is_boundary = text(shape.subtype).as_deref() == Some("compact_boundary");
        let content = message.as_ref().and_then(|message| message.content);
        Self {
            line: line.number,
            kind,
            id,
            parent,
            is_sidechain: flag(shape.is_sidechain),
            is_summary: flag(shape.is_compact_summary),
            // The summary of a compaction is hidden from whoever reads the transcript, and is what the model goes on from.
            is_shown_only: flag(shape.is_api_error_message)
                || (flag(shape.is_visible_in_transcript_only) && !flag(shape.is_compact_summary))
                || model.as_deref() == Some(NO_MODEL),
            is_copy: false,
            compaction: is_boundary.then(|| shape.compact_metadata.and_then(kept)),
            message: message.as_ref().and_then(|message| text(message.id)),
            model,
            asked: text(shape.requested_model),
            request: text(shape.request_ref),
            content: content.map(RawValue::get),
            pieces: content.map(pieces).unwrap_or_default(),
        }
    }

    /// Whether it is part of what the model saw.
    pub(super) fn speaks(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant) && !self.is_shown_only
    }

    /// Whether it answers any call.
    pub(super) fn answers(&self) -> bool {
        self.kind == Kind::User && self.pieces.iter().any(|piece| piece.answers.is_some())
    }
}

/// The blocks of a content. What is no block shows when the message is read.
fn pieces<'a>(content: &'a RawValue) -> Vec<Piece<'a>> {
    #[derive(Deserialize)]
    struct Block<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<&'a RawValue>,
        id: Option<&'a RawValue>,
        tool_use_id: Option<&'a RawValue>,
    }
    if content.get().starts_with('"') {
        let block = Object::new().string("type", "text").raw("text", content.get()).end();
        return vec![Piece { json: Cow::Owned(block), makes: None, answers: None }];
    }
    let list: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let piece = |raw: &'a RawValue| {
        let block: Option<Block<'_>> = object(raw.get());
        let kind = block.as_ref().and_then(|block| text(block.kind));
        let (makes, answers) = match (kind.as_deref(), block) {
            (Some("tool_use"), Some(block)) => (text(block.id), None),
            (Some("tool_result"), Some(block)) => (None, text(block.tool_use_id)),
            _ => (None, None),
        };
        Piece { json: Cow::Borrowed(raw.get()), makes, answers }
    };
    list.into_iter().map(piece).collect()
}

fn kept(compaction: &RawValue) -> Option<Kept> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Compaction {
        preserved_messages: Option<Messages>,
        preserved_segment: Option<Segment>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Messages {
        anchor_uuid: String,
        uuids: Vec<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Segment {
        head_uuid: String,
        anchor_uuid: String,
        tail_uuid: String,
    }
    let compaction: Compaction = object(compaction.get())?;
    if let Some(Messages { anchor_uuid, uuids }) = compaction.preserved_messages {
        return Some(Kept { anchor: anchor_uuid, ids: uuids, ends: None });
    }
    let Segment { head_uuid, anchor_uuid, tail_uuid } = compaction.preserved_segment?;
    Some(Kept { anchor: anchor_uuid, ids: Vec::new(), ends: Some((head_uuid, tail_uuid)) })
}
