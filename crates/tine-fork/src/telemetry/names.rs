//! Names of OpenTelemetry's conventions for generative AI, all of them here: they are still in development, and change.
//!
//! Source: `open-telemetry/semantic-conventions-genai`, `docs/gen-ai/` (`gen-ai-spans.md` and `gen-ai-agent-spans.md` at 002c8a6e,
//! `gen-ai-metrics.md` at 004902b8, which build on version 1.42 of the general conventions), read on 2026-11-22. Until version 1.41
//! they were part of `open-telemetry/semantic-conventions`. `error.type` is stable. What begins with `tine.` is our own.

/// Which of the operations a span is.
pub(super) const OPERATION_NAME: &str = "gen_ai.operation.name";
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const CHAT: &str = "chat";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";

pub(super) const PROVIDER_NAME: &str = "gen_ai.provider.name";
pub(super) const CONVERSATION_ID: &str = "gen_ai.conversation.id";
pub(super) const AGENT_ID: &str = "gen_ai.agent.id";
pub(super) const AGENT_NAME: &str = "gen_ai.agent.name";

pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const REQUEST_STREAM: &str = "gen_ai.request.stream";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";

/// All of the prompt, whatever served it.
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_CREATION_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";

pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
/// A tool that runs on the client's side.
pub(super) const TOOL_TYPE_FUNCTION: &str = "function";

pub(super) const ERROR_TYPE: &str = "error.type";

/// Histogram of tokens, in `{token}`.
pub(super) const TOKEN_USAGE: &str = "gen_ai.client.token.usage";
pub(super) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(super) const TOKEN_TYPE_INPUT: &str = "input";
pub(super) const TOKEN_TYPE_OUTPUT: &str = "output";

/// Histogram of durations, in seconds.
pub(super) const OPERATION_DURATION: &str = "gen_ai.client.operation.duration";

/// Buckets that the conventions ask for.
pub(super) const TOKEN_BOUNDARIES: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0,
    16777216.0, 67108864.0,
];
pub(super) const DURATION_BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Who forked.
pub(super) const PARENT_AGENT: &str = "tine.fork.parent_agent";
/// What the fork is for.
pub(super) const QUERY_SOURCE: &str = "tine.fork.query_source";
/// Whether somebody waits for it.
pub(super) const MODE: &str = "tine.fork.mode";
