//! The command line of worktrees: `tine worktree`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::manual::examples;

/// How long nothing must have changed in a worktree before `tine worktree gc` removes it, where nothing else is said: long enough that
/// nobody misses it after a holiday, and what it held is kept all the same.
const GC_AGE_DEFAULT: &str = "14d";

/// The age at which `tine worktree purge` deletes refs, where nothing else is said: longer than anybody comes back to work that
/// was left.
const PURGE_AGE_DEFAULT: &str = "90d";

/// `tine worktree`
#[derive(Debug, Subcommand)]
pub(crate) enum WorktreeCommand {
    /// List worktrees, and what was changed in each
    #[command(after_help = examples::WORKTREE_LIST)]
    List(ListWorktreesArgs),
    /// Remove the worktree of an agent; what it holds is kept
    #[command(name = "rm", alias = "drop", after_help = examples::WORKTREE_RM)]
    Remove(RemoveWorktreeArgs),
    /// Bring the worktree of an agent back that was removed, as it was
    #[command(after_help = examples::WORKTREE_RECOVER)]
    Recover(RecoverArgs),
    /// Remove worktrees in which nothing has changed for long; what they hold is kept
    #[command(after_help = examples::WORKTREE_GC)]
    Gc(CollectWorktreesArgs),
    /// Delete what is kept of worktrees that are gone, for good
    #[command(after_help = examples::WORKTREE_PURGE)]
    Purge(PurgeWorktreesArgs),
    /// Find worktrees again after their repository was moved or renamed
    #[command(after_help = examples::WORKTREE_REPAIR)]
    Repair(RepairWorktreesArgs),
    /// Print the directory that an agent with a worktree works in
    #[command(after_help = examples::WORKTREE_PATH)]
    Path(WorktreePathArgs),
}

/// `tine worktree list`
#[derive(Debug, Args)]
pub(crate) struct ListWorktreesArgs {
    /// Those that were removed, too
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine worktree gc`
#[derive(Debug, Args)]
pub(crate) struct CollectWorktreesArgs {
    /// Only those in which nothing has changed for so long: a number and s, m, h or d. What a crash has left goes after an hour, for until
    /// then it may still be at work
    #[arg(long, value_name = "AGE", default_value = GC_AGE_DEFAULT)]
    pub(crate) max_age: String,
    /// Say what would go, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine worktree purge`
#[derive(Debug, Args)]
pub(crate) struct PurgeWorktreesArgs {
    /// Only of this agent, whatever the age: its name, or the first characters of its id
    pub(crate) agent: Option<String>,
    /// Only what was kept so long ago: a number and s, m, h or d (90d). Refs that hold no work go at any age
    #[arg(long, value_name = "AGE", conflicts_with = "agent")]
    pub(crate) max_age: Option<String>,
    /// Say what would go, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask before work is deleted for good
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl PurgeWorktreesArgs {
    /// The age that is meant.
    pub(crate) fn age(&self) -> &str {
        match (&self.max_age, &self.agent) {
            (Some(age), _) => age,
            (None, Some(_)) => "0s",
            (None, None) => PURGE_AGE_DEFAULT,
        }
    }
}

/// `tine worktree repair`
#[derive(Debug, Args)]
pub(crate) struct RepairWorktreesArgs {
    /// A directory in the repository, where it is now; the working directory without it
    pub(crate) directory: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine worktree path`
#[derive(Debug, Args)]
pub(crate) struct WorktreePathArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
}

/// `tine worktree rm`
#[derive(Debug, Args)]
pub(crate) struct RemoveWorktreeArgs {
    /// The agents: names, or first characters of ids
    #[arg(required = true)]
    pub(crate) agents: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine worktree recover`
#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Where what was kept was purged, begin as the checkout stands now
    #[arg(long)]
    pub(crate) anew: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
