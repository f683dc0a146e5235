//! What a fork inherits, and what a worker is.

use clap::{Args, value_parser};
use tine_runtime::Inherit;

/// What a fork inherits, and which model goes on with it.
#[derive(Debug, Args)]
pub(crate) struct InheritArgs {
    /// What the fork inherits: `full` (everything as it is: the cache serves it), `digest` (everything as text of at most 100,000
    /// tokens), `graduated` (as text; the older, the shorter), `last N` turns, or `fresh` (nothing)
    #[arg(long, default_value = "full", value_name = "CONTEXT")]
    pub(crate) context: Inherit,
    /// The same as --context "last N"
    #[arg(long, value_name = "N", conflicts_with = "context", value_parser = value_parser!(u32).range(1..))]
    pub(crate) turns: Option<u32>,
    /// Give the fork another model, as provider/name; for a digest or a fresh context
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Send everything anew to the other model, although no cache has it there
    #[arg(long, requires = "model")]
    pub(crate) accept_cache_loss: bool,
}

/// What a worker inherits, as which agent it works, and with which model.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WorkerArgs {
    /// What a worker inherits: `full`, `digest`, `graduated`, `last N` or `fresh`, as in `tine fork` [default: full; in `tine task
    /// start` fresh]
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<Inherit>,
    /// Work as the agent that is defined under this name; with a full context its tools narrow those of AGENT, and its
    /// instructions stand before the task
    #[arg(long = "agent", value_name = "NAME")]
    pub(crate) definition: Option<String>,
    /// Give it another model, as provider/name; for a digest or a fresh context
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Send everything anew to the other model, although no cache has it there
    #[arg(long, requires = "model")]
    pub(crate) accept_cache_loss: bool,
}
