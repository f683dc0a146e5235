//! Anthropic message object → role and blocks, one block for each element of the content.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, RawJson, Role, ToolCallId};

use crate::names;
use crate::read::{self, Kind, ReadError, Text, input_from_raw, parse};

/// Reads a message whose cache marks are already cut out.
pub(crate) fn message(json: &str) -> Result<(Role, Vec<Block>), ReadError> {
    #[derive(Deserialize)]
    #[serde(expecting = "a message object")]
    struct Shape<'a> {
        role: String,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let shape: Shape<'_> = serde_json::from_str(json).map_err(ReadError::shape("the message"))?;
    let role = read::role(&shape.role).ok_or(ReadError::Role { role: shape.role })?;
    Ok((role, read::blocks(shape.content, "the message's content", block)?))
}

/// Reads one block; `index` names it in errors.
pub(crate) fn block(raw: &RawValue, index: usize) -> Result<Block, ReadError> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Thinking {
        #[serde(default)]
        thinking: String,
        signature: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Redacted {
        data: String,
    }
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Call<'a> {
        id: String,
        name: String,
        #[serde(borrow)]
        input: &'a RawValue,
    }
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Answer<'a> {
        tool_use_id: String,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        is_error: Option<bool>,
    }
    let at = format!("content block {index}");
    let Kind { kind } = parse(raw, &at)?;
    let at = format!("content block {index} (`{kind}`)");
    Ok(match kind.as_str() {
        "text" => Block::Text(parse::<Text>(raw, &at)?.text),
        "thinking" => {
            let Thinking { thinking, signature } = parse(raw, &at)?;
            Block::Thinking { text: thinking, signature: signature.filter(|s| !s.is_empty()) }
        }
        "redacted_thinking" => Block::RedactedThinking(parse::<Redacted>(raw, &at)?.data),
        "tool_use" => {
            let Call { id, name, input } = parse(raw, &at)?;
            let name = names::from_wire(&name).into_owned();
            Block::ToolUse { id: ToolCallId(id), name, input: input_from_raw(input) }
        }
        "tool_result" => {
            let Answer { tool_use_id, content, is_error } = parse(raw, &at)?;
            Block::ToolResult {
                call: ToolCallId(tool_use_id),
                content: result_content(content, &at)?,
                is_error: is_error.unwrap_or(false),
            }
        }
        "image" => Block::Image(RawJson::from_raw(raw)),
        "document" => Block::Document(RawJson::from_raw(raw)),
        _ => Block::Unknown(RawJson::from_raw(raw)),
    })
}

/// A result holds texts, images and documents. A result inside a result means nothing to any provider; it is
/// kept as unknown, which also bounds the depth of the reading.
fn result_content(content: Option<&RawValue>, at: &str) -> Result<Vec<Block>, ReadError> {
    read::blocks(content, at, |raw, index| {
        if raw.get().contains("\"tool_result\"") {
            Ok(Block::Unknown(RawJson::from_raw(raw)))
        } else {
            block(raw, index)
        }
    })
}
