//! A directory for temporary files that belongs to one run: nobody else may look into it, and it goes with the run.
//!
//! A process that is killed leaves its directories behind. Each is locked for as long as its run lives, and the system releases
//! the lock however that ends, so the next run knows surely which ones are nobody's any more, and clears them away.

use std::fs::{DirBuilder, File, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

/// Names that are tried: others of this process take one each, a crash may have left some.
const TRIES_MAX: u64 = 10_000;

/// The directory for temporary files that every system has.
const USUAL: &str = "/tmp";

/// What the names of such directories begin with.
const BEGINNING: &str = "tine-";

/// The mode of such a directory, with which nobody but its owner may look into it.
const MODE: u32 = 0o700;

/// Entries of the system's directory for temporary files that are looked at for what is left behind. Some milliseconds.
const LOOKED_AT_MAX: usize = 10_000;

/// Directories that one run clears away. Each may hold a whole build, and the run waits for it.
const CLEARED_MAX: usize = 8;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The directory; removed with all it holds when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Held open, and so locked.
    _lock: File,
}

impl Scratch {
    /// Makes one below `parent`, and clears away what dead runs have left there. The name may be guessed, but not taken over:
    /// making it fails where anything has it.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let parent = parent.canonicalize()?;
        clear(&parent);
        for _ in 0..TRIES_MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{BEGINNING}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(MODE).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            // Whoever clears up may have met it before it was locked.
            if let Some(lock) = locked(&path)? {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Makes one below `parent`, or where none can be made there, below the system's usual directory: a variable that leads nowhere keeps
    /// nothing from running. The error is that of `parent`.
    pub(super) fn somewhere(parent: &Path) -> io::Result<Self> {
        Self::new(parent).or_else(|error| Self::new(Path::new(USUAL)).map_err(|_| error))
    }

    /// Makes one below the system's usual directory, wherever a variable leads: that may be where agents write. Where none can be made there,
    /// below that of the variable.
    pub(super) fn apart() -> io::Result<Self> {
        Self::new(Path::new(USUAL)).or_else(|_| Self::new(&std::env::temp_dir()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in the system's own directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Locks a directory that was just made; `None` if somebody has taken it for left behind meanwhile.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let handle = match open(path) {
        Ok(handle) => handle,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match handle.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        // Where nothing can be locked, nobody can be sure of an end either, and so nothing is cleared away.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    Ok(is_at(&handle, path).then_some(handle))
}

/// Removes what killed processes have left in the system's directory for temporary files. Blocks.
pub fn clear_temporary() {
    if let Ok(parent) = std::env::temp_dir().canonicalize() {
        clear(&parent);
    }
}

/// Removes directories whose runs are surely gone. What goes wrong is left to the next run.
fn clear(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    let named = entries.take(LOOKED_AT_MAX).flatten().filter(|entry| is_name(&entry.file_name()));
    let mut cleared = 0;
    for path in named.map(|entry| entry.path()) {
        if cleared == CLEARED_MAX {
            return;
        }
        let Ok(handle) = open(&path) else { continue };
        let is_ours = handle.metadata().is_ok_and(|metadata| is_ours(&metadata));
        if !is_ours || handle.try_lock().is_err() || !is_at(&handle, &path) {
            continue;
        }
        // Follows no link. The lock is held meanwhile, so that nobody takes the name for its own.
        let _ = std::fs::remove_dir_all(&path);
        cleared += 1;
    }
}

/// Whether a name is one that a process has given: its number, and one of its own counting.
fn is_name(name: &std::ffi::OsStr) -> bool {
    let numbers = name.to_str().and_then(|name| name.strip_prefix(BEGINNING));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn is_ours(metadata: &Metadata) -> bool {
    metadata.is_dir()
        && metadata.mode() & 0o7777 == MODE
        && metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Opens a directory, and no link to one.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle: OwnedFd = rustix::fs::open(path, flags, Mode::empty())?;
    Ok(handle.into())
}

/// Whether the open directory is still the one at the path.
fn is_at(handle: &File, path: &Path) -> bool {
    let (Ok(held), Ok(there)) = (handle.metadata(), path.symlink_metadata()) else { return false };
    (held.dev(), held.ino()) == (there.dev(), there.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn make(path: &Path, mode: u32) {
        std::fs::create_dir(path).unwrap();
        std::fs::write(path.join("file"), "x").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_a_dead_run_left_is_cleared_away_and_nothing_else_is() {
        let root = tempfile::tempdir().unwrap();
        let parent = root.path();
        let living = Scratch::new(parent).unwrap();
        for (name, mode) in [
            ("tine-1-0", 0o700),
            ("tine-1-1", 0o755),
            ("tine-1-x", 0o700),
            ("tine-notes", 0o700),
            ("other-1-0", 0o700),
            ("target", 0o700),
        ] {
            make(&parent.join(name), mode);
        }
        symlink("target", parent.join("tine-2-0")).unwrap();
        symlink("../target", parent.join("tine-1-0/out")).unwrap();
        std::fs::write(parent.join("tine-3-0"), "a file").unwrap();
        let next = Scratch::new(parent).unwrap();
        assert!(!parent.join("tine-1-0").exists());
        for name in [
            "tine-1-1",
            "tine-1-x",
            "tine-notes",
            "other-1-0",
            "target/file",
            "tine-2-0",
            "tine-3-0",
        ] {
            assert!(parent.join(name).exists(), "{name}");
        }
        assert!(living.path().exists() && next.path().exists());
        let path = living.path().to_path_buf();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn one_run_clears_away_only_so_many() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..CLEARED_MAX + 3 {
            make(&root.path().join(format!("tine-1-{number}")), MODE);
        }
        clear(root.path());
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_directory_that_was_cleared_away_before_it_was_locked_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("tine-1-0");
        make(&path, MODE);
        let clearing = open(&path).unwrap();
        clearing.lock().unwrap();
        assert!(locked(&path).unwrap().is_none());
        std::fs::remove_dir_all(&path).unwrap();
        assert!(locked(&path).unwrap().is_none());
        make(&path, MODE);
        assert!(!is_at(&clearing, &path));
        assert!(locked(&path).unwrap().is_some());
    }
}
