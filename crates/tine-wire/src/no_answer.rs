//! Replies that came whole and answer nothing: the provider gave the model's turn up, or the model said nothing.

use std::fmt;

use tine_model::{Block, StopReason};

use crate::Reply;

/// Why a whole reply is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The provider ended the reply with a word for a failure, such as `MALFORMED_FUNCTION_CALL`.
    Failed(String),
    /// The reply holds neither words nor a call.
    Empty,
    /// The reply was cut, because the conversation with it filled the model's window.
    WindowFull,
    /// The reply has words, and ended for a reason that tine does not know: nobody can tell whether the words are complete.
    UnknownEnd(String),
}

/// Words of providers and gateways for a reply that they gave up, with what they mean. Sources: Google, `FinishReason` of the
/// Gemini API; OpenRouter, "Errors"; DeepSeek, "Create Chat Completion"; Z.ai, "Chat Completion"; vLLM and SGLang (`abort`).
const FAILED: [(&str, &str); 11] = [
    ("MALFORMED_FUNCTION_CALL", "the model wrote a tool call that cannot be read"),
    ("MALFORMED_RESPONSE", "the model wrote a reply that cannot be read"),
    ("UNEXPECTED_TOOL_CALL", "the model called a tool that the provider did not expect"),
    ("TOO_MANY_TOOL_CALLS", "the model called too many tools"),
    ("MISSING_THOUGHT_SIGNATURE", "the signature of earlier reasoning is missing"),
    ("OTHER", "the provider says no more"),
    ("error", "the provider says no more"),
    ("malformed_function_call", "the model wrote a tool call that cannot be read"),
    ("network_error", "the provider lost the model's answer"),
    ("insufficient_system_resource", "the provider has no capacity"),
    ("abort", "the server gave up the reply"),
];

/// Returns true for a stop reason that says that the reply failed.
pub(crate) fn is_failure(word: &str) -> bool {
    FAILED.iter().any(|(known, _)| *known == word)
}

impl NoAnswer {
    /// Returns true where the same request may well be answered the next time.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Failed(_) | Self::Empty => true,
            Self::WindowFull | Self::UnknownEnd(_) => false,
        }
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(word) => {
                let meaning = FAILED.iter().find(|(known, _)| known == word);
                let meaning = meaning.map_or("tine does not know the word", |(_, meaning)| meaning);
                write!(f, "the provider ended the reply with `{word}`: {meaning}")
            }
            Self::Empty => f.write_str("the reply holds neither words nor a tool call"),
            Self::WindowFull => f.write_str("the reply was cut at the end of the model's window"),
            Self::UnknownEnd(word) => {
                write!(f, "the reply ended with `{word}`, and tine does not know the word")
            }
        }
    }
}

impl Reply {
    /// Returns why this reply is no answer. None for an answer, and for replies whose stop reason says why there is none: a
    /// refusal, a limit, a pause. Calls are an answer, whatever unknown word stands behind them.
    pub fn no_answer(&self) -> Option<NoAnswer> {
        let blocks = self.message.blocks();
        match &self.stop {
            StopReason::Other(word) if is_failure(word) => Some(NoAnswer::Failed(word.clone())),
            StopReason::Other(_) if self.message.tool_calls().next().is_some() => None,
            StopReason::Other(word) if is_silent(blocks) => Some(NoAnswer::Failed(word.clone())),
            StopReason::Other(word) => Some(NoAnswer::UnknownEnd(word.clone())),
            StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence => {
                is_silent(blocks).then_some(NoAnswer::Empty)
            }
            StopReason::ContextExceeded => Some(NoAnswer::WindowFull),
            StopReason::MaxTokens | StopReason::Pause | StopReason::Refusal => None,
        }
    }
}

/// Returns true for blocks that say nothing to anybody. Reasoning alone is no answer.
fn is_silent(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| match block {
        Block::Text(text) => text.trim().is_empty(),
        Block::Thinking { .. } | Block::RedactedThinking(_) => true,
        Block::ToolUse { .. }
        | Block::ToolResult { .. }
        | Block::Image(_)
        | Block::Document(_)
        | Block::Unknown(_) => false,
    })
}
