//! What a Chat request says to an engine that caches by itself: salt, slot and lifetime.

use serde_json::{Map, Value};

use crate::automatic::render::{self, ToolsAt};
use crate::cache::{Digest, Prompt, Ttl, link};
use crate::profile::Profile;
use crate::refusal::Refusal;

/// The fields that only engines read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EngineOptions {
    /// vLLM's and SGLang's `cache_salt` and `extra_key`: different ones share nothing.
    salt: String,
    /// llama.cpp's `id_slot`; -1 leaves the choice to the server.
    slot: Option<usize>,
    /// Kimi's `prompt_cache_options.ttl`.
    ttl: Option<Ttl>,
}

impl EngineOptions {
    pub(super) fn parse(fields: &Map<String, Value>, profile: Profile) -> Result<Self, Refusal> {
        let mut options = Self::default();
        match profile {
            Profile::Vllm | Profile::Sglang => {
                for key in ["cache_salt", "extra_key"] {
                    match fields.get(key) {
                        None | Some(Value::Null) => {}
                        Some(Value::String(salt)) if !salt.is_empty() => {
                            options.salt.push_str(&format!("{key}={salt}\n"));
                        }
                        Some(_) => {
                            return Err(Refusal::invalid(format!(
                                "'{key}' must be a non-empty string"
                            )));
                        }
                    }
                }
            }
            Profile::LlamaCpp => match fields.get("id_slot").map(Value::as_i64) {
                None | Some(Some(-1)) => {}
                Some(slot) => {
                    let slot = slot.and_then(|slot| usize::try_from(slot).ok());
                    options.slot = Some(slot.ok_or_else(|| {
                        Refusal::invalid("'id_slot' must be the number of a slot")
                    })?);
                }
            },
            Profile::Kimi => {
                let given =
                    fields.get("prompt_cache_options").and_then(|options| options.get("ttl"));
                options.ttl = match given.map(|ttl| ttl.as_str()) {
                    None | Some(Some("5m")) => Some(Ttl::Short),
                    Some(Some("1h")) => Some(Ttl::Long),
                    Some(_) => {
                        return Err(Refusal::invalid(
                            "'prompt_cache_options.ttl' must be '5m' or '1h'",
                        ));
                    }
                };
            }
            _ => {}
        }
        Ok(options)
    }

    pub(super) fn check_slot(&self, slots: usize) -> Result<(), Refusal> {
        match self.slot {
            Some(slot) if slot >= slots => {
                Err(Refusal::invalid(format!("there is no slot {slot}: the server has {slots}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The prompt as an engine sees it. Hosted ones keep accounts apart, servers of one's own do not.
    pub(super) fn prompt(
        &self,
        profile: Profile,
        account: &Digest,
        model: &str,
        tools: &[Value],
        messages: &[Value],
    ) -> Prompt {
        let tools_at = match profile {
            Profile::DeepSeek => ToolsAt::AfterSystem,
            _ => ToolsAt::Start,
        };
        let whose: &[u8] = if profile.is_own_server() { b"" } else { account };
        let scope = link(&[b"tine-sim engine", whose, model.as_bytes(), self.salt.as_bytes()]);
        let lines = render::prompt(tools, messages, tools_at);
        Prompt { slot: self.slot, implicit: self.ttl, ..Prompt::of_lines(scope, lines) }
    }
}
