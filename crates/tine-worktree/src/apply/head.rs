//! HEAD of a checkout in which somebody works who need not be trusted.
//!
//! Git would obey it: a HEAD that says that it is a branch would move that branch, and its log could be a link to any file. So it is
//! read and written here, only where it is a commit, and no log of it is written. Others are git's alone.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};

use super::journal::HeadMove;
use crate::error::WorktreeError;
use crate::fault;
use crate::ids::Commit;
use crate::obstacle::Obstacle;
use crate::repository::Repository;
use crate::wary;

/// The commit that HEAD is; `None` where it is anything else.
pub(crate) fn detached(repository: &Repository) -> Result<Option<Commit>, WorktreeError> {
    let file = repository.git_dir().join("HEAD");
    let said = wary::note(&file).map_err(|source| WorktreeError::file("read", &file, source))?;
    Ok(Commit::parse(&String::from_utf8_lossy(&said)).ok())
}

/// Moves HEAD from commit to commit, with git's own lock of it.
pub(super) fn move_detached(repository: &Repository, to: &HeadMove) -> Result<(), WorktreeError> {
    let file = repository.git_dir().join("HEAD");
    let lock = repository.git_dir().join("HEAD.lock");
    let open = match OpenOptions::new().write(true).create_new(true).open(&lock) {
        Ok(open) => open,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(Obstacle::IndexLocked(lock).into());
        }
        Err(source) => return Err(WorktreeError::file("make", &lock, source)),
    };
    let write = |mut open: File| {
        fault::step()?;
        open.write_all(format!("{}\n", to.new).as_bytes())?;
        open.sync_all()
    };
    let wrong = |source| WorktreeError::file("write", &file, source);
    let moved = write(open).map_err(wrong).and_then(|()| match detached(repository)? {
        Some(now) if now == to.old => fs::rename(&lock, &file).map_err(wrong),
        Some(_) | None => Err(Obstacle::HeadMoved.into()),
    });
    if moved.is_err() {
        fs::remove_file(&lock).ok();
    }
    moved
}
