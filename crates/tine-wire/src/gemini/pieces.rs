//! The parts that one message becomes: those it came with, or new ones.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tine_history::Closed;
use tine_model::{Block, Message, RawJson, Role, ToolCallId, ToolInput, WireFormat};

use super::part::{Part, tool_of_unnamed};
use super::read::{self, Content};
use crate::growing::GrowingObject;
use crate::json::Object;
use crate::marks::PLACEHOLDER;
use crate::parts::{earlier_result, texts};
use crate::{names, strip};

/// Gemini 3 refuses calls without a thought signature. This stands in for that of a call which Gemini did not make. Source:
/// Gemini API, "Thought signatures", migrating history from other models.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// What a message becomes.
#[derive(Default)]
pub(crate) struct Pieces {
    /// Answers to calls of the message before, each with its call.
    pub(crate) answers: Vec<(ToolCallId, String)>,
    /// Everything else, in order.
    pub(crate) others: Vec<String>,
    /// The whole content object, when all of it can be sent as it came.
    pub(crate) whole: Option<String>,
}

/// The parts of a message.
pub(crate) fn of(closed: &Closed<'_>) -> Pieces {
    kept(closed).unwrap_or_else(|| written(closed))
}

/// A part of one text.
pub(crate) fn text_part(text: &str) -> String {
    Object::new().string("text", text).end()
}

/// The answer to a call whose real one is not part of this conversation.
pub(crate) fn placeholder(closed: &Closed<'_>, call: &ToolCallId) -> String {
    answer(closed, call, PLACEHOLDER, false)
}

fn answer(closed: &Closed<'_>, call: &ToolCallId, text: &str, is_error: bool) -> String {
    let key = if is_error { "error" } else { "output" };
    let response = Object::new().string(key, text).end();
    let mut object = Object::new();
    if was_given(closed.before, call) {
        object = object.string("id", &call.0);
    }
    let object = object.string("name", &names::to_wire(closed.tool_of(call).unwrap_or_default()));
    Object::new().raw("functionResponse", &object.raw("response", &response).end()).end()
}

/// Whether the call's id stands in the call as it is sent. Ids that we made, and those of other providers, do not.
fn was_given(before: Option<&Message>, call: &ToolCallId) -> bool {
    let parts = before.and_then(kept_parts).unwrap_or_default();
    parts.iter().enumerate().any(|(index, raw)| {
        Part::read(raw, index).is_ok_and(|part| part.given_id() == Some(call.0.as_str()))
    })
}

/// The parts of a message that came in this format.
fn kept_parts(message: &Message) -> Option<Vec<&RawValue>> {
    let raw = message.raw().filter(|raw| raw.format == WireFormat::Gemini)?;
    Content::read(raw.json.as_str()).ok()?.parts().ok()
}

/// The message with each answer that came without an id given to the first call of its tool that has none yet; `None` when
/// there is no such answer.
pub(crate) fn with_named_answers(closed: &Closed<'_>) -> Option<Message> {
    let message = closed.message;
    let raw = message.raw().filter(|raw| raw.format == WireFormat::Gemini)?;
    let unnamed = |block: &Block| match block {
        Block::ToolResult { call, .. } => tool_of_unnamed(call).is_some(),
        _ => false,
    };
    if message.role() != Role::User || !message.blocks().iter().any(unnamed) {
        return None;
    }
    let mut free: Vec<&ToolCallId> = closed.placeholders.clone();
    let named = message.blocks().iter().map(|block| {
        let Block::ToolResult { call, content, is_error } = block else { return block.clone() };
        let tool = tool_of_unnamed(call);
        let place = tool.and_then(|_| free.iter().position(|call| closed.tool_of(call) == tool));
        let call = place.map_or_else(|| call.clone(), |place| free.remove(place).clone());
        Block::ToolResult { call, content: content.clone(), is_error: *is_error }
    });
    Some(Message::received(message.role(), named.collect(), raw.clone()))
}

/// The parts that a message of this format came with. Changed is only what the API refuses to take back: parts that say
/// nothing, a second call of one id, arguments that are no object, answers that nobody asked for, and calls that are not
/// signed.
fn kept(closed: &Closed<'_>) -> Option<Pieces> {
    let message = closed.message;
    let raw = message.raw().filter(|raw| raw.format == WireFormat::Gemini)?;
    let content = Content::read(raw.json.as_str()).ok()?;
    let parts = content.parts().ok()?;
    let is_answer = |block: &Block| matches!(block, Block::ToolResult { .. });
    let mut answers = message.blocks().iter().enumerate().filter(|(_, block)| is_answer(block));
    let mut pieces = Pieces::default();
    let mut calls: Vec<ToolCallId> = Vec::new();
    let mut changed = false;
    for (raw, block) in parts.iter().zip(read::blocks(&parts).ok()?) {
        match block {
            Block::ToolResult { .. } => match answers.next()? {
                (index, Block::ToolResult { call, content, is_error })
                    if answers_a_call(closed, index) =>
                {
                    let fits = names_its_call(closed, raw, call);
                    changed |= !fits;
                    let written = || answer(closed, call, &texts(content).join("\n"), *is_error);
                    let text = if fits { raw.get().to_owned() } else { written() };
                    pieces.answers.push((call.clone(), text));
                }
                (_, block) => {
                    changed = true;
                    pieces.others.extend(as_text(block));
                }
            },
            Block::ToolUse { id, .. } if calls.contains(&id) => changed = true,
            Block::ToolUse { id, input, .. } => {
                let text = call_as_it_came(raw, &input, calls.is_empty())?;
                changed |= text != raw.get();
                calls.push(id);
                pieces.others.push(text.into_owned());
            }
            block if says_nothing(&block) => changed = true,
            _ => pieces.others.push(raw.get().to_owned()),
        }
    }
    let role = match message.role() {
        Role::Assistant => "model",
        Role::User | Role::System => "user",
    };
    let as_it_came = !changed && content.role.as_deref() == Some(role) && closed.is_sound();
    let empty = pieces.answers.is_empty() && pieces.others.is_empty();
    pieces.whole = (as_it_came && !empty).then(|| raw.json.as_str().to_owned());
    Some(pieces)
}

