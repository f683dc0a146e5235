//! The usage of a Chat reply: each vendor reports its cache in fields of its own.

use serde_json::{Value, json};

use super::reply::Head;
use crate::answer::Answer;
use crate::cache::PromptUsage;
use crate::profile::Profile;

/// The `usage` of a reply. `prompt_tokens` includes what was read and written.
pub(super) fn usage(head: &Head, prompt: &PromptUsage, answer: &Answer) -> Value {
    let mut usage = json!({
        "prompt_tokens": prompt.total(),
        "completion_tokens": answer.output_tokens,
        "total_tokens": prompt.total() + answer.output_tokens,
    });
    let reasoning = json!({"reasoning_tokens": answer.thinking_tokens});
    let cached = json!({"cached_tokens": prompt.read});
    match head.profile {
        Profile::OpenAi | Profile::Anthropic | Profile::MiniMax => {
            usage["prompt_tokens_details"] =
                json!({"cached_tokens": prompt.read, "cache_write_tokens": prompt.written()});
            usage["completion_tokens_details"] = reasoning;
        }
        Profile::OpenAiLegacy | Profile::Kimi | Profile::Gemini => {
            usage["prompt_tokens_details"] = cached;
            usage["completion_tokens_details"] = reasoning;
        }
        Profile::DeepSeek => {
            usage["prompt_cache_hit_tokens"] = json!(prompt.read);
            usage["prompt_cache_miss_tokens"] = json!(prompt.input);
            usage["completion_tokens_details"] = reasoning;
        }
        Profile::LlamaCpp => usage["prompt_tokens_details"] = cached,
        // Without their flags these say nothing, which is not zero.
        Profile::Vllm | Profile::Sglang if head.reports_cache => {
            usage["prompt_tokens_details"] = cached;
        }
        // Ollama counts the prompt and nothing else.
        Profile::Vllm | Profile::Sglang | Profile::Ollama => {}
    }
    usage
}

/// llama.cpp's own account, beside the usage: what was cached, computed and generated.
pub(super) fn add_timings(body: &mut Value, head: &Head, answer: &Answer) {
    if let (Profile::LlamaCpp, Some(prompt)) = (head.profile, &head.usage) {
        body["timings"] = json!({
            "cache_n": prompt.read,
            "prompt_n": prompt.input,
            "predicted_n": answer.output_tokens,
        });
    }
}
