//! History → Anthropic Messages.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tine_history::{Closed, Frame, Framer, Slot};
use tine_model::{Block, Lifetime, Message, Role, Thinking, ToolCallId, ToolChoice, WireFormat};

use crate::head::{Head, HeadSlot};
use crate::head_parts::HeadParts;
use crate::json::{self, Object};
use crate::marks::PLACEHOLDER;
use crate::parts::earlier_result;
use crate::{Comparison, RequestOptions, extra, names};

/// The mark itself, inserted before the closing brace of a block. The short lifetime is the default and goes unsaid.
pub(crate) fn mark_text(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Short => r#","cache_control":{"type":"ephemeral"}"#,
        Lifetime::Long => r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
    }
}

/// Reasoning that was signed behind other words than it stands behind now is left out; without this the API refuses the
/// request. Source: Anthropic, "Preserved thinking: prefix checks".
const DROP_FOREIGN_THINKING: &str = r#"{"prefix_mismatch_behavior":"drop_block"}"#;

/// What closes the messages and the request. The question about the cache stands behind everything that it is about.
pub(crate) fn ending(options: &RequestOptions) -> Bytes {
    match &options.comparison {
        Comparison::None => Bytes::from_static(b"]}"),
        Comparison::First => {
            Bytes::from_static(b"],\"diagnostics\":{\"previous_message_id\":null}}")
        }
        Comparison::With(id) => {
            let diagnostics = Object::new().string("previous_message_id", id).end();
            format!("],\"diagnostics\":{diagnostics}}}").into()
        }
    }
}

pub(crate) fn render_head(parts: &HeadParts) -> Head {
    let mut text = settings(parts);
    let mut slots = Vec::new();
    let blocks = parts.system_prompt();
    if !parts.tools.is_empty() {
        let tools: Vec<String> = parts.sent_tools().into_iter().map(tool).collect();
        text.push_str(&format!(",\"tools\":[{}", tools.join(",")));
        if parts.cache_tools || blocks.is_empty() {
            slots.push(HeadSlot { offset: text.len() - 1, lifetime: Lifetime::Short });
        }
        text.push(']');
    }
    for (index, (words, cache)) in blocks.iter().enumerate() {
        let block = Object::new().string("type", "text").string("text", words).end();
        text.push_str(if index == 0 { ",\"system\":[" } else { "," });
        text.push_str(&block);
        if cache.is_some() || index + 1 == blocks.len() {
            slots.push(HeadSlot { offset: text.len() - 1, lifetime: cache.unwrap_or_default() });
        }
    }
    text.push_str(if blocks.is_empty() { "" } else { "]" });
    text.push_str(",\"messages\":[");
    Head::new(WireFormat::Anthropic, text, slots, false)
}

/// Everything before the tools.
fn settings(parts: &HeadParts) -> String {
    let settings = &parts.settings;
    let mut text = format!("{{\"model\":{}", json::string(&settings.model.name));
    text.push_str(&format!(",\"max_tokens\":{}", settings.max_tokens));
    if let Some(temperature) = parts.temperature_text() {
        text.push_str(&format!(",\"temperature\":{temperature}"));
    }
    if !parts.stop_sequences.is_empty() {
        text.push_str(&format!(",\"stop_sequences\":{}", json::strings(&parts.stop_sequences)));
    }
    if let Some(thinking) = settings.thinking {
        let object = match thinking {
            Thinking::Adaptive => Object::new().string("type", "adaptive"),
            Thinking::Budget(tokens) => {
                Object::new().string("type", "enabled").raw("budget_tokens", &tokens.to_string())
            }
        };
        let object = if parts.drop_foreign_thinking {
            object.raw("block_binding", DROP_FOREIGN_THINKING)
        } else {
            object
        };
        let object = extra::inside(parts, "thinking", object);
        text.push_str(&format!(",\"thinking\":{}", object.end()));
    }
    let config = parts
        .sent_effort()
        .map_or_else(Object::new, |effort| Object::new().string("effort", effort.as_str()));
    let config = extra::inside(parts, "output_config", config);
    if !config.is_empty() {
        text.push_str(&format!(",\"output_config\":{}", config.end()));
    }
    if let Some(choice) = tool_choice(parts) {
        text.push_str(&format!(",\"tool_choice\":{choice}"));
    }
    text.push_str(&format!(",\"stream\":{}", parts.stream));
    text.push_str(&extra::members(parts));
    text
}

