//! What a fork inherits.

use clap::{Args, ValueEnum, value_parser};

/// How much, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ContextArg {
    /// Everything, as it is: the provider's cache serves it
    #[default]
    Full,
    /// Everything as text, shortened to 100,000 tokens
    Digest,
    /// Everything as text; the older, the shorter
    Graduated,
    /// Nothing
    Fresh,
}

/// What a fork inherits, and which model goes on with it.
#[derive(Debug, Args)]
pub(crate) struct InheritArgs {
    /// What the fork inherits
    #[arg(long, value_enum, default_value_t, value_name = "CONTEXT")]
    pub(crate) context: ContextArg,
    /// Inherit the last N turns only
    #[arg(long, value_name = "N", conflicts_with = "context", value_parser = value_parser!(u32).range(1..))]
    pub(crate) turns: Option<u32>,
    /// Give the fork another model, as provider/name; for a digest or a fresh context
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Send everything anew to the other model, although no cache has it there
    #[arg(long, requires = "model")]
    pub(crate) accept_cache_loss: bool,
}
