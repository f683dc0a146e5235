//! History → OpenAI Responses.

use bytes::Bytes;
use tine_history::{Closed, Frame, Framer};
use tine_model::{
    Block, CacheScheme, Lifetime, Message, Role, ToolCallId, ToolChoice, ToolInput, WireFormat,
};

use super::read::{self, Item};
use crate::head::Head;
use crate::head_parts::HeadParts;
use crate::json::{self, Object};
use crate::marks::PLACEHOLDER;
use crate::parts::{self, Piece};
use crate::{Comparison, RequestOptions, extra, names};

/// The mark itself, inserted before the closing brace of a part. The short lifetime is the default and goes unsaid.
pub(crate) fn mark_text(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Short => r#","prompt_cache_breakpoint":{"mode":"explicit"}"#,
        Lifetime::Long => r#","prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}"#,
    }
}

/// What closes the input and the request. What is asked of the cache may differ from request to request, so it stands
/// behind everything that is cached.
pub(crate) fn ending(head: &Head, options: &RequestOptions) -> Bytes {
    if head.scheme != CacheScheme::Breakpoints {
        return Bytes::from_static(b"]}");
    }
    let ttl = match options.lifetimes.messages() {
        Lifetime::Short => "30m",
        Lifetime::Long => "12h",
    };
    let asked = Object::new().string("mode", "explicit").string("ttl", ttl);
    let asked = match &options.comparison {
        Comparison::With(id) => asked.string("comparison_response_id", id),
        Comparison::None | Comparison::First => asked,
    };
    let asked = if options.warm { asked.raw("prewarm", "true") } else { asked };
    format!("],\"prompt_cache_options\":{}}}", asked.end()).into()
}

/// Thinking has no form here beyond the effort, and stop sequences have none at all. Nothing is stored at the provider's, so reasoning travels sealed in the
/// items.
pub(crate) fn render_head(parts: &HeadParts) -> Head {
    let settings = &parts.settings;
    let mut text = format!("{{\"model\":{}", json::string(&settings.model.name));
    text.push_str(&format!(",\"max_output_tokens\":{}", settings.max_tokens));
    if let Some(temperature) = parts.temperature_text() {
        text.push_str(&format!(",\"temperature\":{temperature}"));
    }
    text.push_str(&format!(",\"stream\":{}", parts.stream));
    text.push_str(r#","store":false,"include":["reasoning.encrypted_content"]"#);
    if let (CacheScheme::Breakpoints, Some(key)) = (parts.scheme, &parts.cache_key) {
        text.push_str(&format!(",\"prompt_cache_key\":{}", json::string(key)));
    }
    let reasoning = parts
        .sent_effort()
        .map_or_else(Object::new, |effort| Object::new().string("effort", effort.as_str()));
    let reasoning = extra::inside(parts, "reasoning", reasoning);
    if !reasoning.is_empty() {
        text.push_str(&format!(",\"reasoning\":{}", reasoning.end()));
    }
    if let Some(choice) = parts.chosen_tools().and_then(tool_choice) {
        text.push_str(&format!(",\"tool_choice\":{choice}"));
    }
    text.push_str(&extra::members(parts));
    if !parts.tools.is_empty() {
        let tools: Vec<String> = parts.sent_tools().into_iter().map(tool).collect();
        text.push_str(&format!(",\"tools\":[{}]", tools.join(",")));
    }
    text.push_str(",\"input\":[");
    let blocks = parts.system_prompt();
    let texts: Vec<&str> = blocks.iter().map(|(text, _)| *text).collect();
    let mut slots = Vec::new();
    if !texts.is_empty() {
        let system = words("developer", &texts);
        slots = parts::head_slots(&system, text.len(), &blocks);
        text.push_str(&system.json);
    }
    Head::new(WireFormat::OpenAiResponses, text, slots, !blocks.is_empty())
}

fn tool_choice(choice: &ToolChoice) -> Option<String> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("\"none\"".to_owned()),
        ToolChoice::Required => Some("\"required\"".to_owned()),
        ToolChoice::Tool(name) => {
            let object = Object::new().string("type", "function");
            Some(object.string("name", &names::to_wire(name)).end())
        }
    }
}

