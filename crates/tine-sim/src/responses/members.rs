//! The parameters that requests of this format may have. The API refuses others, wherever they stand.
//!
//! Source: the types of `openai` 3.54.0. A message of the model may stand without an id, as Codex sends it; `client_metadata` is Codex's
//! own. So is `internal_chat_message_metadata_passthrough`, which Codex 0.169 puts on items for the provider `openai` alone
//! (github.com/openai/codex/pull/28968).

use serde_json::{Map, Value};

use crate::openai::unknown_parameter;
use crate::refusal::Refusal;
use crate::schema::{Shape, Spelling, strangers};

const REQUEST: Shape = Shape::object(
    &[
        "access_programs",
        "background",
        "background_options",
        "client_metadata",
        "context_management",
        "conversation",
        "image",
        "include",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "temperature",
        "tool_choice",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    ],
    &[
        ("input", Shape::List(&ITEM)),
        ("reasoning", Shape::plain(&["context", "effort", "generate_summary", "mode", "summary"])),
        ("stream_options", Shape::plain(&["include_obfuscation"])),
        ("text", Shape::plain(&["format", "verbosity"])),
        ("tools", Shape::List(&TOOL)),
    ],
);

/// A function of the client's own. Other tools have parameters of their own.
const TOOL: Shape = Shape::OneOf {
    tag: "type",
    variants: &[(
        "function",
        Shape::plain(&[
            "allowed_callers",
            "async",
            "defer_loading",
            "description",
            "name",
            "output_schema",
            "parameters",
            "strict",
            "type",
        ]),
    )],
};

/// Parameters that every item may have.
const COMMON: &[&str] = &["type", "id", "status", "internal_chat_message_metadata_passthrough"];

/// An item. One that names no type is a message; items of the server's own tools have parameters of their own.
const ITEM: Shape = Shape::OneOf {
    tag: "type",
    variants: &[
        (
            "message",
            Shape::Object {
                common: COMMON,
                own: &["role", "phase"],
                inner: &[("content", Shape::List(&PART))],
            },
        ),
        (
            "function_call",
            Shape::Object {
                common: COMMON,
                own: &["arguments", "async", "call_id", "caller", "name", "namespace"],
                inner: &[],
            },
        ),
        (
            "function_call_output",
            Shape::Object {
                common: COMMON,
                own: &["call_id", "caller", "name", "namespace"],
                inner: &[("output", Shape::List(&PART))],
            },
        ),
        (
            "custom_tool_call",
            Shape::Object {
                common: COMMON,
                own: &["async", "call_id", "caller", "input", "name", "namespace"],
                inner: &[],
            },
        ),
        (
            "custom_tool_call_output",
            Shape::Object {
                common: COMMON,
                own: &["call_id", "caller", "name", "namespace"],
                inner: &[("output", Shape::List(&PART))],
            },
        ),
        (
            "reasoning",
            Shape::Object {
                common: COMMON,
                own: &["content", "encrypted_content", "summary"],
                inner: &[],
            },
        ),
    ],
};

/// A part of a content, or of what a tool said.
const PART: Shape = Shape::OneOf {
    tag: "type",
    variants: &[
        ("input_text", Shape::plain(&["type", "text", "prompt_cache_breakpoint"])),
        ("output_text", Shape::plain(&["type", "text", "annotations", "logprobs"])),
        ("refusal", Shape::plain(&["type", "refusal"])),
        (
            "input_image",
            Shape::plain(&["type", "detail", "file_id", "image_url", "prompt_cache_breakpoint"]),
        ),
    ],
};

/// Refuses parameters that no request has.
pub(super) fn check(fields: &Map<String, Value>) -> Result<(), Refusal> {
    match strangers(fields, &REQUEST, Spelling::Exact).first() {
        Some(stranger) => Err(unknown_parameter(stranger)),
        None => Ok(()),
    }
}