/// Which tools may be called, and further settings of that; `None` where that is what the API does anyway. Without tools the API
/// refuses it.
fn tool_choice(parts: &HeadParts) -> Option<String> {
    let object = match &parts.tool_choice {
        ToolChoice::Auto => Object::new().string("type", "auto"),
        ToolChoice::None => Object::new().string("type", "none"),
        ToolChoice::Required => Object::new().string("type", "any"),
        ToolChoice::Tool(name) => {
            Object::new().string("type", "tool").string("name", &names::to_wire(name))
        }
    };
    let written = extra::inside(parts, "tool_choice", object).end();
    (!parts.tools.is_empty() && written != r#"{"type":"auto"}"#).then_some(written)
}

fn tool(tool: &crate::ToolDeclaration) -> String {
    Object::new()
        .string("name", &names::to_wire(&tool.name))
        .string("description", &tool.description)
        .raw("input_schema", tool.schema.as_str())
        .end()
}

/// Makes Anthropic frames.
pub(crate) struct AnthropicFramer;

impl Framer for AnthropicFramer {
    fn format(&self) -> WireFormat {
        WireFormat::Anthropic
    }

    fn frame(&self, closed: &Closed<'_>) -> Frame {
        let mut frame = FrameText::default();
        let leading = closed.leading();
        let (first, rest) = closed.placeholders.split_at(leading);
        let placeholder = |call: &&ToolCallId| Piece {
            json: Object::new()
                .string("type", "tool_result")
                .string("tool_use_id", &call.0)
                .string("content", PLACEHOLDER)
                .end(),
            markable: true,
        };
        let (first, rest) = (first.iter().map(placeholder), rest.iter().map(placeholder));
        let (results, others) = pieces(closed);
        if closed.apart() {
            frame.message("user", first.collect());
            frame.message(role(closed.message.role()), [results, others].concat());
        } else {
            let all = first.chain(results).chain(rest).chain(others).collect();
            frame.message(role(closed.message.role()), all);
        }
        frame.finish(leading)
    }
}

fn role(role: Role) -> &'static str {
    match role {
        // A system message in mid-conversation is refused by most models; as a user message every model takes it.
        Role::User | Role::System => "user",
        Role::Assistant => "assistant",
    }
}

#[derive(Clone)]
struct Piece {
    json: String,
    markable: bool,
}

#[derive(Default)]
struct FrameText {
    text: String,
    slots: Vec<Slot>,
    blocks: usize,
}

impl FrameText {
    fn message(&mut self, role: &str, pieces: Vec<Piece>) {
        if pieces.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(',');
        }
        self.text.push_str(&format!("{{\"role\":\"{role}\",\"content\":["));
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.text.push_str(&piece.json);
            if piece.markable {
                self.slots.push(Slot { offset: self.text.len() - 1, block: self.blocks });
            }
            self.blocks += 1;
        }
        self.text.push_str("]}");
    }

    fn finish(self, placeholders: usize) -> Frame {
        let Self { text, slots, blocks } = self;
        Frame { bytes: Bytes::from(text), slots, blocks, placeholders }
    }
}

/// The blocks of a message as JSON: its tool results, which must come first, and the rest.
fn pieces(closed: &Closed<'_>) -> (Vec<Piece>, Vec<Piece>) {
    let message = closed.message;
    let kept = kept_blocks(message);
    let (mut results, mut others) = (Vec::new(), Vec::new());
    let mut calls: Vec<&ToolCallId> = Vec::new();
    for (index, block) in without_trailing_reasoning(message).iter().enumerate() {
        if let Block::ToolUse { id, .. } = block {
            // Two calls of one id are refused, and could not be told apart when they are answered.
            if calls.contains(&id) {
                continue;
            }
            calls.push(id);
        }
        let orphan = closed.is_orphan(index);
        let json = match kept.get(index) {
            Some(kept) if !orphan => Some((*kept).to_owned()),
            _ => encode_block(message, block, orphan),
        };
        let Some(json) = json.filter(|_| !is_empty_text(block) && !is_unsigned(block)) else {
            continue;
        };
        let piece = Piece { json, markable: is_markable(block) };
        match block {
            Block::ToolResult { .. } if !orphan => results.push(piece),
            _ => others.push(piece),
        }
    }
    (results, others)
}

