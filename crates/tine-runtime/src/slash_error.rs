//! Why the arguments of a command in the terminal are refused.

/// Why the arguments are refused. The texts are shown as they are; nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlashError {
    /// The prompt does not begin with a quote.
    #[error("Prompt must be quoted (usage: /fork \"prompt\")")]
    NotQuoted,
    /// The closing quote is missing.
    #[error("Unterminated quoted string")]
    Unterminated,
    /// Something that is no flag stands after the closing quote.
    #[error("Unexpected text after the prompt: {0}")]
    Trailing(String),
    /// There is no such flag.
    #[error(
        "Unknown flag {0} (it is --at, --name, --context, --model, --accept-cache-loss, --worktree or --bg)"
    )]
    UnknownFlag(String),
    /// A flag without its value.
    #[error("{0} requires an argument")]
    NoArgument(&'static str),
    /// A model that is none.
    #[error("Unknown model '{0}' (it is provider/name)")]
    UnknownModel(String),
    /// A model without its provider, which may mean several, or another one.
    #[error("Unknown model '{name}' (did you mean {}?)", .near.join(", "))]
    NearModel {
        /// The name as it was typed.
        name: String,
        /// Models that may be meant, as `provider/name`.
        near: Vec<String>,
    },
    /// A level of reasoning that is none.
    #[error("Invalid thinking level '{0}' (must be: none, low, med, high)")]
    InvalidLevel(String),
    /// A value of `--context` that is none.
    #[error("--context is full, digest, graduated, last:N or fresh, not {0}")]
    NoContext(String),
    /// A value of `--at` that is no entry.
    #[error("--at takes the number of an entry, not {0}")]
    NoEntry(String),
}
