//! The command line of `tine pick`.

use clap::Args;

use super::SpreadArgs;
use crate::prompt::sendable;

/// `tine pick`
#[derive(Debug, Args)]
pub(crate) struct PickArgs {
    /// The agent to fork: its name, or the first characters of its id; AGENT@ENTRY inherits up to this entry only
    pub(crate) agent: Option<String>,
    /// The task, `-` for standard input; every fork gets the same
    #[arg(short, long, value_name = "TEXT", value_parser = sendable)]
    pub(crate) directive: Option<String>,
    /// How many forks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..=64))]
    pub(crate) forks: u16,
    /// Start nobody, and pick among these agents, which have worked in worktrees
    #[arg(long, value_name = "AGENT", num_args = 1.., conflicts_with_all = ["agent", "directive"])]
    pub(crate) among: Vec<String>,
    /// A command that ends with status 0 where the work is good; it runs in every worktree, behind the workers' wall
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// How long the check may take
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub(crate) check_timeout: String,
    /// Whose work to take without a question: `best`, `none`, or an agent; without a terminal nobody's is taken unless this says so
    #[arg(long, value_name = "WHOSE")]
    pub(crate) take: Option<String>,
    #[command(flatten)]
    pub(crate) spread: SpreadArgs,
}
