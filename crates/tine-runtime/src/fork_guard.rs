//! One fork of an agent at a time, in this process.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use tine_model::AgentId;

use crate::error::RuntimeError;

/// Parents of forks that are under way in this process.
pub(crate) type Forking = Mutex<HashSet<AgentId>>;

/// The right to fork one parent; given back when it is dropped, on every path.
pub(crate) struct ForkGuard<'a> {
    forking: &'a Forking,
    parent: AgentId,
}

impl<'a> ForkGuard<'a> {
    pub(crate) fn take(forking: &'a Forking, parent: AgentId) -> Result<Self, RuntimeError> {
        if forking.lock().unwrap_or_else(PoisonError::into_inner).insert(parent) {
            Ok(Self { forking, parent })
        } else {
            Err(RuntimeError::ForkInProgress)
        }
    }
}

impl Drop for ForkGuard<'_> {
    fn drop(&mut self) {
        self.forking.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_fork_is_refused_until_the_first_is_over() {
        let forking = Forking::default();
        let [parent, other] = [1, 2].map(|byte| AgentId::from_random([byte; 16]));
        let first = ForkGuard::take(&forking, parent).ok();
        let refused = ForkGuard::take(&forking, parent).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("Fork already in progress"));
        assert!(ForkGuard::take(&forking, other).is_ok());
        drop(first);
        assert!(ForkGuard::take(&forking, parent).is_ok());
    }
}
