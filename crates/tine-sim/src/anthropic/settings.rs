//! The settings of a request: those that are part of a cache entry's identity, and the switches of betas.

use serde_json::{Map, Value};

use super::models;
use crate::refusal::Refusal;

/// The beta that thinking's `block_binding` belongs to.
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// The beta that `thread` belongs to.
const THREADS_BETA: &str = "message-threads-2026-08-12";

/// Settings that take part in the cache's identity; a default that was sent and one that was left out are equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// Counts from the system blocks on.
    pub(super) speed: String,
    /// Count from the messages on.
    pub(super) messages: String,
}

impl Settings {
    pub(super) fn of(fields: &Map<String, Value>, model: &str) -> Self {
        let object = |key: &str| fields.get(key).and_then(Value::as_object).cloned();
        let thinking = object("thinking").map(|mut thinking| {
            // It says what to do with old thinking, not how to think.
            thinking.shift_remove("block_binding");
            thinking
        });
        let tool_choice = object("tool_choice").map(|mut choice| {
            if choice.get("disable_parallel_tool_use") == Some(&Value::Bool(false)) {
                choice.shift_remove("disable_parallel_tool_use");
            }
            choice
        });
        let config = object("output_config").map(|mut config| {
            if config.get("effort").is_some_and(|effort| effort == "high" || effort.is_null()) {
                config.shift_remove("effort");
            }
            config
        });
        let parts = [
            not_default(thinking, models::default_thinking(model)),
            not_default(config, ""),
            not_default(tool_choice, "auto"),
        ];
        let speed =
            fields.get("speed").and_then(Value::as_str).filter(|speed| *speed != "standard");
        Self { speed: speed.unwrap_or_default().to_owned(), messages: parts.join("\n") }
    }
}

/// The text of a setting, or none where it says no more than that its type is the default.
fn not_default(setting: Option<Map<String, Value>>, default: &str) -> String {
    let is_default = |setting: &Map<String, Value>| {
        setting.is_empty()
            || (setting.len() == 1 && setting.get("type").and_then(Value::as_str) == Some(default))
    };
    setting
        .filter(|setting| !is_default(setting))
        .map_or_else(String::new, |setting| Value::Object(setting).to_string())
}

/// What to do with thinking that stands behind another prefix than the one it was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mismatch {
    /// Refuse the request.
    #[default]
    Error,
    /// Leave the thinking out, and say so.
    DropBlock,
}

/// Reads `thinking.block_binding`.
pub(super) fn mismatch(fields: &Map<String, Value>, betas: &[&str]) -> Result<Mismatch, Refusal> {
    let binding = fields.get("thinking").and_then(|thinking| thinking.get("block_binding"));
    let Some(binding) = binding.filter(|binding| !binding.is_null()) else {
        return Ok(Mismatch::Error);
    };
    if !betas.contains(&BINDING_BETA) {
        return Err(Refusal::invalid(format!(
            "thinking.block_binding: Extra inputs are not permitted without the beta header `anthropic-beta: {BINDING_BETA}`"
        )));
    }
    match binding.get("prefix_mismatch_behavior").map(Value::as_str) {
        None | Some(Some("error")) => Ok(Mismatch::Error),
        Some(Some("drop_block")) => Ok(Mismatch::DropBlock),
        Some(_) => Err(Refusal::invalid(
            "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
        )),
    }
}

/// Whether a reply is to be compared with an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Diagnostics were not asked for, and the request is not kept for later ones.
    None,
    /// The first request of its line: kept, and compared with nothing.
    First,
    /// To be compared with the request whose reply had this id.
    With(String),
}

/// Reads `diagnostics`.
pub(super) fn comparison(fields: &Map<String, Value>) -> Result<Comparison, Refusal> {
    match fields.get("diagnostics") {
        None | Some(Value::Null) => Ok(Comparison::None),
        Some(Value::Object(diagnostics)) => match diagnostics.get("previous_message_id") {
            None | Some(Value::Null) => Ok(Comparison::First),
            Some(Value::String(id)) => Ok(Comparison::With(id.clone())),
            Some(_) => Err(Refusal::invalid(
                "diagnostics.previous_message_id: Input should be a valid string",
            )),
        },
        Some(_) => Err(Refusal::invalid("diagnostics: Input should be an object")),
    }
}

/// Threads are kept nowhere: one can be asked for, and none can be continued, as the vendor may also say at any time.
pub(super) fn check_thread(fields: &Map<String, Value>, betas: &[&str]) -> Result<(), Refusal> {
    let Some(thread) = fields.get("thread").filter(|thread| !thread.is_null()) else {
        return Ok(());
    };
    if !betas.contains(&THREADS_BETA) {
        return Err(Refusal::invalid(format!(
            "thread: Extra inputs are not permitted without the beta header `anthropic-beta: {THREADS_BETA}`"
        )));
    }
    match thread.get("type").and_then(Value::as_str) {
        Some("create") => Ok(()),
        Some("continue") => {
            let id = thread.get("previous_message_id").and_then(Value::as_str).unwrap_or_default();
            Err(Refusal::new(
                404,
                format!(
                    "thread: no thread ends in the message `{id}`; send the conversation in full"
                ),
            )
            .with_code("thread_not_found"))
        }
        _ => Err(Refusal::invalid("thread.type: Input should be 'create' or 'continue'")),
    }
}
