//! Further settings of a head: which names they may have, and where they go.

use tine_model::{RawJson, ToolChoice, WireFormat};

use crate::head_parts::{HeadParts, HeadPartsError};
use crate::json::{self, Object};

/// Most further settings of a head. No provider has half as many settings in all; each is compared with all others.
pub(crate) const EXTRA_MAX: usize = 100;

/// What a head of a format writes, or what stands behind its messages. `name.inner` is inside an object.
fn written(format: WireFormat) -> &'static [&'static str] {
    match format {
        WireFormat::Anthropic => &[
            "model",
            "max_tokens",
            "temperature",
            "stop_sequences",
            "stream",
            "tools",
            "system",
            "messages",
            "diagnostics",
            // The automatic mark would be a fifth one.
            "cache_control",
            "thinking.type",
            "thinking.budget_tokens",
            "thinking.block_binding",
            "tool_choice.type",
            "tool_choice.name",
        ],
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => &[
            "model",
            "max_tokens",
            "max_completion_tokens",
            "temperature",
            "stop",
            "stream",
            "stream_options",
            "stream_options.include_usage",
            "tools",
            "messages",
            "prompt_cache_key",
            "prompt_cache_options",
        ],
        WireFormat::OpenAiResponses => &[
            "model",
            "max_output_tokens",
            "temperature",
            "stream",
            "store",
            "include",
            "tools",
            "input",
            "instructions",
            "prompt_cache_key",
            "prompt_cache_options",
        ],
        WireFormat::Gemini => &[
            "systemInstruction",
            "system_instruction",
            "tools",
            "generationConfig",
            "generation_config",
            "generationConfig.maxOutputTokens",
            "generationConfig.temperature",
            "generationConfig.stopSequences",
            "contents",
            "cachedContent",
            "cached_content",
        ],
    }
}

/// What a head writes only when a field says more than our types can. Where the field says nothing, the provider's own words may.
fn written_here(parts: &HeadParts, name: &str) -> bool {
    let settings = &parts.settings;
    match (settings.model.format(), name) {
        (WireFormat::Anthropic, "thinking") => settings.thinking.is_some(),
        (WireFormat::Gemini, "generationConfig.thinkingConfig") => {
            settings.thinking.is_some() || parts.sent_effort().is_some()
        }
        (WireFormat::Anthropic, "output_config.effort")
        | (WireFormat::OpenAiResponses, "reasoning.effort")
        | (WireFormat::OpenAiChat | WireFormat::OpenAiChatParts, "reasoning_effort") => {
            parts.sent_effort().is_some()
        }
        // Without further settings inside and an effort there is no such object.
        (WireFormat::Anthropic, "output_config") | (WireFormat::OpenAiResponses, "reasoning") => {
            parts.sent_effort().is_some() || has_inside(parts, name)
        }
        (WireFormat::Anthropic, "tool_choice") => {
            parts.tool_choice != ToolChoice::Auto || has_inside(parts, name)
        }
        (
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses,
            "tool_choice",
        )
        | (WireFormat::Gemini, "toolConfig" | "tool_config") => {
            parts.tool_choice != ToolChoice::Auto
        }
        _ => false,
    }
}

fn has_inside(parts: &HeadParts, outer: &str) -> bool {
    let mut kept = parts.extra.iter().take(EXTRA_MAX);
    kept.any(|(name, _)| name.split_once('.').is_some_and(|(it, _)| it == outer))
}

/// Whether a head has an object of this name that further settings may go into.
fn has_object(parts: &HeadParts, outer: &str) -> bool {
    match (parts.settings.model.format(), outer) {
        (WireFormat::Anthropic, "output_config")
        | (WireFormat::OpenAiResponses, "reasoning")
        | (WireFormat::Gemini, "generationConfig") => true,
        (WireFormat::Anthropic, "tool_choice") => !parts.tools.is_empty(),
        // Without a type it says nothing.
        (WireFormat::Anthropic, "thinking") => parts.settings.thinking.is_some(),
        (WireFormat::OpenAiChat | WireFormat::OpenAiChatParts, "stream_options") => parts.stream,
        _ => false,
    }
}

/// Why the further setting at `index` is not written; `None` when it is.
pub(crate) fn refused(parts: &HeadParts, index: usize) -> Option<HeadPartsError> {
    let (name, _) = parts.extra.get(index)?;
    if index >= EXTRA_MAX {
        return Some(HeadPartsError::TooMany { most: EXTRA_MAX });
    }
    let format = parts.settings.model.format();
    if written(format).contains(&name.as_str()) || written_here(parts, name) {
        return Some(HeadPartsError::Written(name.clone()));
    }
    if parts.extra[..index].iter().any(|(earlier, _)| earlier == name) {
        return Some(HeadPartsError::Twice(name.clone()));
    }
    let has_place = match name.split_once('.') {
        Some((outer, inner)) => !inner.is_empty() && has_object(parts, outer),
        None => !name.is_empty(),
    };
    (!has_place).then(|| HeadPartsError::Name(name.clone()))
}

/// The settings that are written, by their names.
fn sent(parts: &HeadParts) -> impl Iterator<Item = (&str, &RawJson)> {
    let kept = parts.extra.iter().take(EXTRA_MAX).enumerate();
    let kept = kept.filter(|(index, _)| refused(parts, *index).is_none());
    kept.map(|(_, (name, value))| (name.as_str(), value))
}

/// The members that stand among the settings: `,"name":value` each.
pub(crate) fn members(parts: &HeadParts) -> String {
    let outer = sent(parts).filter(|(name, _)| !name.contains('.'));
    outer.map(|(name, value)| format!(",{}:{}", json::string(name), value.as_str())).collect()
}

/// `object` with what goes into it, under its own name.
pub(crate) fn inside(parts: &HeadParts, outer: &str, object: Object) -> Object {
    let inner = sent(parts).filter_map(|(name, value)| {
        let (it, inner) = name.split_once('.')?;
        (it == outer).then_some((inner, value))
    });
    inner.fold(object, |object, (name, value)| object.named(name, value.as_str()))
}
