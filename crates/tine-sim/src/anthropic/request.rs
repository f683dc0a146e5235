//! Reading a Messages request: the shape of every field that the simulator depends on. Members that
//! the vendor does not know are refused (`members.rs`); of those that it knows and the simulator does not, any JSON is accepted.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::marks;
use super::members;
use super::pairing;
use super::settings::{self, Comparison, Mismatch, Settings};
use crate::cache::Ttl;
use crate::conversation::{Piece, joined};
use crate::media;
use crate::refusal::Refusal;

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// A tool, a system block or a content block, its mark taken out.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Where it stands, in the vendor's notation.
    pub(super) path: String,
    pub(super) value: Value,
    pub(super) mark: Option<Ttl>,
}

impl Block {
    pub(super) fn kind(&self) -> &str {
        self.text_of("type")
    }

    pub(super) fn text_of(&self, key: &str) -> &str {
        self.value.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Neighbouring messages of one role are one turn, as the vendor merges them.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(super) role: Role,
    pub(super) path: String,
    pub(super) blocks: Vec<Block>,
}

/// A valid request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) model: String,
    /// 0 is a prewarm: the prompt is cached and nothing is generated.
    pub(crate) max_tokens: u64,
    pub(crate) stream: bool,
    pub(crate) comparison: Comparison,
    pub(super) mismatch: Mismatch,
    pub(super) tools: Vec<Block>,
    pub(super) system: Vec<Block>,
    pub(super) turns: Vec<Turn>,
    /// Settings that are part of the identity of the messages' cache.
    pub(super) settings: Settings,
    /// A sampling parameter, which newer versions of the API refuse.
    sampling: Option<&'static str>,
}

/// What the caller wants to do with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Generate,
    CountTokens,
}

impl Request {
    /// Reads and checks a body. `betas` are those that the headers ask for.
    pub(crate) fn parse(body: &[u8], purpose: Purpose, betas: &[&str]) -> Result<Self, Refusal> {
        let mut fields = object(body)?;
        settings::check_thread(&fields, betas)?;
        members::check(&fields)?;
        let model = required_text(&fields, "model")?;
        let max_tokens = match (purpose, fields.get("max_tokens")) {
            (Purpose::CountTokens, None) => 0,
            (_, None) => return Err(Refusal::invalid("max_tokens: Field required")),
            (_, Some(value)) => value
                .as_u64()
                .ok_or_else(|| Refusal::invalid("max_tokens: Input should be a valid integer"))?,
        };
        let stream = match fields.get("stream") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(stream)) => *stream,
            Some(_) => return Err(Refusal::invalid("stream: Input should be a valid boolean")),
        };
        if purpose == Purpose::Generate && max_tokens == 0 {
            check_prewarm(&fields, stream)?;
        }
        let budget = members::Budget { model: &model, max_tokens, purpose, betas };
        members::check_thinking(&fields, &budget)?;
        let automatic = marks::take(&mut fields, "")?;
        let mut request = Self {
            settings: Settings::of(&fields, &model),
            mismatch: settings::mismatch(&fields, betas)?,
            comparison: settings::comparison(&fields)?,
            sampling: members::sampling(&fields),
            model,
            max_tokens,
            stream,
            tools: tools(fields.shift_remove("tools"))?,
            system: system(fields.shift_remove("system"))?,
            turns: turns(fields.shift_remove("messages"))?,
        };
        pairing::check(&request.turns, &request.model)?;
        marks::check(&mut request, automatic)?;
        Ok(request)
    }

    /// Checks what depends on the API's version, which a header names.
    pub(crate) fn check_version(&self, version: &str) -> Result<(), Refusal> {
        members::check_version(version, self.sampling, &self.turns)
    }

    /// The conversation, for the scenario.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let system = self.system.iter().map(|block| Piece::Text(block.text_of("text")));
        system.chain(self.turns.iter().flat_map(turn_pieces))
    }
}

