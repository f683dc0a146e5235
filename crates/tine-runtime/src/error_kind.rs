//! The kind of each error. Exit codes follow from it, so that a face needs no list of errors.

use tine_llm::LlmError;
use tine_nats::ClusterError;
use tine_store::StoreError;
use tine_worktree::{NotesError, WorktreeError};

use crate::error::RuntimeError;
use crate::ports::ConnectError;

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input cannot be used: a name, a file, a model, a setting, or something that does not exist.
    BadInput,
    /// A cap of the tree's budget is reached.
    OverBudget,
    /// The caller cancelled it.
    Cancelled,
    /// It took longer than its time limit.
    TimedOut,
    /// Any other failure: something is held, busy, full, unreachable or damaged.
    Failed,
}

impl RuntimeError {
    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => of_store(error),
            Self::Connect(ConnectError::Llm(error)) | Self::Llm(error) => of_llm(error),
            Self::Worktree(error) => of_worktree(error),
            Self::Notes(
                NotesError::Conflict(_)
                | NotesError::Foreign(_)
                | NotesError::Settings(_)
                | NotesError::Nested(_),
            ) => ErrorKind::BadInput,
            Self::Cluster(ClusterError::Url { .. } | ClusterError::Credentials { .. }) => {
                ErrorKind::BadInput
            }
            Self::ToolsRun(_) => ErrorKind::TimedOut,
            Self::ForkGivenUp => ErrorKind::Cancelled,
            Self::ForkInProgress
            | Self::Entry { .. }
            | Self::Head(_)
            | Self::NoHead(_)
            | Self::Panicked(_)
            | Self::NoAnswer { .. }
            | Self::SourceRuns(_)
            | Self::Wall(_)
            | Self::WriteRoot(_)
            | Self::Confinement
            | Self::Owner(_)
            | Self::Notes(_)
            | Self::Cluster(_)
            | Self::RemoteForm(_)
            | Self::RemoteRules(_)
            | Self::Setup { .. }
            | Self::Filter(_) => ErrorKind::Failed,
            Self::Connect(
                ConnectError::Scenario { .. }
                | ConnectError::Key { .. }
                | ConnectError::NotLent(_)
                | ConnectError::NeverLent(_)
                | ConnectError::NoGateway(_),
            )
            | Self::RunsElsewhere(_)
            | Self::NoDirective
            | Self::TooMany { .. }
            | Self::NothingToSend(_)
            | Self::Import(_)
            | Self::AssistantFirst
            | Self::DigestNeeded { .. }
            | Self::NotAsSent { .. }
            | Self::Guest(_)
            | Self::GuestRequest { .. }
            | Self::Message(_)
            | Self::Name { .. }
            | Self::NoTask(_)
            | Self::NoDefinition(_)
            | Self::TaskEnded(_)
            | Self::FollowUpWaits(_)
            | Self::CacheLoss { .. }
            | Self::NothingToCompact(_)
            | Self::NoParent(_)
            | Self::NoAncestor { .. }
            | Self::NothingToBringBack { .. }
            | Self::KillsRoot { .. }
            | Self::NoMark { .. }
            | Self::NothingToRewind(_)
            | Self::RuleForOnce
            | Self::NotOffered { .. }
            | Self::EmptyMail
            | Self::MailTooLong { .. }
            | Self::NothingToUndo(_)
            | Self::UndoneBefore(_)
            | Self::NoWorktrees
            | Self::NoWorktree(_)
            | Self::WorktreeRemoved(_)
            | Self::WorktreePurged(_)
            | Self::WorktreeLost { .. }
            | Self::RepositoryMoved { .. }
            | Self::WorktreeThere { .. }
            | Self::NoOrigin { .. }
            | Self::OtherRepository(_)
            | Self::UnknownCommit { .. }
            | Self::WorktreeShared(_)
            | Self::Travel(_)
            | Self::Place(_) => ErrorKind::BadInput,
        }
    }
}

fn of_store(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::OverBudget { .. } => ErrorKind::OverBudget,
        StoreError::NotFound { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::Id(_)
        | StoreError::NameTaken { .. }
        | StoreError::Dead { .. }
        | StoreError::NotDead { .. }
        | StoreError::UnknownPermission { .. }
        | StoreError::AmbiguousPermission { .. }
        | StoreError::TooWide { .. }
        | StoreError::NotStanding { .. }
        | StoreError::UnknownEntry { .. }
        | StoreError::MailboxFull { .. } => ErrorKind::BadInput,
        _ => ErrorKind::Failed,
    }
}

fn of_llm(error: &LlmError) -> ErrorKind {
    match error {
        LlmError::MissingKey { .. }
        | LlmError::MissingBaseUrl { .. }
        | LlmError::BadBaseUrl { .. }
        | LlmError::BadKey => ErrorKind::BadInput,
        LlmError::Cancelled { .. } => ErrorKind::Cancelled,
        _ => ErrorKind::Failed,
    }
}

fn of_worktree(error: &WorktreeError) -> ErrorKind {
    match error {
        WorktreeError::Refused(_) | WorktreeError::Obstructed(_) | WorktreeError::Travel(_) => {
            ErrorKind::BadInput
        }
        _ => ErrorKind::Failed,
    }
}

impl From<&StoreError> for ErrorKind {
    fn from(error: &StoreError) -> Self {
        of_store(error)
    }
}

impl From<&LlmError> for ErrorKind {
    fn from(error: &LlmError) -> Self {
        of_llm(error)
    }
}

impl From<&WorktreeError> for ErrorKind {
    fn from(error: &WorktreeError) -> Self {
        of_worktree(error)
    }
}
