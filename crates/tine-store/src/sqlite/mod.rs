//! SQLite: one file in WAL mode, synced on every commit. One writer at a time in this process, IMMEDIATE transactions among
//! processes. Knows SQL, and nothing of what a body says.

mod agents;
mod budgets;
mod column;
mod connection;
mod entries;
mod failure;
mod fork;
mod leases;
mod mail;
mod open;
mod packed;
mod permissions;
mod port;
mod requests;
mod stops;
mod tasks;
#[cfg(test)]
mod tests;
mod worktrees;
mod writers;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use connection::Connections;

/// How long a write waits for other processes' writes. Theirs take milliseconds; after seconds, something is stuck.
pub const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Called with the name of a step before each statement of a writing transaction (the first is `begin`, the last `commit`)
/// and with `committed` after its end. An error that it returns fails the operation there. For tests of durability.
pub type StepHook = Arc<dyn Fn(&'static str) -> Result<()> + Send + Sync>;

/// How a store is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// How long to wait for other processes' writes.
    pub busy_wait: Duration,
    /// Watches, and may fail, every step of every write.
    pub step_hook: Option<StepHook>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { busy_wait: BUSY_WAIT, step_hook: None }
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("busy_wait", &self.busy_wait)
            .field("step_hook", &self.step_hook.is_some())
            .finish()
    }
}

/// A store in one SQLite file. Dropping it closes its connections.
pub struct SqliteStore {
    connections: Connections,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore").field(&self.connections.path()).finish()
    }
}