/// Whether a kept answer says of its call what the call says of itself. It need not when the call came otherwise than the
/// answer.
fn names_its_call(closed: &Closed<'_>, raw: &RawValue, call: &ToolCallId) -> bool {
    let id = was_given(closed.before, call).then_some(call.0.as_str());
    let name = closed.tool_of(call).unwrap_or_default();
    Part::read(raw, 0).is_ok_and(|part| part.answered() == Some((id, name)))
}

fn answers_a_call(closed: &Closed<'_>, index: usize) -> bool {
    closed.message.role() == Role::User && !closed.is_orphan(index)
}

fn says_nothing(block: &Block) -> bool {
    match block {
        Block::Text(text) | Block::Thinking { text, signature: None } => text.is_empty(),
        Block::Unknown(json) => is_empty_object(json),
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse { .. }
        | Block::ToolResult { .. }
        | Block::Image(_)
        | Block::Document(_) => false,
    }
}

fn is_empty_object(json: &RawJson) -> bool {
    let raw = serde_json::from_str::<&RawValue>(json.as_str());
    raw.is_ok_and(|raw| strip::members(raw).is_ok_and(|members| members.is_empty()))
}

/// A call's part with `{}` for arguments that are no object, and with a signature where it is the first of its turn and has
/// none, as in a history of an older model; everything else as it came.
fn call_as_it_came<'a>(raw: &'a RawValue, input: &ToolInput, first: bool) -> Option<Cow<'a, str>> {
    let members = strip::members(raw).ok()?;
    let signed = members.iter().any(|(key, value)| {
        ["\"thoughtSignature\"", "\"thought_signature\""].contains(&key.get())
            && !["\"\"", "null"].contains(&value.get())
    });
    let valid = matches!(input, ToolInput::Valid(_));
    if valid && (signed || !first) {
        return Some(Cow::Borrowed(raw.get()));
    }
    let mut part = GrowingObject::parse(raw).ok()?;
    if !valid {
        let (_, call) = members.into_iter().find(|(key, _)| key.get() == "\"functionCall\"")?;
        let mut call = GrowingObject::parse(call).ok()?;
        call.set_json("args", "{}");
        part.set_json("functionCall", &call.to_json());
    }
    if first && !signed {
        part.set_text("thoughtSignature", FOREIGN_SIGNATURE);
    }
    Some(Cow::Owned(part.to_json()))
}

/// New parts for a message of ours or of another format. Reasoning is bound to the provider that gave it, and other
/// providers' shapes mean nothing here.
fn written(closed: &Closed<'_>) -> Pieces {
    let message = closed.message;
    let ours = message.raw().is_none_or(|raw| raw.format == WireFormat::Gemini);
    let mut pieces = Pieces::default();
    let mut calls: Vec<&ToolCallId> = Vec::new();
    for (index, block) in message.blocks().iter().enumerate() {
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => pieces.others.push(text_part(text)),
            // Two calls of one id could not be told apart when they are answered.
            Block::ToolUse { id, .. } if calls.contains(&id) => {}
            Block::ToolUse { id, name, input } => {
                pieces.others.push(call(name, input, calls.is_empty()));
                calls.push(id);
            }
            Block::ToolResult { call, content, is_error } if answers_a_call(closed, index) => {
                let text = texts(content).join("\n");
                pieces.answers.push((call.clone(), answer(closed, call, &text, *is_error)));
            }
            Block::ToolResult { .. } => pieces.others.extend(as_text(block)),
            Block::Image(json) | Block::Document(json) | Block::Unknown(json) if ours => {
                pieces.others.push(json.as_str().to_owned());
            }
            Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => {}
        }
    }
    pieces
}

/// Only the first of parallel calls carries a signature.
fn call(name: &str, input: &ToolInput, first: bool) -> String {
    let call = Object::new().string("name", &names::to_wire(name)).raw("args", input.as_object());
    let part = Object::new().raw("functionCall", &call.end());
    if first { part.string("thoughtSignature", FOREIGN_SIGNATURE).end() } else { part.end() }
}

/// An answer that cannot be sent as one.
fn as_text(block: &Block) -> Option<String> {
    let Block::ToolResult { call, content, .. } = block else { return None };
    // A name that we made for an answer tells the reader nothing but its tool.
    let name = tool_of_unnamed(call).unwrap_or(&call.0);
    Some(text_part(&earlier_result(name, content)))
}
