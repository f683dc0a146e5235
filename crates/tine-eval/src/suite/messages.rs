//! The conversation that a case's fork inherits.

use tine_model::{Block, Message, RawJson, Role, ToolCallId, ToolInput};

use super::Wrong;
use super::raw::{RawMessage, Speaker};

/// Checks that it is one that a parent could have: it begins with the user, and what is answered was asked in the message before.
/// Calls at its end may be open.
pub(super) fn read(raw: Vec<RawMessage>) -> Result<Vec<Message>, Wrong> {
    let mut messages: Vec<Message> = Vec::with_capacity(raw.len());
    for (number, raw) in (1..).zip(raw) {
        let message = message(raw, messages.last());
        let message = message.map_err(|what| Wrong::new(format!("message {number}: {what}")))?;
        messages.push(message);
    }
    Ok(messages)
}

fn message(raw: RawMessage, before: Option<&Message>) -> Result<Message, String> {
    let text = (!raw.text.is_empty()).then_some(Block::Text(raw.text));
    let (role, blocks): (Role, Vec<Block>) = match raw.role {
        Speaker::User => {
            if !raw.calls.is_empty() {
                return Err("only the assistant makes `calls`".to_owned());
            }
            let asked = |id: &str| {
                before.is_some_and(|before| before.tool_calls().any(|call| call.0 == id))
            };
            if let Some(result) = raw.results.iter().find(|result| !asked(&result.call)) {
                return Err(format!("the message before makes no call `{}`", result.call));
            }
            let result = |result: super::raw::RawResult| {
                Block::result(ToolCallId(result.call), result.text, result.is_error)
            };
            (Role::User, raw.results.into_iter().map(result).chain(text).collect())
        }
        Speaker::Assistant => {
            if !raw.results.is_empty() {
                return Err("only the user's side gives `results`".to_owned());
            }
            if before.is_none_or(|before| before.role() == Role::Assistant) {
                return Err("the assistant answers a message of the user's".to_owned());
            }
            let calls: Vec<Block> = raw.calls.into_iter().map(call).collect::<Result<_, _>>()?;
            (Role::Assistant, text.into_iter().chain(calls).collect())
        }
    };
    if blocks.is_empty() {
        Err("it says nothing: it needs `text`, `calls` or `results`".to_owned())
    } else {
        Ok(Message::new(role, blocks))
    }
}

fn call(raw: super::raw::RawCall) -> Result<Block, String> {
    let input = serde_json::Value::Object(raw.input).to_string();
    let input = RawJson::parse(&input).map_err(|error| error.to_string())?;
    let (id, input) = (ToolCallId(raw.id), ToolInput::Valid(input));
    Ok(Block::ToolUse { id, name: raw.tool, input })
}
