//! The permission mode of a session, which its person can change while agents run.

use std::sync::{Arc, Mutex, PoisonError};

use tine_guard::PermissionMode;

/// A permission mode that all agents of a session share. A clone follows the same changes.
#[derive(Debug, Clone, Default)]
pub struct SharedMode {
    now: Arc<Mutex<PermissionMode>>,
    /// The mode that this one is never looser than.
    least: Option<PermissionMode>,
    /// Whether files may be edited where the session's mode is the default one.
    accepts_edits: bool,
}

impl SharedMode {
    /// Returns the mode that counts now.
    pub fn get(&self) -> PermissionMode {
        let now = match *self.now.lock().unwrap_or_else(PoisonError::into_inner) {
            PermissionMode::Default if self.accepts_edits => PermissionMode::AcceptEdits,
            now => now,
        };
        self.least.map_or(now, |least| now.stricter(least))
    }

    /// Changes the mode of the session, for all who share it.
    pub fn set(&self, mode: PermissionMode) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Returns the same mode for an agent that is never allowed more than `least`.
    pub(crate) fn narrowed(&self, least: Option<PermissionMode>) -> Self {
        let least = match (self.least, least) {
            (Some(own), Some(least)) => Some(own.stricter(least)),
            (own, least) => own.or(least),
        };
        Self { least, ..self.clone() }
    }

    /// Returns the same mode for an agent whose edits need no question, unless the session's mode or its own says otherwise.
    pub(crate) fn accepting_edits(&self) -> Self {
        Self { accepts_edits: true, ..self.clone() }
    }
}

impl From<PermissionMode> for SharedMode {
    fn from(mode: PermissionMode) -> Self {
        Self { now: Arc::new(Mutex::new(mode)), least: None, accepts_edits: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_follows_the_session_and_is_never_allowed_more_than_its_own_mode() {
        let session = SharedMode::from(PermissionMode::Default);
        let worker = session.narrowed(Some(PermissionMode::Default));
        session.set(PermissionMode::Bypass);
        assert_eq!(
            (session.get(), worker.get()),
            (PermissionMode::Bypass, PermissionMode::Default)
        );
        session.set(PermissionMode::ReadOnly);
        assert_eq!(worker.get(), PermissionMode::ReadOnly);
        let below = worker.narrowed(Some(PermissionMode::AcceptEdits));
        session.set(PermissionMode::AcceptEdits);
        assert_eq!(below.get(), PermissionMode::Default);
    }

    #[test]
    fn edits_are_accepted_in_the_default_mode_alone_and_never_above_an_agents_own() {
        use PermissionMode::{AcceptEdits, Bypass, Default, ReadOnly};
        let session = SharedMode::from(Default);
        let in_worktree = session.accepting_edits();
        let own = session.narrowed(Some(Default)).accepting_edits();
        let in_each = |mode| {
            session.set(mode);
            (session.get(), in_worktree.get(), own.get())
        };
        assert_eq!(in_each(Default), (Default, AcceptEdits, Default));
        assert_eq!(in_each(ReadOnly), (ReadOnly, ReadOnly, ReadOnly));
        assert_eq!(in_each(Bypass), (Bypass, Bypass, Default));
    }
}
