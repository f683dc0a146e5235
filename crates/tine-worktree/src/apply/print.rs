//! What stands at a path, so that it is known again: its kind and a hash of its content.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::changes::Mode;
use crate::error::WorktreeError;
use crate::repository::Repository;

/// A file or a link by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    /// Never a submodule.
    pub(crate) mode: Mode,
    pub(crate) hash: blake3::Hash,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum There {
    Nothing,
    Content(Print),
    /// A directory, or something that git does not know.
    Else,
}

/// What a file was when it was looked at. It stays the same when the file is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    mode: u32,
}

impl Seen {
    pub(crate) fn of(about: &Metadata) -> Self {
        let modified = (about.mtime(), about.mtime_nsec());
        Self { inode: about.ino(), bytes: about.size(), modified, mode: about.mode() }
    }

    pub(crate) fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    /// The permissions, without what kind of file it is.
    pub(crate) fn permissions(&self) -> u32 {
        self.mode & 0o777
    }
}

/// What stands at a path, not following a link; `None` for nothing.
pub(crate) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether a link stands above a path of the checkout, so that it would lead to a file elsewhere.
pub(crate) fn leads_astray(top: &Path, path: &Path) -> io::Result<bool> {
    for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        if look(&top.join(folder))?.is_some_and(|about| about.is_symlink()) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) fn print(path: &Path) -> io::Result<There> {
    let Some(about) = look(path)? else { return Ok(There::Nothing) };
    if about.is_symlink() {
        let hash = blake3::hash(fs::read_link(path)?.as_os_str().as_bytes());
        return Ok(There::Content(Print { mode: Mode::Link, hash }));
    }
    if !about.is_file() {
        return Ok(There::Else);
    }
    let hash = hash(path)?;
    let is_program = about.permissions().mode() & 0o100 != 0;
    let mode = if is_program { Mode::Program } else { Mode::File };
    Ok(There::Content(Print { mode, hash }))
}

/// The hash of a file's content.
pub(crate) fn hash(path: &Path) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hasher.finalize())
}

/// The hash of the index of a checkout; that of nothing where there is none.
pub(crate) fn index_hash(repository: &Repository) -> Result<blake3::Hash, WorktreeError> {
    let index = repository.index();
    match hash(&index) {
        Ok(hash) => Ok(hash),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(blake3::hash(b"")),
        Err(source) => Err(WorktreeError::file("read the index", &index, source)),
    }
}
