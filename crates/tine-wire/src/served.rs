//! Answers of model servers to questions about themselves: their lists of models, and the pages that only one kind of
//! server has.
//!
//! Sources, read in November 2026: llama.cpp's `tools/server/README.md` and answers of its server (b10068), vLLM's and SGLang's
//! model cards (`entrypoints/openai`), Ollama's `docs/api.md`. A member that is missing or has another type says nothing.

use serde_json::Value;
use tine_model::{Engine, Served};

/// The path at which every server lists its models.
pub const MODELS_PATH: &str = "/v1/models";
/// The path at which llama-server tells its settings.
pub const PROPS_PATH: &str = "/props";
/// The path at which Ollama tells its version.
pub const VERSION_PATH: &str = "/api/version";
/// The path at which Ollama tells which models are in memory.
pub const LOADED_PATH: &str = "/api/ps";

/// More slots than this are a mistake, or a server that is none of ours.
const SLOTS_MAX: u64 = 4_096;

/// The largest window that is believed.
const WINDOW_MAX: u64 = 1 << 32;

/// Reads a list of models. `None` where it is none.
///
/// llama.cpp, vLLM and SGLang write their own names where OpenAI's format has the owner of a model. Other names there say nothing
/// of the program.
pub fn read_models(body: &[u8], model: &str) -> Option<Served> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let models = list.get("data")?.as_array()?;
    let named = models.iter().find(|card| card.get("id").and_then(Value::as_str) == Some(model));
    // A server of one model answers to any name.
    let Some(card) = named.or(models.first()) else { return Some(Served::default()) };
    let engine = match card.get("owned_by").and_then(Value::as_str) {
        Some("llamacpp") => Some(Engine::LlamaServer),
        Some("vllm") => Some(Engine::Vllm),
        Some("sglang") => Some(Engine::Sglang),
        _ => None,
    };
    let window = card.get("max_model_len").or_else(|| card.get("meta")?.get("n_ctx"));
    Some(Served { engine, slots: None, window_tokens: window.and_then(window_tokens) })
}

/// Reads llama-server's settings into what is known of it: its slots, and the window of each.
pub fn read_props(body: &[u8], served: &mut Served) {
    let Ok(props) = serde_json::from_slice::<Value>(body) else { return };
    let slots = props.get("total_slots").and_then(Value::as_u64);
    let slots = slots.filter(|slots| (1..=SLOTS_MAX).contains(slots));
    served.slots = slots.and_then(|slots| u32::try_from(slots).ok()).or(served.slots);
    let settings = props.get("default_generation_settings");
    let window = settings.and_then(|settings| settings.get("n_ctx")).and_then(window_tokens);
    served.window_tokens = window.or(served.window_tokens);
}

/// Returns true for Ollama's answer about its version.
pub fn is_ollamas_version(body: &[u8]) -> bool {
    let version: Option<Value> = serde_json::from_slice(body).ok();
    version.is_some_and(|version| version.get("version").is_some_and(Value::is_string))
}

/// Reads the window of a model out of Ollama's list of those in memory.
pub fn read_loaded(body: &[u8], model: &str) -> Option<u64> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let loaded = list.get("models")?.as_array()?;
    // A name without a tag means the tag `latest`.
    let tagged = format!("{model}:latest");
    let is_meant = |entry: &&Value| {
        let name = entry.get("name").and_then(Value::as_str);
        name.is_some_and(|name| name == model || name == tagged)
    };
    loaded.iter().find(is_meant)?.get("context_length").and_then(window_tokens)
}

fn window_tokens(value: &Value) -> Option<u64> {
    value.as_u64().filter(|tokens| (1..=WINDOW_MAX).contains(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &str, engine: Option<Engine>, window_tokens: Option<u64>) {
        let read = read_models(list.as_bytes(), "m");
        assert_eq!(read, Some(Served { engine, slots: None, window_tokens }), "{list}");
    }

    #[test]
    fn engines_are_known_by_the_owner_that_they_name() {
        let llama = r#"{"models":[{"name":"m"}],"object":"list","data":[{"id":"/m.gguf","object":"model","owned_by":"llamacpp","meta":{"n_ctx":8192,"n_ctx_train":32768}}]}"#;
        check(llama, Some(Engine::LlamaServer), Some(8192));
        let vllm = r#"{"data":[{"id":"lora","owned_by":"vllm","max_model_len":1},{"id":"m","owned_by":"vllm","max_model_len":2048}]}"#;
        check(vllm, Some(Engine::Vllm), Some(2048));
        let sglang = r#"{"data":[{"id":"m","owned_by":"sglang","max_model_len":null}]}"#;
        check(sglang, Some(Engine::Sglang), None);
        check(r#"{"data":[{"id":"m","owned_by":"library"}]}"#, None, None);
        check(r#"{"data":[{"id":"m","owned_by":7,"max_model_len":-3}]}"#, None, None);
        check(r#"{"data":[]}"#, None, None);
    }

    #[test]
    fn what_is_no_list_says_nothing() {
        for body in ["", "<html>", "[]", r#"{"data":{}}"#, r#"{"error":{"message":"no"}}"#] {
            assert_eq!(read_models(body.as_bytes(), "m"), None, "{body}");
        }
    }

    #[test]
    fn settings_of_llama_server_name_slots_and_window() {
        let check = |props: &str, slots, window_tokens| {
            let before = Served { window_tokens: Some(1), ..Served::default() };
            let mut served = before;
            read_props(props.as_bytes(), &mut served);
            assert_eq!(served, Served { slots, window_tokens, ..before }, "{props}");
        };
        let props = r#"{"default_generation_settings":{"n_ctx":2048},"total_slots":4}"#;
        check(props, Some(4), Some(2048));
        check(r#"{"total_slots":0,"default_generation_settings":{"n_ctx":"x"}}"#, None, Some(1));
        check(r#"{"total_slots":99999999999}"#, None, Some(1));
        check("not found", None, Some(1));
    }

    #[test]
    fn ollama_is_known_by_its_version_and_tells_the_window_of_what_is_loaded() {
        assert!(is_ollamas_version(br#"{"version":"0.14.2"}"#));
        for other in ["", "0.14.2", r#"{"version":1}"#, r#"{"error":"no"}"#] {
            assert!(!is_ollamas_version(other.as_bytes()), "{other}");
        }
        let loaded =
            br#"{"models":[{"name":"a:7b","context_length":4096},{"name":"m:latest","context_length":8192}]}"#;
        assert_eq!(read_loaded(loaded, "m"), Some(8192));
        assert_eq!(read_loaded(loaded, "a:7b"), Some(4096));
        assert_eq!(read_loaded(loaded, "a"), None);
    }
}
