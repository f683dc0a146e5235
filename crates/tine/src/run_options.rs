//! From settings and the command line to the options of a run: one door for every command that runs an agent.

use std::path::Path;
use std::sync::Arc;

use tine_fork::AllowAllFilter;
use tine_runtime::{Confinement, Elsewhere, Permissions, RunOptions};
use tokio_util::sync::CancellationToken;

use crate::budget::on_budget;
use crate::caching::policy;
use crate::cli::LimitArgs;
use crate::config::Config;
use crate::crew::crew;
use crate::fail::Failure;
use crate::limits::run_limits;

/// The wishes of a command for a run, beside the settings.
pub(crate) struct RunSetup<'a> {
    /// Limits from the command line.
    pub(crate) args: &'a LimitArgs,
    /// The directory that the agent works in: agents that its project defines can be started.
    pub(crate) directory: &'a Path,
    /// Most turns where none are given; without it as many as a worker has.
    pub(crate) turns: Option<u32>,
    pub(crate) permissions: Permissions,
    pub(crate) confinement: Confinement,
    /// True if the parent's cache is kept warm meanwhile.
    pub(crate) keep_warm: bool,
    pub(crate) cancel: CancellationToken,
    /// Another machine that makes it.
    pub(crate) elsewhere: Option<Elsewhere>,
}

impl RunSetup<'_> {
    /// The options of the run. Everything that can be wrong in the settings is found here.
    pub(crate) fn options(self, config: &Config) -> Result<RunOptions, Failure> {
        let Self { args, directory, turns, permissions, confinement, keep_warm, cancel, elsewhere } =
            self;
        let mut crew = crew(config, args, directory)?;
        let limits = run_limits(args, turns.unwrap_or(crew.limits.turns));
        if turns.is_none() {
            crew.limits = limits;
        }
        Ok(RunOptions {
            limits,
            permissions,
            cancel,
            caching: policy(config, keep_warm)?,
            filter: Arc::new(AllowAllFilter),
            confinement,
            crew,
            on_budget: on_budget(&args.tree),
            elsewhere,
        })
    }
}
