//! A reply in the Responses format: its items, and the object around them.

use serde_json::{Map, Value, json};

use crate::answer::{Answer, Stop};
use crate::cache::PromptUsage;
use crate::profile::Profile;
use crate::stream::Frame;

/// The kind of a call of a tool whose input is a text.
pub(super) const CUSTOM_CALL: &str = "custom_tool_call";

/// What a reply says beside its content.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    /// Absent: the reply does not report its usage.
    pub(crate) usage: Option<PromptUsage>,
    /// Whose usage fields are reported.
    pub(crate) profile: Profile,
    /// What the request said, repeated.
    pub(crate) echo: Map<String, Value>,
    /// The summary of the reasoning: a list that is empty unless it was asked for.
    pub(crate) summary: Value,
    /// The reasoning in a form that can be sent again, if it was asked for.
    pub(crate) encrypted: Option<String>,
    pub(crate) ids: ItemIds,
    /// The outcome of a comparison that was asked for.
    pub(crate) diagnostics: Option<Value>,
    /// Reasoning that was taken out of the input.
    pub(crate) transformations: Vec<Value>,
    /// Whether to put in events and items that no client knows.
    pub(crate) unknown_events: bool,
}

/// Ids of the output items. That of the item behind reasoning says which reasoning it needs, so that the pair can be
/// checked when it comes back without anything having been stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemIds {
    reasoning: String,
    message: String,
    /// For each call the item's id and the call's.
    calls: Vec<(String, String)>,
}

/// What stands in an id before the number of the reasoning that it needs.
const NEEDS: &str = "_rs";

impl ItemIds {
    /// Ids for an answer; `number` gives one after the other.
    pub(crate) fn new(
        answer: &Answer,
        call_ids: Vec<String>,
        mut number: impl FnMut() -> u64,
    ) -> Self {
        let reasoning = answer.thinking.as_ref().map(|_| number());
        let mut needs = reasoning.map(|number| format!("{NEEDS}{number:06}"));
        let mut next = |prefix: &str, number: u64| {
            format!("{prefix}_sim_{number:06}{}", needs.take().unwrap_or_default())
        };
        let message = if has_text(answer) { next("msg", number()) } else { String::new() };
        let calls = call_ids.into_iter().map(|call| (next("fc", number()), call)).collect();
        let reasoning = reasoning.map_or_else(String::new, |number| format!("rs_sim_{number:06}"));
        Self { reasoning, message, calls }
    }
}

/// The id of the reasoning that the item of this id needs in front of it.
pub(super) fn required_reasoning(id: &str) -> Option<String> {
    let (item, number) = id.split_once(NEEDS)?;
    item.contains("_sim_").then(|| format!("rs_sim_{number}"))
}

fn has_text(answer: &Answer) -> bool {
    answer.text.as_ref().is_some_and(|text| !text.is_empty())
}

/// The output items as they stand in the finished reply.
pub(super) fn items(head: &Head, answer: &Answer) -> Vec<Value> {
    let mut items = Vec::new();
    if head.unknown_events {
        items.push(json!({"type": "sim_unknown_item", "id": "unknown_sim_000001", "note": "an item type from the future"}));
    }
    if answer.thinking.is_some() {
        let mut item =
            json!({"id": head.ids.reasoning, "type": "reasoning", "summary": head.summary});
        if let Some(encrypted) = &head.encrypted {
            item["encrypted_content"] = json!(encrypted);
        }
        items.push(item);
    }
    if has_text(answer) {
        let is_cut = answer.stop == Stop::MaxTokens && answer.calls.is_empty();
        items.push(json!({
            "id": head.ids.message,
            "type": "message",
            "status": if is_cut { "incomplete" } else { "completed" },
            "role": "assistant",
            "content": [text_part(answer.text.as_deref().unwrap_or_default())],
        }));
    }
    for (call, (id, call_id)) in answer.calls.iter().zip(&head.ids.calls) {
        let (kind, key, input) = match custom_input(head, &call.name, &call.input) {
            Some(text) => (CUSTOM_CALL, "input", text),
            None => ("function_call", "arguments", call.input.clone()),
        };
        let mut item = json!({
            "id": id,
            "type": kind,
            "status": "completed",
            "call_id": call_id,
            "name": call.name,
        });
        item[key] = json!(input);
        if let Some(namespace) = namespace(head, &call.name) {
            item["namespace"] = namespace.clone();
        }
        items.push(item);
    }
    items
}

