//! `tine away`: what happened meanwhile.

use clap::Args;

/// `tine away`
#[derive(Debug, Args)]
pub(crate) struct AwayArgs {
    /// The agent: its name, or the first characters of its id; without it the one that was last used in this directory
    pub(crate) agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
