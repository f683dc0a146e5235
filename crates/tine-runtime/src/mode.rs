//! The permission mode of a session, which its person can change while agents run.

use std::sync::{Arc, Mutex, PoisonError};

use tine_guard::PermissionMode;

/// A permission mode that all agents of a session share. A clone follows the same changes.
#[derive(Debug, Clone, Default)]
pub struct SharedMode {
    now: Arc<Mutex<PermissionMode>>,
    /// The mode that this one is never looser than.
    least: Option<PermissionMode>,
}

impl SharedMode {
    /// Returns the mode that counts now.
    pub fn get(&self) -> PermissionMode {
        let now = *self.now.lock().unwrap_or_else(PoisonError::into_inner);
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
        Self { now: Arc::clone(&self.now), least }
    }
}

impl From<PermissionMode> for SharedMode {
    fn from(mode: PermissionMode) -> Self {
        Self { now: Arc::new(Mutex::new(mode)), least: None }
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
}
