//! Messages and replies of a model, in our own words: they carry no provider's text, so they go with any wire format.

use tine_model::{Block, Message, RawJson, Role, StopReason, ToolCallId, ToolInput, Usage};
use tine_wire::Reply;

/// What every scripted reply reports unless told otherwise. Small and odd, so that sums in tests are recognised.
pub const USAGE: Usage = Usage {
    uncached: 7,
    write_short: None,
    write_long: None,
    read: None,
    output: 3,
    reasoning: None,
};

/// The model's words.
pub fn text(text: impl Into<String>) -> Message {
    Message::new(Role::Assistant, vec![Block::Text(text.into())])
}

/// Tool calls as (id, tool, arguments). Arguments that are no JSON object become invalid input, as from a real model.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Message {
    Message::new(Role::Assistant, calls.into_iter().map(call).collect())
}

/// Words, and then tool calls as in [`calls`].
pub fn text_and_calls<'a>(
    text: &str,
    calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Message {
    let text = Block::Text(text.to_owned());
    Message::new(Role::Assistant, [text].into_iter().chain(calls.into_iter().map(call)).collect())
}

/// A whole reply with this message: it stops for tools if there are calls, else at the end of the turn.
pub fn reply(message: Message) -> Reply {
    let calls = message.tool_calls().next().is_some();
    let stop = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
    let (id, model) = (Some("scripted".to_owned()), Some("scripted".to_owned()));
    Reply { id, model, message, stop, usage: USAGE, diagnosis: None, dropped: Vec::new() }
}

fn call((id, name, arguments): (&str, &str, &str)) -> Block {
    let input = match RawJson::parse(arguments) {
        Ok(json) if json.is_object() => ToolInput::Valid(json),
        Ok(_) | Err(_) => ToolInput::Invalid(arguments.to_owned()),
    };
    Block::ToolUse { id: ToolCallId(id.to_owned()), name: name.to_owned(), input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_stops_for_its_calls() {
        assert_eq!(reply(text("done")).stop, StopReason::EndTurn);
        let message = text_and_calls("one moment", [("c1", "Read", r#"{"path":"a"}"#)]);
        assert_eq!(message.text(), "one moment");
        assert_eq!(reply(message).stop, StopReason::ToolUse);
    }

    #[test]
    fn arguments_that_are_no_object_stay_what_they_are() {
        let message = calls([("c1", "Read", "{\"path\":"), ("c2", "Read", "[]")]);
        let invalid =
            |block: &Block| matches!(block, Block::ToolUse { input: ToolInput::Invalid(_), .. });
        assert!(message.blocks().iter().all(invalid));
    }
}
