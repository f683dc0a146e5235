//! History → OpenAI Chat Completions, with contents as plain strings or as lists of parts.

use bytes::Bytes;
use tine_history::{Closed, Frame, Framer};
use tine_model::{
    Block, CacheScheme, Lifetime, Message, Role, ToolCallId, ToolChoice, ToolInput, WireFormat,
};

use crate::head::{Head, chat_max_tokens_field};
use crate::head_parts::HeadParts;
use crate::json::{self, Object};
use crate::marks::PLACEHOLDER;
use crate::parts::{self, Piece};
use crate::{RequestOptions, extra, names};

pub(crate) fn render_head(parts: &HeadParts, format: WireFormat) -> Head {
    let mut text = settings(parts, format);
    if !parts.tools.is_empty() {
        let tools: Vec<String> = parts.sent_tools().into_iter().map(tool).collect();
        text.push_str(&format!(",\"tools\":[{}]", tools.join(",")));
    }
    text.push_str(",\"messages\":[");
    let blocks = parts.system_prompt();
    let texts: Vec<&str> = blocks.iter().map(|(text, _)| *text).collect();
    let mut slots = Vec::new();
    if !texts.is_empty() {
        let system = ChatFramer { format }.said("system", &texts);
        slots = parts::head_slots(&system, text.len(), &blocks);
        text.push_str(&system.json);
    }
    Head::new(format, text, slots, !blocks.is_empty())
}

/// Everything before the tools.
fn settings(parts: &HeadParts, format: WireFormat) -> String {
    let settings = &parts.settings;
    let mut text = format!("{{\"model\":{}", json::string(&settings.model.name));
    let limit = chat_max_tokens_field(settings.model.provider);
    text.push_str(&format!(",\"{limit}\":{}", settings.max_tokens));
    if let Some(temperature) = parts.temperature_text() {
        text.push_str(&format!(",\"temperature\":{temperature}"));
    }
    if !parts.stop_sequences.is_empty() {
        text.push_str(&format!(",\"stop\":{}", json::strings(&parts.stop_sequences)));
    }
    if let (true, Some(key)) = (takes_breakpoints(format, parts.scheme), &parts.cache_key) {
        text.push_str(&format!(",\"prompt_cache_key\":{}", json::string(key)));
    }
    if let Some(effort) = parts.sent_effort() {
        text.push_str(&format!(",\"reasoning_effort\":\"{}\"", effort.as_str()));
    }
    if let Some(choice) = parts.chosen_tools().and_then(tool_choice) {
        text.push_str(&format!(",\"tool_choice\":{choice}"));
    }
    text.push_str(&format!(",\"stream\":{}", parts.stream));
    if parts.stream {
        let options = Object::new().raw("include_usage", "true");
        let options = extra::inside(parts, "stream_options", options);
        text.push_str(&format!(",\"stream_options\":{}", options.end()));
    }
    text.push_str(&extra::members(parts));
    text
}

fn tool_choice(choice: &ToolChoice) -> Option<String> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("\"none\"".to_owned()),
        ToolChoice::Required => Some("\"required\"".to_owned()),
        ToolChoice::Tool(name) => {
            let function = Object::new().string("name", &names::to_wire(name)).end();
            Some(Object::new().string("type", "function").raw("function", &function).end())
        }
    }
}

/// Contents as plain strings have no place for a breakpoint; the key alone would ask for nothing.
fn takes_breakpoints(format: WireFormat, scheme: CacheScheme) -> bool {
    format == WireFormat::OpenAiChatParts && scheme == CacheScheme::Breakpoints
}

/// The mark itself, inserted before the closing brace of a part. Chat has the short lifetime only, so that a mark that
/// asks for the long one gets the short one.
pub(crate) fn mark_text(_lifetime: Lifetime) -> &'static str {
    r#","prompt_cache_breakpoint":{"mode":"explicit"}"#
}

/// What closes the messages and the request. Chat knows neither the long lifetime nor the question where a request parts
/// from an earlier one.
pub(crate) fn ending(head: &Head, _options: &RequestOptions) -> Bytes {
    Bytes::from_static(if takes_breakpoints(head.format, head.scheme) {
        br#"],"prompt_cache_options":{"mode":"explicit","ttl":"30m"}}"#
    } else {
        b"]}"
    })
}

fn tool(tool: &crate::ToolDeclaration) -> String {
    let function = Object::new()
        .string("name", &names::to_wire(&tool.name))
        .string("description", &tool.description)
        .raw("parameters", tool.schema.as_str())
        .end();
    Object::new().string("type", "function").raw("function", &function).end()
}

/// Makes chat frames. One message may be several here: each tool result is a message of its own.
pub(crate) struct ChatFramer {
    format: WireFormat,
}

impl ChatFramer {
    /// Content as plain strings.
    pub(crate) const STRINGS: Self = Self { format: WireFormat::OpenAiChat };
    /// Content as lists of parts.
    pub(crate) const PARTS: Self = Self { format: WireFormat::OpenAiChatParts };
}

impl Framer for ChatFramer {
    fn format(&self) -> WireFormat {
        self.format
    }

