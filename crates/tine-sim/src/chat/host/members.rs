//! The members that each strict host knows.
//!
//! Sources: the types of the hosts' own libraries for Python: `openai` 3.54.0, `groq` 1.7.0, `mistralai` 3.7.0 and
//! `cerebras_cloud_sdk` 1.91.0. Groq's library knows `reasoning` in the model's messages; its API was seen to refuse it, so it is refused
//! here. Groq and Cerebras take the options of a stream that their libraries set themselves or leave out.

use super::Host;
use crate::schema::Shape;

/// A request to a host.
pub(super) fn of(host: Host) -> &'static Shape {
    match host {
        Host::Cerebras => &CEREBRAS,
        Host::Groq => &GROQ,
        Host::Mistral => &MISTRAL,
        Host::OpenAi => &OPENAI,
    }
}

/// The members that a request to any of them may have.
const COMMON: &[&str] = &[
    "frequency_penalty",
    "logprobs",
    "max_tokens",
    "model",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "service_tier",
    "stop",
    "stream",
    "temperature",
    "tool_choice",
    "top_logprobs",
    "top_p",
];

const STREAM_OPTIONS: Shape = Shape::plain(&["include_usage"]);

/// A function of the client's own, as a tool.
const TOOL: Shape = Shape::object(
    &["type", "custom"],
    &[("function", Shape::plain(&["name", "description", "parameters", "strict"]))],
);

const FUNCTION: Shape = Shape::plain(&["name", "arguments"]);

const CALL: Shape = Shape::object(&["id", "type", "custom"], &[("function", FUNCTION)]);

/// A call that may say its number.
const NUMBERED_CALL: Shape = Shape::object(&["id", "type", "index"], &[("function", FUNCTION)]);

/// Parts of a content. Other kinds of parts have members of their own.
const CONTENT: Shape = Shape::List(&Shape::OneOf {
    tag: "type",
    variants: &[
        ("text", Shape::plain(&["type", "text"])),
        ("image_url", Shape::plain(&["type", "image_url"])),
    ],
});

/// Parts of a content, with the marks of OpenAI's cache.
const MARKED_CONTENT: Shape = Shape::List(&Shape::OneOf {
    tag: "type",
    variants: &[
        ("text", Shape::plain(&["type", "text", "prompt_cache_breakpoint"])),
        ("image_url", Shape::plain(&["type", "image_url", "prompt_cache_breakpoint"])),
        ("refusal", Shape::plain(&["type", "refusal"])),
    ],
});

/// A message of a user or an operator.
const NAMED: Shape = Shape::object(&["role", "name"], &[("content", CONTENT)]);

const RESULT: Shape = Shape::object(&["role", "tool_call_id"], &[("content", CONTENT)]);

const OPENAI: Shape = Shape::Object {
    common: COMMON,
    own: &[
        "audio",
        "function_call",
        "functions",
        "logit_bias",
        "max_completion_tokens",
        "metadata",
        "modalities",
        "moderation",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "seed",
        "store",
        "user",
        "verbosity",
        "web_search_options",
    ],
    inner: &[
        ("messages", Shape::List(&OPENAI_MESSAGE)),
        ("stream_options", Shape::plain(&["include_usage", "include_obfuscation"])),
        ("tools", Shape::List(&TOOL)),
    ],
};

const OPENAI_NAMED: Shape = Shape::object(&["role", "name"], &[("content", MARKED_CONTENT)]);

const OPENAI_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", OPENAI_NAMED),
        ("developer", OPENAI_NAMED),
        ("user", OPENAI_NAMED),
        (
            "assistant",
            Shape::object(
                &["role", "name", "refusal", "audio"],
                &[
                    ("content", MARKED_CONTENT),
                    ("function_call", FUNCTION),
                    ("tool_calls", Shape::List(&CALL)),
                ],
            ),
        ),
        ("tool", Shape::object(&["role", "tool_call_id"], &[("content", MARKED_CONTENT)])),
    ],
};

const GROQ: Shape = Shape::Object {
    common: COMMON,
    own: &[
        "citation_options",
        "compound_custom",
        "disable_tool_validation",
        "documents",
        "exclude_domains",
        "function_call",
        "functions",
        "include_domains",
        "include_reasoning",
        "logit_bias",
        "max_completion_tokens",
        "metadata",
        "reasoning_format",
        "search_settings",
        "seed",
        "store",
        "user",
    ],
    inner: &[
        ("messages", Shape::List(&GROQ_MESSAGE)),
        ("stream_options", STREAM_OPTIONS),
        ("tools", Shape::List(&TOOL)),
    ],
};

const GROQ_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", NAMED),
        ("user", NAMED),
        (
            "assistant",
            Shape::object(
                &["role", "name"],
                &[
                    ("content", CONTENT),
                    ("function_call", FUNCTION),
                    ("tool_calls", Shape::List(&CALL)),
                ],
            ),
        ),
        ("tool", RESULT),
    ],
};

const CEREBRAS: Shape = Shape::Object {
    common: COMMON,
    own: &[
        "clear_thinking",
        "disable_reasoning",
        "logit_bias",
        "max_completion_tokens",
        "min_completion_tokens",
        "min_tokens",
        "model_parameters",
        "prediction",
        "prompt_cache_key",
        "reasoning_format",
        "seed",
        "user",
    ],
    inner: &[
        ("messages", Shape::List(&CEREBRAS_MESSAGE)),
        ("stream_options", STREAM_OPTIONS),
        ("tools", Shape::List(&TOOL)),
    ],
};

const CEREBRAS_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", NAMED),
        ("developer", NAMED),
        ("user", NAMED),
        (
            "assistant",
            Shape::object(
                &["role", "name", "reasoning"],
                &[("content", CONTENT), ("tool_calls", Shape::List(&NUMBERED_CALL))],
            ),
        ),
        ("tool", Shape::object(&["role", "tool_call_id", "name"], &[("content", CONTENT)])),
    ],
};

const MISTRAL: Shape = Shape::Object {
    common: COMMON,
    own: &[
        "guardrails",
        "metadata",
        "min_tokens",
        "prediction",
        "prompt_cache_key",
        "prompt_logprobs",
        "prompt_mode",
        "random_seed",
        "repetition_penalty",
        "safe_prompt",
        "top_k",
        "top_prompt_logprobs",
    ],
    inner: &[
        ("messages", Shape::List(&MISTRAL_MESSAGE)),
        // The refusal names the option in it.
        ("stream_options", Shape::plain(&[])),
        ("tools", Shape::List(&TOOL)),
    ],
};

/// A message of a user or an operator, without a name.
const MISTRAL_SPOKEN: Shape = Shape::object(&["role"], &[("content", CONTENT)]);

const MISTRAL_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", MISTRAL_SPOKEN),
        ("user", MISTRAL_SPOKEN),
        (
            "assistant",
            Shape::object(
                &["role", "prefix"],
                &[("content", CONTENT), ("tool_calls", Shape::List(&NUMBERED_CALL))],
            ),
        ),
        ("tool", Shape::object(&["role", "tool_call_id", "name"], &[("content", CONTENT)])),
    ],
};
