//! Runs on other machines: a run is given away as a job of a [cluster](tine_nats), and its record is followed.
//!
//! The rows stay here. The agent, its task, its lease and its budget are this store's, and what comes back of the run (entries,
//! requests, questions, its work) is written into them as if it had run here; so whatever looks at agents sees it. An event is taken
//! in together with the number up to which the record was read, so that nothing counts twice and a process that dies leaves nothing
//! out: the next one [goes on](crate::Runtime::attend_remotes).
//!
//! The worker runs the same turn loop over a store of its own, made for this run and thrown away with it.

mod attend;
mod files;
mod follow;
mod give;
pub(crate) mod job;
mod making;
pub(crate) mod mirror;
mod orders;
mod prefix;
mod questions;
mod scratch;
mod worker;
mod writer;

use std::fmt;
use std::sync::Arc;

use tine_nats::Cluster;
use tokio::sync::Mutex;

pub use worker::{RemoteWorker, WorkerNews};

/// The place of a run that is given away.
#[derive(Clone)]
pub struct Elsewhere {
    /// The servers.
    pub cluster: Cluster,
    /// The label that its worker must have; `None` for any worker.
    pub label: Option<String>,
    /// The name of this machine: the servers know by it which repositories they have.
    pub machine: String,
    /// Of many forks at the same time, one uploads the whole repository.
    whole: Arc<Mutex<()>>,
}

impl Elsewhere {
    /// Any worker of the cluster, or one with this label.
    pub fn new(cluster: Cluster, label: Option<String>, machine: String) -> Self {
        Self { cluster, label, machine, whole: Arc::default() }
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").field("label", &self.label).finish_non_exhaustive()
    }
}
