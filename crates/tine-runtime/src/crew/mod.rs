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

use tine_fork::run::{RunEvent, RunLimits};
use tine_fork::worker::{Inherits, WORKER_TURNS_DEFAULT};
use tine_model::{AgentId, TaskRecord};

use crate::confine::Confinement;

pub use definition::{AgentDefinition, DEFINITION_BYTES_MAX, DefinitionError, Definitions};
pub(crate) use gate::refusal;
pub use policy::{ForkChoice, SpawnPolicy};
pub(crate) use role::WorkerRole;
pub use spawn::Spawn;
pub(crate) use spawn::{FORK, Spawner, told, worker_options};

/// Sees the workers that runs of this process start, at any depth. Called on the workers' own tasks: must be quick. A panic in it is
/// swallowed; the worker goes on.
pub trait CrewWatcher: Send + Sync {
    /// A worker was made, or is taken up again, and is about to run.
    fn on_start(&self, worker: AgentId, task: &TaskRecord);

    /// Something happened in a worker's run.
    fn on_event(&self, worker: AgentId, event: &RunEvent<'_>);

    /// A worker's task has ended.
    fn on_end(&self, task: &TaskRecord);
}

/// Sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl CrewWatcher for Unwatched {
    fn on_start(&self, _worker: AgentId, _task: &TaskRecord) {}

    fn on_event(&self, _worker: AgentId, _event: &RunEvent<'_>) {}

    fn on_end(&self, _task: &TaskRecord) {}
}

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
    /// Sees the workers.
    pub watcher: Arc<dyn CrewWatcher>,
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
            watcher: Arc::new(Unwatched),
        }
    }
}
