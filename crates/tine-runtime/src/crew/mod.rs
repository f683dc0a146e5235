//! What a run's model may start: workers, under which rules, and with which limits.
//!
//! A [`Crew`] belongs to a run's options. Workers take it over from the run that starts them, so the rules hold for a whole
//! tree. It decides nothing about a worker's tool calls: those go through the same filter, permissions and wall as any.
//!
//! The model is told a worker's id at once. The end of a worker is a row and a piece of mail to its spawner. When the spawner's
//! model is done, its run waits for its workers (`rest.rs`), gets the mail of those that end together as one message, and goes
//! on.

pub(crate) mod definition;
mod gate;
mod policy;
pub(crate) mod role;
pub(crate) mod setup;
mod spawn;
pub(crate) mod told;

pub(crate) use definition::FORK;
pub use definition::{AgentDefinition, DEFINITION_BYTES_MAX, DefinitionError, Definitions};
pub(crate) use gate::refusal;
pub use policy::{ForkChoice, SpawnPolicy};
pub(crate) use role::WorkerRole;
pub use setup::Crew;
pub use spawn::Spawn;
pub(crate) use spawn::Spawner;
pub(crate) use told::{told, worker_options};