fn tool(tool: &crate::ToolDeclaration) -> String {
    Object::new()
        .string("type", "function")
        .string("name", &names::to_wire(&tool.name))
        .string("description", &tool.description)
        .raw("parameters", tool.schema.as_str())
        .raw("strict", "false")
        .end()
}

/// Makes frames. One message is several items here: each tool result and each call is an item of its own.
pub(crate) struct ResponsesFramer;

impl Framer for ResponsesFramer {
    fn format(&self) -> WireFormat {
        WireFormat::OpenAiResponses
    }

    fn frame(&self, closed: &Closed<'_>) -> Frame {
        let placeholders: Vec<Piece> =
            closed.placeholders.iter().map(|call| answer(closed, call, &[PLACEHOLDER])).collect();
        let (results, others) = match closed.message.role() {
            Role::Assistant => (Vec::new(), assistant(closed.message)),
            Role::User | Role::System => user(closed),
        };
        parts::frame(results, (placeholders, closed.leading()), others)
    }
}

/// The items of a message that came in this format; none of any other.
fn kept_items(message: &Message) -> Vec<Item<'_>> {
    let raw = message.raw().filter(|raw| raw.format == WireFormat::OpenAiResponses);
    raw.and_then(|raw| read::items(raw.json.as_str()).ok()).unwrap_or_default()
}

/// Tool results, which must follow their calls, and everything else.
fn user(closed: &Closed<'_>) -> (Vec<Piece>, Vec<Piece>) {
    let items = kept_items(closed.message);
    if items.is_empty() {
        return written(closed);
    }
    let (mut results, mut others) = (Vec::new(), Vec::new());
    let mut index = 0;
    for item in items {
        match item.blocks.as_slice() {
            [Block::ToolResult { call, content, .. }] if closed.is_orphan(index) => {
                others.push(words("user", &[&parts::earlier_result(&call.0, content)]));
            }
            [Block::ToolResult { .. }] => {
                results.push(Piece::in_parts(item.raw.get(), "output", INPUT_TEXT));
            }
            _ => others.push(Piece::in_parts(item.raw.get(), "content", INPUT_TEXT)),
        }
        index += item.blocks.len();
    }
    (results, others)
}

/// A message that did not come in this format. The results of failed calls say so in their text.
fn written(closed: &Closed<'_>) -> (Vec<Piece>, Vec<Piece>) {
    let (mut results, mut texts) = (Vec::new(), Vec::new());
    for (index, block) in closed.message.blocks().iter().enumerate() {
        match block {
            Block::ToolResult { call, content, .. } if closed.is_orphan(index) => {
                texts.push(parts::earlier_result(&call.0, content));
            }
            Block::ToolResult { call, content, .. } => {
                results.push(answer(closed, call, &parts::texts(content)));
            }
            Block::Text(text) => texts.push(text.clone()),
            // Other providers' shapes mean nothing here.
            Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolUse { .. }
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => {}
        }
    }
    let role = if closed.message.role() == Role::System { "developer" } else { "user" };
    let texts: Vec<&str> = texts.iter().map(String::as_str).filter(|t| !t.is_empty()).collect();
    let others = if texts.is_empty() { Vec::new() } else { vec![words(role, &texts)] };
    (results, others)
}

/// The kind of the parts that a request says.
const INPUT_TEXT: &str = "input_text";

fn part(kind: &str, text: &str) -> String {
    Object::new().string("type", kind).string("text", text).end()
}

fn list(kind: &str, texts: &[&str]) -> String {
    let list: Vec<String> = texts.iter().map(|text| part(kind, text)).collect();
    format!("[{}]", list.join(","))
}

