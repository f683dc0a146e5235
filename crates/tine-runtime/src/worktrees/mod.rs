//! Worktrees of agents: made with a fork, found again for a run, and what became of them.
//!
//! Files come first and rows after: a worktree without a row is nobody's, and [`collect`](Runtime::collect_worktrees) finds it.
//! Everything that git does here happens on threads where waiting is allowed.
//!
//! A worktree is made under the child's id, and its row is written in the fork transaction. When a worker ends, a ref holds its
//! work before its notice is written.

mod bring;
mod check;
mod checkouts;
mod collect;
mod home;
mod making;
mod mend;
mod pick;
mod place;
pub(crate) mod policy;
mod purge;
mod ready;
mod repair;
mod standing;
mod travel;
mod try_out;
mod view;

pub use bring::{BringSpec, Brought, Work};
pub use check::{Check, Checked};
pub use collect::{AsOf, CollectSpec, Collected, Fate, MayLose, Recovered};
pub use making::worktrees_being_made;
pub use mend::HalfChanged;
pub use pick::{Candidate, best};
pub use place::Placement;
pub use policy::{WorktreePolicy, worktrees_folder};
pub use purge::{DuePurge, PurgePlan, PurgeSpec};
pub use repair::{Repair, Repaired};
pub use standing::Standing;
pub use tine_worktree::{
    Applied, CacheLimits, Changes, Conflict, ConflictKind, FastForward, FileChange, Holds,
    Kept as KeptFile, LeftOut, LeftOutKind, Lines, MadeCommit, Mended, MendedAs, Merged,
    Mode as FileMode, OLDEST_GIT, Obstacle, OnConflict, Operation, Outcome as BroughtOutcome,
    Place as ConflictPlace, Ports as WorktreePorts, Refusal as WorktreeRefusal, Stage, Start,
    Status as ChangeStatus, TravelError, Uncommitted, WorktreeError, git_version, open_mirrors,
    shares_content,
};
pub use travel::{CameHome, PackedState, TravelRefusal};
pub use try_out::try_out;
pub use view::{Progress, Unseen, WorktreeState, WorktreeView};

pub(crate) use checkouts::{WORKTREES_AT_ONCE, blocking};
pub(crate) use home::Home;
pub(crate) use place::Placed;
pub(crate) use ready::Cause;
