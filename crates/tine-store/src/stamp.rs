//! Stamps: short values under names, for what is to be known across processes and belongs to no agent's log.

use tine_model::AgentId;

use crate::Fence;

/// The name of a stamp.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StampName(String);

impl StampName {
    /// When the sessions were last counted that a memory directory may learn from, in milliseconds since the Unix epoch. Set by whoever
    /// counts them next; one who finds that another was faster does not.
    pub fn last_scan(directory: &str) -> Self {
        Self(format!("last scan for {directory}"))
    }

    /// When a person was last at a tree, in milliseconds since the Unix epoch. Set without a fence, since a person holds no lease;
    /// who finds that another was faster leaves the later time.
    pub fn last_seen(root: AgentId) -> Self {
        Self(format!("last seen at {root}"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A stamp as it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Its value; never looked into.
    pub value: String,
    /// When it was set, in milliseconds since the Unix epoch.
    pub at_ms: i64,
}

/// Sets a stamp, if it still is what the one who sets it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetStamp {
    /// Its name.
    pub name: StampName,
    /// The value that it must have; `None` where it must not be set yet.
    pub expected: Option<String>,
    /// Its new value.
    pub value: String,
    /// Where given, it is refused unless this is the agent's current lease.
    pub fence: Option<(AgentId, Fence)>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}
