//! What a confined command may do with which files: a list to be told to the kernel.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What may be done with a path, and with everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Access {
    /// See which names there are.
    List,
    /// Read, and run nothing.
    Look,
    /// Read and run.
    Read,
    /// Everything but devices.
    Full,
    /// Read and write, but make or remove nothing: for the devices that everybody may use.
    Device,
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) path: PathBuf,
    pub(super) access: Access,
}

impl Grant {
    pub(super) fn new(path: impl Into<PathBuf>, access: Access) -> Self {
        Self { path: path.into(), access }
    }
}

/// Devices without a memory. The terminal is not among them: what is typed there and what stands there is the user's.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The device that makes terminals, and the folder of them: in a view, those of the command alone.
pub(super) const TERMINALS: [&str; 2] = ["/dev/ptmx", "/dev/pts"];

/// Memory that the processes of a command share by the names of files.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

pub(super) fn devices() -> Vec<Grant> {
    DEVICES.iter().map(|path| Grant::new(*path, Access::Device)).collect()
}
