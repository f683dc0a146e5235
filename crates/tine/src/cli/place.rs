//! Where a fork works.

use clap::Args;
use tine_runtime::{Placement, Start};

use super::On;

/// Where a fork works: in its parent's directory, or in a worktree of its own.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Give it a git worktree of its own, which begins as its parent's checkout stands: commits, what is staged, other changes, new
    /// files
    #[arg(long)]
    pub(crate) worktree: bool,
    /// Begin the worktree with the last commit alone; means --worktree
    #[arg(long)]
    pub(crate) clean: bool,
    /// Begin the worktree with this commit, by any name that git knows it by; means --worktree
    #[arg(long, value_name = "REV", conflicts_with = "clean")]
    pub(crate) base: Option<String>,
    /// Have a worker of the cluster run it: `cluster`, or `cluster:LABEL` for one with this label; means --worktree
    #[arg(long, value_name = "WHERE")]
    pub(crate) on: Option<On>,
}

impl PlaceArgs {
    /// What was asked for.
    pub(crate) fn placement(&self) -> Placement {
        match (&self.base, self.clean, self.worktree) {
            (Some(commit), _, _) => Placement::Worktree(Start::At(commit.clone())),
            (None, true, _) => Placement::Worktree(Start::Clean),
            (None, false, false) if self.on.is_none() => Placement::Shared,
            (None, false, _) => Placement::Worktree(Start::State),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_means_a_worktree() {
        let check = |worktree, clean, base: Option<&str>, expected| {
            let args = PlaceArgs { worktree, clean, base: base.map(str::to_owned), on: None };
            assert_eq!(args.placement(), expected);
        };
        check(false, false, None, Placement::Shared);
        check(true, false, None, Placement::Worktree(Start::State));
        check(false, true, None, Placement::Worktree(Start::Clean));
        check(true, true, None, Placement::Worktree(Start::Clean));
        check(false, false, Some("v1"), Placement::Worktree(Start::At("v1".to_owned())));
    }
}
