//! A linked worktree with a lock of its own for the refs that all worktrees share.
//!
//! Git takes the lock `packed-refs.lock` in the shared repository whenever it deletes a ref, and the end of a commit, a cherry-pick
//! or a rebase deletes those that note how far it is. A wall can grant no single name in a directory, so behind one these would
//! stay for ever. Therefore a worktree that tine made is given a directory of its own in the place of the shared one: links to
//! what is shared, and a copy of `packed-refs`, beside which git then takes the lock. What is reached through the links is
//! ruled by the wall as ever. Refs that somebody packs later are not seen in the worktree; those that somebody writes are.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::Linked;

/// The directory, in the worktree's own one. Goes with it.
pub(crate) const OWN_COMMON: &str = "tine-common";

/// What a repository shares with its worktrees, by git's own layout. `packed-refs` is the one that is copied.
const SHARED: [&str; 15] = [
    "HEAD",
    "annex",
    "branches",
    "config",
    "description",
    "hooks",
    "info",
    "lfs",
    "logs",
    "modules",
    "objects",
    "refs",
    "reftable",
    "shallow",
    "worktrees",
];

const PACKED: &str = "packed-refs";

/// Held while a worktree is given its lock.
static PARTING: Mutex<()> = Mutex::new(());

/// Gives the linked worktree around a directory its own lock, once; does nothing in any other directory. Must be done before
/// the first command runs there. What a command could have put in the way is replaced, and never followed. A crash in between leaves the
/// worktree as it was.
pub fn part_linked_worktree(directory: &Path) -> io::Result<()> {
    let Some(linked) = Linked::around(&directory.canonicalize()?) else { return Ok(()) };
    // Workers that begin at the same time share a directory. The lock guards no value that a panic could leave half done.
    let _alone = PARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if linked.is_parted() {
        return Ok(());
    }
    let own = linked.administration.join(OWN_COMMON);
    match std::fs::remove_dir_all(&own) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        // Left by a crash, or not there.
        Ok(()) | Err(_) => std::fs::create_dir(&own)?,
    }
    for name in SHARED.into_iter().filter(|name| linked.common.join(name).exists()) {
        std::os::unix::fs::symlink(Path::new("../../..").join(name), own.join(name))?;
    }
    match std::fs::copy(linked.common.join(PACKED), own.join(PACKED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    // As the last step, and in one.
    let written = linked.administration.join("commondir.tine");
    // Whatever a command has put there may be a link to somewhere else.
    match std::fs::remove_file(&written) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&written)?;
    file.write_all(format!("{OWN_COMMON}\n").as_bytes())?;
    std::fs::rename(written, linked.administration.join("commondir"))
}
