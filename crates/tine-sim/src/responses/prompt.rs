//! From a request to cache positions, and from encrypted reasoning to the prefix that it belongs to.
//!
//! Tools come first, then the instructions, then the items without what is not part of the prompt (`id`, `status`).
//! Reasoning that stands behind another prefix than the one it was made for is taken out and reported; reasoning whose own
//! bytes changed is refused.

use serde_json::{Value, json};

use super::items::Item;
use super::request::Request;
use crate::cache::Digest;
use crate::openai::{Rendered, Renderer};
use crate::refusal::Refusal;
use crate::scenario::ThinkingBinding;

/// How encrypted reasoning of the simulator begins.
const SEAL: &str = "sim1";

/// A request as the cache sees it.
#[derive(Debug, Clone)]
pub(crate) struct Flattened {
    pub(crate) rendered: Rendered,
    /// Reasoning that was taken out, in the vendor's words.
    pub(crate) transformations: Vec<Value>,
}

impl Flattened {
    /// Flattens an account's request, and checks the reasoning in it on the way.
    pub(crate) fn of(
        request: &Request,
        account: &Digest,
        binding: ThinkingBinding,
    ) -> Result<Self, Refusal> {
        let mut renderer = Renderer::new(&request.settings.joined(), &request.cache);
        request.tools.iter().for_each(|tool| renderer.line(tool));
        if let Some(instructions) = &request.instructions {
            renderer.line(&json!({"instructions": instructions}));
        }
        let mut transformations = Vec::new();
        for (index, item) in request.items.iter().enumerate() {
            if item.kind() == "reasoning" {
                check_bytes(item)?;
                let is_bound = binding == ThinkingBinding::Prefix;
                if is_bound && bound_to(item) != hex(&renderer.content(), PREFIX_DIGITS) {
                    transformations.push(json!({
                        "type": "reasoning",
                        "id": item.text("id"),
                        "action": "removed",
                        "reason": "prefix_mismatch",
                    }));
                    continue;
                }
            }
            let mut fields = item.fields.clone();
            for key in ["id", "status"] {
                fields.shift_remove(key);
            }
            if item.kind() == "message" {
                fields.shift_remove("type");
            }
            renderer.message(&fields, item.content_key(), is_eligible_end(&request.items, index));
        }
        let rendered = renderer.finish(account, &request.model, &request.cache);
        Ok(Self { rendered, transformations })
    }

    /// Seals the reasoning of the reply to this request.
    pub(crate) fn seal(&self, thinking: &str, summary: &Value) -> String {
        let text = hex(blake3::hash(thinking.as_bytes()).as_bytes(), TEXT_DIGITS);
        let prefix = hex(&self.rendered.content, PREFIX_DIGITS);
        let check = check_digits(&text, &prefix, summary);
        format!("{SEAL}.{text}.{prefix}.{check}")
    }
}

const TEXT_DIGITS: usize = 16;
const PREFIX_DIGITS: usize = 32;
const CHECK_DIGITS: usize = 16;

fn hex(digest: &Digest, digits: usize) -> String {
    blake3::Hash::from_bytes(*digest).to_hex()[..digits].to_owned()
}

fn check_digits(text: &str, prefix: &str, summary: &Value) -> String {
    let sealed = format!("{text}.{prefix}.{summary}");
    hex(blake3::hash(sealed.as_bytes()).as_bytes(), CHECK_DIGITS)
}

fn bound_to(item: &Item) -> &str {
    item.text("encrypted_content").split('.').nth(2).unwrap_or_default()
}

/// The item is as it was made: content and summary.
fn check_bytes(item: &Item) -> Result<(), Refusal> {
    let sealed = item.text("encrypted_content");
    let parts: Vec<&str> = sealed.split('.').collect();
    let summary = item.fields.get("summary").unwrap_or(&Value::Null);
    let is_whole = match parts.as_slice() {
        [SEAL, text, prefix, check] => *check == check_digits(text, prefix, summary),
        _ => false,
    };
    if is_whole {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "The encrypted content for item {} could not be verified.",
            item.text("id")
        ))
        .with_code("invalid_encrypted_content")
        .at(format!("{}.encrypted_content", item.path)))
    }
}

/// Where implicit mode may place its mark: behind user messages, the last of a run of tool outputs, and the last of the
/// instructions at the beginning.
fn is_eligible_end(items: &[Item], index: usize) -> bool {
    let is_instruction =
        |item: &Item| item.kind() == "message" && ["developer", "system"].contains(&item.role());
    let (here, next) = (&items[index], items.get(index + 1));
    match here.kind() {
        _ if here.is_output() => !next.is_some_and(Item::is_output),
        "message" if here.role() == "user" => true,
        _ => {
            is_instruction(here)
                && !next.is_some_and(is_instruction)
                && items[..index].iter().all(is_instruction)
        }
    }
}
