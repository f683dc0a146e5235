//! A directory for temporary files that belongs to one run: nobody else may look into it, and it goes with the run.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Names that are tried: others of this process take one each, a crash may have left some.
const TRIES_MAX: u64 = 10_000;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The directory; removed with all it holds when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one below `parent`. The name may be guessed, but not taken over: making it fails where anything has it.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let parent = parent.canonicalize()?;
        for _ in 0..TRIES_MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("tine-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in the system's own directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
