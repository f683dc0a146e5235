//! The settings of a chat or Responses request.

use serde_json::value::RawValue;
use tine_model::{Effort, WireFormat};

use super::{Reading, choice_of_word, function, text, value};
use crate::read::{ReadError, parse};
use crate::split::SplitRequest;
use crate::strip;

/// Reads them. Those without a field are left to the request's own bytes.
pub(super) fn read_settings(split: &SplitRequest, reading: &mut Reading) -> Result<(), ReadError> {
    let is_chat = split.format() != WireFormat::OpenAiResponses;
    for (name, json) in split.settings() {
        let parts = &mut reading.parts;
        match name {
            "model" => {}
            _ if json == "null" => {}
            "max_tokens" | "max_completion_tokens" if is_chat => {
                parts.settings.max_tokens = value(json, name)?;
            }
            "max_output_tokens" if !is_chat => parts.settings.max_tokens = value(json, name)?,
            "temperature" => parts.temperature = Some(value(json, name)?),
            "stop" if is_chat && json.starts_with('[') => {
                parts.stop_sequences = value(json, name)?;
            }
            "stop" if is_chat => parts.stop_sequences = vec![text(json, name)?],
            "stream" => parts.stream = value(json, name)?,
            // How the reply is delivered, and which entries the cache is to keep: neither is said to the model.
            "stream_options" | "prompt_cache_options" => {}
            "prompt_cache_key" => parts.cache_key = Some(text(json, name)?),
            "instructions" if !is_chat => parts.system = text(json, name)?,
            "reasoning_effort" if is_chat && Effort::from_name(&text(json, name)?).is_some() => {
                parts.settings.effort = Effort::from_name(&text(json, name)?);
            }
            "tools" => {
                for tool in value::<Vec<&RawValue>>(json, name)? {
                    read_tool(tool, is_chat, reading)?;
                }
            }
            "tool_choice" => {
                match serde_json::from_str::<String>(json).ok().as_deref().and_then(choice_of_word)
                {
                    Some(choice) => parts.tool_choice = choice,
                    None => reading.leaves(name),
                }
            }
            _ => reading.leaves(name),
        }
    }
    Ok(())
}

/// A tool: a function, in chat inside an object; or one that the provider runs itself.
fn read_tool(raw: &RawValue, is_chat: bool, reading: &mut Reading) -> Result<(), ReadError> {
    let members = strip::members(raw).map_err(ReadError::shape("a tool"))?;
    let member = |name: &str| members.iter().find(|(key, _)| key.get() == name).map(|it| it.1);
    let kind = member("\"type\"").map_or("\"function\"", |kind| kind.get());
    if kind != "\"function\"" {
        reading.leaves(format!("a tool of the kind {}", kind.trim_matches('"')));
        return Ok(());
    }
    match member("\"function\"").filter(|_| is_chat) {
        Some(inner) => {
            for (key, _) in
                members.iter().filter(|(key, _)| !["\"type\"", "\"function\""].contains(&key.get()))
            {
                let key: String = parse(key, "a tool")?;
                reading.leaves(format!("{key} of a tool"));
            }
            function(inner, &["parameters"], reading)
        }
        None => function(raw, &["parameters"], reading),
    }
}
