//! A body taken apart in prompt order: settings, tools, system prompt, messages.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tine_model::WireFormat;

use crate::strip;

/// What a body says that is no part of the prompt in any format: limits of the reply, how it is delivered and kept, what is
/// asked about the cache, and cache marks.
const BESIDE: [&str; 12] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "stream",
    "stream_options",
    "store",
    "include",
    "diagnostics",
    "prompt_cache_options",
    "prompt_cache_retention",
    "prompt_cache_breakpoint",
    "cache_control",
];

/// A body. Everything is in its place within the body's own text; nothing is copied but what marks are cut out of.
pub(super) struct Prompt<'a> {
    /// Names and values, in the order of the body.
    pub(super) settings: Vec<(String, Cow<'a, str>)>,
    pub(super) tools: Vec<Tool<'a>>,
    /// Every element of the system prompt, wherever the format puts them.
    pub(super) system: Vec<&'a RawValue>,
    pub(super) messages: Vec<&'a RawValue>,
    /// The number of the first of `messages`.
    pub(super) first: usize,
}

impl<'a> Prompt<'a> {
    /// `None` for what is no JSON object.
    pub(super) fn parse(format: WireFormat, body: &'a [u8]) -> Option<Self> {
        let raw: &RawValue = serde_json::from_slice(body).ok()?;
        let (mut tools, mut messages) = (None, None);
        let (mut settings, mut system) = (Vec::new(), Vec::new());
        for (key, value) in strip::members(raw).ok()? {
            let name = text(key).unwrap_or_else(|| key.get().to_owned());
            match part(format, &name) {
                Part::Beside => {}
                Part::System => system.extend(list(value).unwrap_or_else(|| vec![value])),
                // A list that stands twice means nothing to any provider; the second is compared as it is.
                Part::Tools if tools.is_none() && list(value).is_some() => {
                    tools = list(value).map(|list| declarations(format, list));
                }
                Part::Messages if messages.is_none() && is_conversation(format, value) => {
                    messages = Some(list(value).unwrap_or_else(|| vec![value]));
                }
                Part::Generation => settings.extend(generation(value).map(|text| (name, text))),
                Part::Tools | Part::Messages | Part::Setting => {
                    settings.push((name, Cow::Borrowed(value.get())));
                }
            }
        }
        let mut messages = messages.unwrap_or_default();
        let mut first = 0;
        if messages.first().is_some_and(|message| leads(format, message)) {
            system.push(messages.remove(0));
            // OpenAI numbers the elements of `messages`; in `input` the system prompt is one of ours.
            first = usize::from(format != WireFormat::OpenAiResponses);
        }
        let tools = tools.unwrap_or_default();
        Some(Self { settings, tools, system, messages, first })
    }
}

/// The declaration of a tool.
pub(super) struct Tool<'a> {
    /// Gemini's word for a tool that needs no declaration of its own.
    built_in: Option<String>,
    pub(super) raw: &'a RawValue,
}

impl Tool<'_> {
    /// The tool's own name, or what it is for want of one.
    pub(super) fn name(&self) -> String {
        let word = |object, key| member(object, key).and_then(text);
        let wrapped = ["function", "custom"]
            .iter()
            .find_map(|wrapper| word(member(self.raw, wrapper)?, "name"));
        let own = || ["name", "server_label", "type"].iter().find_map(|key| word(self.raw, key));
        let name = self.built_in.clone().or(wrapped).or_else(own);
        name.unwrap_or_else(|| "without a name".to_owned())
    }
}

enum Part {
    Beside,
    Setting,
    Generation,
    Tools,
    System,
    Messages,
}

fn part(format: WireFormat, name: &str) -> Part {
    use WireFormat::{Anthropic, Gemini, OpenAiChat, OpenAiChatParts, OpenAiResponses};
    match (format, name) {
        (_, name) if BESIDE.contains(&name) => Part::Beside,
        // A label for the customer's own use; in Anthropic's format it names the user, to whom reasoning may be bound.
        (OpenAiChat | OpenAiChatParts | OpenAiResponses, "metadata") => Part::Beside,
        (_, "tools") => Part::Tools,
        (Anthropic, "system") | (OpenAiResponses, "instructions") => Part::System,
        (Gemini, "systemInstruction" | "system_instruction") => Part::System,
        (Gemini, "generationConfig" | "generation_config") => Part::Generation,
        (Gemini, "contents") | (OpenAiResponses, "input") => Part::Messages,
        (Anthropic | OpenAiChat | OpenAiChatParts, "messages") => Part::Messages,
        _ => Part::Setting,
    }
}

/// Responses also takes one text as the whole conversation.
fn is_conversation(format: WireFormat, value: &RawValue) -> bool {
    let text = format == WireFormat::OpenAiResponses && value.get().starts_with('"');
    text || list(value).is_some()
}

/// Gemini's settings without the limit of the reply; `None` when nothing else is set.
fn generation(value: &RawValue) -> Option<Cow<'_, str>> {
    let Ok(members) = strip::members(value) else { return Some(Cow::Borrowed(value.get())) };
    let kept: Vec<String> = members
        .iter()
        .filter(|(key, _)| !is_key(key, "maxOutputTokens") && !is_key(key, "max_output_tokens"))
        .map(|(key, value)| format!("{}:{}", key.get(), value.get()))
        .collect();
    (!kept.is_empty()).then(|| Cow::Owned(kept.join(",")))
}

/// One by one. Gemini wraps declarations in a list of its own, beside its built-in tools.
fn declarations(format: WireFormat, tools: Vec<&RawValue>) -> Vec<Tool<'_>> {
    let mut declared = Vec::new();
    for raw in tools {
        let members = match format {
            WireFormat::Gemini => strip::members(raw).ok(),
            WireFormat::Anthropic
            | WireFormat::OpenAiChat
            | WireFormat::OpenAiChatParts
            | WireFormat::OpenAiResponses => None,
        };
        let Some(members) = members else {
            declared.push(Tool { built_in: None, raw });
            continue;
        };
        for (key, value) in members {
            let name = text(key).unwrap_or_else(|| key.get().to_owned());
            match list(value).filter(|_| name.replace('_', "").eq_ignore_ascii_case(DECLARATIONS)) {
                Some(list) => {
                    declared.extend(list.into_iter().map(|raw| Tool { built_in: None, raw }));
                }
                None => declared.push(Tool { built_in: Some(name), raw: value }),
            }
        }
    }
    declared
}

/// Gemini's word for the list of declarations, which may also be spelled with an underscore.
const DECLARATIONS: &str = "functiondeclarations";

/// Whether a message at the very front is the system prompt.
fn leads(format: WireFormat, message: &RawValue) -> bool {
    let openai = match format {
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => true,
        WireFormat::Anthropic | WireFormat::Gemini => false,
    };
    let role = member(message, "role").and_then(text);
    openai && role.is_some_and(|role| role == "system" || role == "developer")
}

/// The first member of this name, if `raw` is an object that has it.
pub(super) fn member<'a>(raw: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    let members = strip::members(raw).ok()?;
    members.into_iter().find(|(key, _)| is_key(key, name)).map(|(_, value)| value)
}

/// Whether a key as it is written is this name.
pub(super) fn is_key(key: &RawValue, name: &str) -> bool {
    key.get().strip_prefix('"').and_then(|key| key.strip_suffix('"')) == Some(name)
}

/// The elements of a list.
pub(super) fn list(raw: &RawValue) -> Option<Vec<&RawValue>> {
    raw.get().starts_with('[').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// A text, read.
pub(super) fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}
