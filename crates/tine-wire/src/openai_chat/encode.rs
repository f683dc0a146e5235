//! History → OpenAI Chat Completions.

use bytes::Bytes;
use tine_history::{Closed, Frame, Framer};
use tine_model::{Block, Message, Role, ToolInput, WireFormat};

use crate::head::{Head, HeadParts, chat_max_tokens_field};
use crate::json::{self, Object};
use crate::marks::PLACEHOLDER;

pub(crate) fn render_head(parts: &HeadParts) -> Head {
    let settings = &parts.settings;
    let mut text = format!("{{\"model\":{}", json::string(&settings.model.name));
    let limit = chat_max_tokens_field(settings.model.provider);
    text.push_str(&format!(",\"{limit}\":{}", settings.max_tokens));
    if let Some(effort) = settings.effort {
        text.push_str(&format!(",\"reasoning_effort\":\"{}\"", effort.as_str()));
    }
    text.push_str(&format!(",\"stream\":{}", parts.stream));
    if parts.stream {
        text.push_str(r#","stream_options":{"include_usage":true}"#);
    }
    if !parts.tools.is_empty() {
        let tools: Vec<String> = parts.tools.iter().map(tool).collect();
        text.push_str(&format!(",\"tools\":[{}]", tools.join(",")));
    }
    text.push_str(",\"messages\":[");
    if !parts.system.is_empty() {
        text.push_str(&text_message("system", &parts.system));
    }
    Head::new(WireFormat::OpenAiChat, text, None, !parts.system.is_empty())
}

fn tool(tool: &crate::ToolDeclaration) -> String {
    let function = Object::new()
        .string("name", &tool.name)
        .string("description", &tool.description)
        .raw("parameters", tool.schema.as_str())
        .end();
    Object::new().string("type", "function").raw("function", &function).end()
}

fn text_message(role: &str, text: &str) -> String {
    Object::new().string("role", role).string("content", text).end()
}

/// Makes chat frames. One message may be several here: each tool result is a message of its own.
pub(crate) struct ChatFramer;

impl Framer for ChatFramer {
    fn format(&self) -> WireFormat {
        WireFormat::OpenAiChat
    }

    fn frame(&self, closed: &Closed<'_>) -> Frame {
        let placeholders: Vec<String> =
            closed.placeholders.iter().map(|call| result(&call.0, PLACEHOLDER)).collect();
        let messages = match closed.message.role() {
            Role::Assistant => {
                [placeholders, assistant(closed.message).into_iter().collect()].concat()
            }
            Role::User | Role::System => {
                let (results, others) = user(closed);
                [results, placeholders, others].concat()
            }
        };
        let bytes = Bytes::from(messages.join(","));
        let blocks = messages.len();
        Frame { bytes, slots: Vec::new(), blocks, placeholders: closed.placeholders.len() }
    }
}

/// The provider's own text, unless a call in it has arguments that servers refuse to read back.
fn kept(message: &Message) -> Option<String> {
    let raw = message.raw().filter(|raw| raw.format == WireFormat::OpenAiChat)?;
    let invalid =
        |block: &Block| matches!(block, Block::ToolUse { input: ToolInput::Invalid(_), .. });
    (!message.blocks().iter().any(invalid)).then(|| raw.json.as_str().to_owned())
}

fn result(call: &str, text: &str) -> String {
    Object::new().string("role", "tool").string("tool_call_id", call).string("content", text).end()
}

/// Tool results first, then everything else as one message.
fn user(closed: &Closed<'_>) -> (Vec<String>, Vec<String>) {
    if closed.is_sound()
        && let Some(kept) = kept(closed.message)
    {
        // An answer goes before the placeholders, anything else behind them.
        let answers =
            closed.message.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }));
        return if answers { (vec![kept], Vec::new()) } else { (Vec::new(), vec![kept]) };
    }
    let (mut results, mut texts) = (Vec::new(), Vec::new());
    for (index, block) in closed.message.blocks().iter().enumerate() {
        match block {
            Block::ToolResult { call, content, .. } if closed.is_orphan(index) => {
                texts.push(format!("Result of the earlier call {call}: {}", plain_text(content)));
            }
            Block::ToolResult { call, content, .. } => {
                results.push(result(&call.0, &plain_text(content)));
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
    let others = (!texts.is_empty()).then(|| text_message("user", &texts.join("\n\n")));
    (results, others.into_iter().collect())
}

fn assistant(message: &Message) -> Option<String> {
    if let Some(kept) = kept(message) {
        return Some(kept);
    }
    let text = message.text();
    let calls: Vec<String> = message.blocks().iter().filter_map(call).collect();
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
    let arguments = match input {
        ToolInput::Valid(input) => input.as_str(),
        ToolInput::Invalid(_) => "{}",
    };
    let function = Object::new().string("name", name).string("arguments", arguments).end();
    let object = Object::new().string("id", &id.0).string("type", "function");
    Some(object.raw("function", &function).end())
}

fn plain_text(content: &[Block]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(Block::as_text).collect();
    texts.join("\n")
}
