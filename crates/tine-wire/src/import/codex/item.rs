//! One item of a rollout, as the provider takes it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message};

use crate::import::lines::{object, text};
use crate::json::{self, Object};

/// The kinds that Responses takes as they are. Source: OpenAI API reference, "Create a model response", 2026.
const NATIVE: [&str; 20] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "compaction",
    "compaction_summary",
    "web_search_call",
    "file_search_call",
    "computer_call",
    "computer_call_output",
    "image_generation_call",
    "code_interpreter_call",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
];

/// Whether items of this kind belong to a conversation.
pub(super) fn is_native(kind: &str) -> bool {
    NATIVE.contains(&kind)
}

/// The fields that matter.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    call_id: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    action: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
}

/// One item.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    pub(super) line: usize,
    pub(super) kind: String,
    /// What is sent; `None` for what the model never sees.
    pub(super) json: Option<Cow<'a, str>>,
}

impl<'a> Item<'a> {
    /// Reads an item that stands on a line.
    pub(super) fn of(line: usize, raw: &'a str) -> Self {
        let shape: Option<Shape<'_>> = object(raw);
        let kind = shape.as_ref().and_then(|shape| text(shape.kind));
        let kind = kind.unwrap_or_else(|| "item without a kind".to_owned());
        let json = match shape {
            _ if is_native(&kind) => Some(Cow::Borrowed(raw)),
            Some(shape) => rewritten(&kind, &shape).map(Cow::Owned),
            None => None,
        };
        Self { line, kind, json }
    }

    /// Whether it stands here in other words than in the file.
    pub(super) fn is_rewritten(&self) -> bool {
        matches!(self.json, Some(Cow::Owned(_)))
    }
}

/// The calls that only OpenAI knows, as function calls with the same id.
fn rewritten(kind: &str, shape: &Shape<'_>) -> Option<String> {
    let call_id = text(shape.call_id).or_else(|| text(shape.id))?;
    let call = |name: &str, arguments: &str| {
        let object = Object::new().string("type", "function_call").string("call_id", &call_id);
        object.string("name", name).string("arguments", arguments).end()
    };
    match kind {
        "custom_tool_call" => {
            let input = json::string(&text(shape.input).unwrap_or_default());
            Some(call(&text(shape.name)?, &Object::new().raw("input", &input).end()))
        }
        "local_shell_call" => Some(call("local_shell", shape.action.map_or("{}", RawValue::get))),
        "custom_tool_call_output" => {
            let output = shape.output.map_or("\"\"", RawValue::get);
            let object = Object::new().string("type", "function_call_output");
            Some(object.string("call_id", &call_id).raw("output", output).end())
        }
        _ => None,
    }
}

/// Whether a message holds a history that was compacted and sealed.
pub(super) fn is_sealed_summary(message: &Message) -> bool {
    message.blocks().iter().any(|block| match block {
        Block::Unknown(json) => {
            json.text_at("type").is_some_and(|kind| kind.starts_with("compaction"))
        }
        _ => false,
    })
}

/// What the harness writes into the user's mouth. It begins no turn. Source: openai/codex, contextual user fragments, 2026.
const HARNESS: [&str; 7] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<skill>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<subagent_notification>",
];

/// Whether a message of the user is the user's own, and so the beginning of a turn.
pub(super) fn is_prompt(words: &str) -> bool {
    !HARNESS.iter().any(|mark| words.trim_start().starts_with(mark))
}
