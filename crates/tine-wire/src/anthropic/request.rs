//! The body of a Messages request → head parts and messages.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{
    Effort, Lifetime, Message, ModelRef, ModelSettings, Provider, RawJson, Thinking, ToolChoice,
    WireFormat,
};

use crate::head_parts::{HeadParts, SystemBlock, ToolDeclaration, ToolOrder};
use crate::names;
use crate::read::{ReadError, parse, read_message};
use crate::read_request::ReadRequestError;
use crate::strip::members;

type Result<T> = std::result::Result<T, ReadRequestError>;

/// Reads a body.
pub(crate) fn read_request(body: &[u8]) -> Result<(HeadParts, Vec<Message>)> {
    let raw: &RawValue = serde_json::from_slice(body).map_err(ReadError::Json)?;
    let model = ModelRef { provider: Provider::Anthropic, name: String::new() };
    let settings = ModelSettings { model, max_tokens: 0, thinking: None, effort: None };
    let parts = HeadParts::new(settings, String::new(), Vec::new());
    let mut parts = HeadParts { tool_order: ToolOrder::AsGiven, ..parts };
    parts.stream = false;
    let mut messages = Vec::new();
    let (mut has_model, mut has_limit) = (false, false);
    for (name, value) in named_members(raw, "the request")? {
        let settings = &mut parts.settings;
        match name.as_str() {
            "model" => (settings.model.name, has_model) = (parse(value, &name)?, true),
            "max_tokens" => (settings.max_tokens, has_limit) = (parse(value, &name)?, true),
            "messages" => messages = read_messages(value)?,
            // They belong to one request: a mark that the provider places, and a question about an earlier one.
            "cache_control" | "diagnostics" => {}
            // What is null says as much as what is left out.
            _ if value.get() == "null" => {}
            "temperature" => parts.temperature = parse(value, &name)?,
            "stop_sequences" => parts.stop_sequences = parse(value, &name)?,
            "stream" => parts.stream = parse(value, &name)?,
            "system" => read_system(value, &mut parts)?,
            "tools" => read_tools(value, &mut parts)?,
            "tool_choice" => read_tool_choice(value, &mut parts)?,
            "thinking" => read_thinking(value, &mut parts)?,
            "output_config" => read_output_config(value, &mut parts)?,
            _ => parts.extra.push((name, RawJson::from_raw(value))),
        }
    }
    let missing = [("model", has_model), ("max_tokens", has_limit)];
    match missing.into_iter().find(|(_, there)| !there) {
        Some((name, _)) => Err(shape("the request", &format!("missing field `{name}`"))),
        None => Ok((parts, messages)),
    }
}

fn shape(at: &str, what: &str) -> ReadRequestError {
    ReadError::Shape { at: at.to_owned(), what: what.to_owned() }.into()
}

fn unsayable(at: &str, name: &str) -> ReadRequestError {
    ReadRequestError::Unsayable { at: at.to_owned(), name: name.to_owned() }
}

/// The members of an object, their names without escapes.
fn named_members<'a>(raw: &'a RawValue, at: &str) -> Result<Vec<(String, &'a RawValue)>> {
    let members = members(raw).map_err(ReadError::shape(at))?;
    let named = members.into_iter().map(|(name, value)| Ok((parse(name, at)?, value)));
    named.collect()
}

fn read_messages(value: &RawValue) -> Result<Vec<Message>> {
    let list: Vec<&RawValue> = parse(value, "messages")?;
    let message = |(index, raw): (usize, &RawValue)| {
        read_message(WireFormat::Anthropic, raw.get())
            .map_err(|source| ReadRequestError::Message { index, source })
    };
    list.into_iter().enumerate().map(message).collect()
}

/// The lifetime that a mark asks for.
fn lifetime(mark: &RawValue, at: &str) -> Result<Option<Lifetime>> {
    #[derive(Deserialize)]
    struct Mark {
        ttl: Option<String>,
    }
    let mark: Option<Mark> = parse(mark, at)?;
    Ok(mark.map(|mark| match mark.ttl.as_deref() {
        Some("1h") => Lifetime::Long,
        Some(_) | None => Lifetime::Short,
    }))
}

