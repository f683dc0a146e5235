//! Identity of all that stands before the messages of a body.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tine_history::Hash;
use tine_model::WireFormat;

use super::prompt::Prompt;
use crate::strip;

/// Equal for two bodies of which [`first_difference`](super::first_difference) finds nothing before the messages.
pub(crate) fn head_identity(format: WireFormat, body: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format.as_str().as_bytes());
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    let without_marks = |raw: &RawValue| {
        strip::without_marks(raw).map_or_else(|_| raw.get().to_owned(), Cow::into_owned)
    };
    match Prompt::parse(format, body) {
        None => part(&String::from_utf8_lossy(body)),
        Some(mut prompt) => {
            prompt.settings.sort();
            for (name, value) in &prompt.settings {
                part(name);
                part(value);
            }
            prompt.tools.iter().for_each(|tool| part(&without_marks(tool.raw)));
            part("system");
            prompt.system.iter().for_each(|raw| part(&without_marks(raw)));
        }
    }
    *hasher.finalize().as_bytes()
}
