//! The members that a Messages request may have, the rules of the API's versions about them, and the bounds of budgets for thinking.
//!
//! Sources: the types of `anthropic` 2.12.0; Anthropic, "API versions", "Migrating to API version 2026-10-21", "Extended thinking";
//! the words: llm.js#30 (`budget_tokens`), agno#8687 and others (`Extra inputs are not permitted`).

use serde_json::{Map, Value};

use super::models;
use super::request::{Purpose, Role, Turn};
use crate::refusal::Refusal;
use crate::schema::{Shape, Spelling, Step, Stranger, strangers};

/// Since this version, requests have no sampling parameters.
const WITHOUT_SAMPLING: &str = "2026-10-21";

/// Sampling parameters, which that version refuses even at their defaults.
const SAMPLING: &[&str] = &["temperature", "top_k", "top_p"];

/// The least that thinking may be given.
const BUDGET_TOKENS_MIN: u64 = 1_024;

/// With this beta thinking goes on between calls, and its budget counts over all replies of a turn.
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";

/// A request, with the members of betas.
const REQUEST: Shape = Shape::object(
    &[
        "billing_policy",
        "cache_control",
        "compaction",
        "container",
        "context_management",
        "fallback_credit_token",
        "fallbacks",
        "inference_geo",
        "max_tokens",
        "mcp_servers",
        "model",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "temperature",
        "thread",
        "top_k",
        "top_p",
        "user_profile_id",
        "workspace_id",
    ],
    &[
        ("diagnostics", Shape::plain(&["previous_message_id"])),
        ("messages", Shape::List(&MESSAGE)),
        ("metadata", Shape::plain(&["user_id"])),
        ("output_config", OUTPUT_CONFIG),
        ("system", Shape::List(&TEXT)),
        ("thinking", THINKING),
        ("tool_choice", TOOL_CHOICE),
        ("tools", Shape::List(&TOOL)),
    ],
);

const OUTPUT_CONFIG: Shape = Shape::plain(&["effort", "format", "task_budget"]);

const THINKING: Shape = Shape::OneOf {
    tag: "type",
    variants: &[
        ("enabled", Shape::plain(&["type", "budget_tokens", "display", "block_binding"])),
        ("adaptive", Shape::plain(&["type", "display", "block_binding"])),
        ("disabled", Shape::plain(&["type"])),
    ],
};

const TOOL_CHOICE: Shape = Shape::OneOf {
    tag: "type",
    variants: &[
        ("auto", Shape::plain(&["type", "disable_parallel_tool_use"])),
        ("any", Shape::plain(&["type", "disable_parallel_tool_use"])),
        ("tool", Shape::plain(&["type", "name", "disable_parallel_tool_use"])),
        ("none", Shape::plain(&["type"])),
    ],
};

/// A tool of the client's own. Those that the server runs have types of their own.
const TOOL: Shape = Shape::OneOf {
    tag: "type",
    variants: &[(
        "custom",
        Shape::plain(&[
            "allowed_callers",
            "cache_control",
            "defer_loading",
            "description",
            "eager_input_streaming",
            "input_examples",
            "input_schema",
            "name",
            "strict",
            "type",
        ]),
    )],
};

/// A message, with the members that only a system message has.
const MESSAGE: Shape = Shape::object(
    &["role", "clear_at"],
    &[("content", Shape::List(&BLOCK)), ("output_config", OUTPUT_CONFIG)],
);

const TEXT: Shape = Shape::plain(&["type", "text", "citations", "cache_control"]);

const TOOL_USE: &[&str] =
    &["type", "id", "name", "input", "caller", "toolset_name", "cache_control"];

const TOOL_RESULT: &[&str] =
    &["type", "tool_use_id", "content", "is_error", "toolset_name", "cache_control"];

const DOCUMENT: &[&str] = &["type", "source", "title", "context", "citations", "cache_control"];

/// A block. Those of the server's own tools have types of their own.
const BLOCK: Shape = Shape::OneOf {
    tag: "type",
    variants: &[
        ("text", TEXT),
        ("thinking", Shape::plain(&["type", "thinking", "signature"])),
        ("redacted_thinking", Shape::plain(&["type", "data"])),
        ("tool_use", Shape::plain(TOOL_USE)),
        ("tool_result", Shape::plain(TOOL_RESULT)),
        ("image", Shape::plain(&["type", "source", "transformations", "cache_control"])),
        ("document", Shape::plain(DOCUMENT)),
    ],
};

