//! The nouns of tine: ids, messages, log entries, agents, usage, outcomes.
//!
//! Everything here is plain data. This crate does no I/O, reads no clock, draws no random number, and
//! knows no provider's JSON: a provider's own text travels through it as an opaque [`RawJson`].

mod agent;
mod budget;
mod entry;
mod id;
mod in_full;
mod leftover;
mod message;
mod model;
mod name;
mod network;
mod outcome;
mod permission;
mod prefix;
mod public_address;
mod raw;
mod reach;
mod seen;
mod served;
mod usage;

pub use agent::{
    AgentRecord, AgentState, ContextMode, Standing, StopKind, TaskRecord, TaskStatus, TaskWorktree,
    WorktreeRecord,
};
pub use budget::{Cap, CapReached};
pub use entry::{DialectChange, Entry, EntryBody, ForkRole};
pub use id::{
    AgentId, AgentPrefix, EntryId, IdError, PREFIX_CHARS_MIN, PermissionId, RequestId, ToolCallId,
};
pub use in_full::{in_full, with_causes};
pub use leftover::Leftover;
pub use message::{Block, Message, RawMessage, Role, ToolInput};
pub use model::{
    Effort, ModelError, ModelRef, ModelSettings, Provider, Thinking, ToolChoice, WireFormat,
};
pub use name::{NAME_CHARS_MAX, NameError, Named, WordError, check_name, meant};
pub use network::{
    DESTINATIONS_MAX, Destination, Host, LOOPBACK, NetworkError, NetworkReach, WEB_PORTS,
};
pub use outcome::{Outcome, StopReason};
pub use permission::{Decision, PermissionScope, PermissionState};
pub use prefix::{Boundary, BoundaryKind, CacheScheme, Lifetime, Segment};
pub use public_address::{is_of_a_network, is_public};
pub use raw::{RawJson, RawJsonError};
pub use reach::{Reach, Writes};
pub use seen::{SEEN_LINES_MAX, SeenFile};
pub use served::{Engine, Served};
pub use usage::{Spent, Usage};