    fn frame(&self, closed: &Closed<'_>) -> Frame {
        let placeholders: Vec<Piece> =
            closed.placeholders.iter().map(|call| self.result(&call.0, &[PLACEHOLDER])).collect();
        let (results, others) = match closed.message.role() {
            Role::Assistant => {
                let said = assistant(closed.message).map(Piece::plain);
                (Vec::new(), said.into_iter().collect())
            }
            Role::User | Role::System => self.user(closed),
        };
        parts::frame(results, (placeholders, closed.leading()), others)
    }
}

impl ChatFramer {
    /// Texts as a content: one string, joined by `joint`, or a list of parts. A list may not be empty, nor a part in it.
    fn content(&self, texts: &[&str], joint: &str) -> String {
        let parts: Vec<String> = texts
            .iter()
            .filter(|text| !text.is_empty())
            .map(|text| Object::new().string("type", "text").string("text", text).end())
            .collect();
        match self.format {
            WireFormat::OpenAiChatParts if parts.is_empty() => "\"\"".to_owned(),
            WireFormat::OpenAiChatParts => format!("[{}]", parts.join(",")),
            _ => json::string(&texts.join(joint)),
        }
    }

    /// A message as a piece, with its places for breakpoints where the format has any.
    fn piece(&self, message: &str) -> Piece {
        match self.format {
            WireFormat::OpenAiChatParts => Piece::in_parts(message, "content", "text"),
            _ => Piece::plain(message),
        }
    }

    fn said(&self, role: &str, texts: &[&str]) -> Piece {
        let content = self.content(texts, "\n\n");
        self.piece(&Object::new().string("role", role).raw("content", &content).end())
    }

    fn result(&self, call: &str, texts: &[&str]) -> Piece {
        let message = Object::new().string("role", "tool").string("tool_call_id", call);
        self.piece(&message.raw("content", &self.content(texts, "\n")).end())
    }

    /// Tool results first, then everything else as one message.
    fn user(&self, closed: &Closed<'_>) -> (Vec<Piece>, Vec<Piece>) {
        if closed.is_sound()
            && let Some(kept) = kept(closed.message)
        {
            let kept = vec![self.piece(&kept)];
            // An answer goes before the placeholders, anything else behind them.
            let blocks = closed.message.blocks();
            let answers = blocks.iter().any(|block| matches!(block, Block::ToolResult { .. }));
            return if answers { (kept, Vec::new()) } else { (Vec::new(), kept) };
        }
        let (mut results, mut texts) = (Vec::new(), Vec::new());
        for (index, block) in closed.message.blocks().iter().enumerate() {
            match block {
                Block::ToolResult { call, content, .. } if closed.is_orphan(index) => {
                    texts.push(parts::earlier_result(&call.0, content));
                }
                Block::ToolResult { call, content, .. } => {
                    results.push(self.result(&call.0, &parts::texts(content)));
                }
                Block::Text(text) => texts.push(text.clone()),
                Block::Thinking { .. }
                | Block::RedactedThinking(_)
                | Block::ToolUse { .. }
                | Block::Image(_)
                | Block::Document(_)
                | Block::Unknown(_) => {}
            }
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let others = (!texts.is_empty()).then(|| self.said("user", &texts));
        (results, others.into_iter().collect())
    }
}

/// The provider's own text, unless a call in it has arguments that servers refuse to read back, or the id of another one.
fn kept(message: &Message) -> Option<String> {
    let raw = message.raw().filter(|raw| raw.format == WireFormat::OpenAiChat)?;
    let invalid =
        |block: &Block| matches!(block, Block::ToolUse { input: ToolInput::Invalid(_), .. });
    let sound = !message.blocks().iter().any(invalid)
        && calls(message).len() == message.tool_calls().count();
    sound.then(|| raw.json.as_str().to_owned())
}

/// The calls of a message. Two of one id could not be told apart when they are answered, so the first one stands.
fn calls(message: &Message) -> Vec<&Block> {
    let mut ids: Vec<&ToolCallId> = Vec::new();
    let mut calls = Vec::new();
    for block in message.blocks() {
        if let Block::ToolUse { id, .. } = block
            && !ids.contains(&id)
        {
            ids.push(id);
            calls.push(block);
        }
    }
    calls
}

fn assistant(message: &Message) -> Option<String> {
    if let Some(kept) = kept(message) {
        return Some(kept);
    }
    let text = message.text();
    let calls: Vec<String> = calls(message).into_iter().filter_map(call).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if text.is_empty() { "null".to_owned() } else { json::string(&text) };
    let object = Object::new().string("role", "assistant").raw("content", &content);
    Some(if calls.is_empty() {
        object.end()
    } else {
        object.raw("tool_calls", &format!("[{}]", calls.join(","))).end()
    })
}

fn call(block: &Block) -> Option<String> {
    let Block::ToolUse { id, name, input } = block else { return None };
    let function = Object::new().string("name", &names::to_wire(name));
    let function = function.string("arguments", input.as_object()).end();
    let object = Object::new().string("id", &id.0).string("type", "function");
    Some(object.raw("function", &function).end())
}
