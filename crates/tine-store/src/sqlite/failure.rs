//! What SQLite's result codes mean to a caller.

use std::io;
use std::path::Path;

use crate::{Cause, StoreError};

// Primary result codes, https://www.sqlite.org/rescode.html.
const PERMISSION: i32 = 3;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READ_ONLY: i32 = 8;
const IO: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
/// The shared memory beside the file cannot grow: `SQLITE_IOERR_SHMSIZE`, the only code of a full disk that is not `FULL`.
const IO_SHARED_MEMORY_SIZE: i32 = 4874;
const CANNOT_OPEN: i32 = 14;
const NOT_A_DATABASE: i32 = 26;

pub(super) fn database_error(path: &Path, error: sqlx::Error) -> StoreError {
    let path = path.to_owned();
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    if code == Some(IO_SHARED_MEMORY_SIZE) {
        return StoreError::Full { path };
    }
    match code.map(|extended| extended & 0xff) {
        Some(PERMISSION | READ_ONLY) => StoreError::ReadOnly { path },
        Some(BUSY | LOCKED) => StoreError::Busy { path },
        Some(CORRUPT | NOT_A_DATABASE) => StoreError::Corrupt { path, source: error.into() },
        Some(FULL) => StoreError::Full { path },
        Some(IO | CANNOT_OPEN) => StoreError::Io { path, source: io::Error::other(error) },
        _ => StoreError::Database { path, source: error.into() },
    }
}

pub(super) fn io_error(path: &Path, source: io::Error) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly { path }
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
        _ => StoreError::Io { path, source },
    }
}

pub(super) fn corrupt(path: &Path, source: impl Into<Cause>) -> StoreError {
    StoreError::Corrupt { path: path.to_owned(), source: source.into() }
}
