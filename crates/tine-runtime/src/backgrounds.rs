//! The commands in the background of all agents of a runtime.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tine_model::AgentId;
use tine_tools::Background;

/// Those of all agents of a runtime.
#[derive(Default)]
pub(crate) struct Backgrounds(Mutex<HashMap<AgentId, Arc<Background>>>);

impl Backgrounds {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Arc<Background>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Backgrounds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().fmt(formatter)
    }
}
