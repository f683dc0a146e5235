//! The append-only log of an agent.

use std::sync::Arc;

use crate::{AgentId, EntryId, Message};

/// Which side of a fork an entry tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkRole {
    /// In the parent's log: `other` is the child.
    Parent,
    /// In the child's log: `other` is the parent.
    Child,
}

/// One row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it stands in the store-wide order.
    pub id: EntryId,
    /// Whose log it is in.
    pub agent: AgentId,
    /// When it was written, in milliseconds since the Unix epoch. For people: order is by `id`.
    pub at_ms: i64,
    /// What it says.
    pub body: EntryBody,
}

/// What a log entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryBody {
    /// A message.
    Message(Arc<Message>),
    /// A fork happened.
    Fork {
        /// Which side this is.
        role: ForkRole,
        /// The agent on the other side.
        other: AgentId,
        /// The last inherited entry; `None` when nothing is inherited.
        fork_point: Option<EntryId>,
    },
    /// The conversation starts anew after this.
    Clear,
    /// A place to come back to.
    Mark {
        /// Its name; `None` for an unnamed mark.
        label: Option<String>,
    },
    /// Messages after `to` no longer count; `None` rewinds to the very beginning.
    Rewind {
        /// The last entry that still counts.
        to: Option<EntryId>,
    },
    /// Something for people, not for the model.
    Notice(String),
    /// The conversation is shorter from here on: of the messages before this entry only those from `keep` on still count, and
    /// `preface` stands before them. A rewind to an earlier entry undoes it.
    Compact {
        /// The first message that still counts; `None` for none.
        keep: Option<EntryId>,
        /// What stands for those left out: a summary, a digest, or the word that there was more.
        preface: Arc<Message>,
    },
}

impl EntryBody {
    /// The word under which the kind is stored and shown.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Fork { .. } => "fork",
            Self::Clear => "clear",
            Self::Mark { .. } => "mark",
            Self::Rewind { .. } => "rewind",
            Self::Notice(_) => "notice",
            Self::Compact { .. } => "compact",
        }
    }
}
