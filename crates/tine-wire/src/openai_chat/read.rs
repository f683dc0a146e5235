//! Chat message object → role and blocks.
//!
//! The order of the blocks is reasoning, text, calls; the format has no order of its own. A `tool` message is a
//! user message that holds one result. A call without an id (some compatible servers leave it out) is named by
//! its place among the calls of its message, `call_0`, `call_1`, …, so that every reading gives the same name.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, RawJson, Role, ToolCallId};

use crate::read::{self, Kind, ReadError, Refusal, Text, parse};
use crate::{lenient, names};

/// Where servers put visible reasoning. When both are there they say the same, and the first counts.
pub(crate) const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

#[derive(Deserialize)]
#[serde(expecting = "a message object")]
struct Shape<'a> {
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    reasoning_content: Option<&'a RawValue>,
    reasoning: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    tool_call_id: Option<String>,
}

/// The name of a call that came without one.
pub(crate) fn missing_id(position: usize) -> String {
    format!("call_{position}")
}

/// Reads a message whose cache marks are already cut out.
pub(crate) fn message(json: &str) -> Result<(Role, Vec<Block>), ReadError> {
    let shape: Shape<'_> = serde_json::from_str(json).map_err(ReadError::shape("the message"))?;
    let content = read::blocks(shape.content, "the message's content", part)?;
    match shape.role.as_str() {
        "tool" => {
            let missing = || ReadError::Shape {
                at: "the tool message".into(),
                what: "missing field `tool_call_id`".into(),
            };
            let call = shape.tool_call_id.ok_or_else(missing)?;
            let call = ToolCallId(call);
            Ok((Role::User, vec![Block::ToolResult { call, content, is_error: false }]))
        }
        "developer" => Ok((Role::System, content)),
        name => match read::role(name) {
            Some(Role::Assistant) => Ok((Role::Assistant, assistant(&shape, content)?)),
            Some(role @ (Role::User | Role::System)) => Ok((role, content)),
            None => Err(ReadError::Role { role: shape.role }),
        },
    }
}

fn assistant(shape: &Shape<'_>, content: Vec<Block>) -> Result<Vec<Block>, ReadError> {
    let text = |raw: Option<&RawValue>| -> Option<String> {
        let text: String = serde_json::from_str(raw?.get()).ok()?;
        (!text.is_empty()).then_some(text)
    };
    let reasoning = text(shape.reasoning_content).or_else(|| text(shape.reasoning));
    let mut blocks = Vec::new();
    blocks.extend(reasoning.map(|text| Block::Thinking { text, signature: None }));
    blocks.extend(content);
    blocks.extend(text(shape.refusal).map(Block::Text));
    if let Some(calls) = shape.tool_calls {
        let calls: Vec<&RawValue> = parse(calls, "the message's tool_calls")?;
        for (position, raw) in calls.into_iter().enumerate() {
            blocks.push(call(raw, position)?);
        }
    }
    Ok(blocks)
}

fn call(raw: &RawValue, position: usize) -> Result<Block, ReadError> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Call<'a> {
        #[serde(default, deserialize_with = "lenient::text")]
        id: Option<String>,
        #[serde(borrow)]
        function: Option<Function<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Function<'a> {
        name: String,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let at = format!("tool call {position}");
    let Call { id, function } = parse(raw, &at)?;
    // A call of another kind than a function; tine declares functions only.
    let Some(Function { name, arguments }) = function else {
        return Ok(Block::Unknown(RawJson::from_raw(raw)));
    };
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| missing_id(position));
    let input = read::input(arguments, &at)?;
    let name = names::from_wire(&name).into_owned();
    Ok(Block::ToolUse { id: ToolCallId(id), name, input })
}

fn part(raw: &RawValue, index: usize) -> Result<Block, ReadError> {
    let at = format!("content part {index}");
    let Kind { kind } = parse(raw, &at)?;
    let at = format!("content part {index} (`{kind}`)");
    Ok(match kind.as_str() {
        "text" => Block::Text(parse::<Text>(raw, &at)?.text),
        "refusal" => Block::Text(parse::<Refusal>(raw, &at)?.refusal),
        "image_url" => Block::Image(RawJson::from_raw(raw)),
        "file" => Block::Document(RawJson::from_raw(raw)),
        _ => Block::Unknown(RawJson::from_raw(raw)),
    })
}
