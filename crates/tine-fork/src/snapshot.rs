//! A conversation at one moment, for those who fork it.
//!
//! A snapshot is taken before the calls of a turn run, and a call that starts a worker forks it. So siblings of one turn share
//! every byte up to their directive.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tine_model::EntryId;

use crate::conversation::Conversation;

/// A conversation as it stood when it was taken. Clones share it; whatever is said later in the conversation that it was taken of
/// never reaches it. Takes and holds no copy of any message.
#[derive(Clone)]
pub struct Snapshot {
    conversation: Arc<Mutex<Conversation>>,
    at: Option<EntryId>,
}

impl Snapshot {
    /// The conversation as it is now.
    pub fn take(conversation: &mut Conversation) -> Self {
        let at = conversation.history().last().map(|item| item.entry);
        Self { conversation: Arc::new(Mutex::new(conversation.fork())), at }
    }

    /// The log entry of its last message: the fork point of whoever forks it. `None` when it has no message.
    pub fn at(&self) -> Option<EntryId> {
        self.at
    }

    /// A child that inherits all of it. Constant time.
    pub fn fork(&self) -> Conversation {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner).fork()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("at", &self.at).finish_non_exhaustive()
    }
}
