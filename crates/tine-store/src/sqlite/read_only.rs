//! Reading where nothing can be written: a mounted backup, another user's directory, a full disk.
//!
//! SQLite needs shared memory beside the file to read a write-ahead log. Where it cannot be made, a file without a log is read as it
//! is; one with a log is copied, together with it, to a directory for temporary files, and read there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;

use super::failure::io_error;
use super::open::connect_options;
use crate::{Result, StoreError};

/// SQLite's code where a file cannot be opened or made.
const CANNOT_OPEN: &str = "14";

/// The number of times that the files are copied at most: somebody may write to them meanwhile, and a copy of two moments is none.
const COPIES_MAX: usize = 5;

/// Directories that take a copy where the usual one is full: memory is no disk.
const OTHER_DIRECTORIES: [&str; 1] = ["/dev/shm"];

/// Why nothing can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    ReadOnly,
    Full,
}

/// A copy of the files of a store, removed when this is dropped.
pub(super) struct PrivateCopy(#[expect(dead_code, reason = "it is held, not read")] TempDir);

impl Refusal {
    /// The reason behind an error of opening; `None` for errors that reading would meet as well.
    pub(super) fn of(error: &StoreError) -> Option<Self> {
        match error {
            StoreError::ReadOnly { .. } => Some(Self::ReadOnly),
            StoreError::Full { .. } => Some(Self::Full),
            StoreError::Io { source, .. } if is_cannot_open(source) => Some(Self::ReadOnly),
            _ => None,
        }
    }

    pub(super) fn error(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::ReadOnly => StoreError::ReadOnly { path },
            Self::Full => StoreError::Full { path },
        }
    }
}

fn is_cannot_open(source: &io::Error) -> bool {
    let error = source.get_ref().and_then(|inner| inner.downcast_ref::<sqlx::Error>());
    let code = error.and_then(sqlx::Error::as_database_error).and_then(|error| error.code());
    code.is_some_and(|code| code == CANNOT_OPEN)
}

/// Returns the options to read the files at `path` without writing beside them, and the private copy that is read where one is needed.
pub(super) async fn files_to_read(
    path: &Path,
) -> Result<(SqliteConnectOptions, Option<PrivateCopy>)> {
    let failed = |error| io_error(path, error);
    if length(&log_of(path)).map_err(failed)? == 0 {
        return Ok((connect_options(path).read_only(true).immutable(true), None));
    }
    let original = path.to_owned();
    let copying = tokio::task::spawn_blocking(move || copy(&original));
    let (directory, file) =
        copying.await.map_err(io::Error::other).and_then(|done| done).map_err(failed)?;
    Ok((connect_options(&file), Some(PrivateCopy(directory))))
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn length(path: &Path) -> io::Result<u64> {
    match path.metadata() {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn copy(path: &Path) -> io::Result<(TempDir, PathBuf)> {
    let mut last = io::Error::other("somebody goes on writing to it");
    let usual = std::env::temp_dir();
    let directories = std::iter::once(usual.as_path()).chain(OTHER_DIRECTORIES.map(Path::new));
    for parent in directories {
        match copy_below(parent, path) {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => {}
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Copies file and log; `None` if they never stayed the same meanwhile.
fn copy_below(parent: &Path, path: &Path) -> io::Result<Option<(TempDir, PathBuf)>> {
    for _ in 0..COPIES_MAX {
        let directory = tempfile::Builder::new().prefix("tine-read-").tempdir_in(parent)?;
        let file = directory.path().join("copy.db");
        let before = state(path)?;
        std::fs::copy(path, &file)?;
        std::fs::copy(log_of(path), log_of(&file))?;
        if state(path)? == before {
            writable(&file)?;
            writable(&log_of(&file))?;
            return Ok(Some((directory, file)));
        }
    }
    Ok(None)
}

/// A copy keeps the mode of the original, which may be one that nobody may write.
fn writable(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Lengths and times of the two files.
type State = [(u64, SystemTime); 2];

fn state(path: &Path) -> io::Result<State> {
    let of = |path: &Path| {
        let metadata = path.metadata()?;
        Ok::<_, io::Error>((metadata.len(), metadata.modified()?))
    };
    Ok([of(path)?, of(&log_of(path))?])
}
