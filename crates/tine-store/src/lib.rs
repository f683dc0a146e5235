//! The [`Store`] trait, in one part for each kind of row, the suite that every store must pass, and [`SqliteStore`].
//!
//! A store keeps the agent tree, its logs, tasks, mail, permission requests, usage, budgets and leases, each change in one transaction. It never looks into a
//! message or a head, knows no model and no provider, reads no clock and draws no random number.

mod budget;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod error;
mod guest;
mod permission;
mod remote;
mod request;
mod row;
mod server;
mod sqlite;
mod stamp;
mod store;
mod writer;

pub use budget::{BudgetRow, Caps, Reserve, Reserved, SetBudget, StandInLine};
pub use error::{Candidate, Cause, Result, StoreError};
pub use guest::{GUESTS_MAX, GuestFilter, GuestRow};
pub use permission::{AnswerPermission, AskPermission, PermissionFilter, PermissionRow};
pub use remote::{Lineage, RemoteRun, Rows, TakeIn};
pub use request::{
    Acquire, AgentFilter, CreateAgent, ForkFrom, ForkRequest, Forked, Head, IsAlive, Kill,
    NewAgent, NewChild, NewEntry, NewMail, NewTask, NewWorktree, Reap, Recover, Relocation, Remove,
    RemovedAgent, Rename, RequestStop, SetReach, SetState, TaskEnd, TaskUsed, UsageScope,
    WordNotice,
};
pub use row::{
    CacheRow, EntryKind, EntryRow, Fence, ForkEvent, Lease, MailId, MailRow, Recovered, RequestRow,
    UsageSum,
};
pub use server::ServerNote;
pub use sqlite::{BUSY_WAIT, BUSY_WAITS_MAX, OpenOptions, SqliteStore, StepHook, WaitHook};
pub use stamp::{SetStamp, Stamp, StampName};
pub use store::{
    AgentStore, BudgetStore, EntryStore, GuestStore, LeaseStore, MailStore, PermissionStore,
    RemoteStore, RequestStore, ServerStore, StampStore, StopStore, Store, TaskStore, WorktreeStore,
    WriterStore,
};
pub use writer::{NoteWriter, WriterRow};
