//! Items of Responses → role and blocks.
//!
//! A message here is a list of items, or one of them alone. All of them speak in one role: reasoning, messages and calls
//! of the model, or answers and messages of its user. An item of a kind that is not known speaks in the role of the
//! others.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tine_model::{Block, RawJson, Role, ToolCallId, ToolInput};

use crate::json::Object;
use crate::names;
use crate::read::{self, Kind, ReadError, Refusal, Text, parse};

/// The kind of a call whose input is a text in whatever grammar its tool declares.
pub(super) const CUSTOM_CALL: &str = "custom_tool_call";

/// One item.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    /// The item as it came.
    pub(crate) raw: &'a RawValue,
    /// Who speaks; `None` when the item does not show it.
    pub(crate) role: Option<Role>,
    /// The probable speaker where no item of the message shows it. Results of tools that the provider runs look like results of
    /// the user's tools, and stand in the model's own reply.
    guessed: Option<Role>,
    /// What it says.
    pub(crate) blocks: Vec<Block>,
}

/// Reads a message whose cache marks are already cut out.
pub(crate) fn message(json: &str) -> Result<(Role, Vec<Block>), ReadError> {
    let items = items(json)?;
    let mut shown = items.iter().filter_map(|item| item.role);
    let guessed = || items.iter().find_map(|item| item.guessed);
    let role = shown.next().or_else(guessed).unwrap_or(Role::Assistant);
    if shown.any(|other| other != role) {
        let what = "its items speak in different roles".to_owned();
        return Err(ReadError::Shape { at: "the message".into(), what });
    }
    Ok((role, items.into_iter().flat_map(|item| item.blocks).collect()))
}

/// Reads the items of a message.
pub(crate) fn items(json: &str) -> Result<Vec<Item<'_>>, ReadError> {
    let raw: &RawValue = serde_json::from_str(json).map_err(ReadError::shape("the message"))?;
    let raws = if raw.get().starts_with('[') { parse(raw, "the message")? } else { vec![raw] };
    raws.into_iter().enumerate().map(|(index, raw)| item(raw, index)).collect()
}

/// Reads one item; `index` names it in errors.
pub(crate) fn item(raw: &RawValue, index: usize) -> Result<Item<'_>, ReadError> {
    #[derive(Deserialize)]
    struct Shape<'a> {
        #[serde(rename = "type")]
        kind: Option<String>,
        role: Option<String>,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let at = format!("item {index}");
    if !raw.get().starts_with('{') {
        return Err(ReadError::Shape { at, what: "it is no object".into() });
    }
    let Shape { kind, role, content } = parse(raw, &at)?;
    let named = role.as_deref().map(|name| speaker(name).ok_or_else(|| unknown_role(name)));
    let (role, blocks) = match kind.as_deref() {
        None | Some("message") => {
            let role = named.unwrap_or_else(|| Err(missing(&at, "role")))?;
            (Some(role), blocks_of(content, &format!("{at}'s content"))?)
        }
        Some("reasoning") => (Some(Role::Assistant), vec![reasoning(raw, &at)?]),
        Some("function_call") => (Some(Role::Assistant), vec![call(raw, &at)?]),
        Some(CUSTOM_CALL) => (Some(Role::Assistant), vec![custom_call(raw, &at)?]),
        Some(kind @ ("function_call_output" | "custom_tool_call_output")) => {
            (Some(Role::User), vec![answer(raw, &format!("{at} (`{kind}`)"))?])
        }
        Some(other) => {
            let answers = other.ends_with("_output").then_some(Role::User);
            let blocks = vec![Block::Unknown(RawJson::from_raw(raw))];
            return Ok(Item { raw, role: named.and_then(Result::ok), guessed: answers, blocks });
        }
    };
    Ok(Item { raw, role, guessed: None, blocks })
}

fn speaker(name: &str) -> Option<Role> {
    match name {
        "developer" => Some(Role::System),
        other => read::role(other),
    }
}

fn unknown_role(name: &str) -> ReadError {
    ReadError::Role { role: name.to_owned() }
}

fn missing(at: &str, field: &str) -> ReadError {
    ReadError::Shape { at: at.to_owned(), what: format!("missing field `{field}`") }
}

/// Returns true for reasoning that a server which stores nothing can read: sealed, or said in full. Of the rest it says the id alone.
pub(super) fn can_be_sent_back(reasoning: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Reasoning {
        #[serde(default)]
        content: Option<Vec<IgnoredAny>>,
        #[serde(default)]
        encrypted_content: Option<String>,
    }
    let read: Option<Reasoning> = serde_json::from_str(reasoning.get()).ok();
    read.is_some_and(|Reasoning { content, encrypted_content }| {
        content.is_some_and(|parts| !parts.is_empty())
            || encrypted_content.is_some_and(|sealed| !sealed.is_empty())
    })
}

