//! The settings of a `generateContent` request.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Reading, function, value};
use crate::read::{ReadError, parse};
use crate::split::SplitRequest;
use crate::strip;

#[derive(Deserialize)]
struct Instruction<'a> {
    #[serde(default, borrow)]
    parts: Parts<'a>,
}

/// One part, or a list of them.
#[derive(Deserialize, Default)]
#[serde(transparent)]
struct Parts<'a>(#[serde(borrow)] Option<&'a RawValue>);

#[derive(Deserialize)]
struct Text {
    text: String,
}

/// Reads them. Those without a field are left to the request's own bytes.
pub(super) fn read_settings(split: &SplitRequest, reading: &mut Reading) -> Result<(), ReadError> {
    for (name, json) in split.settings() {
        match name {
            _ if json == "null" => {}
            "systemInstruction" | "system_instruction" => read_instruction(json, reading)?,
            "tools" => {
                for tools in value::<Vec<&RawValue>>(json, name)? {
                    read_tools(tools, reading)?;
                }
            }
            "generationConfig" | "generation_config" => read_config(json, reading)?,
            _ => reading.leaves(name),
        }
    }
    Ok(())
}

fn read_instruction(json: &str, reading: &mut Reading) -> Result<(), ReadError> {
    let at = "systemInstruction";
    let Instruction { parts } = value(json, at)?;
    let Some(parts) = parts.0 else { return Ok(()) };
    let parts: Vec<&RawValue> =
        if parts.get().starts_with('[') { parse(parts, at)? } else { vec![parts] };
    let mut texts = Vec::new();
    for part in parts {
        match parse::<Text>(part, at) {
            Ok(Text { text }) => texts.push(text),
            Err(_) => reading.leaves("a part of the system instruction"),
        }
    }
    reading.parts.system = texts.join("\n\n");
    Ok(())
}

fn read_tools(raw: &RawValue, reading: &mut Reading) -> Result<(), ReadError> {
    let at = "tools";
    for (key, value) in strip::members(raw).map_err(ReadError::shape(at))? {
        let key: String = parse(key, at)?;
        match key.as_str() {
            "functionDeclarations" | "function_declarations" => {
                for declared in parse::<Vec<&RawValue>>(value, at)? {
                    function(declared, &["parameters", "parametersJsonSchema"], reading)?;
                }
            }
            _ => reading.leaves(format!("the tool {key}")),
        }
    }
    Ok(())
}

fn read_config(json: &str, reading: &mut Reading) -> Result<(), ReadError> {
    let at = "generationConfig";
    let raw: &RawValue = value(json, at)?;
    for (key, value) in strip::members(raw).map_err(ReadError::shape(at))? {
        let key: String = parse(key, at)?;
        let parts = &mut reading.parts;
        match key.as_str() {
            _ if value.get() == "null" => {}
            "maxOutputTokens" | "max_output_tokens" => {
                parts.settings.max_tokens = parse(value, at)?;
            }
            "temperature" => parts.temperature = parse(value, at)?,
            "stopSequences" | "stop_sequences" => parts.stop_sequences = parse(value, at)?,
            _ => reading.leaves(format!("{at}.{key}")),
        }
    }
    Ok(())
}
