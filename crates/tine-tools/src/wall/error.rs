//! Why a wall cannot be raised.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::support::Gap;

/// Errors of a machine that lacks something at the moment.
const PASSING: [Errno; 8] = [
    Errno::AGAIN,
    Errno::INTR,
    Errno::NOMEM,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::BUSY,
];

/// Why a wall could not be raised.
#[derive(Debug, thiserror::Error)]
pub enum WallError {
    /// The kernel cannot keep it.
    #[error("commands cannot be confined here: {}", words(.0))]
    Missing(Vec<Gap>),
    /// Secrets cannot be told from the rest.
    #[error("`{}` has more than {entries_max} entries: its secrets cannot be kept apart from the rest", .path.display())]
    TooLarge {
        /// The directory.
        path: PathBuf,
        /// The most entries that are looked at.
        entries_max: usize,
    },
    /// A directory of the wall is not there.
    #[error("the directory `{}` cannot be used", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The kernel refused.
    #[error("the kernel refused the rules of the wall")]
    Kernel(#[source] io::Error),
    /// The view could not be built.
    #[error("the view of the wall could not be built")]
    View(#[source] io::Error),
    /// Commands can be given no network of their own, so they could not be kept to the hosts that were named.
    #[error(
        "commands cannot be kept to named hosts here, because no network namespaces can be made"
    )]
    Network,
}

impl WallError {
    /// Returns true for a lack that may be over soon: of processes, memory, descriptors or room on the disk.
    pub fn is_passing(&self) -> bool {
        let source = match self {
            Self::Directory { source, .. } | Self::Kernel(source) | Self::View(source) => source,
            Self::Missing(_) | Self::TooLarge { .. } | Self::Network => return false,
        };
        let lack = Errno::from_io_error(source);
        lack.is_some_and(|lack| PASSING.contains(&lack))
    }
}

fn words(gaps: &[Gap]) -> String {
    gaps.iter().map(|gap| gap.words()).collect::<Vec<_>>().join("; ")
}
