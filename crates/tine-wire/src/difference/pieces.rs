//! One message taken apart in prompt order: what says whose it is, and its blocks.

use serde_json::value::RawValue;
use tine_model::WireFormat;

use super::prompt::{is_key, list, member, text};
use crate::strip;

/// A message. Everything is in its place within the body's text.
pub(super) struct Message<'a> {
    role: String,
    /// Every member that is not a block, in order; of the content only what kind of value it is.
    pub(super) envelope: Vec<(&'a str, &'a str)>,
    pub(super) pieces: Vec<Piece<'a>>,
}

/// A block.
pub(super) struct Piece<'a> {
    raw: &'a RawValue,
    from: From,
}

/// Where in a message a block stands. In prompt order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    /// A field for reasoning, in the chat format.
    Reasoning,
    /// The content, or the whole element where an element of the list is itself the block.
    Content,
    /// The list of tool calls, in the chat format.
    Calls,
}

/// Fields in which compatible chat servers return reasoning.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_details", "thinking"];

/// Members that seal reasoning, in all formats.
const SEALS: [&str; 4] =
    ["signature", "encrypted_content", "thoughtSignature", "thought_signature"];

impl<'a> Message<'a> {
    pub(super) fn read(format: WireFormat, raw: &'a RawValue) -> Self {
        let mut message = Self { role: String::new(), envelope: Vec::new(), pieces: Vec::new() };
        let members = strip::members(raw).ok().filter(|_| is_wrapped(format, raw));
        let Some(members) = members else {
            message.pieces.push(Piece { raw, from: From::Content });
            return message;
        };
        for (key, value) in members {
            match place(format, key) {
                _ if strip::is_mark(key) => {}
                Some(From::Calls) if list(value).is_none() => {
                    message.envelope.push((key.get(), value.get()));
                }
                Some(from) => message.take(key, value, from),
                None => {
                    if is_key(key, "role") {
                        message.role = text(value).unwrap_or_default();
                    }
                    message.envelope.push((key.get(), value.get()));
                }
            }
        }
        message.pieces.sort_by_key(|piece| piece.from);
        message
    }

    /// Takes one member as blocks. A text and a list of one text are not the same bytes, and so not the same.
    fn take(&mut self, key: &'a RawValue, value: &'a RawValue, from: From) {
        let kind = value.get().get(..1).unwrap_or_default();
        match kind {
            "[" => {
                let list = list(value).unwrap_or_default();
                self.pieces.extend(list.into_iter().map(|raw| Piece { raw, from }));
            }
            "\"" => self.pieces.push(Piece { raw: value, from }),
            _ => return self.envelope.push((key.get(), value.get())),
        }
        if from == From::Content {
            self.envelope.push((key.get(), kind));
        }
    }

    /// What block number `index` is, in words; without such a block, whose message it is.
    pub(super) fn kind(&self, format: WireFormat, index: usize) -> String {
        let spoken = match self.role.as_str() {
            "tool" | "function" => "tool result".to_owned(),
            "model" => "assistant text".to_owned(),
            "" => "user text".to_owned(),
            role => format!("{role} text"),
        };
        let Some(piece) = self.pieces.get(index) else { return spoken };
        match piece.from {
            From::Reasoning => return "thinking".to_owned(),
            From::Calls => return "tool call".to_owned(),
            From::Content if piece.raw.get().starts_with('"') => return spoken,
            From::Content => {}
        }
        let word = match format {
            WireFormat::Gemini => gemini_word(piece.raw),
            WireFormat::Anthropic
            | WireFormat::OpenAiChat
            | WireFormat::OpenAiChatParts
            | WireFormat::OpenAiResponses => member(piece.raw, "type").and_then(text),
        };
        let word = word.unwrap_or_else(|| "of no type".to_owned());
        let known = match word.as_str() {
            "text" | "input_text" | "output_text" => return spoken,
            "thinking" | "reasoning" => "thinking",
            "tool_use" | "function_call" | "custom_tool_call" => "tool call",
            "tool_result" | "function_call_output" | "custom_tool_call_output" => "tool result",
            "image" | "image_url" | "input_image" => "image",
            "document" | "file" | "input_file" => "document",
            _ => return word,
        };
        known.to_owned()
    }
}

impl Piece<'_> {
    /// Whether both are the same, cache marks left out.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.from == other.from && same(self.raw, other.raw)
    }

    /// Whether two blocks that differ do so only in what seals them.
    pub(super) fn differs_in_seal(&self, other: &Self) -> bool {
        let unsealed = |piece: &Self| -> Option<Vec<(String, String)>> {
            let kept = strip::without_marks(piece.raw).ok()?;
            let members = strip::members(serde_json::from_str(&kept).ok()?).ok()?;
            let plain = members.iter().filter(|(key, _)| !SEALS.iter().any(|s| is_key(key, s)));
            Some(plain.map(|(key, value)| (key.get().into(), value.get().into())).collect())
        };
        let both = unsealed(self).zip(unsealed(other));
        self.from == other.from && both.is_some_and(|(one, other)| one == other)
    }
}

/// Whether two values are the same bytes, cache marks left out.
pub(super) fn same(one: &RawValue, other: &RawValue) -> bool {
    one.get() == other.get()
        || match (strip::without_marks(one), strip::without_marks(other)) {
            (Ok(one), Ok(other)) => one == other,
            (Ok(_) | Err(_), _) => false,
        }
}

/// Whether an element of the list wraps blocks. In Responses only messages do.
fn is_wrapped(format: WireFormat, raw: &RawValue) -> bool {
    let kind = || member(raw, "type").and_then(text);
    format != WireFormat::OpenAiResponses || kind().is_none_or(|kind| kind == "message")
}

/// Which blocks a member of a message holds; `None` when it holds none.
fn place(format: WireFormat, key: &RawValue) -> Option<From> {
    let chat = match format {
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => true,
        WireFormat::Anthropic | WireFormat::OpenAiResponses | WireFormat::Gemini => false,
    };
    let content = if format == WireFormat::Gemini { "parts" } else { "content" };
    if is_key(key, content) {
        Some(From::Content)
    } else if chat && is_key(key, "tool_calls") {
        Some(From::Calls)
    } else if chat && REASONING.iter().any(|name| is_key(key, name)) {
        Some(From::Reasoning)
    } else {
        None
    }
}

/// A part of Gemini's has no type: it is what it has.
fn gemini_word(raw: &RawValue) -> Option<String> {
    let members = strip::members(raw).ok()?;
    let has = |name: &str| members.iter().any(|(key, _)| is_key(key, name));
    let value = |name: &str| members.iter().find(|(key, _)| is_key(key, name)).map(|(_, v)| *v);
    let word = if has("functionCall") || has("function_call") {
        "function_call"
    } else if has("functionResponse") || has("function_response") {
        "tool_result"
    } else if let Some(data) = ["inlineData", "fileData"].iter().find_map(|name| value(name)) {
        let kind = member(data, "mimeType").and_then(text).unwrap_or_default();
        if kind.starts_with("image/") { "image" } else { "document" }
    } else if value("thought").is_some_and(|thought| thought.get() == "true") {
        "thinking"
    } else if has("text") {
        "text"
    } else {
        let own = members.iter().find(|(key, _)| !SEALS.iter().any(|seal| is_key(key, seal)));
        return own.and_then(|(key, _)| text(key));
    };
    Some(word.to_owned())
}
