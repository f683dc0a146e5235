//! Who holds a lease, and whether they still live.
//!
//! Every process that runs agents keeps one lock file locked for as long as it lives. The system releases the lock when
//! the process ends, however it ends, so a dead owner is known at once, without heartbeats, and a process id that is
//! used again fools nobody.

use std::fs::{self, File, OpenOptions, TryLockError};
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
        let lock = OpenOptions::new().create(true).append(true).open(&path).map_err(error)?;
        lock.lock().map_err(error)?;
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
    fn a_lock_file_that_nobody_holds_means_dead_and_is_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let path = lock_path(directory.path(), "process 1-x");
        fs::write(&path, "").unwrap();
        assert!(!is_alive(directory.path(), "process 1-x"));
        assert!(!path.exists());
    }
}