/// A message of a request.
fn words(role: &str, texts: &[&str]) -> Piece {
    let item = Object::new().string("role", role).raw("content", &list(INPUT_TEXT, texts)).end();
    Piece::in_parts(&item, "content", INPUT_TEXT)
}

/// The answer to a call, as a list of parts so that it can carry a mark. Its kind is that of the call.
fn answer(closed: &Closed<'_>, call: &ToolCallId, texts: &[&str]) -> Piece {
    let texts: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    // A call that did not come in this format is sent as one of a function.
    let calls = closed.before.map(kept_items).unwrap_or_default();
    let kind = match calls.iter().any(|item| read::is_custom_call(item, call)) {
        true => "custom_tool_call_output",
        false => "function_call_output",
    };
    let item = Object::new().string("type", kind).string("call_id", &call.0);
    let item = match texts.as_slice() {
        [] => item.string("output", ""),
        texts => item.raw("output", &list(INPUT_TEXT, texts)),
    };
    Piece::in_parts(&item.end(), "output", INPUT_TEXT)
}

/// The model's items. Reasoning at the very end, as of a reply that was cut at its token limit, is left out: it is refused
/// without the item that it led to. Reasoning that came neither sealed nor in full is left out too, since nothing is stored that it
/// could refer to; the items that it led to go without their ids, by which they would be missed.
fn assistant(message: &Message) -> Vec<Piece> {
    let items = kept_items(message);
    if items.is_empty() {
        return retold(message);
    }
    let mut calls: Vec<ToolCallId> = Vec::new();
    let mut pieces = Vec::new();
    let mut kept = 0;
    let mut is_reasoning_lost = false;
    for item in items {
        let json = if is_reasoning_lost {
            &parts::without_member(item.raw.get(), "id")
        } else {
            item.raw.get()
        };
        match item.blocks.as_slice() {
            // Two calls of one id could not be told apart when they are answered.
            [Block::ToolUse { id, .. }] if calls.contains(id) => continue,
            [Block::ToolUse { id, input, .. }] => {
                calls.push(id.clone());
                pieces.push(Piece::plain(match input {
                    ToolInput::Valid(_) => json.to_owned(),
                    ToolInput::Invalid(_) => parts::with_member(json, "arguments", "\"{}\""),
                }));
            }
            [Block::Thinking { .. } | Block::RedactedThinking(_)] => {
                is_reasoning_lost = !read::can_be_sent_back(item.raw);
                if !is_reasoning_lost {
                    pieces.push(Piece::plain(item.raw.get()));
                }
                continue;
            }
            _ => pieces.push(Piece::plain(json)),
        }
        kept = pieces.len();
    }
    pieces.truncate(kept);
    pieces
}

/// An answer that did not come in this format: its texts and its calls, in order.
fn retold(message: &Message) -> Vec<Piece> {
    let mut calls: Vec<&ToolCallId> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut pieces = Vec::new();
    for block in message.blocks() {
        match block {
            Block::Text(text) if !text.is_empty() => texts.push(text),
            Block::ToolUse { id, name, input } if !calls.contains(&id) => {
                calls.push(id);
                pieces.extend(told(&std::mem::take(&mut texts)));
                let call = Object::new().string("type", "function_call").string("call_id", &id.0);
                let call = call.string("name", &names::to_wire(name));
                pieces.push(Piece::plain(call.string("arguments", input.as_object()).end()));
            }
            // Reasoning is bound to the provider that sealed it, and other providers' shapes mean nothing here.
            Block::Text(_)
            | Block::ToolUse { .. }
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolResult { .. }
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => {}
        }
    }
    pieces.extend(told(&texts));
    pieces
}

fn told(texts: &[&str]) -> Option<Piece> {
    (!texts.is_empty()).then(|| Piece::plain(said(texts)))
}

/// A message of the model.
pub(crate) fn said(texts: &[&str]) -> String {
    let item = Object::new().string("type", "message").string("role", "assistant");
    item.raw("content", &list("output_text", texts)).end()
}
