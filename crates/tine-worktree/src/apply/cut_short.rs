//! Finds changes of checkouts that were cut short, by a look at a few files.

use std::fs;
use std::path::{Path, PathBuf};

use super::mend::Mended;
use super::room::Room;
use crate::error::WorktreeError;
use crate::repository::Repository;
use crate::worktree::path_of;

/// Returns the tops of those checkouts of a repository in which a change was begun and not ended: it was cut short, or is under way.
/// Runs no git.
pub fn unended_changes(common_dir: &Path) -> Vec<PathBuf> {
    let mut tops = Vec::new();
    if is_begun(&common_dir.join("tine")) {
        // Of a repository whose files are elsewhere, git knows where.
        tops.push(common_dir.parent().unwrap_or(common_dir).to_owned());
    }
    for entry in fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten() {
        let (git_dir, name) = (entry.path(), entry.file_name());
        let rooms = [git_dir.join("tine"), common_dir.join("tine/worktrees").join(name)];
        if rooms.iter().any(|room| is_begun(room)) {
            tops.extend(path_of(&git_dir));
        }
    }
    tops
}

/// A change lies beside the checkout's files where these are on another file system; then this has the seal of its journal.
fn is_begun(room: &Path) -> bool {
    room.join("change").exists() || room.join("seal").exists()
}

impl Repository {
    /// Does the same as [`mend`](Self::mend), but waits for nobody: a change that is under way is none that was cut short.
    pub fn mend_unless_under_way(&self) -> Result<Option<Mended>, WorktreeError> {
        Ok(Room::try_enter(self)?.and_then(|room| room.mended))
    }
}