fn read_system(value: &RawValue, parts: &mut HeadParts) -> Result<()> {
    if value.get().starts_with('"') {
        parts.system = parse(value, "system")?;
        return Ok(());
    }
    let list: Vec<&RawValue> = parse(value, "system")?;
    for (index, raw) in list.into_iter().enumerate() {
        let at = format!("system block {index}");
        let mut block = SystemBlock { text: String::new(), cache: None };
        for (name, value) in named_members(raw, &at)? {
            match name.as_str() {
                "type" if value.get() == "\"text\"" => {}
                "text" => block.text = parse(value, &at)?,
                "cache_control" => block.cache = lifetime(value, &at)?,
                _ if value.get() == "null" => {}
                _ => return Err(unsayable(&at, &name)),
            }
        }
        parts.system_blocks.push(block);
    }
    Ok(())
}

fn read_tools(value: &RawValue, parts: &mut HeadParts) -> Result<()> {
    let list: Vec<&RawValue> = parse(value, "tools")?;
    for (index, raw) in list.into_iter().enumerate() {
        let at = format!("tool {index}");
        let (mut tool_name, mut description, mut schema) = (None, String::new(), None);
        for (name, value) in named_members(raw, &at)? {
            match name.as_str() {
                "name" => {
                    let name: String = parse(value, &at)?;
                    tool_name = Some(names::from_wire(&name).into_owned());
                }
                "description" => description = parse(value, &at)?,
                "input_schema" => schema = Some(RawJson::from_raw(value)),
                "type" if value.get() == "\"custom\"" => {}
                "cache_control" => parts.cache_tools |= lifetime(value, &at)?.is_some(),
                _ if value.get() == "null" => {}
                _ => return Err(unsayable(&at, &name)),
            }
        }
        let (Some(name), Some(schema)) = (tool_name, schema) else {
            return Err(shape(&at, "missing field `name` or `input_schema`"));
        };
        parts.tools.push(ToolDeclaration { name, description, schema });
    }
    Ok(())
}

/// Keeps what an object of the request has besides the members that have a field.
fn keep_inside(parts: &mut HeadParts, outer: &str, name: &str, value: &RawValue) {
    parts.extra.push((format!("{outer}.{name}"), RawJson::from_raw(value)));
}

fn read_tool_choice(value: &RawValue, parts: &mut HeadParts) -> Result<()> {
    let at = "tool_choice";
    let (mut kind, mut tool) = (String::new(), None);
    for (name, value) in named_members(value, at)? {
        match name.as_str() {
            "type" => kind = parse(value, at)?,
            "name" => tool = Some(parse::<String>(value, at)?),
            _ => keep_inside(parts, at, &name, value),
        }
    }
    parts.tool_choice = match (kind.as_str(), tool) {
        ("auto", None) => ToolChoice::Auto,
        ("none", None) => ToolChoice::None,
        ("any", None) => ToolChoice::Required,
        ("tool", Some(name)) => ToolChoice::Tool(names::from_wire(&name).into_owned()),
        _ => return Err(shape(at, "neither auto, none, any nor a tool")),
    };
    Ok(())
}

/// Kinds without a word of ours are kept whole.
fn read_thinking(whole: &RawValue, parts: &mut HeadParts) -> Result<()> {
    let at = "thinking";
    #[derive(Deserialize)]
    struct Shape {
        #[serde(rename = "type")]
        kind: String,
        budget_tokens: Option<u32>,
    }
    let Shape { kind, budget_tokens } = parse(whole, at)?;
    parts.settings.thinking = match (kind.as_str(), budget_tokens) {
        ("adaptive", None) => Some(Thinking::Adaptive),
        ("enabled", Some(tokens)) => Some(Thinking::Budget(tokens)),
        _ => {
            parts.extra.push((at.to_owned(), RawJson::from_raw(whole)));
            return Ok(());
        }
    };
    #[derive(Deserialize)]
    struct Binding {
        prefix_mismatch_behavior: Option<String>,
    }
    for (name, value) in named_members(whole, at)? {
        match name.as_str() {
            "type" | "budget_tokens" => {}
            "block_binding" => {
                let binding: Option<Binding> = parse(value, at)?;
                let behaviour = binding.and_then(|binding| binding.prefix_mismatch_behavior);
                parts.drop_foreign_thinking = behaviour.as_deref() == Some("drop_block");
            }
            _ => keep_inside(parts, at, &name, value),
        }
    }
    Ok(())
}

/// An effort without a word of ours is kept as it is written.
fn read_output_config(value: &RawValue, parts: &mut HeadParts) -> Result<()> {
    let at = "output_config";
    for (name, value) in named_members(value, at)? {
        let effort = (name == "effort").then(|| value.get().trim_matches('"'));
        match effort.and_then(Effort::from_name) {
            Some(effort) => parts.settings.effort = Some(effort),
            None => keep_inside(parts, at, &name, value),
        }
    }
    Ok(())
}
