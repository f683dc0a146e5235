//! Reading the cache's part of a request: options, key, retention, and where a breakpoint may stand.

use serde_json::{Map, Value};

use crate::cache::Ttl;
use crate::profile::Profile;
use crate::refusal::Refusal;

/// The field that marks a content part.
pub(super) const BREAKPOINT: &str = "prompt_cache_breakpoint";

/// Which of the two formats; Chat knows fewer options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Responses,
}

/// What a request says about caching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheOptions {
    /// Whether the server places one breakpoint by itself.
    pub(crate) is_implicit: bool,
    /// Lifetime of breakpoints that do not say one.
    pub(crate) ttl: Ttl,
    /// Entries are made and nothing is generated.
    pub(crate) is_prewarm: bool,
    /// The reply that this request is to be compared with.
    pub(crate) comparison: Option<String>,
    /// Separates caches.
    pub(crate) key: Option<String>,
    /// `prompt_cache_retention: "24h"`, of models before GPT-5.6.
    pub(crate) is_retained: bool,
}

impl CacheOptions {
    pub(crate) fn parse(
        fields: &Map<String, Value>,
        api: Api,
        profile: Profile,
    ) -> Result<Self, Refusal> {
        let empty = Map::new();
        let options = match fields.get("prompt_cache_options") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(options)) => options,
            Some(_) => return Err(wrong_type("prompt_cache_options", "an object")),
        };
        let known: &[&str] = match api {
            Api::Chat => &["mode", "ttl"],
            Api::Responses => &["mode", "ttl", "prewarm", "comparison_response_id"],
        };
        if let Some(key) = options.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(unknown(format!("prompt_cache_options.{key}")));
        }
        let mode = choice(options.get("mode"), "prompt_cache_options.mode", MODES)?;
        let retentions = if profile == Profile::OpenAi { &RETENTIONS[1..] } else { RETENTIONS };
        let retention = fields.get("prompt_cache_retention");
        let retention = choice(retention, "prompt_cache_retention", retentions)?;
        let comparison = options.get("comparison_response_id");
        Ok(Self {
            is_implicit: mode != Some("explicit"),
            ttl: ttl(options.get("ttl"), "prompt_cache_options.ttl", api)?.unwrap_or(Ttl::Short),
            is_prewarm: flag(options.get("prewarm"), "prompt_cache_options.prewarm")?
                .unwrap_or(false),
            comparison: text(comparison, "prompt_cache_options.comparison_response_id")?,
            key: text(fields.get("prompt_cache_key"), "prompt_cache_key")?,
            is_retained: retention == Some("24h"),
        })
    }
}

const MODES: &[&str] = &["implicit", "explicit"];

/// Current models take only the last.
const RETENTIONS: &[&str] = &["in_memory", "24h"];

fn wrong_type(path: &str, expected: &str) -> Refusal {
    Refusal::invalid(format!("Invalid type for '{path}': expected {expected}")).at(path)
}

/// Refuses a parameter that the format does not have.
pub(super) fn unknown(path: String) -> Refusal {
    Refusal::invalid(format!("Unknown parameter: '{path}'."))
        .with_code("unknown_parameter")
        .at(path)
}

/// Refuses a request without a parameter that it must have.
pub(crate) fn missing(path: &str) -> Refusal {
    Refusal::invalid(format!("Missing required parameter: '{path}'."))
        .with_code("missing_required_parameter")
        .at(path)
}

/// The parameters of a request.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::invalid("the request body is not a JSON object")),
        Err(error) => Err(Refusal::invalid(format!(
            "We could not parse the JSON body of your request: {error}"
        ))),
    }
}

/// A boolean; `None` where it is left out.
pub(crate) fn flag(value: Option<&Value>, path: &str) -> Result<Option<bool>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(wrong_type(path, "a boolean")),
    }
}

/// An array; `None` where it is left out.
pub(crate) fn list(value: Option<Value>, path: &str) -> Result<Option<Vec<Value>>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(wrong_type(path, "an array")),
    }
}

/// A text; `None` where it is left out.
pub(crate) fn text(value: Option<&Value>, path: &str) -> Result<Option<String>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong_type(path, "a string")),
    }
}

fn choice<'a>(
    value: Option<&'a Value>,
    path: &str,
    choices: &[&str],
) -> Result<Option<&'a str>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(chosen)) if choices.contains(&chosen.as_str()) => Ok(Some(chosen)),
        Some(other) => Err(Refusal::invalid(format!(
            "Invalid value: {other}. Supported values are: '{}'.",
            choices.join("', '")
        ))
        .with_code("invalid_value")
        .at(path)),
    }
}

/// Twelve hours are for Responses only.
fn ttl(value: Option<&Value>, path: &str, api: Api) -> Result<Option<Ttl>, Refusal> {
    let choices: &[&str] = match api {
        Api::Chat => &["30m"],
        Api::Responses => &["30m", "12h"],
    };
    let chosen = choice(value, path, choices)?;
    Ok(chosen.map(|ttl| if ttl == "12h" { Ttl::Long } else { Ttl::Short }))
}

/// Checks an item or message: breakpoints stand only on content parts that can carry one.
pub(crate) fn check_breakpoints(value: &Value, path: &str, api: Api) -> Result<(), Refusal> {
    if value.get(BREAKPOINT).is_some() {
        return Err(unknown(format!("{path}.{BREAKPOINT}")));
    }
    for key in ["content", "output"] {
        let parts = value.get(key).and_then(Value::as_array).into_iter().flatten();
        for (index, part) in parts.enumerate() {
            if let Some(mark) = part.get(BREAKPOINT) {
                check_breakpoint(part, mark, &format!("{path}.{key}[{index}].{BREAKPOINT}"), api)?;
            }
        }
    }
    Ok(())
}

fn check_breakpoint(part: &Value, mark: &Value, path: &str, api: Api) -> Result<(), Refusal> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_allowed = match api {
        Api::Chat => ["text", "image_url", "input_audio", "file"].contains(&kind),
        Api::Responses => ["input_text", "input_image", "input_file"].contains(&kind),
    };
    if !is_allowed {
        return Err(unknown(path.to_owned()));
    }
    let Value::Object(fields) = mark else { return Err(wrong_type(path, "an object")) };
    if let Some(key) = fields.keys().find(|key| !["mode", "ttl"].contains(&key.as_str())) {
        return Err(unknown(format!("{path}.{key}")));
    }
    let mode_path = format!("{path}.mode");
    let mode = choice(fields.get("mode"), &mode_path, &["explicit"])?;
    if mode.is_none() {
        return Err(missing(&mode_path));
    }
    ttl(fields.get("ttl"), &format!("{path}.ttl"), api).map(drop)
}

/// The settings that count, as one text. One that was left out and one that was sent with its default are equal.
pub(crate) fn settings(parts: &[(&str, Option<&Value>, Value)]) -> String {
    let said = parts.iter().filter_map(|(name, value, default)| {
        let value = value.filter(|value| !value.is_null() && *value != default)?;
        Some(format!("{name}={value}\n"))
    });
    said.collect()
}