fn turn_pieces(turn: &Turn) -> Vec<Piece<'_>> {
    let begins = (turn.role == Role::Assistant).then_some(Piece::AssistantMessage);
    let blocks = turn.blocks.iter().filter_map(|block| match (block.kind(), turn.role) {
        ("text", Role::User) => Some(Piece::UserText(block.text_of("text"))),
        ("text", _) => Some(Piece::Text(block.text_of("text"))),
        ("tool_use", _) => {
            Some(Piece::Call { id: block.text_of("id"), name: block.text_of("name") })
        }
        ("tool_result", _) => Some(Piece::Result {
            id: block.text_of("tool_use_id"),
            text: joined_text(block.value.get("content")),
        }),
        _ => None,
    });
    begins.into_iter().chain(blocks).collect()
}

/// The text blocks of a tool result, one after the other.
fn joined_text(content: Option<&Value>) -> Cow<'_, str> {
    let parts: Vec<&str> = content
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    joined(parts)
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::invalid("The request body is not a JSON object")),
        Err(error) => Err(Refusal::invalid(format!("The request body is not valid JSON: {error}"))),
    }
}

fn required_text(fields: &Map<String, Value>, key: &str) -> Result<String, Refusal> {
    match fields.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(_) => Err(Refusal::invalid(format!("{key}: Input should be a non-empty string"))),
        None => Err(Refusal::invalid(format!("{key}: Field required"))),
    }
}

/// A prewarm cannot be combined with anything that needs an answer.
fn check_prewarm(fields: &Map<String, Value>, stream: bool) -> Result<(), Refusal> {
    let kind =
        |key: &str| fields.get(key).and_then(|value| value.get("type")).and_then(Value::as_str);
    let format = fields.get("output_config").and_then(|config| config.get("format"));
    let clash = [
        (stream, "`stream: true`"),
        (kind("thinking") == Some("enabled"), "`thinking.type: enabled`"),
        (format.is_some_and(|format| !format.is_null()), "`output_config.format`"),
        (matches!(kind("tool_choice"), Some("any" | "tool")), "a forced `tool_choice`"),
    ];
    match clash.iter().find(|(clashes, _)| *clashes) {
        Some((_, what)) => {
            Err(Refusal::invalid(format!("max_tokens: 0 cannot be combined with {what}")))
        }
        None => Ok(()),
    }
}

fn tools(value: Option<Value>) -> Result<Vec<Block>, Refusal> {
    let mut names = std::collections::HashSet::new();
    let items = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(Refusal::invalid("tools: Input should be a valid list")),
    };
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| {
            let tool = block(item, format!("tools.{index}"))?;
            let name = tool.text_of("name");
            if name.is_empty() {
                return Err(Refusal::invalid(format!("tools.{index}.name: Field required")));
            }
            if !names.insert(name.to_owned()) {
                return Err(Refusal::invalid(format!(
                    "tools: Tool names must be unique, `{name}` is not"
                )));
            }
            Ok(tool)
        })
        .collect()
}

fn system(value: Option<Value>) -> Result<Vec<Block>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(value) => content(value, "system"),
    }
}

/// String content is one text block.
fn content(value: Value, path: &str) -> Result<Vec<Block>, Refusal> {
    let items = match value {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(items) => items,
        _ => {
            return Err(Refusal::invalid(format!(
                "{path}: Input should be a string or a list of blocks"
            )));
        }
    };
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| {
            let block = block(item, format!("{path}.{index}"))?;
            check_block(&block)?;
            Ok(block)
        })
        .collect()
}

fn block(value: Value, path: String) -> Result<Block, Refusal> {
    let Value::Object(mut fields) = value else {
        return Err(Refusal::invalid(format!("{path}: Input should be an object")));
    };
    let mark = marks::take(&mut fields, &path)?;
    if let Some(Value::String(text)) = fields.get("content").cloned()
        && fields.get("type").is_some_and(|kind| kind == "tool_result")
    {
        fields.insert("content".to_owned(), serde_json::json!([{"type": "text", "text": text}]));
    }
    Ok(Block { path, value: Value::Object(fields), mark })
}

