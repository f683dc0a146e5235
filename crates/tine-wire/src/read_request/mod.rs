//! A whole request as somebody else sent it → the parts of its head, and its messages.
//!
//! For whoever forks a conversation that another program holds. The request stays as it came
//! ([`HeadParts::sent`](crate::HeadParts::sent)), and goes out so, unless its parts are changed. The parts say as much of it as they
//! can; what they cannot say is listed, and a head that says anything else is refused rather than losing it.

mod gemini;
mod openai;
mod turns;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{
    CacheScheme, Message, ModelRef, ModelSettings, Provider, RawJson, ToolChoice, WireFormat,
};

pub(crate) use self::turns::read_turns;
use crate::head_parts::{HeadParts, HeadPartsError, ToolOrder};
use crate::read::{ReadError, parse};
use crate::splice::{SentRequest, Splice};
use crate::split::SplitRequest;
use crate::{anthropic, extra};

/// Most tokens of a reply, where a request leaves that to the provider. It is not sent.
const MAX_TOKENS_UNSAID: u32 = 16_384;

/// Most things that no part says that are listed: the list is for people.
const UNSAID_MAX: usize = 100;

/// Why a request cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum ReadRequestError {
    /// The request, or a setting of it, has not the shape that the provider wants.
    #[error(transparent)]
    Shape(#[from] ReadError),
    /// Neither the body nor the caller names the model.
    #[error("the request names no model: in this format its address does")]
    Model,
    /// One of its messages cannot be read. They count from 0, as the provider counts them.
    #[error("message {index} cannot be read")]
    Message {
        /// Which one.
        index: usize,
        /// The reason why it cannot be read.
        source: ReadError,
    },
    /// The parts contradict each other.
    #[error("the request contradicts itself")]
    Parts(#[from] HeadPartsError),
}

/// Reads the body of a request to a provider, in any of the formats. `model` is the model that its address names, for formats whose
/// bodies name none (Gemini); a body that names one counts.
///
/// The parts pass [`HeadParts::check`]. Rendered again as they are they give this very request, every byte of it, streamed; also
/// with another temperature, token limit or other stop sequences, where the body says them as members of its own.
///
/// Memory and time are linear in the body.
pub fn read_request(
    provider: Provider,
    model: Option<&str>,
    body: &[u8],
) -> Result<(HeadParts, Vec<Message>), ReadRequestError> {
    let split = SplitRequest::read(provider.format(), body.to_vec())?;
    let mut reading = Reading::new(provider, model, &split)?;
    match split.format() {
        WireFormat::Anthropic => anthropic::read_settings(&split, &mut reading)?,
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => {
            openai::read_settings(&split, &mut reading)?;
        }
        WireFormat::Gemini => gemini::read_settings(&split, &mut reading)?,
    }
    reading.settle();
    let Reading { mut parts, unsaid } = reading;
    let (splice, system, messages) = Splice::read(split)?;
    let texts = [std::mem::take(&mut parts.system)].into_iter().chain(system);
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    parts.system = texts.join("\n\n");
    parts.check()?;
    let sent = SentRequest { splice: Arc::new(splice), parts: parts.clone(), unsaid };
    parts.sent = Some(Arc::new(sent));
    Ok((parts, messages))
}

/// The settings of a request, as they were read.
pub(crate) struct Reading {
    pub(crate) parts: HeadParts,
    pub(crate) unsaid: Vec<String>,
}

impl Reading {
    fn new(
        provider: Provider,
        model: Option<&str>,
        split: &SplitRequest,
    ) -> Result<Self, ReadRequestError> {
        let named = match (split.format(), split.setting("model")) {
            (WireFormat::Gemini, _) | (_, None) => None,
            (_, Some(json)) => Some(text(json, "model")?),
        };
        let name = named.or_else(|| model.map(str::to_owned)).ok_or(ReadRequestError::Model)?;
        let model = ModelRef { provider, name };
        let settings =
            ModelSettings { model, max_tokens: MAX_TOKENS_UNSAID, thinking: None, effort: None };
        let parts = HeadParts::new(settings, String::new(), Vec::new());
        let scheme = match split.format() {
            WireFormat::Anthropic => CacheScheme::Marks,
            // Breakpoints count only in requests that ask for them.
            _ if split.setting("prompt_cache_options").is_some() => CacheScheme::Breakpoints,
            _ => CacheScheme::Automatic,
        };
        // In Gemini's format the address says it.
        let stream = split.format() == WireFormat::Gemini;
        let parts = HeadParts { tool_order: ToolOrder::AsGiven, scheme, stream, ..parts };
        Ok(Self { parts, unsaid: Vec::new() })
    }

    /// Notes what no part says.
    pub(crate) fn leaves(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.unsaid.len() < UNSAID_MAX && !self.unsaid.contains(&what) {
            self.unsaid.push(what);
        }
    }

    /// Leaves what a head may not hold to the request's own bytes.
    fn settle(&mut self) {
        if matches!(self.parts.check(), Err(HeadPartsError::ToolChoice(_))) {
            self.parts.tool_choice = ToolChoice::Auto;
            self.leaves("tool_choice");
        }
        let too_many = self.parts.extra.split_off(self.parts.extra.len().min(extra::EXTRA_MAX));
        for (name, _) in too_many {
            self.leaves(name);
        }
        // Each round takes one away, of at most `EXTRA_MAX`.
        while let Some(index) =
            (0..self.parts.extra.len()).find(|index| extra::refused(&self.parts, *index).is_some())
        {
            let (name, _) = self.parts.extra.remove(index);
            self.leaves(name);
        }
    }
}

/// A JSON text's string; `at` names it in errors.
fn text(json: &str, at: &str) -> Result<String, ReadError> {
    value(json, at)
}

/// Reads a value; `at` names it in errors.
fn value<'a, T: Deserialize<'a>>(json: &'a str, at: &str) -> Result<T, ReadError> {
    serde_json::from_str(json).map_err(ReadError::shape(at))
}

/// A declared function: its name, what it is for, and its parameters. What else it has is left.
fn function(raw: &RawValue, schemas: &[&str], reading: &mut Reading) -> Result<(), ReadError> {
    let at = "a tool";
    let (mut name, mut description, mut schema) = (None, String::new(), None);
    for (key, value) in crate::strip::members(raw).map_err(ReadError::shape(at))? {
        let key: String = parse(key, at)?;
        match key.as_str() {
            "name" => {
                name = Some(crate::names::from_wire(&parse::<String>(value, at)?).into_owned())
            }
            "description" if value.get() != "null" => description = parse(value, at)?,
            "type" if value.get() == "\"function\"" => {}
            key if schemas.contains(&key) => schema = Some(RawJson::from_raw(value)),
            _ if value.get() == "null" => {}
            _ => reading.leaves(format!("{key} of a tool")),
        }
    }
    match name {
        Some(name) => {
            let schema = schema.unwrap_or_else(RawJson::empty_object);
            reading.parts.tools.push(crate::ToolDeclaration { name, description, schema });
        }
        None => reading.leaves("a tool without a name"),
    }
    Ok(())
}

/// A choice that is one of OpenAI's words; `None` for any other.
fn choice_of_word(word: &str) -> Option<ToolChoice> {
    match word {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}
