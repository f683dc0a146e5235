//! The append-only log of an agent.

use std::fmt;
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
    /// Requests leave members out from here on. A rewind does not undo it: the server would refuse them again.
    Dialect(Arc<DialectChange>),
}

/// Requests of a lineage leave out what their server refuses.
///
/// All that the server said stays in the log as it came. From this change on every request of the lineage renders its messages, earlier
/// ones too, without it, and always with the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectChange {
    /// The server, as people know it; empty where nobody knows it.
    pub host: String,
    /// What: members, such as `messages.reasoning` or `prompt_cache_key`, blocks of messages, such as `pictures in entry 7`, and ids of calls
    /// in another form than one.
    pub left_out: Vec<String>,
    /// The server's words when it refused; `None` where it was known before.
    pub refusal: Option<String>,
    /// The first message whose bytes are others than before; `None` where no message had the members.
    pub from: Option<EntryId>,
    /// True if answered requests held other bytes, so that the cache does not serve what follows them.
    pub rewrites: bool,
    /// Tokens that the cache would have served and does not.
    pub lost_tokens: u64,
    /// The cost of that loss, in millionths of a USD; `None` where no price is known.
    pub lost_micro_usd: Option<u64>,
}

impl fmt::Display for DialectChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<String> = self.left_out.iter().map(|name| format!("`{name}`")).collect();
        let host = if self.host.is_empty() { "the server" } else { &self.host };
        let how = if self.refusal.is_some() { "refuses" } else { "is known to refuse" };
        write!(f, "requests leave out {} from here on, which {host} {how}", members.join(", "))?;
        if let Some(from) = self.from {
            write!(f, "; messages from entry {} on are rendered without", from.0)?;
        }
        match (self.lost_tokens, self.lost_micro_usd) {
            (0, _) if self.refusal.is_some() => f.write_str("; no cache is lost"),
            (0, _) => Ok(()),
            (tokens, None) => write!(f, "; the cache of {tokens} tokens is lost"),
            (tokens, Some(price)) => {
                write!(f, "; the cache of {tokens} tokens is lost, which costs ")?;
                // The last digit that is shown.
                match price {
                    0..100 => f.write_str("less than $0.0001"),
                    price => write!(f, "${:.4}", price as f64 / 1e6),
                }
            }
        }
    }
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
            Self::Dialect(_) => "dialect",
        }
    }
}
