//! How a worktree is taken away.
//!
//! Only what says itself that it belongs to the worktree is removed, and never anything that a link leads to.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::error::WorktreeError;
use crate::fault;
use crate::making::{DOT_GIT, names};
use crate::repository::room_of;

/// The mode of a directory from which its owner, and nobody else, may remove something. Not what it had and more: should a link take
/// its place this moment, nobody gets more by that.
const OWN: u32 = 0o700;

/// Removes the files of a worktree, then what git knows of it.
pub(crate) fn remove(files: &Path, git_dir: Option<&Path>) -> Result<(), WorktreeError> {
    let Some(git_dir) = git_dir else { return remove_own(files) };
    if names(files, git_dir) {
        writable_then(files, || remove_files(files))?
    } else {
        remove_own(files)?
    }
    // The lock goes first: git itself removes what is left without one, and nobody takes it for half made.
    let lock = git_dir.join("locked");
    let unlock = || match fault::step().and_then(|()| fs::remove_file(&lock)) {
        Err(error) if !is_gone(&error) => Err(WorktreeError::file("remove", &lock, error)),
        Ok(()) | Err(_) => Ok(()),
    };
    writable_then(git_dir, unlock)?;
    // What was to be mended there must not be mended in the next of this name.
    if let (Some(common_dir), Some(name)) = (git_dir.ancestors().nth(2), git_dir.file_name()) {
        remove_folder(&room_of(common_dir, name))?;
    }
    writable_then(git_dir, || remove_folder(git_dir))?;
    // Git does the same when the last worktree goes; it fails where there are others.
    git_dir.parent().map(fs::remove_dir);
    Ok(())
}

/// Removes a directory that may be another's: only if nothing is in it.
fn remove_own(files: &Path) -> Result<(), WorktreeError> {
    fault::step()
        .map(|()| drop(fs::remove_dir(files)))
        .map_err(|error| WorktreeError::file("remove", files, error))
}

/// Removes the files of a worktree; last the one by which the rest is known as its own, so that whoever is cut short can go on.
fn remove_files(files: &Path) -> Result<(), WorktreeError> {
    let failed = |error| WorktreeError::file("remove", files, error);
    for entry in fs::read_dir(files).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name() == DOT_GIT {
            continue;
        }
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        if is_folder {
            remove_folder(&entry.path())?
        } else {
            fs::remove_file(entry.path()).map_err(failed)?
        }
    }
    fault::step().and_then(|()| fs::remove_file(files.join(DOT_GIT))).map_err(failed)?;
    remove_own(files)
}

fn remove_folder(folder: &Path) -> Result<(), WorktreeError> {
    match fault::step().and_then(|()| fs::remove_dir_all(folder)) {
        Err(error) if !is_gone(&error) => Err(WorktreeError::file("remove", folder, error)),
        Ok(()) | Err(_) => {
            fault::step().map_err(|error| WorktreeError::file("remove", folder, error))
        }
    }
}

/// Does `act`; where it lacks a permission, gives the owner all permissions of the directories in `folder` and does it once more.
pub(crate) fn writable_then(
    folder: &Path,
    act: impl Fn() -> Result<(), WorktreeError>,
) -> Result<(), WorktreeError> {
    match act() {
        Err(WorktreeError::File { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            fault::step()
                .and_then(|()| make_writable(folder))
                .map_err(|error| WorktreeError::file("make writable", folder, error))?;
            act()
        }
        other => other,
    }
}

/// Gives the owner all permissions of a directory and of those in it, links not followed.
fn make_writable(folder: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(folder)?;
    if !about.is_dir() {
        return Ok(());
    }
    if about.permissions().mode() & OWN != OWN {
        fs::set_permissions(folder, fs::Permissions::from_mode(OWN))?;
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// This holds for root as well, for whom permissions are no obstacle.
    #[test]
    fn directories_become_writable_and_what_links_lead_to_stays() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        fs::create_dir_all(at("top/one/two")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("top/one/file"), "").unwrap();
        std::os::unix::fs::symlink(at("other"), at("top/one/link")).unwrap();
        for name in ["top/one/file", "top/one/two", "top/one", "top", "other"] {
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o555)).unwrap();
        }
        let acts = Cell::new(0);
        let act = || {
            acts.set(acts.get() + 1);
            match acts.get() {
                1 => Err(WorktreeError::file(
                    "remove",
                    &at("top"),
                    ErrorKind::PermissionDenied.into(),
                )),
                _ => Ok(()),
            }
        };
        writable_then(&at("top"), act).unwrap();
        let modes = ["top", "top/one", "top/one/two", "top/one/file", "other"].map(mode);
        assert_eq!((acts.get(), modes), (2, [0o700, 0o700, 0o700, 0o555, 0o555]));
    }

    #[test]
    fn other_failures_are_told_at_once() {
        let act = || Err(WorktreeError::file("remove", Path::new("/"), ErrorKind::Other.into()));
        assert!(writable_then(Path::new("/nowhere"), act).is_err());
    }
}
