//! One part of a message of an export.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, RawJson, ToolInput};

use crate::import::lines::{flag, member, object, text};
use crate::json::Object;
use crate::read::input_from_raw;

/// What OpenCode and Claude Code send in the place of a result that they cleared to save room.
pub const CLEARED_RESULT: &str = "[Old tool result content cleared]";

/// The fields that matter.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    ignored: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
    #[serde(rename = "callID")]
    call: Option<&'a RawValue>,
    tool: Option<&'a RawValue>,
    state: Option<&'a RawValue>,
    synthetic: Option<&'a RawValue>,
    filename: Option<&'a RawValue>,
    mime: Option<&'a RawValue>,
    url: Option<&'a RawValue>,
}

/// One part.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Words; synthetic ones are a program's.
    Text { text: String, is_synthetic: bool },
    /// Reasoning; the signature is Anthropic's.
    Reasoning { text: String, signature: Option<String> },
    /// A call and what became of it.
    Tool(Tool),
    /// An attachment; an image or a document where it is in the text itself.
    File { name: Option<String>, media: Option<Block> },
    /// The next answer of the model begins.
    Step,
    /// A summary was asked for.
    Compaction,
    /// What the model never saw, by its kind.
    Other(String),
}

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// `None` where the file has none.
    pub(super) input: Option<ToolInput>,
    /// `None` for a call that never ended.
    pub(super) result: Option<ToolResult>,
}

/// What a call gave.
#[derive(Debug, Clone)]
pub(super) struct ToolResult {
    pub(super) content: Vec<Block>,
    pub(super) is_error: bool,
    /// Attachments that are not in the file.
    pub(super) missing: u64,
}

impl Part {
    pub(super) fn of(raw: &RawValue) -> Self {
        let Some(shape) = object::<Shape<'_>>(raw.get()) else {
            return Self::Other("part without a kind".to_owned());
        };
        let kind = text(shape.kind).unwrap_or_else(|| "part without a kind".to_owned());
        match kind.as_str() {
            "text" if flag(shape.ignored) => Self::Other("ignored text".to_owned()),
            "text" => Self::Text {
                text: text(shape.text).unwrap_or_default(),
                is_synthetic: flag(shape.synthetic),
            },
            "reasoning" => Self::Reasoning {
                text: text(shape.text).unwrap_or_default(),
                signature: shape.metadata.and_then(signature),
            },
            "tool" => Self::Tool(tool(&shape)),
            "file" => Self::File { name: text(shape.filename), media: media(&shape) },
            "step-start" | "step-finish" => Self::Step,
            "compaction" => Self::Compaction,
            _ => Self::Other(kind),
        }
    }

    /// Whether the model said or did something in it that others hear of.
    pub(super) fn is_heard(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Tool(_))
    }
}

fn signature(metadata: &RawValue) -> Option<String> {
    let signature = text(member(member(metadata, "anthropic")?, "signature"));
    signature.filter(|signature| !signature.is_empty())
}

fn tool(shape: &Shape<'_>) -> Tool {
    #[derive(Deserialize)]
    struct State<'a> {
        #[serde(borrow)]
        status: Option<&'a RawValue>,
        input: Option<&'a RawValue>,
        output: Option<&'a RawValue>,
        error: Option<&'a RawValue>,
        attachments: Option<&'a RawValue>,
        time: Option<&'a RawValue>,
    }
    let state: Option<State<'_>> = shape.state.and_then(|state| object(state.get()));
    let status = state.as_ref().and_then(|state| text(state.status));
    let words = |field: Option<&RawValue>| Block::Text(text(field).unwrap_or_default());
    let result = match (status.as_deref(), &state) {
        (Some("completed"), Some(state)) if is_cleared(state.time) => {
            let content = vec![Block::Text(CLEARED_RESULT.to_owned())];
            Some(ToolResult { content, is_error: false, missing: 0 })
        }
        (Some("completed"), Some(state)) => {
            let (media, missing) = attachments(state.attachments);
            let content = [vec![words(state.output)], media].concat();
            Some(ToolResult { content, is_error: false, missing })
        }
        (Some("error"), Some(state)) => {
            let content = vec![words(state.error)];
            Some(ToolResult { content, is_error: true, missing: 0 })
        }
        _ => None,
    };
    Tool {
        id: text(shape.call).filter(|id| !id.is_empty()),
        name: text(shape.tool).filter(|name| !name.is_empty()).unwrap_or_else(|| "tool".to_owned()),
        input: state.and_then(|state| state.input).map(input_from_raw),
        result,
    }
}

/// Whether OpenCode cleared an output to save room: when is noted in the call's times.
fn is_cleared(time: Option<&RawValue>) -> bool {
    time.is_some_and(|time| member(time, "compacted").is_some())
}

/// The attachments that are in the file, and how many are not.
fn attachments(list: Option<&RawValue>) -> (Vec<Block>, u64) {
    let list: Vec<&RawValue> =
        list.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
    let read = |raw: &&RawValue| object::<Shape<'_>>(raw.get()).and_then(|shape| media(&shape));
    let media: Vec<Block> = list.iter().filter_map(read).collect();
    let missing = list.len() - media.len();
    (media, missing as u64)
}

/// An image or a document that is given as a data URL, in Anthropic's shape.
fn media(shape: &Shape<'_>) -> Option<Block> {
    let (mime, url) = (text(shape.mime)?, text(shape.url)?);
    let (kind, _) = mime.split_once('/')?;
    let data = url.strip_prefix("data:")?.split_once(";base64,")?.1;
    let source = Object::new().string("type", "base64").string("media_type", &mime);
    let source = source.string("data", data).end();
    let block = |kind: &str| {
        RawJson::parse(&Object::new().string("type", kind).raw("source", &source).end()).ok()
    };
    match (kind, mime.as_str()) {
        ("image", _) => block("image").map(Block::Image),
        (_, "application/pdf") => block("document").map(Block::Document),
        _ => None,
    }
}
