//! Reading a Chat Completions request.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::engine::EngineOptions;
use super::host::Host;
use crate::cache::{Digest, Prompt};
use crate::conversation::{Piece, joined};
use crate::media;
use crate::openai::{Api, CacheOptions, Renderer, check_breakpoints, flag, list, object, settings};
use crate::profile::Profile;
use crate::refusal::Refusal;

/// Output tokens when the request does not limit them; the vendor's limit is the model's own.
const MAX_TOKENS_DEFAULT: u64 = 128_000;

/// A valid request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) model: String,
    pub(crate) max_tokens: u64,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) cache: CacheOptions,
    /// The strict host that answers, if one does.
    pub(crate) host: Option<Host>,
    tools: Vec<Value>,
    messages: Vec<Value>,
    settings: String,
    engine: EngineOptions,
}

impl Request {
    /// Reads and checks a body. The profile is chosen by the model's name; `host` is the scenario's.
    pub(crate) fn parse(
        body: &[u8],
        profile: impl FnOnce(&str) -> Profile,
        host: Option<Host>,
    ) -> Result<Self, Refusal> {
        let mut fields = object(body)?;
        let model = match fields.get("model") {
            Some(Value::String(model)) if !model.is_empty() => model.clone(),
            _ => return Err(Refusal::invalid("you must provide a model parameter")),
        };
        let profile = profile(&model);
        let host = Host::of(host, &model, profile);
        if let Some(host) = host {
            host.check(&fields)?;
        }
        let engine = EngineOptions::parse(&fields, profile)?;
        if profile.is_engine() {
            // OpenAI's options mean nothing there, or something else.
            fields.shift_remove("prompt_cache_options");
        }
        let usage = fields.get("stream_options").and_then(|options| options.get("include_usage"));
        let request = Self {
            cache: CacheOptions::parse(&fields, Api::Chat, profile)?,
            engine,
            host,
            model,
            max_tokens: max_tokens(&fields)?,
            stream: flag(fields.get("stream"), "stream")?.unwrap_or(false),
            include_usage: flag(usage, "stream_options.include_usage")?.unwrap_or(false),
            settings: settings_of(&fields),
            tools: list(fields.shift_remove("tools"), "tools")?.unwrap_or_default(),
            messages: list(fields.shift_remove("messages"), "messages")?
                .ok_or_else(|| Refusal::invalid("Missing required parameter: 'messages'."))?,
        };
        for (name, items) in [("tools", &request.tools), ("messages", &request.messages)] {
            for (index, item) in items.iter().enumerate() {
                check_breakpoints(item, &format!("{name}[{index}]"), Api::Chat)?;
            }
        }
        if request.messages.is_empty() {
            Err(Refusal::invalid("Invalid 'messages': empty array, expected at least one message"))
        } else {
            check_pairs(&request.messages)?;
            if let Some(host) = host {
                host.check_ids(&request.messages)?;
            }
            check_pictures(&request.messages, profile).map(|()| request)
        }
    }

    /// The conversation, for the scenario.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.messages.iter().flat_map(message_pieces)
    }

    /// The prompt of an account's request as caches see it.
    pub(crate) fn prompt(&self, account: &Digest, profile: Profile) -> Prompt {
        if profile.is_engine() {
            let (tools, messages) = (&self.tools, &self.messages);
            return self.engine.prompt(profile, account, &self.model, tools, messages);
        }
        let mut renderer = Renderer::new(&self.settings, &self.cache);
        self.tools.iter().for_each(|tool| renderer.line(tool));
        for (index, message) in self.messages.iter().enumerate() {
            match message {
                Value::Object(fields) => {
                    renderer.message(fields, "content", self.is_eligible_end(index));
                }
                // Not reached: such a message has no role and was refused.
                other => renderer.line(other),
            }
        }
        renderer.finish(account, &self.model, &self.cache).prompt
    }

    /// Refuses a slot that a llama.cpp server of so many does not have.
    pub(crate) fn check_slot(&self, slots: usize) -> Result<(), Refusal> {
        self.engine.check_slot(slots)
    }

    /// Where implicit mode may place its mark: behind user messages, the last of a run of tool messages, and the last of
    /// the instructions at the beginning.
    fn is_eligible_end(&self, index: usize) -> bool {
        let role = |index: usize| self.messages.get(index).map(|message| text(message, "role"));
        let is_instruction = |role: Option<&str>| matches!(role, Some("developer" | "system"));
        match role(index) {
            Some("user") => true,
            Some("tool") => role(index + 1) != Some("tool"),
            here => {
                is_instruction(here)
                    && !is_instruction(role(index + 1))
                    && (0..index).all(|before| is_instruction(role(before)))
            }
        }
    }
}

