//! What Anthropic says of the request itself: how it compares with an earlier one, and which reasoning was left out.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::reply::{Diagnosis, DroppedReasoning, TOKENS_MAX};

/// What was said so far. A stream may say it at its start or near its end, and say at first that it does not know yet.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    pub(crate) diagnosis: Option<Diagnosis>,
    pub(crate) dropped: Vec<DroppedReasoning>,
}

impl Remarks {
    /// Takes an object that may hold `diagnostics` and `input_transformations`; anything unreadable in it says nothing.
    pub(crate) fn take(&mut self, diagnostics: Option<&RawValue>, changes: Option<&RawValue>) {
        match diagnostics.and_then(read).and_then(|value| diagnosis(&value)) {
            None => {}
            // What is known does not become unknown again.
            Some(Diagnosis::Pending) if self.diagnosis.is_some() => {}
            told @ Some(_) => self.diagnosis = told,
        }
        if let Some(Value::Array(changes)) = changes.and_then(read) {
            self.dropped = changes.iter().filter_map(dropped).collect();
        }
    }
}

fn read(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

/// `null` stands for no comparison, an object without a reason for one that is not ready. That a request was served in full
/// is not said in this format.
fn diagnosis(value: &Value) -> Option<Diagnosis> {
    let reason = match value.as_object()?.get("cache_miss_reason") {
        None | Some(Value::Null) => return Some(Diagnosis::Pending),
        Some(reason) => reason,
    };
    let missed = reason.get("cache_missed_input_tokens").and_then(Value::as_u64);
    Some(match reason.get("type")?.as_str()? {
        "previous_message_not_found" => Diagnosis::NotFound,
        "unavailable" => Diagnosis::Unavailable,
        other => Diagnosis::Miss {
            reason: other.to_owned(),
            missed_tokens: missed.filter(|tokens| *tokens <= TOKENS_MAX),
        },
    })
}

/// `None` for what was changed or let pass without being left out.
fn dropped(change: &Value) -> Option<DroppedReasoning> {
    let word = |name: &str| change.get(name).and_then(Value::as_str);
    (word("type")? == "thinking_dropped").then(|| DroppedReasoning {
        place: word("path").unwrap_or_default().to_owned(),
        reason: word("reason").unwrap_or_default().to_owned(),
    })
}
