//! Where a request parts from an earlier one, in the vendor's words.

use serde_json::{Value, json};

use crate::memory::Trace;

/// The word for settings that the vendor has no reason for.
pub(super) const UNAVAILABLE: &str = "unavailable";

/// The `diagnostics` of a reply to a request that named an earlier one. `null` where nothing differs, whether or not the
/// cache served it.
pub(crate) fn diagnosis(now: &Trace, earlier: Option<&Trace>) -> Value {
    let Some(earlier) = earlier else { return reason("previous_message_not_found", None) };
    match now.compare(earlier) {
        None => Value::Null,
        Some(found) if found.reason == Some(UNAVAILABLE) => reason(UNAVAILABLE, None),
        Some(found) => {
            reason(found.reason.unwrap_or("messages_changed"), Some(found.missed_tokens))
        }
    }
}

fn reason(kind: &str, missed_tokens: Option<u64>) -> Value {
    let mut reason = json!({"type": kind});
    if let Some(tokens) = missed_tokens {
        reason["cache_missed_input_tokens"] = json!(tokens);
    }
    json!({"cache_miss_reason": reason})
}
