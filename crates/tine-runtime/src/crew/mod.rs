//! What a run's model may start: workers, under which rules, and with which limits.
//!
//! A [`Crew`] belongs to a run's options. Workers take it over from the run that starts them, so the rules hold for a whole
//! tree. It decides nothing about a worker's tool calls: those go through the same filter, permissions and wall as any.
//!
//! The model is told a worker's id at once. The end of a worker is a row and a piece of mail to its spawner. When the spawner's
//! model is done, its run waits for its workers (`rest.rs`), gets the mail of those that end together as one message, and goes
//! on.

mod definition;
mod gate;
mod policy;
mod role;
mod spawn;

use std::sync::Arc;

use tine_fork::run::RunLimits;
use tine_fork::worker::{Inherits, WORKER_TURNS_DEFAULT};

use crate::confine::Confinement;

pub use definition::{AgentDefinition, DEFINITION_BYTES_MAX, DefinitionError, Definitions};
pub(crate) use gate::refusal;
pub use policy::{ForkChoice, SpawnPolicy};
pub(crate) use role::WorkerRole;
pub use spawn::Spawn;
pub(crate) use spawn::{FORK, Spawner, told, worker_options};

/// What a run's model may start, and how that runs.
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
