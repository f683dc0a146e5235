//! Why a request reused less than an earlier one promised, in the vendor's words.

use serde_json::{Value, json};

use super::items::Item;
use super::prompt::Flattened;
use super::request::Request;
use crate::cache::{PromptUsage, link};
use crate::memory::{Aspect, Divergence, Trace};

/// The word for settings that the vendor has no reason for.
const UNAVAILABLE: &str = "unavailable";

/// What is kept of a request.
pub(crate) fn trace(request: &Request, flattened: &Flattened) -> Trace {
    let settings = &request.settings;
    let tools: String = request.tools.iter().map(|tool| format!("{tool}\n")).collect();
    let key = request.cache.key.as_deref().unwrap_or_default();
    let aspects = [
        ("model_changed", request.model.as_str()),
        ("prompt_cache_key_changed", key),
        ("service_tier_changed", &settings.service_tier),
        ("tools_changed", &tools),
        ("text_format_changed", &settings.text_format),
        ("reasoning_effort_changed", &settings.effort),
        ("verbosity_changed", &settings.verbosity),
        (UNAVAILABLE, &settings.others),
    ];
    let aspect = |(reason, value): (&'static str, &str)| Aspect {
        reason,
        value: link(&[value.as_bytes()]),
        kept_tokens: 0,
    };
    Trace {
        aspects: aspects.into_iter().map(aspect).collect(),
        chain: flattened.rendered.ends.clone(),
        tokens: flattened.rendered.prompt.tokens(),
        compactions: request.items.iter().filter(|item| Item::is_compaction(item)).count(),
    }
}

/// The `prompt_cache_diagnostics` of a reply to a request that asked for a comparison.
pub(crate) fn diagnosis(now: &Trace, earlier: Option<&Trace>, usage: &PromptUsage) -> Value {
    let Some(earlier) = earlier else {
        return json!({"type": "comparison_response_not_found"});
    };
    let Divergence { reason, common_tokens, missed_tokens } = match now.compare(earlier) {
        Some(divergence) => divergence,
        None if usage.read > 0 => return json!({"type": "cache_hit"}),
        // Nothing differs and nothing was read: an entry that is gone, which has no reason of its own.
        None => return json!({"type": UNAVAILABLE}),
    };
    let reason = match reason {
        Some(UNAVAILABLE) => return json!({"type": UNAVAILABLE}),
        Some(reason) => reason,
        None if now.compactions > earlier.compactions => "context_compacted",
        None => "input_changed",
    };
    json!({
        "type": "cache_miss",
        "reason": reason,
        "cache_missed_tokens": missed_tokens,
        "comparison_reusable_tokens": common_tokens,
    })
}
