//! What commands do beyond looking into the store and changing it.

use super::{Command, ConfineArgs, TaskCommand, WorktreeCommand};

/// How far a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Whether it makes agents of the user's, or lets them go on.
    pub(crate) starts_agents: bool,
    /// Whether it talks to models, or plays one.
    pub(crate) runs_models: bool,
}

impl Command {
    /// Returns true where the user wants to see the result alone.
    pub(crate) fn is_quiet(&self) -> bool {
        let output = match self {
            Self::Run(args) => Some(&args.output),
            Self::Fork(args) => Some(&args.output),
            _ => None,
        };
        output.is_some_and(|output| output.quiet)
    }

    /// Returns true where an agent's worktree may be needed.
    pub(crate) fn looks_at_worktrees(&self) -> bool {
        match self {
            Self::Run(_)
            | Self::Fork(_)
            | Self::Task(_)
            | Self::Diff(_)
            | Self::Apply(_)
            | Self::Merge(_)
            | Self::CherryPick(_)
            | Self::MergeBack(_) => true,
            Self::Worktree(command) => !matches!(command, WorktreeCommand::Repair(_)),
            _ => false,
        }
    }

    /// The same command, whose new workers are confined as this says where it says nothing itself.
    pub(crate) fn confined_as(mut self, usual: &ConfineArgs) -> Self {
        let own = match &mut self {
            Self::Fan(args) => Some(&mut args.spread.limits.confine),
            Self::Task(TaskCommand::Start(args)) => Some(&mut args.how.limits.confine),
            _ => None,
        };
        if let Some(own) = own.filter(|own| !own.is_given()) {
            own.clone_from(usual);
        }
        self
    }

    /// How far it reaches.
    pub(crate) fn reach(&self) -> Reach {
        let reach = |starts_agents, runs_models| Reach { starts_agents, runs_models };
        match self {
            Self::Run(_) | Self::Fan(_) | Self::Pick(_) => reach(true, true),
            Self::Fork(args) => reach(true, args.prompt.is_some()),
            Self::Task(command) => match command {
                TaskCommand::Start(_) | TaskCommand::Resume(_) => reach(true, true),
                TaskCommand::List(_)
                | TaskCommand::Output(_)
                | TaskCommand::Cancel(_)
                | TaskCommand::Hide(_)
                | TaskCommand::Send(_) => reach(false, false),
            },
            Self::Compact(_)
            | Self::MergeBack(_)
            | Self::Demo(_)
            | Self::Dream(_)
            | Self::Tick(_)
            | Self::Eval(_)
            | Self::Sim(_)
            | Self::Worker(_) => reach(false, true),
            Self::Ps(_)
            | Self::Tree(_)
            | Self::Show(_)
            | Self::Logs(_)
            | Self::Wait(_)
            | Self::Send(_)
            | Self::Stop(_)
            | Self::Kill(_)
            | Self::Hide(_)
            | Self::Remove(_)
            | Self::Diff(_)
            | Self::Apply(_)
            | Self::Merge(_)
            | Self::CherryPick(_)
            | Self::Worktree(_)
            | Self::Permission(_)
            | Self::Trust(_)
            | Self::Rename(_)
            | Self::Mark(_)
            | Self::Rewind(_)
            | Self::Clear(_)
            | Self::Import(_)
            | Self::Export(_)
            | Self::Digest(_)
            | Self::Away(_)
            | Self::Mcp(_)
            | Self::Gateway(_)
            | Self::With(_)
            | Self::Cost(_)
            | Self::Budget(_)
            | Self::Cache(_)
            | Self::Doctor(_)
            | Self::Login(_)
            | Self::Logout(_)
            | Self::Models(_)
            | Self::Guard(_)
            | Self::Completions(_)
            | Self::Cluster(_)
            | Self::Man => reach(false, false),
        }
    }
}
