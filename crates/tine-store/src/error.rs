//! What can go wrong in a store, as far as a caller can act on it.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use tine_model::{
    AgentId, CapReached, EntryId, IdError, PermissionId, PermissionScope, TaskStatus,
};

use crate::{EntryKind, MailId, PermissionRow};

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A cause that only matters to somebody who reads it.
pub type Cause = Box<dyn Error + Send + Sync>;

/// An agent that a word could mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: Option<String>,
}

/// Why a store refused or failed. An operation that fails has changed nothing, unless its `COMMIT` was reached.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Written by a newer version of the program.
    #[error("`{}` has schema version {found}, this program knows versions up to {known}", path.display())]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version of this program.
        known: i64,
    },
    /// The file, its directory or its file system may not be written.
    #[error("`{}` is read-only", path.display())]
    ReadOnly {
        /// The store or its directory.
        path: PathBuf,
    },
    /// No room is left on the device.
    #[error("no space is left for `{}`", path.display())]
    Full {
        /// The store.
        path: PathBuf,
    },
    /// Other processes kept the store locked for longer than the wait allows.
    #[error("`{}` is locked by another process", path.display())]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// Damaged, not a database, or a row that no version of the program writes.
    #[error("`{}` is damaged", path.display())]
    Corrupt {
        /// The store.
        path: PathBuf,
        /// What was found.
        source: Cause,
    },
    /// A database, but somebody else's.
    #[error("`{}` is a database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory could not be made, opened or read.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database failed in a way of its own.
    #[error("the database `{}` failed", path.display())]
    Database {
        /// The store.
        path: PathBuf,
        /// What it said.
        source: Cause,
    },
    /// Rows of a store of another version.
    #[error("the rows are of a store with schema version {found}, this program has {known}")]
    OtherVersion {
        /// Theirs.
        found: i64,
        /// That of this program.
        known: i64,
    },
    /// Rows from elsewhere that no table here can hold.
    #[error("rows of `{table}` that are none")]
    ForeignRows {
        /// The table that they say they are of.
        table: String,
    },
    /// No agent has this id, prefix or name.
    #[error("no agent `{name}`")]
    NotFound {
        /// What was asked for.
        name: String,
    },
    /// The word could mean more than one agent.
    #[error("`{word}` names more than one agent")]
    Ambiguous {
        /// What was asked for.
        word: String,
        /// Some of those that it could mean: by their ids, the oldest first, then by its name.
        candidates: Vec<Candidate>,
    },
    /// The text can be neither a name nor an id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A living agent has this name.
    #[error("the name `{name}` is taken")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The id is in use.
    #[error("agent {agent} exists already")]
    Exists {
        /// The id.
        agent: AgentId,
    },
    /// The agent is dead: it cannot be forked, written to, or brought back.
    #[error("agent {agent} is dead")]
    Dead {
        /// The agent.
        agent: AgentId,
    },
    /// Only the dead can be reaped.
    #[error("agent {agent} is not dead")]
    NotDead {
        /// The agent.
        agent: AgentId,
    },
    /// The head was neither given nor is it stored.
    #[error("the head of agent {agent} is not in the store")]
    UnknownHead {
        /// The agent that names it.
        agent: AgentId,
    },
    /// The entry is not part of the agent's effective history.
    #[error("agent {agent} has no entry {entry}")]
    UnknownEntry {
        /// The agent.
        agent: AgentId,
        /// The entry asked for.
        entry: EntryId,
    },
    /// The mail was not sent to this agent.
    #[error("agent {agent} has no mail {mail}")]
    UnknownMail {
        /// The recipient.
        agent: AgentId,
        /// The mail asked for.
        mail: MailId,
    },
    /// The agent has no task.
    #[error("agent {agent} has no task")]
    NoTask {
        /// The agent.
        agent: AgentId,
    },
    /// Only the store writes entries of this kind.
    #[error("entries of kind `{}` are written by the store alone", kind.as_str())]
    ReservedKind {
        /// The kind.
        kind: EntryKind,
    },
    /// A task cannot end in this status.
    #[error("`{}` is not the end of a task", status.as_str())]
    NotAnEnd {
        /// The status.
        status: TaskStatus,
    },
    /// Death has consequences for tasks and descendants; it comes from `kill` alone.
    #[error("agent {agent} can be made dead by `kill` alone")]
    OnlyByKill {
        /// The agent.
        agent: AgentId,
    },
    /// The recipient has not read its mail for too long.
    #[error("the mailbox of agent {recipient} is full")]
    MailboxFull {
        /// The recipient.
        recipient: AgentId,
    },
    /// The lease was released, or taken over by somebody else.
    #[error("the lease on agent {agent} is lost")]
    Fenced {
        /// The agent.
        agent: AgentId,
    },
    /// No permission request has this id or prefix.
    #[error("no permission request `{name}`")]
    UnknownPermission {
        /// What was asked for.
        name: String,
    },
    /// More than one permission request has this prefix.
    #[error("`{prefix}` names more than one permission request")]
    AmbiguousPermission {
        /// What was asked for.
        prefix: String,
        /// Some of those it names, oldest first.
        candidates: Vec<PermissionId>,
    },
    /// The request was answered before, has expired, or is withdrawn.
    #[error("the permission request {} is {} already", permission.id, permission.state.as_str())]
    Settled {
        /// The request as it stands.
        permission: Box<PermissionRow>,
    },
    /// The answer would reach farther than this request lets it.
    #[error("the answer to this request cannot reach as far as `{}`", asked.as_str())]
    TooWide {
        /// The scope that was given.
        asked: PermissionScope,
        /// The widest that it may have.
        widest: PermissionScope,
    },
    /// Nothing was granted or denied beyond one call, so nothing can be taken back.
    #[error("the permission request {} has no standing answer", permission.id)]
    NotStanding {
        /// The request as it stands.
        permission: Box<PermissionRow>,
    },
    /// The tree may not have that many workers.
    #[error("{asked} more would be too many: {reached}")]
    OverBudget {
        /// Whose tree it is.
        root: AgentId,
        /// How many were to be made.
        asked: u64,
        /// The cap, and what was used of it before.
        reached: CapReached,
    },
    /// A living process runs the agent.
    #[error("agent {agent} is run by {owner}")]
    Held {
        /// The agent.
        agent: AgentId,
        /// Who holds the lease, as given to `acquire`.
        owner: String,
    },
}

impl StoreError {
    /// No agent with this id.
    pub fn no_agent(agent: AgentId) -> Self {
        Self::NotFound { name: agent.to_string() }
    }
}