/// The provider's own text of each block; empty unless the message came in this format, block by block.
fn kept_blocks(message: &Message) -> Vec<&str> {
    #[derive(Deserialize)]
    struct Kept<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let Some(raw) = message.raw().filter(|raw| raw.format == WireFormat::Anthropic) else {
        return Vec::new();
    };
    let kept: Option<Kept<'_>> = serde_json::from_str(raw.json.as_str()).ok();
    let blocks: Vec<&str> =
        kept.map_or_else(Vec::new, |kept| kept.content.into_iter().map(RawValue::get).collect());
    if blocks.len() == message.blocks().len() { blocks } else { Vec::new() }
}

/// The API refuses text blocks that show nothing, even those it sent itself.
fn is_empty_text(block: &Block) -> bool {
    matches!(block, Block::Text(text) if text.trim().is_empty())
}

/// The API refuses reasoning without a signature, as a session has it that was kept before its end.
fn is_unsigned(block: &Block) -> bool {
    matches!(block, Block::Thinking { signature, .. } if signature.as_deref().is_none_or(str::is_empty))
}

/// The API refuses an assistant message that ends in reasoning, as one does that was cut at its token limit.
fn without_trailing_reasoning(message: &Message) -> &[Block] {
    let blocks = message.blocks();
    let is_reasoning =
        |block: &Block| matches!(block, Block::Thinking { .. } | Block::RedactedThinking(_));
    let shown = |block: &Block| !is_reasoning(block) && !is_empty_text(block);
    let end = blocks.iter().rposition(shown).map_or(0, |last| last + 1);
    if message.role() == Role::Assistant { &blocks[..end] } else { blocks }
}

/// Where the API takes `cache_control`: not on thinking, and not on blocks that we do not know.
fn is_markable(block: &Block) -> bool {
    match block {
        Block::Text(_)
        | Block::ToolUse { .. }
        | Block::ToolResult { .. }
        | Block::Image(_)
        | Block::Document(_) => true,
        Block::Thinking { .. } | Block::RedactedThinking(_) | Block::Unknown(_) => false,
    }
}

/// A block that has no text of its own in this format; `None` when it has no form in it.
fn encode_block(message: &Message, block: &Block, orphan: bool) -> Option<String> {
    let ours = message.raw().is_none_or(|raw| raw.format == WireFormat::Anthropic);
    let object = Object::new();
    Some(match block {
        Block::Text(text) => object.string("type", "text").string("text", text).end(),
        Block::ToolUse { id, name, input } => {
            let object = object.string("type", "tool_use").string("id", &id.0);
            object.string("name", &names::to_wire(name)).raw("input", input.as_object()).end()
        }
        Block::ToolResult { call, content, .. } if orphan => {
            object.string("type", "text").string("text", &earlier_result(&call.0, content)).end()
        }
        Block::ToolResult { call, content, is_error } => {
            let object = object.string("type", "tool_result").string("tool_use_id", &call.0);
            let object = object.raw("content", &result_content(message, content));
            if *is_error { object.raw("is_error", "true").end() } else { object.end() }
        }
        Block::Thinking { text, signature: Some(signature) } if ours => {
            let object = object.string("type", "thinking").string("thinking", text);
            object.string("signature", signature).end()
        }
        Block::RedactedThinking(data) if ours => {
            object.string("type", "redacted_thinking").string("data", data).end()
        }
        Block::Image(json) | Block::Document(json) | Block::Unknown(json) if ours => {
            json.as_str().to_owned()
        }
        // Reasoning is bound to the provider that signed it, and other providers' shapes mean nothing here.
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::Image(_)
        | Block::Document(_)
        | Block::Unknown(_) => return None,
    })
}

/// One text as a string, anything else as blocks.
fn result_content(message: &Message, content: &[Block]) -> String {
    if let [Block::Text(text)] = content {
        return json::string(text);
    }
    let parts = content.iter().filter(|block| !is_empty_text(block));
    let blocks: Vec<String> =
        parts.filter_map(|block| encode_block(message, block, false)).collect();
    format!("[{}]", blocks.join(","))
}