/// The input of a call of a tool that the request declares as a custom one; `None` for any other. A scenario says it as the
/// argument `input`.
fn custom_input(head: &Head, tool: &str, input: &str) -> Option<String> {
    let declared = head.echo.get("tools")?.as_array()?;
    declared.iter().find(|one| one["type"] == "custom" && one["name"] == tool)?;
    let text = serde_json::from_str::<Value>(input).ok();
    let text = text.and_then(|arguments| arguments["input"].as_str().map(str::to_owned));
    Some(text.unwrap_or_else(|| input.to_owned()))
}

/// The namespace in which the request declares a tool: a call names both.
fn namespace<'a>(head: &'a Head, tool: &str) -> Option<&'a Value> {
    let tools = |value: &'a Value| value["tools"].as_array().into_iter().flatten();
    let declared = head.echo.get("tools")?.as_array()?;
    let namespace = declared.iter().find(|one| tools(one).any(|inner| inner["name"] == tool))?;
    namespace.get("name")
}

pub(super) fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome<'a> {
    Completed,
    Incomplete(&'a str),
    Failed,
}

impl Outcome<'_> {
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed => "failed",
        }
    }
}

/// Reasons for an incomplete reply that the vendor knows.
const INCOMPLETE: &[&str] = &["max_output_tokens", "max_messages", "content_filter", "steered"];

pub(super) fn outcome(answer: &Answer) -> Outcome<'_> {
    match &answer.stop {
        Stop::EndTurn | Stop::ToolUse => Outcome::Completed,
        Stop::MaxTokens => Outcome::Incomplete("max_output_tokens"),
        Stop::Given(given) if given == "failed" => Outcome::Failed,
        Stop::Given(given) if given == "max_tokens" => Outcome::Incomplete("max_output_tokens"),
        Stop::Given(given) if INCOMPLETE.contains(&given.as_str()) => Outcome::Incomplete(given),
        Stop::Given(_) => Outcome::Completed,
    }
}

fn usage(head: &Head, prompt: &PromptUsage, answer: &Answer) -> Value {
    let mut details = json!({"cached_tokens": prompt.read, "cache_write_tokens": 0});
    if head.profile.bills_writes() {
        details["cache_write_tokens"] = json!(prompt.written());
        details["cache_write_tokens_details"] =
            json!({"ttl_30m_tokens": prompt.write_short, "ttl_12h_tokens": prompt.write_long});
    }
    json!({
        "input_tokens": prompt.total(),
        "input_tokens_details": details,
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.thinking_tokens},
        "total_tokens": prompt.total() + answer.output_tokens,
    })
}

/// The object before there is anything in it.
pub(super) fn begun(head: &Head) -> Value {
    let mut body = json!({
        "id": head.id,
        "object": "response",
        "created_at": head.created,
        "status": "in_progress",
        "error": null,
        "incomplete_details": null,
        "model": head.model,
        "output": [],
        "previous_response_id": null,
    });
    if let Some(body) = body.as_object_mut() {
        body.extend(head.echo.clone());
    }
    body
}

/// The finished object.
pub(super) fn finished(head: &Head, answer: &Answer) -> Value {
    let mut body = begun(head);
    let outcome = outcome(answer);
    body["status"] = json!(outcome.status());
    body["output"] = json!(items(head, answer));
    match outcome {
        Outcome::Completed => {}
        Outcome::Incomplete(reason) => body["incomplete_details"] = json!({"reason": reason}),
        Outcome::Failed => {
            body["error"] =
                json!({"code": "server_error", "message": "the response failed (simulated)"});
        }
    }
    if let Some(prompt) = &head.usage {
        body["usage"] = usage(head, prompt, answer);
    }
    if let Some(diagnostics) = &head.diagnostics {
        body["prompt_cache_diagnostics"] = diagnostics.clone();
    }
    if !head.transformations.is_empty() {
        body["input_transformations"] = json!(head.transformations);
    }
    body
}

/// The JSON body of a reply that is not streamed.
pub(crate) fn json_body(head: &Head, answer: &Answer) -> Frame {
    Frame::content(finished(head, answer).to_string(), answer.output_tokens)
}
