//! SQLite: one file in WAL mode, synced on every commit. One writer at a time in this process, IMMEDIATE transactions among
//! processes. Knows SQL, and nothing of what a body says.

mod agent_cells;
mod agents;
mod budgets;
mod column;
mod connection;
mod entries;
mod failure;
mod fork;
mod guests;
mod integrity;
mod leases;
mod mail;
mod open;
mod packed;
mod permissions;
mod read_only;
mod remotes;
mod remove;
mod requests;
mod servers;
mod stamps;
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

/// The time that a write waits for other processes' writes before it says that it waits. Theirs take milliseconds.
pub const BUSY_WAIT: Duration = Duration::from_secs(5);

/// The number of such waits: ten minutes together. A backup or a `VACUUM` holds the lock for minutes, and so does a process that was
/// paused; what is to be written was paid for.
pub const BUSY_WAITS_MAX: u32 = 120;

/// Called once for each write that has to wait for another process. It must be quick.
pub type WaitHook = Arc<dyn Fn() + Send + Sync>;

/// Called with the name of a step before each statement of a writing transaction (the first is `begin`, the last `commit`)
/// and with `committed` after its end. An error that it returns fails the operation there. For tests of durability.
pub type StepHook = Arc<dyn Fn(&'static str) -> Result<()> + Send + Sync>;

/// How a store is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// The wait for other processes' writes before `wait_hook` is called.
    pub busy_wait: Duration,
    /// The number of such waits before the write fails.
    pub busy_waits_max: u32,
    /// Told of a write that waits.
    pub wait_hook: Option<WaitHook>,
    /// Watches, and may fail, every step of every write.
    pub step_hook: Option<StepHook>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            busy_wait: BUSY_WAIT,
            busy_waits_max: BUSY_WAITS_MAX,
            wait_hook: None,
            step_hook: None,
        }
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("busy_wait", &self.busy_wait)
            .field("busy_waits_max", &self.busy_waits_max)
            .field("wait_hook", &self.wait_hook.is_some())
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
