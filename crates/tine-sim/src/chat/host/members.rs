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

const STREAM_OPTIONS: Shape = Shape::Object(&["include_usage"], &[]);

/// A function of the client's own, as a tool.
const TOOL: Shape = Shape::Object(
    &["type", "custom"],
    &[("function", Shape::Object(&["name", "description", "parameters", "strict"], &[]))],
);

const FUNCTION: Shape = Shape::Object(&["name", "arguments"], &[]);

const CALL: Shape = Shape::Object(&["id", "type", "custom"], &[("function", FUNCTION)]);

/// A call that may say its number.
const NUMBERED_CALL: Shape = Shape::Object(&["id", "type", "index"], &[("function", FUNCTION)]);

/// Parts of a content. Other kinds of parts have members of their own.
const CONTENT: Shape = Shape::List(&Shape::OneOf {
    tag: "type",
    variants: &[
        ("text", Shape::Object(&["type", "text"], &[])),
        ("image_url", Shape::Object(&["type", "image_url"], &[])),
    ],
});

/// Parts of a content, with the marks of OpenAI's cache.
const MARKED_CONTENT: Shape = Shape::List(&Shape::OneOf {
    tag: "type",
    variants: &[
        ("text", Shape::Object(&["type", "text", "prompt_cache_breakpoint"], &[])),
        ("image_url", Shape::Object(&["type", "image_url", "prompt_cache_breakpoint"], &[])),
        ("refusal", Shape::Object(&["type", "refusal"], &[])),
    ],
});

/// A message of a user or an operator.
const NAMED: Shape = Shape::Object(&["role", "name"], &[("content", CONTENT)]);

const RESULT: Shape = Shape::Object(&["role", "tool_call_id"], &[("content", CONTENT)]);

const OPENAI: Shape = Shape::Object(
    &[
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "model",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "temperature",
        "tool_choice",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    ],
    &[
        ("messages", Shape::List(&OPENAI_MESSAGE)),
        ("stream_options", Shape::Object(&["include_usage", "include_obfuscation"], &[])),
        ("tools", Shape::List(&TOOL)),
    ],
);

const OPENAI_NAMED: Shape = Shape::Object(&["role", "name"], &[("content", MARKED_CONTENT)]);

const OPENAI_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", OPENAI_NAMED),
        ("developer", OPENAI_NAMED),
        ("user", OPENAI_NAMED),
        (
            "assistant",
            Shape::Object(
                &["role", "name", "refusal", "audio"],
                &[
                    ("content", MARKED_CONTENT),
                    ("function_call", FUNCTION),
                    ("tool_calls", Shape::List(&CALL)),
                ],
            ),
        ),
        ("tool", Shape::Object(&["role", "tool_call_id"], &[("content", MARKED_CONTENT)])),
    ],
};

const GROQ: Shape = Shape::Object(
    &[
        "citation_options",
        "compound_custom",
        "disable_tool_validation",
        "documents",
        "exclude_domains",
        "frequency_penalty",
        "function_call",
        "functions",
        "include_domains",
        "include_reasoning",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "model",
        "n",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "reasoning_format",
        "response_format",
        "search_settings",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "temperature",
        "tool_choice",
        "top_logprobs",
        "top_p",
        "user",
    ],
    &[
        ("messages", Shape::List(&GROQ_MESSAGE)),
        ("stream_options", STREAM_OPTIONS),
        ("tools", Shape::List(&TOOL)),
    ],
);

const GROQ_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", NAMED),
        ("user", NAMED),
        (
            "assistant",
            Shape::Object(
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

const CEREBRAS: Shape = Shape::Object(
    &[
        "clear_thinking",
        "disable_reasoning",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "min_completion_tokens",
        "min_tokens",
        "model",
        "model_parameters",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "reasoning_format",
        "response_format",
        "seed",
        "service_tier",
        "stop",
        "stream",
        "temperature",
        "tool_choice",
        "top_logprobs",
        "top_p",
        "user",
    ],
    &[
        ("messages", Shape::List(&CEREBRAS_MESSAGE)),
        ("stream_options", STREAM_OPTIONS),
        ("tools", Shape::List(&TOOL)),
    ],
);

const CEREBRAS_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", NAMED),
        ("developer", NAMED),
        ("user", NAMED),
        (
            "assistant",
            Shape::Object(
                &["role", "name", "reasoning"],
                &[("content", CONTENT), ("tool_calls", Shape::List(&NUMBERED_CALL))],
            ),
        ),
        ("tool", Shape::Object(&["role", "tool_call_id", "name"], &[("content", CONTENT)])),
    ],
};

const MISTRAL: Shape = Shape::Object(
    &[
        "frequency_penalty",
        "guardrails",
        "logprobs",
        "max_tokens",
        "metadata",
        "min_tokens",
        "model",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_logprobs",
        "prompt_mode",
        "random_seed",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "safe_prompt",
        "service_tier",
        "stop",
        "stream",
        "temperature",
        "tool_choice",
        "top_k",
        "top_logprobs",
        "top_p",
        "top_prompt_logprobs",
    ],
    &[
        ("messages", Shape::List(&MISTRAL_MESSAGE)),
        // The refusal names the option in it.
        ("stream_options", Shape::Object(&[], &[])),
        ("tools", Shape::List(&TOOL)),
    ],
);

/// A message of a user or an operator, without a name.
const MISTRAL_SPOKEN: Shape = Shape::Object(&["role"], &[("content", CONTENT)]);

const MISTRAL_MESSAGE: Shape = Shape::OneOf {
    tag: "role",
    variants: &[
        ("system", MISTRAL_SPOKEN),
        ("user", MISTRAL_SPOKEN),
        (
            "assistant",
            Shape::Object(
                &["role", "prefix"],
                &[("content", CONTENT), ("tool_calls", Shape::List(&NUMBERED_CALL))],
            ),
        ),
        ("tool", Shape::Object(&["role", "tool_call_id", "name"], &[("content", CONTENT)])),
    ],
};
