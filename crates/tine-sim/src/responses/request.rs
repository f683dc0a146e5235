//! Reading a Responses request: the shape of every field that the simulator depends on. Parameters that the
//! vendor does not know are refused (`members.rs`); of those that it knows and the simulator does not, any JSON is accepted.

use serde_json::{Map, Value, json};

use super::items::{self, Item};
use super::members;
use super::pairing;
use super::reply::CUSTOM_CALL;
use crate::conversation::{Piece, joined};
use crate::openai::{
    Api, CacheOptions, check_breakpoints, flag, list, missing, object, settings, text,
};
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
    pub(crate) cache: CacheOptions,
    /// Whether reasoning comes back in a form that can be sent again.
    pub(crate) includes_encrypted: bool,
    /// Whether reasoning comes back in words.
    pub(crate) includes_summary: bool,
    /// What the reply repeats of the request.
    pub(crate) echo: Map<String, Value>,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Value>,
    pub(super) items: Vec<Item>,
    pub(super) settings: Settings,
}

/// Settings that are part of a cache entry's identity; one that was left out and one that was sent with its default are
/// equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) service_tier: String,
    pub(super) text_format: String,
    pub(super) effort: String,
    pub(super) verbosity: String,
    /// Those whose change the diagnostics have no word for.
    pub(super) others: String,
}

impl Settings {
    fn of(fields: &Map<String, Value>) -> Self {
        let inner = |outer: &str, key: &str| fields.get(outer).and_then(|value| value.get(key));
        let one = |value: Option<&Value>, default: Value| settings(&[("", value, default)]);
        Self {
            service_tier: one(fields.get("service_tier"), json!("auto")),
            text_format: one(inner("text", "format"), json!({"type": "text"})),
            effort: one(inner("reasoning", "effort"), Value::Null),
            verbosity: one(inner("text", "verbosity"), json!("medium")),
            others: settings(&[
                ("parallel_tool_calls", fields.get("parallel_tool_calls"), json!(true)),
                ("context_management", fields.get("context_management"), Value::Null),
            ]),
        }
    }

    pub(super) fn joined(&self) -> String {
        let Self { service_tier, text_format, effort, verbosity, others } = self;
        [service_tier, text_format, effort, verbosity, others].map(String::as_str).join("|")
    }
}

/// Fields that the reply repeats as they came.
const ECHOED: &[&str] = &[
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning",
    "store",
    "text",
    "tool_choice",
    "tools",
];

impl Request {
    /// Reads and checks a body. The profile is chosen by the model's name.
    pub(crate) fn parse(
        body: &[u8],
        profile: impl FnOnce(&str) -> Profile,
    ) -> Result<Self, Refusal> {
        let mut fields = object(body)?;
        let model = match fields.get("model") {
            Some(Value::String(model)) if !model.is_empty() => model.clone(),
            _ => return Err(missing("model")),
        };
        check_previous(&fields)?;
        members::check(&fields)?;
        let mut echo: Map<String, Value> = ECHOED
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), fields.get(*key)?.clone())))
            .collect();
        // What every reply of the vendor says, whether or not the request did.
        for (key, default) in [
            ("parallel_tool_calls", json!(true)),
            ("tool_choice", json!("auto")),
            ("tools", json!([])),
        ] {
            echo.entry(key).or_insert(default);
        }
        let request = Self {
            cache: CacheOptions::parse(&fields, Api::Responses, profile(&model))?,
            model,
            max_tokens: max_tokens(&fields)?,
            stream: flag(fields.get("stream"), "stream")?.unwrap_or(false),
            includes_encrypted: includes_encrypted(&fields)?,
            includes_summary: includes_summary(&fields),
            echo,
            instructions: text(fields.get("instructions"), "instructions")?,
            settings: Settings::of(&fields),
            tools: list(fields.shift_remove("tools"), "tools")?.unwrap_or_default(),
            items: items::read(fields.shift_remove("input"))?,
        };
        for (index, tool) in request.tools.iter().enumerate() {
            check_breakpoints(tool, &format!("tools[{index}]"), Api::Responses)?;
        }
        pairing::check(&request.items).map(|()| request)
    }

    /// The conversation, for the scenario.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let instructions = self.instructions.iter().map(|text| Piece::Text(text));
        instructions.chain(self.items.iter().enumerate().flat_map(|(index, item)| {
            // All that the model said in one turn is one message, as it is in the other formats.
            let is_first = index == 0 || !self.items[index - 1].is_from_model();
            let begins = (item.is_from_model() && is_first).then_some(Piece::AssistantMessage);
            begins.into_iter().chain(item_pieces(item))
        }))
    }
}

/// Nothing is stored, so nothing can be continued by its id.
fn check_previous(fields: &Map<String, Value>) -> Result<(), Refusal> {
    match fields.get("previous_response_id") {
        None | Some(Value::Null) => Ok(()),
        Some(id) => {
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            let message = format!("Previous response with id '{id}' not found.");
            let refusal = Refusal::new(404, message).with_code("previous_response_not_found");
            Err(refusal.at("previous_response_id"))
        }
    }
}

fn max_tokens(fields: &Map<String, Value>) -> Result<u64, Refusal> {
    let name = "max_output_tokens";
    match fields.get(name) {
        None | Some(Value::Null) => Ok(MAX_TOKENS_DEFAULT),
        Some(value) => value.as_u64().filter(|tokens| *tokens > 0).ok_or_else(|| {
            Refusal::invalid(format!("Invalid '{name}': expected an integer of at least 1"))
                .at(name)
        }),
    }
}

fn includes_encrypted(fields: &Map<String, Value>) -> Result<bool, Refusal> {
    let include = list(fields.get("include").cloned(), "include")?.unwrap_or_default();
    Ok(include.iter().any(|value| value == "reasoning.encrypted_content"))
}

fn includes_summary(fields: &Map<String, Value>) -> bool {
    let summary = fields.get("reasoning").and_then(|reasoning| reasoning.get("summary"));
    summary.is_some_and(|summary| summary.is_string() && summary != "none")
}

fn item_pieces(item: &Item) -> Vec<Piece<'_>> {
    match item.kind() {
        "message" if item.role() == "user" => item.texts().map(Piece::UserText).collect(),
        "message" => item.texts().map(Piece::Text).collect(),
        "function_call" | CUSTOM_CALL => {
            vec![Piece::Call { id: item.text("call_id"), name: item.text("name") }]
        }
        _ if item.is_output() => {
            let text = joined(item.texts().collect());
            vec![Piece::Result { id: item.text("call_id"), text }]
        }
        _ => Vec::new(),
    }
}
