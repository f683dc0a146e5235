//! The settings of a Messages request → head parts.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Effort, Lifetime, RawJson, Thinking, ToolChoice, WireFormat};

use crate::head_parts::{SystemBlock, ToolDeclaration, efforts};
use crate::names;
use crate::read::{ReadError, parse};
use crate::read_request::{ReadRequestError, Reading};
use crate::split::SplitRequest;
use crate::strip::members;

type Result<T> = std::result::Result<T, ReadRequestError>;

/// Reads the settings. What no part says is left to the request's own bytes.
pub(crate) fn read_settings(split: &SplitRequest, reading: &mut Reading) -> Result<()> {
    for (name, json) in split.settings() {
        let value: &RawValue = serde_json::from_str(json).map_err(ReadError::shape(name))?;
        let parts = &mut reading.parts;
        match name {
            "model" => {}
            "max_tokens" => parts.settings.max_tokens = parse(value, name)?,
            // They belong to one request: a mark that the provider places, and a question about an earlier one.
            "cache_control" | "diagnostics" => {}
            // What is null says as much as what is left out.
            _ if json == "null" => {}
            "temperature" => parts.temperature = parse(value, name)?,
            "stop_sequences" => parts.stop_sequences = parse(value, name)?,
            "stream" => parts.stream = parse(value, name)?,
            "system" => read_system(value, reading)?,
            "tools" => read_tools(value, reading)?,
            "tool_choice" => read_tool_choice(value, reading)?,
            "thinking" => read_thinking(value, reading)?,
            "output_config" => read_output_config(value, reading)?,
            _ => keep(reading, name.to_owned(), value),
        }
    }
    for name in ["model", "max_tokens"] {
        if split.setting(name).is_none() {
            return Err(shape("the request", &format!("missing field `{name}`")));
        }
    }
    Ok(())
}

/// Keeps a setting without a field as a further one.
fn keep(reading: &mut Reading, name: String, value: &RawValue) {
    reading.parts.extra.push((name, RawJson::from_raw(value)));
}

fn shape(at: &str, what: &str) -> ReadRequestError {
    ReadError::Shape { at: at.to_owned(), what: what.to_owned() }.into()
}

/// The members of an object, their names without escapes.
fn named_members<'a>(raw: &'a RawValue, at: &str) -> Result<Vec<(String, &'a RawValue)>> {
    let members = members(raw).map_err(ReadError::shape(at))?;
    let named = members.into_iter().map(|(name, value)| Ok((parse(name, at)?, value)));
    named.collect()
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

fn read_system(value: &RawValue, reading: &mut Reading) -> Result<()> {
    let parts = &mut reading.parts;
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
                _ => reading.leaves(format!("{name} of a system block")),
            }
        }
        reading.parts.system_blocks.push(block);
    }
    Ok(())
}

fn read_tools(value: &RawValue, reading: &mut Reading) -> Result<()> {
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
                "cache_control" => reading.parts.cache_tools |= lifetime(value, &at)?.is_some(),
                _ if value.get() == "null" => {}
                _ => reading.leaves(format!("{name} of a tool")),
            }
        }
        let (Some(name), Some(schema)) = (tool_name, schema) else {
            // The provider runs such a tool itself, or knows it under its kind.
            reading.leaves(format!("tool {index}"));
            continue;
        };
        reading.parts.tools.push(ToolDeclaration { name, description, schema });
    }
    Ok(())
}

/// Keeps what an object of the request has besides the members that have a field.
fn keep_inside(reading: &mut Reading, outer: &str, name: &str, value: &RawValue) {
    keep(reading, format!("{outer}.{name}"), value);
}

fn read_tool_choice(value: &RawValue, reading: &mut Reading) -> Result<()> {
    let at = "tool_choice";
    let (mut kind, mut tool) = (String::new(), None);
    for (name, value) in named_members(value, at)? {
        match name.as_str() {
            "type" => kind = parse(value, at)?,
            "name" => tool = Some(parse::<String>(value, at)?),
            _ => keep_inside(reading, at, &name, value),
        }
    }
    reading.parts.tool_choice = match (kind.as_str(), tool) {
        ("auto", None) => ToolChoice::Auto,
        ("none", None) => ToolChoice::None,
        ("any", None) => ToolChoice::Required,
        ("tool", Some(name)) => ToolChoice::Tool(names::from_wire(&name).into_owned()),
        _ => return Err(shape(at, "neither auto, none, any nor a tool")),
    };
    Ok(())
}

/// Kinds without a word of ours are kept whole.
fn read_thinking(whole: &RawValue, reading: &mut Reading) -> Result<()> {
    let at = "thinking";
    #[derive(Deserialize)]
    struct Shape {
        #[serde(rename = "type")]
        kind: String,
        budget_tokens: Option<u32>,
    }
    let Shape { kind, budget_tokens } = parse(whole, at)?;
    reading.parts.settings.thinking = match (kind.as_str(), budget_tokens) {
        ("adaptive", None) => Some(Thinking::Adaptive),
        ("enabled", Some(tokens)) => Some(Thinking::Budget(tokens)),
        _ => {
            keep(reading, at.to_owned(), whole);
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
                reading.parts.drop_foreign_thinking = behaviour.as_deref() == Some("drop_block");
            }
            _ => keep_inside(reading, at, &name, value),
        }
    }
    Ok(())
}

/// An effort without a word of ours is kept as it is written.
fn read_output_config(value: &RawValue, reading: &mut Reading) -> Result<()> {
    let at = "output_config";
    for (name, value) in named_members(value, at)? {
        let effort = (name == "effort").then(|| value.get().trim_matches('"'));
        let known = efforts(WireFormat::Anthropic);
        match effort.and_then(Effort::from_name).filter(|effort| known.contains(effort)) {
            Some(effort) => reading.parts.settings.effort = Some(effort),
            None => keep_inside(reading, at, &name, value),
        }
    }
    Ok(())
}
