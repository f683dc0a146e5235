//! Who writes where at the same time.

use tine_model::AgentId;

use crate::Fence;

/// Notes that an agent writes in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteWriter {
    /// Who.
    pub agent: AgentId,
    /// Its lease, with which the note goes.
    pub fence: Fence,
    /// Where it works: an absolute path without links. The last one noted counts.
    pub directory: String,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// An agent that writes in a directory in its current run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterRow {
    /// Who.
    pub agent: AgentId,
    /// Its name.
    pub name: Option<String>,
    /// Where it works.
    pub directory: String,
    /// Who holds its lease; may be dead.
    pub owner: String,
}
