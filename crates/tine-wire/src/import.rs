//! A conversation from elsewhere → messages.
//!
//! Takes a JSON array, or objects one after another (JSON Lines), each a message in a provider's shape. Which
//! provider's is found out from the shapes; a conversation of plain texts is the same in both. This module
//! never repairs what it reads; open and orphaned tool calls are the framers' business. Answers to the calls of one turn
//! become one message.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role, WireFormat};

use crate::read::{ReadError, read_message};
use crate::strip;

/// Most messages of one conversation; the most that Anthropic accepts.
pub const IMPORT_MESSAGES_MAX: usize = 100_000;

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The format that the messages are kept in.
    pub format: WireFormat,
    /// The system and developer messages at the start, joined by an empty line.
    pub system: Option<String>,
    /// Everything after them.
    pub messages: Vec<Message>,
}

/// Why a conversation cannot be imported. Indexes and lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is no message in it.
    #[error("there are no messages")]
    Empty,
    /// More than [`IMPORT_MESSAGES_MAX`] messages.
    #[error("there are more than {IMPORT_MESSAGES_MAX} messages")]
    TooMany,
    /// The text stops being JSON.
    #[error("line {line} is not valid JSON")]
    Json {
        /// Where.
        line: usize,
        /// What is wrong there.
        #[source]
        source: serde_json::Error,
    },
    /// Something in the list is no message.
    #[error("message {index} (line {line}) cannot be read")]
    Message {
        /// Which one.
        index: usize,
        /// Where it begins.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: ReadError,
    },
    /// The shapes of two providers in one conversation.
    #[error(
        "message {index} (line {line}) has the shape of {}, message {other} that of {}",
        .format.as_str(), .other_format.as_str()
    )]
    Mixed {
        /// The message that does not fit.
        index: usize,
        /// Where it begins.
        line: usize,
        /// Its format.
        format: WireFormat,
        /// The first message that showed a format.
        other: usize,
        /// That message's format.
        other_format: WireFormat,
    },
}

/// Reads a conversation. `preferred` is the format of messages that are valid in both.
pub fn import_messages(text: &str, preferred: WireFormat) -> Result<Imported, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    let raws = split(text)?;
    match raws.len() {
        0 => return Err(ImportError::Empty),
        count if count > IMPORT_MESSAGES_MAX => return Err(ImportError::TooMany),
        _ => {}
    }
    let mut lines = Lines { text, position: 0, line: 1 };
    let places: Vec<Place<'_>> = raws
        .into_iter()
        .enumerate()
        .map(|(index, raw)| Place { index: index + 1, line: lines.line_of(raw), raw })
        .collect();
    let format = find_format(&places)?.unwrap_or(preferred);
    let mut system = Vec::new();
    let mut messages: Vec<Message> = Vec::new();
    for place in &places {
        let message = read_message(format, place.raw.get()).map_err(|source| {
            ImportError::Message { index: place.index, line: place.line, source }
        })?;
        if message.role() == Role::System && messages.is_empty() {
            system.push(message.text());
            continue;
        }
        match messages.last_mut().filter(|last| is_results(last) && is_results(&message)) {
            Some(last) => *last = joined(format, last, &message),
            None => messages.push(message),
        }
    }
    let system = (!system.is_empty()).then(|| system.join("\n\n"));
    Ok(Imported { format, system, messages })
}

/// Whether a message is nothing but answers to calls.
fn is_results(message: &Message) -> bool {
    message.role() == Role::User
        && !message.blocks().is_empty()
        && message.blocks().iter().all(|block| matches!(block, Block::ToolResult { .. }))
}

/// The answers to the calls of one turn are one message here, however many the source made of them: each chat answer is a
/// message of its own, and some Anthropic transcripts have one answer a message.
fn joined(format: WireFormat, first: &Message, second: &Message) -> Message {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let content = |message: &Message| -> Option<String> {
        let content: Content<'_> = serde_json::from_str(message.raw()?.json.as_str()).ok()?;
        let blocks: Vec<&str> = content.content.iter().map(|block| block.get()).collect();
        Some(blocks.join(","))
    };
    if format == WireFormat::Anthropic
        && let (Some(first), Some(second)) = (content(first), content(second))
        && let Ok(message) =
            read_message(format, &format!(r#"{{"role":"user","content":[{first},{second}]}}"#))
    {
        return message;
    }
    // In the chat format an answer has no field besides its call and its text.
    Message::new(Role::User, [first.blocks(), second.blocks()].concat())
}

/// One message of the text.
struct Place<'a> {
    index: usize,
    line: usize,
    raw: &'a RawValue,
}

/// Counts lines once over the whole text.
struct Lines<'a> {
    text: &'a str,
    position: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line on which a part of the text begins. Parts must come in their order.
    fn line_of(&mut self, part: &RawValue) -> usize {
        let start = part.get().as_ptr() as usize - self.text.as_ptr() as usize;
        let passed = self.text.as_bytes().get(self.position..start).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.position = start;
        self.line
    }
}

fn split(text: &str) -> Result<Vec<&RawValue>, ImportError> {
    let json = |source: serde_json::Error| ImportError::Json { line: source.line(), source };
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(json);
    }
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    // One more than the limit is enough to know that it is passed.
    values.take(IMPORT_MESSAGES_MAX + 1).collect::<Result<_, _>>().map_err(json)
}

/// The format that the shapes show; `None` when all of them are valid in both.
fn find_format(places: &[Place<'_>]) -> Result<Option<WireFormat>, ImportError> {
    let mut found: Option<(usize, WireFormat)> = None;
    for place in places {
        match (shown_format(place.raw), found) {
            (Some(format), None) => found = Some((place.index, format)),
            (Some(format), Some((other, other_format))) if format != other_format => {
                let (index, line) = (place.index, place.line);
                return Err(ImportError::Mixed { index, line, format, other, other_format });
            }
            (Some(_) | None, _) => {}
        }
    }
    Ok(found.map(|(_, format)| format))
}

/// What one message shows of its format: its role, its fields, or the kinds of its content. What is no message
/// shows nothing; reading it will say why.
fn shown_format(message: &RawValue) -> Option<WireFormat> {
    let members = strip::members(message).ok()?;
    for (key, value) in members {
        let chat = match key.get() {
            "\"role\"" => matches!(value.get(), "\"tool\"" | "\"developer\""),
            "\"tool_calls\"" | "\"reasoning_content\"" | "\"refusal\"" => value.get() != "null",
            "\"tool_call_id\"" => true,
            _ => false,
        };
        if chat {
            return Some(WireFormat::OpenAiChat);
        }
        if key.get() == "\"content\""
            && let Ok(parts) = serde_json::from_str::<Vec<&RawValue>>(value.get())
            && let Some(format) = parts.into_iter().find_map(format_of_part)
        {
            return Some(format);
        }
    }
    None
}

fn format_of_part(part: &RawValue) -> Option<WireFormat> {
    let members = strip::members(part).ok()?;
    let (_, kind) = members.iter().find(|(key, _)| key.get() == "\"type\"")?;
    match kind.get() {
        "\"tool_use\""
        | "\"tool_result\""
        | "\"thinking\""
        | "\"redacted_thinking\""
        | "\"image\""
        | "\"document\"" => Some(WireFormat::Anthropic),
        "\"image_url\"" | "\"input_audio\"" | "\"file\"" | "\"refusal\"" => {
            Some(WireFormat::OpenAiChat)
        }
        _ => None,
    }
}
