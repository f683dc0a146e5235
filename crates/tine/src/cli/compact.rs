//! The arguments of `tine compact`.

use clap::{Args, value_parser};
use tine_runtime::KEEP_TOKENS_DEFAULT;

/// `tine compact`
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Keep about so many tokens at the end word for word
    #[arg(long, value_name = "TOKENS", default_value_t = KEEP_TOKENS_DEFAULT, value_parser = value_parser!(u64).range(..=1_000_000))]
    pub(crate) keep_tokens: u64,
    /// What the summary has to mind above all; `-` for standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
