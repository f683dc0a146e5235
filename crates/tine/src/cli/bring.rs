//! The command line of the way back from a worktree: `tine diff`, `apply`, `merge` and `cherry-pick`.

use std::path::PathBuf;

use clap::Args;

/// `tine diff`
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Only these files, and those in these directories; in the checkout or the worktree they are relative to the current directory,
    /// elsewhere to the top
    pub(crate) paths: Vec<PathBuf>,
    /// Only how much changed in each file
    #[arg(long, conflicts_with_all = ["name_only", "patch"])]
    pub(crate) stat: bool,
    /// Only the names of the files, one a line; unusual ones quoted as git does it
    #[arg(long, conflicts_with = "patch")]
    pub(crate) name_only: bool,
    /// End each name with a zero byte, and quote none
    #[arg(short = 'z', requires = "name_only")]
    pub(crate) null: bool,
    /// Only the patch; this is what happens where the output is no terminal
    #[arg(short, long)]
    pub(crate) patch: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["stat", "name_only", "patch"])]
    pub(crate) json: bool,
}

/// Where work is brought.
#[derive(Debug, Clone, Args)]
pub(crate) struct OntoArgs {
    /// Bring it into this checkout of the repository, not into the one that the worktree was forked from
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine apply`
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Only these files, and those in these directories; in the checkout or the worktree they are relative to the current directory,
    /// elsewhere to the top
    pub(crate) paths: Vec<PathBuf>,
    /// Apply in spite of conflicts, and leave marks at the places
    #[arg(long)]
    pub(crate) conflicts: bool,
    /// Take the last apply of this agent's work back; what changed since stays
    #[arg(long, conflicts_with_all = ["paths", "conflicts", "dry_run"])]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) onto: OntoArgs,
}

/// `tine merge`
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Make a merge commit also where HEAD could just move on
    #[arg(long)]
    pub(crate) no_ff: bool,
    /// Bring commits that hold what was not committed in the checkout at the fork, all the same
    #[arg(long)]
    pub(crate) with_uncommitted: bool,
    #[command(flatten)]
    pub(crate) onto: OntoArgs,
}

/// `tine cherry-pick`
#[derive(Debug, Args)]
pub(crate) struct CherryPickArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// The first characters of the names of its commits; without any, all that it has made
    pub(crate) commits: Vec<String>,
    /// Bring commits that hold what was not committed in the checkout at the fork, all the same
    #[arg(long)]
    pub(crate) with_uncommitted: bool,
    #[command(flatten)]
    pub(crate) onto: OntoArgs,
}
