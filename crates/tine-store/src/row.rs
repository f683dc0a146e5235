//! Rows as the store gives them out. Bodies are opaque texts, except those of fork events, which the store writes.

use std::fmt;

use tine_model::{AgentId, EntryId, ForkRole, Lifetime, RequestId, Usage};

/// What a row of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A message.
    Message,
    /// A fork happened; the body is a [`ForkEvent`].
    Fork,
    /// The conversation starts anew.
    Clear,
    /// A place to come back to.
    Mark,
    /// Later messages no longer count.
    Rewind,
    /// Something for people.
    Notice,
    /// Of what was before only a part counts, behind a preface.
    Compact,
    /// Requests leave members out.
    Dialect,
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Message,
        Self::Fork,
        Self::Clear,
        Self::Mark,
        Self::Rewind,
        Self::Notice,
        Self::Compact,
        Self::Dialect,
    ];

    /// The stored word; the same as that of `tine_model::EntryBody::kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Fork => "fork",
            Self::Clear => "clear",
            Self::Mark => "mark",
            Self::Rewind => "rewind",
            Self::Notice => "notice",
            Self::Compact => "compact",
            Self::Dialect => "dialect",
        }
    }

    /// Reads the word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// One row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// Where it stands in the store-wide order.
    pub id: EntryId,
    /// Whose log it is in.
    pub agent: AgentId,
    /// What it is.
    pub kind: EntryKind,
    /// Its content, as it was given.
    pub body: String,
    /// When it was written, in milliseconds since the Unix epoch.
    pub at_ms: i64,
}

/// The body of a fork event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkEvent {
    /// Which side of the fork the log belongs to.
    pub role: ForkRole,
    /// The agent on the other side.
    pub other: AgentId,
    /// The last inherited entry; `None` when nothing is inherited.
    pub fork_point: Option<EntryId>,
}

impl ForkEvent {
    /// The stored text.
    pub fn to_body(&self) -> String {
        let role = match self.role {
            ForkRole::Parent => "parent",
            ForkRole::Child => "child",
        };
        let fork_point = self.fork_point.map_or("null".to_owned(), |entry| entry.to_string());
        format!(r#"{{"role":"{role}","other":"{}","fork_point":{fork_point}}}"#, self.other)
    }

    /// Reads the stored text; `None` when it is not the body of a fork event.
    pub fn parse(body: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(body).ok()?;
        let role = match value.get("role")?.as_str()? {
            "parent" => ForkRole::Parent,
            "child" => ForkRole::Child,
            _ => return None,
        };
        let other = value.get("other")?.as_str()?.parse().ok()?;
        let fork_point = value.get("fork_point")?;
        let fork_point = match fork_point.is_null() {
            true => None,
            false => Some(EntryId(fork_point.as_i64()?)),
        };
        Some(Self { role, other, fork_point })
    }
}

/// One piece of mail; increasing over the whole store, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MailId(pub i64);

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A message in an agent's mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailRow {
    /// Its place in the mailbox; what [`crate::Store::deliver_mail`] takes.
    pub id: MailId,
    /// Who gets it.
    pub recipient: AgentId,
    /// Who sent it; `None` for the user.
    pub sender: Option<AgentId>,
    /// When it was sent, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Its content, as it was given.
    pub body: String,
}

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    /// Which request; recording the same one twice counts once.
    pub id: RequestId,
    /// Who asked.
    pub agent: AgentId,
    /// When it was sent, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The model that prices refer to, in the caller's words.
    pub model: String,
    /// Tokens; `None` when the provider reported none at all.
    pub usage: Option<Usage>,
    /// Why the model stopped, in the caller's words.
    pub stop: Option<String>,
    /// Length of the request body.
    pub prompt_bytes: Option<u64>,
    /// The provider's id of the reply.
    pub reply: Option<String>,
    /// What the cache did, in a word of the caller's.
    pub verdict: Option<String>,
    /// What else is known of it, in the caller's words.
    pub note: Option<String>,
    /// What it cost, in millionths of a USD; `None` when no price is known.
    pub micro_usd: Option<u64>,
}

/// What the requests of one agent add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageSum {
    /// Who asked.
    pub agent: AgentId,
    /// How many requests, those without reported usage among them.
    pub requests: u64,
    /// How many of them used tokens whose price nobody knew.
    pub unpriced: u64,
    /// What the others cost, in millionths of a USD.
    pub micro_usd: u64,
    /// Prompt tokens of those requests whose provider says how many its cache served.
    pub prompt: u64,
    /// Tokens that it served.
    pub read: u64,
}

/// A cache entry that should be alive at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheRow {
    /// Whose cache it is in.
    pub scope: [u8; 32],
    /// Identity of everything that it holds.
    pub hash: [u8; 32],
    /// Tokens that it holds.
    pub tokens: u64,
    /// Whether a provider has said so, or it is an estimate.
    pub exact: bool,
    /// Bytes that it holds.
    pub bytes: u64,
    /// Which lifetime was asked for.
    pub lifetime: Lifetime,
    /// Start of the last request that wrote or read it, in milliseconds since the Unix epoch.
    pub used_ms: i64,
}

/// Orders the writers of one agent: a later lease has a higher fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence(pub i64);

/// The right to write to one agent's log, until it is released or its owner is found dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The agent.
    pub agent: AgentId,
    /// Who holds it, in the caller's words; must let a later `is_alive` tell whether the process still exists.
    pub owner: String,
    /// Presented with every write.
    pub fence: Fence,
    /// When it was taken, in milliseconds since the Unix epoch.
    pub taken_ms: i64,
}

/// A lease that `recover` took from a dead owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The agent.
    pub agent: AgentId,
    /// The dead owner.
    pub owner: String,
    /// Whether the agent was in the middle of a run and is now marked as interrupted.
    pub interrupted: bool,
    /// Workers whose tasks were marked as interrupted and whose spawners were told.
    pub tasks: Vec<AgentId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_event_survives_its_text() {
        let other = AgentId::from_random([7; 16]);
        for (role, fork_point) in
            [(ForkRole::Parent, None), (ForkRole::Child, Some(EntryId(i64::MAX)))]
        {
            let event = ForkEvent { role, other, fork_point };
            assert_eq!(ForkEvent::parse(&event.to_body()), Some(event));
        }
    }

    #[test]
    fn other_texts_are_no_fork_events() {
        for body in ["", "{}", "[]", r#"{"role":"aunt","other":"x","fork_point":1}"#] {
            assert_eq!(ForkEvent::parse(body), None, "{body}");
        }
    }
}
