//! The workers that a run's model may start, and their options: a part of the run's options.

use std::sync::Arc;

use tine_fork::run::RunLimits;
use tine_fork::worker::{Inherits, WORKER_TURNS_DEFAULT};

use super::definition::Definitions;
use super::policy::SpawnPolicy;
use crate::confine::Confinement;

/// The workers that a run's model may start, and their options.
#[derive(Clone)]
pub struct Crew {
    /// The rules.
    pub policy: SpawnPolicy,
    /// Where a worker's run stops by itself.
    pub limits: RunLimits,
    /// How workers' tools are confined.
    pub confinement: Confinement,
    /// Forks that are estimated to cost more than this, in USD, are asked about; `None` asks about none.
    pub confirm_above: Option<f64>,
    /// True if worktrees are made without a question where the checkout's own git settings name programs.
    pub trusts_programs: bool,
    /// Whether a worker whose end looks wrong is asked once to mend it.
    pub nudges: bool,
    /// The parts of its agenda that an agent hands on to workers that are forked from it.
    pub inherits: Inherits,
    /// The agents that can be started by name.
    pub definitions: Arc<Definitions>,
}

impl Default for Crew {
    fn default() -> Self {
        Self {
            policy: SpawnPolicy::default(),
            limits: RunLimits { turns: WORKER_TURNS_DEFAULT, ..RunLimits::default() },
            confinement: Confinement::default(),
            confirm_above: None,
            trusts_programs: false,
            nudges: true,
            inherits: Inherits::default(),
            definitions: Arc::default(),
        }
    }
}