fn check_block(block: &Block) -> Result<(), Refusal> {
    let path = &block.path;
    let text = |key: &str| match block.value.get(key) {
        Some(Value::String(_)) => Ok(()),
        Some(_) => Err(Refusal::invalid(format!("{path}.{key}: Input should be a valid string"))),
        None => Err(Refusal::invalid(format!("{path}.{key}: Field required"))),
    };
    text("type")?;
    marks::check_block(block)?;
    match block.kind() {
        "text" => {
            text("text")?;
            let text = block.text_of("text");
            let wanted = match (text.is_empty(), text.trim().is_empty()) {
                (true, _) => "be non-empty",
                (false, true) => "contain non-whitespace text",
                (false, false) => return Ok(()),
            };
            Err(Refusal::invalid(format!("{path}: text content blocks must {wanted}")))
        }
        "thinking" => text("thinking").and_then(|()| text("signature")),
        "tool_use" => {
            text("id")?;
            check_id(&format!("{path}.tool_use.id"), block.text_of("id"))?;
            text("name")?;
            match block.value.get("input") {
                Some(Value::Object(_)) => Ok(()),
                _ => Err(Refusal::invalid(format!(
                    "{path}.input: Input should be a valid dictionary"
                ))),
            }
        }
        "tool_result" => {
            text("tool_use_id")?;
            check_id(&format!("{path}.tool_result.tool_use_id"), block.text_of("tool_use_id"))?;
            let parts = block.value.get("content").and_then(Value::as_array).into_iter().flatten();
            parts.enumerate().try_for_each(|(index, part)| {
                media::check_messages(&format!("{path}.content.{index}"), part)
            })
        }
        _ => media::check_messages(path, &block.value),
    }
}

/// The form that the vendor demands of the ids of calls.
fn check_id(path: &str, id: &str) -> Result<(), Refusal> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !id.is_empty() && id.bytes().all(is_word) {
        Ok(())
    } else {
        Err(Refusal::invalid(format!("{path}: String should match pattern '^[a-zA-Z0-9_-]+$'")))
    }
}

fn turns(value: Option<Value>) -> Result<Vec<Turn>, Refusal> {
    let items = match value {
        Some(Value::Array(items)) => items,
        Some(_) => return Err(Refusal::invalid("messages: Input should be a valid list")),
        None => return Err(Refusal::invalid("messages: Field required")),
    };
    let mut turns: Vec<Turn> = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let (role, mut blocks) = message(item, index)?;
        match turns.last_mut() {
            Some(last) if last.role == role => last.blocks.append(&mut blocks),
            _ => turns.push(Turn { role, path: format!("messages.{index}"), blocks }),
        }
    }
    Ok(turns)
}

fn message(value: Value, index: usize) -> Result<(Role, Vec<Block>), Refusal> {
    let path = format!("messages.{index}");
    let Value::Object(mut fields) = value else {
        return Err(Refusal::invalid(format!("{path}: Input should be an object")));
    };
    let role = match fields.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => {
            return Err(Refusal::invalid(format!(
                "{path}.role: Input should be 'user', 'assistant' or 'system'"
            )));
        }
    };
    let value = fields.shift_remove("content");
    let value = value.ok_or_else(|| Refusal::invalid(format!("{path}.content: Field required")))?;
    let blocks = content(value, &format!("{path}.content"))?;
    // Claude Code sends system messages that say nothing but the effort of the turn (its beta per-turn-control-2026-07-01).
    let says_settings = role == Role::System && fields.contains_key("output_config");
    if blocks.is_empty() && !says_settings {
        Err(Refusal::invalid(format!("{path}: messages must have non-empty content")))
    } else {
        Ok((role, blocks))
    }
}
