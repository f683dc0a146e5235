//! Who holds a lease, and whether they still live.
//!
//! Every process that runs agents keeps one lock file locked for as long as it lives. The system releases the lock when
//! the process ends, however it ends, so a dead owner is known at once, without heartbeats, and a process id that is
//! used again fools nobody.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Why this process cannot hold leases.
#[derive(Debug, thiserror::Error)]
#[error("cannot lock `{}`", path.display())]
pub struct OwnerError {
    /// The lock file.
    pub path: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

/// This process as an owner of leases; dropping it ends its life in that sense.
#[derive(Debug)]
pub struct Owner {
    name: String,
    path: PathBuf,
    /// Held open, and so locked.
    _lock: File,
}

impl Owner {
    /// Registers this process under `directory`. `random` makes the name unique; the process id in it is for people.
    pub fn register(directory: &Path, random: [u8; 16]) -> Result<Self, OwnerError> {
        let unique: String = random[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("process {}-{unique}", std::process::id());
        let path = lock_path(directory, &name);
        let error = |source| OwnerError { path: path.clone(), source };
        fs::create_dir_all(directory).map_err(error)?;
        let lock = lock_file(&path).map_err(error)?;
        Ok(Self { name, path, _lock: lock })
    }

    /// The name under which leases are held.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A file that stays behind is unlocked and so says "dead"; `is_alive` clears it away.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the file and locks it. Who looks for dead owners may find it before it is locked, and remove it: then it is made again.
fn lock_file(path: &Path) -> io::Result<File> {
    loop {
        let lock = OpenOptions::new().create(true).append(true).open(path)?;
        lock.lock()?;
        if is_at(path, &lock)? {
            return Ok(lock);
        }
    }
}

/// Returns true if this open file is the one at `path`.
fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    match path.metadata() {
        Ok(found) => {
            let own = file.metadata()?;
            Ok((found.dev(), found.ino()) == (own.dev(), own.ino()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the lock files of dead owners from the directory of owners. What cannot be removed stays for the next time.
pub fn sweep_owners(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let paths = entries.flatten().map(|entry| entry.path());
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "lock")) {
        let Ok(file) = File::open(&path) else { continue };
        // Removed only while it is locked here: a living owner holds its lock, and one that has just made its file looks again. A shared
        // lock, so that nobody who asks about this owner takes it for living.
        if file.try_lock_shared().is_ok() && is_at(&path, &file).unwrap_or(false) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether the process behind `name` still lives. When that cannot be told, it does: taking over a live agent is worse
/// than waiting for a dead one.
pub(crate) fn is_alive(directory: &Path, name: &str) -> bool {
    let path = lock_path(directory, name);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
    };
    // A shared lock, so that two who ask at the same time do not take each other for the owner.
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = fs::remove_file(&path);
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

fn lock_path(directory: &Path, name: &str) -> PathBuf {
    let file: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    directory.join(format!("{file}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lives_until_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let owner = Owner::register(directory.path(), [1; 16]).unwrap();
        let name = owner.name().to_owned();
        assert!(is_alive(directory.path(), &name));
        drop(owner);
        assert!(!is_alive(directory.path(), &name));
    }

    #[test]
    fn the_files_of_the_dead_are_swept_and_those_of_the_living_stay() {
        let directory = tempfile::tempdir().unwrap();
        let owner = Owner::register(directory.path(), [1; 16]).unwrap();
        let dead = lock_path(directory.path(), "process 1-x");
        fs::write(&dead, "").unwrap();
        fs::write(directory.path().join("other"), "").unwrap();
        sweep_owners(directory.path());
        assert!(is_alive(directory.path(), owner.name()));
        assert!(!dead.exists() && directory.path().join("other").exists());
        drop(owner);
        sweep_owners(directory.path());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        sweep_owners(&directory.path().join("none"));
    }

    #[test]
    fn owners_that_register_while_others_sweep_stay_alive() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        std::thread::scope(|scope| {
            let sweeper = scope.spawn(|| (0..2_000).for_each(|_| sweep_owners(path)));
            for round in 0_u32.. {
                let [a, b, c, d] = round.to_be_bytes();
                let random = [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                let owner = Owner::register(path, random).unwrap();
                assert!(is_alive(path, owner.name()), "round {round}");
                if sweeper.is_finished() {
                    break;
                }
            }
        });
    }

    #[test]
    fn a_lock_file_that_nobody_holds_means_dead_and_is_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let path = lock_path(directory.path(), "process 1-x");
        fs::write(&path, "").unwrap();
        assert!(!is_alive(directory.path(), "process 1-x"));
        assert!(!path.exists());
    }
}
