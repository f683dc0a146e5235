//! One message in a provider's shape → [`Message`]. Used when a reply is decoded, when a conversation is
//! imported and when a log is read back.
//!
//! The text is kept as it came; only cache marks are cut out, because they belong to requests. Nothing is
//! repaired: a block of a known kind without its necessary fields is an error, a block of an unknown kind is
//! kept whole.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, RawJson, RawMessage, Role, ToolInput, WireFormat};

use crate::{anthropic, gemini, openai_chat, openai_responses, strip};

/// Why a text is not a message.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is not JSON.
    #[error("not valid JSON")]
    Json(#[source] serde_json::Error),
    /// Something lacks a field, or has one of the wrong type.
    #[error("{at}: {what}")]
    Shape {
        /// The message, or which part of it.
        at: String,
        /// What is wrong with it.
        what: String,
    },
    /// Nobody in this format speaks in this role.
    #[error("the role `{role}` is not known")]
    Role {
        /// The role.
        role: String,
    },
    /// The content is neither a text nor a list.
    #[error("{at} is neither a text nor a list")]
    Content {
        /// Whose content.
        at: String,
    },
}

impl ReadError {
    /// The position is left out: it counts from the start of the part, which nobody sees.
    pub(crate) fn shape(at: &str) -> impl FnOnce(serde_json::Error) -> Self {
        move |error| {
            let what = error.to_string();
            let position = format!(" at line {} column {}", error.line(), error.column());
            let what = what.strip_suffix(&position).unwrap_or(&what).to_owned();
            Self::Shape { at: at.to_owned(), what }
        }
    }

    /// The error together with its cause, on one line.
    pub(crate) fn in_full(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }
}

/// Reads one message: an object, or for Responses also a list of items. Reading the kept text of a message gives the equal message back, with one
/// exception: an Anthropic tool call whose arguments were no JSON object stands as `{}` in the kept text, and
/// reads back as such.
pub fn read_message(format: WireFormat, json: &str) -> Result<Message, ReadError> {
    let raw: &RawValue = serde_json::from_str(json).map_err(ReadError::Json)?;
    let kept = strip::without_marks(raw).map_err(ReadError::shape("the message"))?;
    let kept = RawJson::parse(&kept).map_err(|_| not_json())?;
    let (role, blocks) = match format {
        WireFormat::Anthropic => anthropic::read::message(kept.as_str())?,
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => {
            openai_chat::read::message(kept.as_str())?
        }
        WireFormat::OpenAiResponses => openai_responses::read::message(kept.as_str())?,
        WireFormat::Gemini => gemini::read::message(kept.as_str())?,
    };
    let format = format.of_messages();
    Ok(Message::received(role, blocks, RawMessage { format, json: kept }))
}

/// Unreachable in practice: cutting members out of objects leaves objects.
fn not_json() -> ReadError {
    ReadError::Json(serde::de::Error::custom("the text without cache marks"))
}

/// The blocks of a content: of nothing, `null` or the empty text none, of a text one, of a list those that `block` reads by their
/// numbers. `at` names the content in errors.
pub(crate) fn blocks<'a>(
    content: Option<&'a RawValue>,
    at: &str,
    block: impl Fn(&'a RawValue, usize) -> Result<Block, ReadError>,
) -> Result<Vec<Block>, ReadError> {
    let Some(raw) = content else { return Ok(Vec::new()) };
    match raw.get().as_bytes().first() {
        Some(b'n') => Ok(Vec::new()),
        Some(b'"') => {
            let text: String = parse(raw, at)?;
            Ok(if text.is_empty() { Vec::new() } else { vec![Block::Text(text)] })
        }
        Some(b'[') => {
            let list: Vec<&RawValue> = parse(raw, at)?;
            list.into_iter().enumerate().map(|(index, raw)| block(raw, index)).collect()
        }
        _ => Err(ReadError::Content { at: at.to_owned() }),
    }
}

/// The kind of an element of a content.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Kind {
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

/// An element that is text.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Text {
    pub(crate) text: String,
}

/// An element in which the model refuses.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Refusal {
    pub(crate) refusal: String,
}

/// Reads `raw` as a `T`; `at` names it in errors.
pub(crate) fn parse<'a, T: Deserialize<'a>>(raw: &'a RawValue, at: &str) -> Result<T, ReadError> {
    serde_json::from_str(raw.get()).map_err(ReadError::shape(at))
}

/// The role of a message in any format; `None` for one that needs the format's own reading.
pub(crate) fn role(name: &str) -> Option<Role> {
    match name {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "system" => Some(Role::System),
        _ => None,
    }
}

/// Arguments given as text. Nothing at all is what many servers send for a tool without parameters.
pub(crate) fn input_from_text(text: &str) -> ToolInput {
    if text.trim().is_empty() {
        return ToolInput::Valid(RawJson::empty_object());
    }
    match RawJson::parse(text) {
        Ok(json) if json.is_object() => ToolInput::Valid(json),
        Ok(_) | Err(_) => ToolInput::Invalid(text.to_owned()),
    }
}

/// The arguments of a call in OpenAI's formats: text as a rule, and a JSON value from some servers.
pub(crate) fn input(arguments: Option<&RawValue>, at: &str) -> Result<ToolInput, ReadError> {
    Ok(match arguments {
        None => ToolInput::Valid(RawJson::empty_object()),
        Some(raw) if raw.get().starts_with('"') => input_from_text(&parse::<String>(raw, at)?),
        Some(raw) => input_from_raw(raw),
    })
}

/// Arguments given as a JSON value.
pub(crate) fn input_from_raw(raw: &RawValue) -> ToolInput {
    let json = RawJson::from_raw(raw);
    if json.is_object() { ToolInput::Valid(json) } else { ToolInput::Invalid(raw.get().to_owned()) }
}