/// Open models show the reasoning itself, OpenAI's a summary and the sealed reasoning.
fn reasoning(raw: &RawValue, at: &str) -> Result<Block, ReadError> {
    #[derive(Deserialize)]
    struct Reasoning {
        summary: Option<Vec<Words>>,
        content: Option<Vec<Words>>,
        encrypted_content: Option<String>,
    }
    #[derive(Deserialize)]
    struct Words {
        #[serde(default)]
        text: String,
    }
    let Reasoning { summary, content, encrypted_content } =
        parse(raw, &format!("{at} (`reasoning`)"))?;
    let joined = |parts: Option<Vec<Words>>| {
        let texts: Vec<String> = parts.into_iter().flatten().map(|part| part.text).collect();
        Some(texts.join("\n\n")).filter(|text| !text.is_empty())
    };
    let sealed = encrypted_content.filter(|sealed| !sealed.is_empty());
    Ok(match (joined(summary).or_else(|| joined(content)), sealed) {
        (None, Some(sealed)) => Block::RedactedThinking(sealed),
        (text, signature) => Block::Thinking { text: text.unwrap_or_default(), signature },
    })
}

fn call(raw: &RawValue, at: &str) -> Result<Block, ReadError> {
    #[derive(Deserialize)]
    struct Call<'a> {
        call_id: String,
        name: String,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let at = format!("{at} (`function_call`)");
    let Call { call_id, name, arguments } = parse(raw, &at)?;
    let input = read::input(arguments, &at)?;
    let name = names::from_wire(&name).into_owned();
    Ok(Block::ToolUse { id: ToolCallId(call_id), name, input })
}

/// A call whose input is a text of any kind. As a block it has an object with that text, as every call has one.
fn custom_call(raw: &RawValue, at: &str) -> Result<Block, ReadError> {
    #[derive(Deserialize)]
    struct Call {
        call_id: String,
        name: String,
        input: Option<String>,
    }
    let at = format!("{at} (`{CUSTOM_CALL}`)");
    let Call { call_id, name, input } = parse(raw, &at)?;
    let input = Object::new().string("input", &input.unwrap_or_default()).end();
    let input = RawJson::parse(&input).map_or(ToolInput::Invalid(input), ToolInput::Valid);
    let name = names::from_wire(&name).into_owned();
    Ok(Block::ToolUse { id: ToolCallId(call_id), name, input })
}

/// Returns true if this item is the custom call of this id: its answer is a custom one, too.
pub(super) fn is_custom_call(item: &Item<'_>, call: &ToolCallId) -> bool {
    let is_call = |block: &Block| match block {
        Block::ToolUse { id, .. } => id == call,
        _ => false,
    };
    let kind = serde_json::from_str::<Kind>(item.raw.get());
    item.blocks.iter().any(is_call) && kind.is_ok_and(|Kind { kind }| kind == CUSTOM_CALL)
}

fn answer(raw: &RawValue, at: &str) -> Result<Block, ReadError> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        call_id: String,
        #[serde(borrow)]
        output: Option<&'a RawValue>,
    }
    let Answer { call_id, output } = parse(raw, at)?;
    let content = blocks_of(output, &format!("{at}'s output"))?;
    Ok(Block::ToolResult { call: ToolCallId(call_id), content, is_error: false })
}

fn blocks_of(content: Option<&RawValue>, at: &str) -> Result<Vec<Block>, ReadError> {
    read::blocks(content, at, |raw, index| part(raw, &format!("{at}, part {index}")))
}

fn part(raw: &RawValue, at: &str) -> Result<Block, ReadError> {
    let Kind { kind } = parse(raw, at)?;
    Ok(match kind.as_str() {
        "input_text" | "output_text" | "text" => Block::Text(parse::<Text>(raw, at)?.text),
        "refusal" => Block::Text(parse::<Refusal>(raw, at)?.refusal),
        "input_image" => Block::Image(RawJson::from_raw(raw)),
        "input_file" => Block::Document(RawJson::from_raw(raw)),
        _ => Block::Unknown(RawJson::from_raw(raw)),
    })
}

/// Whether an item says that the model refuses.
pub(crate) fn is_refusal(item: &str) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        content: Vec<Kind>,
    }
    let shape: Option<Shape> = serde_json::from_str(item).ok();
    shape.is_some_and(|shape| shape.content.iter().any(|part| part.kind == "refusal"))
}
