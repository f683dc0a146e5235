//! The response object that ends a stream, or that is the whole of a reply that was not streamed.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::{Message, StopReason, Usage};

use super::usage;
use crate::reply::{DecodeError, Diagnosis, DroppedReasoning};
use crate::{Failure, failure, lenient};

/// How a response ended, and what is known only then.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    /// Why the provider failed, if it did.
    pub(crate) failure: Option<Failure>,
    /// Why it is not complete, if it is not.
    pub(crate) incomplete: Option<String>,
    /// Whether the response lists its items.
    pub(crate) has_output: bool,
    /// All items, as they came.
    pub(crate) output: Vec<String>,
    pub(crate) usage: Usage,
    pub(crate) diagnosis: Option<Diagnosis>,
    pub(crate) dropped: Vec<DroppedReasoning>,
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    model: Option<String>,
    status: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    output: Option<Vec<&'a RawValue>>,
    usage: Option<&'a RawValue>,
    incomplete_details: Option<Details>,
    prompt_cache_diagnostics: Option<&'a RawValue>,
    input_transformations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Details {
    reason: Option<String>,
}

impl Terminal {
    /// Reads a response; `at` is the event that it came with, which says of it what its status may not.
    pub(crate) fn read(response: &RawValue, at: &str) -> Result<Self, DecodeError> {
        let json = |error| DecodeError::protocol(at, error);
        let shape: Shape<'_> = serde_json::from_str(response.get()).map_err(json)?;
        let status = match at {
            "response.completed" => "completed",
            "response.incomplete" => "incomplete",
            "response.failed" => "failed",
            _ if shape.error.is_some() => "failed",
            _ => shape.status.as_deref().unwrap_or("completed"),
        };
        let (mut failed, mut incomplete) = (None, None);
        match status {
            "completed" => {}
            "incomplete" => {
                let reason = shape.incomplete_details.and_then(|details| details.reason);
                incomplete = Some(reason.unwrap_or_else(|| "incomplete".to_owned()));
            }
            "failed" if shape.error.is_some() => {
                let body: Value = serde_json::from_str(response.get()).map_err(json)?;
                failed = Some(failure::from_value(None, &body));
            }
            "failed" => {
                let body = serde_json::json!({ "message": "the provider gave no reason" });
                failed = Some(failure::from_value(None, &body));
            }
            other => return Err(DecodeError::protocol(at, format!("its status is `{other}`"))),
        }
        let output = shape.output.iter().flatten().map(|item| item.get().to_owned()).collect();
        Ok(Self {
            id: shape.id,
            model: shape.model,
            failure: failed,
            incomplete,
            has_output: shape.output.is_some(),
            output,
            usage: shape.usage.map(usage::normal).unwrap_or_default(),
            diagnosis: shape.prompt_cache_diagnostics.and_then(diagnosis),
            dropped: shape.input_transformations.map(dropped).unwrap_or_default(),
        })
    }

    /// Why the model stopped; the format says it only of replies that are not complete.
    pub(crate) fn stop(&self, message: &Message, refused: bool) -> StopReason {
        match self.incomplete.as_deref() {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
            None if message.tool_calls().next().is_some() => StopReason::ToolUse,
            None if refused => StopReason::Refusal,
            None => StopReason::EndTurn,
        }
    }
}

/// What the provider says of its cache; `None` for words of tomorrow.
fn diagnosis(raw: &RawValue) -> Option<Diagnosis> {
    let value: Value = serde_json::from_str(raw.get()).ok()?;
    Some(match value.get("type")?.as_str()? {
        "cache_hit" => Diagnosis::Hit,
        "cache_miss" => Diagnosis::Miss {
            reason: value.get("reason").and_then(Value::as_str).unwrap_or("unknown").to_owned(),
            missed_tokens: value.get("cache_missed_tokens").and_then(Value::as_u64),
        },
        "comparison_response_not_found" => Diagnosis::NotFound,
        "unavailable" => Diagnosis::Unavailable,
        _ => return None,
    })
}

/// The reasoning that the provider removed from the request.
fn dropped(raw: &RawValue) -> Vec<DroppedReasoning> {
    let list: Vec<Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    let text =
        |change: &Value, key: &str| change.get(key).and_then(Value::as_str).map(String::from);
    let removed = list.iter().filter(|change| {
        text(change, "type").as_deref() == Some("reasoning")
            && text(change, "action").as_deref() == Some("removed")
    });
    let dropped = removed.map(|change| DroppedReasoning {
        place: text(change, "id").unwrap_or_default(),
        reason: text(change, "reason").unwrap_or_default(),
    });
    dropped.collect()
}