/// Refuses members that no request has.
pub(super) fn check(fields: &Map<String, Value>) -> Result<(), Refusal> {
    match strangers(fields, &REQUEST, Spelling::Exact).first() {
        Some(stranger) => Err(extra(&place(stranger))),
        None => Ok(()),
    }
}

/// The place of a member as the vendor's validator writes it.
fn place(stranger: &Stranger<'_>) -> String {
    let steps = stranger.way.iter().map(|step| match step {
        Step::Name(name) => (*name).to_owned(),
        Step::Index(index) => index.to_string(),
        Step::Tag(tag) => (*tag).to_owned(),
    });
    steps.collect::<Vec<_>>().join(".")
}

fn extra(place: &str) -> Refusal {
    Refusal::invalid(format!("{place}: Extra inputs are not permitted"))
}

/// A request as far as its budget for thinking depends on it.
pub(super) struct Budget<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: u64,
    pub(super) purpose: Purpose,
    pub(super) betas: &'a [&'a str],
}

/// Refuses a budget for thinking that is out of its bounds, and what does not go together with one.
pub(super) fn check_thinking(
    fields: &Map<String, Value>,
    budget: &Budget<'_>,
) -> Result<(), Refusal> {
    let member = |outer: &str, name: &str| fields.get(outer).and_then(|outer| outer.get(name));
    let kind = |outer: &str| member(outer, "type").and_then(Value::as_str).unwrap_or_default();
    if kind("thinking") != "enabled" {
        return Ok(());
    }
    check_budget(member("thinking", "budget_tokens"), budget)?;
    if matches!(kind("tool_choice"), "any" | "tool") {
        return Err(Refusal::invalid(
            "Thinking may not be enabled when tool_choice forces tool use.",
        ));
    }
    let temperature = fields.get("temperature").and_then(Value::as_f64);
    if temperature.is_some_and(|temperature| temperature != 1.0) {
        Err(Refusal::invalid("`temperature` may only be set to 1 when thinking is enabled."))
    } else {
        Ok(())
    }
}

fn check_budget(tokens: Option<&Value>, budget: &Budget<'_>) -> Result<(), Refusal> {
    if !models::takes_budget(budget.model) {
        return Err(Refusal::invalid(
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
        ));
    }
    let at = "thinking.enabled.budget_tokens";
    let tokens = tokens.ok_or_else(|| Refusal::invalid(format!("{at}: Field required")))?;
    let tokens = tokens
        .as_u64()
        .ok_or_else(|| Refusal::invalid(format!("{at}: Input should be a valid integer")))?;
    if tokens < BUDGET_TOKENS_MIN {
        return Err(Refusal::invalid(format!(
            "{at}: Input should be greater than or equal to {BUDGET_TOKENS_MIN}"
        )));
    }
    let is_within = budget.purpose == Purpose::CountTokens
        || budget.betas.contains(&INTERLEAVED_BETA)
        || tokens < budget.max_tokens;
    if is_within {
        Ok(())
    } else {
        Err(Refusal::invalid("`max_tokens` must be greater than `thinking.budget_tokens`."))
    }
}

/// The first sampling parameter of a request.
pub(super) fn sampling(fields: &Map<String, Value>) -> Option<&'static str> {
    SAMPLING.iter().copied().find(|name| fields.contains_key(*name))
}

/// Refuses what this version of the API no longer takes. Versions are dates, so they can be compared as text.
pub(super) fn check_version(
    version: &str,
    sampling: Option<&str>,
    turns: &[Turn],
) -> Result<(), Refusal> {
    if version < WITHOUT_SAMPLING {
        return Ok(());
    }
    if let Some(name) = sampling {
        return Err(extra(name));
    }
    for (role, block) in turns.iter().flat_map(|turn| turn.blocks.iter().map(|it| (turn.role, it)))
    {
        let cites = || {
            let citations = block.value.get("citations").and_then(Value::as_array);
            citations.is_some_and(|citations| !citations.is_empty())
        };
        match (role, block.kind()) {
            (Role::Assistant, "document") => {
                return Err(Refusal::invalid(format!(
                    "{}: `document` blocks are not permitted in assistant messages",
                    block.path
                )));
            }
            (Role::User, "text") if cites() => {
                return Err(extra(&format!("{}.text.citations", block.path)));
            }
            _ => {}
        }
    }
    Ok(())
}
