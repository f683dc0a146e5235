//! States of worktrees that go to another machine as a git bundle, and come back.
//!
//! A bundle holds one commit, the carrier, whose parents are two snapshots: the start of a worktree, and what it holds. With them go all
//! commits that they stand on, but for those that the receiver has. On the other machine a [`Cache`] has the objects of the
//! project, and a worktree of it is made as one is that was removed: by the refs of its name.
//!
//! A bundle comes from outside, so nothing of it counts before all of it was looked at: see [`arrive`]. Moving its bytes is the
//! caller's part. Ignored files stay where they are, and so do files of other repositories inside.

mod arrive;
mod cache;
mod carrier;
mod conventions;
mod exchange;
mod header;
mod pack;

use std::path::PathBuf;

pub use arrive::Arrived;
pub use cache::{Cache, CacheLimits};
pub use conventions::Conventions;
pub use pack::{Pack, Packed};

use std::time::Duration;

use crate::error::list;
use crate::ids::Commit;

/// Most bytes of a bundle. The history of a large project has as many; whatever is larger is better cloned where it is needed.
pub const BUNDLE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// Most bytes of all files of a state that came. A few bytes of a bundle can stand for any number of them.
const FILES_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;

/// The time limit of a git that packs or checks a bundle: the largest take minutes on a slow disk.
const TRAVEL_TIME_MAX: Duration = Duration::from_secs(3600);

/// Most commits that a message names.
const COMMITS_SHOWN: usize = 3;

/// Why a state does not go to another machine, or does not come from one. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TravelError {
    /// The beginning of the history is not here.
    #[error("the repository is a shallow clone, whose history another machine cannot be given")]
    Shallow,
    /// Git fetches objects of the history only when they are needed.
    #[error("the repository is a partial clone, which lacks objects that another machine needs")]
    Partial,
    /// Files of other repositories inside, submodules among them, which no bundle has.
    #[error("files of other repositories do not travel: {}", list(.0))]
    HoldsRepositories(Vec<PathBuf>),
    /// Files from which a program of git's settings takes something out, which only this machine can put back.
    #[error("a filter of git's settings hides a part of these files from git, which would be lost on the way: {}", list(.0))]
    Filtered(Vec<PathBuf>),
    /// The bundle is larger than is moved.
    #[error("the state has {bytes} bytes, more than the {most} that are moved")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// The bundle builds on commits that are not here. A bundle without them in `receiver_has` can be taken.
    #[error("the bundle needs commits that are not here: {}", commits(.0))]
    Missing(Vec<Commit>),
    /// The bundle is damaged, or was made to do damage.
    #[error("the bundle is refused: {0}")]
    Refused(String),
}

impl TravelError {
    /// The way to go on, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Shallow => "`git fetch --unshallow` brings the whole history",
            Self::Partial => "clone the repository without --filter, or fork on this machine",
            Self::HoldsRepositories(_) => {
                "move them elsewhere, or fork on this machine: what git does not track in a worktree nobody keeps"
            }
            Self::Filtered(_) => "commit or restore these files, or fork on this machine",
            Self::TooLarge { .. } => {
                "have large files ignored by a line in .gitignore, or fork on this machine"
            }
            Self::Missing(_) => "pack the state once more, without what was said to be here",
            Self::Refused(_) => "nothing of it was taken; pack the state once more",
        }
    }

    fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}

fn commits(commits: &[Commit]) -> String {
    let shown: Vec<&str> = commits.iter().take(COMMITS_SHOWN).map(Commit::as_str).collect();
    match commits.len().saturating_sub(COMMITS_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
