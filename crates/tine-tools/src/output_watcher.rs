//! The output of a command while it runs, for whoever shows it.

/// Sees what a running command prints. The calls must be quick and must not block: the command waits for them.
pub trait OutputWatcher: Send + Sync {
    /// The command has started.
    fn started(&self);

    /// The command has printed this. A character may be cut at either end.
    fn printed(&self, bytes: &[u8]);
}
