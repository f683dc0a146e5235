//! Forks of a working state: a worktree of one's own that starts from exactly what a checkout holds, and the way back.
//!
//! A [`Snapshot`] is what a [`Repository`]'s checkout holds at one moment: HEAD, what is staged, and every file as it stands. It is
//! taken through a throw-away index, so the checkout's own index, files and times stay as they are. A [`Worktree`] is made from one,
//! and before it is removed a ref below `refs/tine/` holds what it holds then.
//!
//! What a worktree did is told by [`Repository::changes`], and comes back by [`Repository::apply`] (files), [`Repository::merge`] and
//! [`Repository::cherry_pick`] (commits), onto whatever the checkout holds by then. Whoever forks a checkout in which such a change may
//! have been cut short calls [`Repository::mend`] first.
//!
//! A state goes to another machine and comes back as a file: [`Repository::pack`], [`Repository::arrive`], and for machines without the
//! project [`Cache`].
//!
//! Everything blocks: callers that must not wait call it on a thread of its own. Nothing here knows agents; a worktree has a name.

mod apply;
mod changes;
mod commits;
mod copy;
mod diff;
mod error;
mod exact;
mod fault;
mod filters;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod git;
mod ids;
mod included;
mod index;
mod made;
mod making;
mod marker;
mod merge_tree;
mod names;
mod notes;
mod obstacle;
mod ports;
mod purge;
mod removing;
mod repair;
mod repository;
mod restore;
mod salvage;
mod scratch;
mod snapshot;
mod support;
mod travel;
mod try_out;
mod wary;
mod worktree;

pub use apply::{Applied, Apply, Kept, Mended, MendedAs, OnConflict, Outcome, unended_changes};
pub use changes::{Changes, FileChange, Lines, MadeCommit, Mode, Status};
pub use commits::{CherryPick, FastForward, Merge, Merged, Uncommitted};
pub use error::{Refusal, WorktreeError};
pub use exact::{Exact, LeftOut, LeftOutKind};
pub use filters::programs_in_settings;
pub use git::OLDEST_GIT;
pub use ids::{Commit, Name, Tree};
pub use merge_tree::{Conflict, ConflictKind, Place, Stage};
pub use names::{SettingsScope, find_in_history, git_settings};
pub use notes::{NotesError, NotesRepository};
pub use obstacle::Obstacle;
pub use ports::Ports;
pub use purge::{Holds, KeptRefs, open_mirrors};
pub use repair::Move;
pub use repository::{Operation, Repository};
pub use snapshot::{Snapshot, Start};
pub use support::{git_version, shares_content};
pub use travel::{
    Arrived, BUNDLE_BYTES_MAX, Cache, CacheLimits, Conventions, Pack, Packed, TravelError,
};
pub use worktree::{Found, FoundState, NewWorktree, Removed, Worktree};

#[cfg(test)]
extern crate self as tine_worktree;
#[cfg(test)]
mod tests;
