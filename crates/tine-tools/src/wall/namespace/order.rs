//! The texts that travel between tine and the stages: one JSON document a line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::wall::grants::{Access, Grant};
use crate::wall::support::Support;
use crate::wall::{CommandLimit, Metadata, ResourceLimits, Sockets};

/// A path as text where it is one, else as its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::wall) enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl PathText {
    pub(in crate::wall) fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
        }
    }
}

/// Everything about a wall: the same for all of its commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::wall) struct Setup {
    /// The working directory.
    pub(in crate::wall) directory: PathText,
    /// Directories that can be written.
    pub(in crate::wall) writable: Vec<PathText>,
    /// Directories from which no program starts.
    pub(in crate::wall) without_programs: Vec<PathText>,
    /// Directories below the writable ones that stay where they are. All exist.
    pub(in crate::wall) pinned: Vec<PathText>,
    /// Paths below the writable ones that stay read-only. All exist.
    pub(in crate::wall) protected: Vec<PathText>,
    /// Files and directories that nobody can open.
    pub(in crate::wall) masked: Vec<Masked>,
    /// Directories that stay visible below the private directories for temporary files.
    pub(in crate::wall) visible: Vec<PathText>,
    /// Directories for temporary files, and the directory of this wall that stands in place of each.
    pub(in crate::wall) private: Vec<(PathText, PathText)>,
    /// Where tine listens in the network of the command. None without a network.
    pub(in crate::wall) listen: Vec<SocketAddr>,
    /// The second layer, as a wall without namespaces has it.
    pub(in crate::wall) rules: Rules,
}

/// A file or directory that nobody can open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::wall) struct Masked {
    pub(in crate::wall) path: PathText,
    /// What must lie there for the view to stand; `None` where no command could move it.
    pub(in crate::wall) identity: Option<Identity>,
}

/// Tells a file from all others, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::wall) struct Identity {
    pub(in crate::wall) device: u64,
    pub(in crate::wall) inode: u64,
}

impl Identity {
    pub(in crate::wall) fn of(about: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: about.dev(), inode: about.ino() }
    }

    /// What lies at a path; a link is not followed.
    pub(in crate::wall) fn at(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().map(|about| Self::of(&about))
    }
}

/// Landlock's rules, the filter over system calls, and the limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::wall) struct Rules {
    pub(in crate::wall) grants: Vec<(PathText, Access)>,
    /// True if processes talk to each other on the loopback device of a network of their own, and by terminals of their own.
    pub(in crate::wall) has_loopback: bool,
    pub(in crate::wall) may_change_metadata: bool,
    /// The version of Landlock's interface; 0 for none.
    pub(in crate::wall) landlock: u32,
    /// Whether system calls are filtered.
    pub(in crate::wall) filter: bool,
    pub(in crate::wall) limits: ResourceLimits,
}

impl Rules {
    /// The second layer of a wall.
    pub(in crate::wall) fn new(
        grants: &[Grant],
        (has_loopback, metadata): (bool, Metadata),
        support: Support,
        limits: ResourceLimits,
    ) -> Self {
        Self {
            grants: grants.iter().map(Self::right).collect(),
            has_loopback,
            may_change_metadata: metadata == Metadata::Free,
            landlock: support.landlock,
            filter: support.filter,
            limits,
        }
    }

    pub(in crate::wall) fn right(grant: &Grant) -> (PathText, Access) {
        (PathText::from(grant.path.as_path()), grant.access)
    }

    pub(super) fn grants(&self) -> Vec<Grant> {
        self.grants.iter().map(|(path, access)| Grant::new(path.path(), *access)).collect()
    }

    pub(super) fn sockets(&self) -> Sockets {
        if self.has_loopback { Sockets::OwnLoopback } else { Sockets::Pairs }
    }

    pub(super) fn metadata(&self) -> Metadata {
        if self.may_change_metadata { Metadata::Free } else { Metadata::Kept }
    }
}

/// What is to run behind the wall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Job {
    /// Nothing: the view is built, and that is all.
    Trial,
    /// The shell at `program` runs `command` under the name `name`. Where it lends its network, its namespaces come back.
    Command { program: PathText, name: String, command: PathText, lends_network: bool },
}

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// The view stands; for [`Job::Trial`].
    Stands,
    /// The command ended by itself.
    Ended { code: Option<i32>, signal: Option<i32>, left_behind: bool },
    /// Its processes passed a limit together, and were ended.
    Exceeded(CommandLimit),
    /// The shell is not there.
    NoShell,
    /// The wall could not be built.
    Failed { step: String, error: String },
}