/// Settings that are part of a cache entry's identity on current models.
fn settings_of(fields: &Map<String, Value>) -> String {
    let plain = json!({"type": "text"});
    settings(&[
        ("parallel_tool_calls", fields.get("parallel_tool_calls"), json!(true)),
        ("response_format", fields.get("response_format"), plain),
        ("reasoning_effort", fields.get("reasoning_effort"), json!(null)),
        ("verbosity", fields.get("verbosity"), json!("medium")),
        ("service_tier", fields.get("service_tier"), json!("auto")),
    ])
}

fn max_tokens(fields: &Map<String, Value>) -> Result<u64, Refusal> {
    for key in ["max_completion_tokens", "max_tokens"] {
        match fields.get(key) {
            None | Some(Value::Null) => {}
            Some(value) => {
                return value.as_u64().filter(|tokens| *tokens > 0).ok_or_else(|| {
                    Refusal::invalid(format!("Invalid '{key}': expected an integer of at least 1"))
                });
            }
        }
    }
    Ok(MAX_TOKENS_DEFAULT)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn calls(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("tool_calls").and_then(Value::as_array).into_iter().flatten()
}

/// Text of a message, given as a string or in parts.
fn parts(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => Vec::new(),
    }
}

fn message_pieces(message: &Value) -> Vec<Piece<'_>> {
    match text(message, "role") {
        "user" => parts(message).into_iter().map(Piece::UserText).collect(),
        "assistant" => std::iter::once(Piece::AssistantMessage)
            .chain(parts(message).into_iter().map(Piece::Text))
            .chain(calls(message).map(|call| Piece::Call {
                id: text(call, "id"),
                name: call.get("function").map_or("", |function| text(function, "name")),
            }))
            .collect(),
        "tool" => {
            let text_parts = joined(parts(message));
            vec![Piece::Result { id: text(message, "tool_call_id"), text: text_parts }]
        }
        _ => parts(message).into_iter().map(Piece::Text).collect(),
    }
}

/// Pictures are whole, and DeepSeek's models take none.
fn check_pictures(messages: &[Value], profile: Profile) -> Result<(), Refusal> {
    for (index, message) in messages.iter().enumerate() {
        let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
        for part in parts.filter(|part| text(part, "type") == "image_url") {
            if profile == Profile::DeepSeek {
                return Err(Refusal::invalid(format!(
                    "Failed to deserialize the JSON body into the target type: messages[{index}]: unknown variant `image_url`, expected `text`"
                )));
            }
            let address = &part["image_url"];
            media::check_url(address["url"].as_str().or(address.as_str()).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// Every call is answered by a tool message right behind it, and every tool message answers a call.
fn check_pairs(messages: &[Value]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if !["system", "developer", "user", "assistant", "tool"].contains(&role) {
            return Err(Refusal::invalid(format!(
                "Invalid value for 'messages[{index}].role': expected one of 'system', 'developer', 'user', 'assistant', 'tool'"
            )));
        }
        if role == "tool" {
            let id = text(message, "tool_call_id");
            if !known.contains(id) {
                return Err(Refusal::invalid(format!(
                    "Invalid parameter: messages[{index}] with role 'tool' must be a response to a preceding message with 'tool_calls'; '{id}' answers none."
                )));
            }
            open.retain(|call| *call != id);
            continue;
        }
        check_answered(&open)?;
        known.clear();
        open = calls(message).map(|call| text(call, "id")).collect();
        known.extend(&open);
        if message.get("content").is_none_or(Value::is_null)
            && (role != "assistant" || open.is_empty())
        {
            return Err(Refusal::invalid(format!(
                "Invalid value for 'messages[{index}].content': expected a string or an array of parts, got null"
            )));
        }
    }
    check_answered(&open)
}

fn check_answered(open: &[&str]) -> Result<(), Refusal> {
    if open.is_empty() {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        )))
    }
}
