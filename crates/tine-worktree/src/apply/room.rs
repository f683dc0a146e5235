//! Where changes of one checkout are prepared and carried out, one at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::journal::Journal;
use super::mend::{Mended, mend};
use crate::error::WorktreeError;
use crate::repository::Repository;

/// Where journals lie when the checkout is on another file system than git's part of it. Git sees nothing of it.
const BESIDE: &str = ".tine-change";

/// The right to change a checkout. Holds a lock until it is dropped, and until git commands that share it have ended.
pub(crate) struct Room {
    /// The lock, for commands that must not outlive it unnoticed.
    pub(crate) lock: Arc<File>,
    own: PathBuf,
    home: PathBuf,
    /// What became of an earlier change that was cut short.
    pub(crate) mended: Option<Mended>,
}

impl Room {
    /// Waits for the right, and mends what was cut short.
    pub(crate) fn enter(repository: &Repository) -> Result<Self, WorktreeError> {
        let (own, file, lock) = Self::open(repository)?;
        lock.lock().map_err(|source| WorktreeError::file("lock", &file, source))?;
        Self::entered(repository, own, lock)
    }

    /// Enters without waiting; `None` where somebody else has the right.
    pub(crate) fn try_enter(repository: &Repository) -> Result<Option<Self>, WorktreeError> {
        let (own, file, lock) = Self::open(repository)?;
        match lock.try_lock() {
            Ok(()) => Self::entered(repository, own, lock).map(Some),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(WorktreeError::file("lock", &file, source)),
        }
    }

    fn open(repository: &Repository) -> Result<(PathBuf, PathBuf, File), WorktreeError> {
        let own = repository.room();
        make(&own)?;
        let file = own.join("lock");
        // A link or a pipe in its place is none of ours.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .custom_flags(flags)
            .open(&file);
        let lock = lock.map_err(|source| WorktreeError::file("open", &file, source))?;
        Ok((own, file, lock))
    }

    fn entered(repository: &Repository, own: PathBuf, lock: File) -> Result<Self, WorktreeError> {
        let home = if device(&own)? == device(repository.top())? {
            own.clone()
        } else {
            repository.top().join(BESIDE)
        };
        refuse_link(&home)?;
        let mut room = Self { lock: Arc::new(lock), own, home, mended: None };
        room.mended = mend(repository, &room)?;
        Ok(room)
    }

    /// Where a change is prepared. Nothing of it counts.
    pub(crate) fn making(&self) -> PathBuf {
        self.home.join("making")
    }

    /// Where the change is that is being carried out.
    pub(crate) fn change(&self) -> PathBuf {
        self.home.join("change")
    }

    /// The index that is to be, on the file system of the index that is.
    pub(crate) fn index(&self) -> PathBuf {
        self.own.join("index")
    }

    /// What says of a journal that lies in the checkout itself, where others write, that it is ours.
    fn seal(&self) -> PathBuf {
        self.own.join("seal")
    }

    /// Writes a journal into what is being prepared.
    pub(crate) fn write_journal(&self, journal: &Journal) -> Result<(), WorktreeError> {
        let bytes = journal.to_bytes();
        if self.is_beside() {
            let seal = blake3::hash(&bytes).to_hex();
            write(&self.seal(), seal.as_bytes())?;
            let sync = || File::open(&self.own)?.sync_all();
            sync().map_err(|source| WorktreeError::file("sync", &self.own, source))?;
        }
        write(&self.making().join("journal"), &bytes)
    }

    /// The journal of the change that is being carried out; `None` where that is none of ours.
    pub(crate) fn journal(&self) -> Result<Option<Journal>, WorktreeError> {
        let file = self.change().join("journal");
        let wrong = |source| WorktreeError::file("read", &file, source);
        let Some(bytes) = read(&file).map_err(wrong)? else { return Ok(None) };
        if self.is_beside() {
            let seal = read(&self.seal()).map_err(wrong)?;
            if seal.as_deref() != Some(blake3::hash(&bytes).to_hex().as_bytes()) {
                return Ok(None);
            }
        }
        Ok(Journal::parse(&bytes))
    }

    /// Whether changes lie in the checkout itself.
    pub(crate) fn is_beside(&self) -> bool {
        self.home != self.own
    }

    /// Removes a change that is none of ours, without a look at what it says.
    pub(crate) fn remove_change(&self) -> Result<(), WorktreeError> {
        remove(&self.change())?;
        self.clear()
    }

    /// Makes an empty place for a change to be prepared in.
    pub(crate) fn prepare(&self) -> Result<PathBuf, WorktreeError> {
        self.clear()?;
        let making = self.making();
        make(&making)?;
        if self.is_beside() {
            let ignore = self.home.join(".gitignore");
            fs::write(&ignore, "*\n")
                .map_err(|source| WorktreeError::file("write", &ignore, source))?;
        }
        Ok(making)
    }

    /// From here on the change must be finished or taken back.
    pub(crate) fn begin(&self) -> Result<(), WorktreeError> {
        self.rename(&self.making(), &self.change())
    }

    /// From here on the change is over.
    pub(crate) fn end(&self) -> Result<(), WorktreeError> {
        self.rename(&self.change(), &self.making())?;
        self.clear()
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), WorktreeError> {
        let go = || {
            fs::rename(from, to)?;
            File::open(&self.home)?.sync_all()
        };
        go().map_err(|source| WorktreeError::file("rename", from, source))
    }

    /// Removes what was prepared and never counted, or does no longer.
    pub(crate) fn clear(&self) -> Result<(), WorktreeError> {
        remove(&self.making())?;
        remove(&self.index())?;
        remove(&self.seal())?;
        if self.is_beside() {
            remove(&self.home)?;
        }
        Ok(())
    }

    /// A new place for files that are kept for somebody to look at.
    pub(crate) fn keep(&self) -> Result<PathBuf, WorktreeError> {
        let free = (1_u64..).map(|number| self.home_for_kept(number)).find(|path| !path.exists());
        let place = free.unwrap_or_else(|| self.home_for_kept(0));
        make(&place)?;
        Ok(place)
    }

    fn home_for_kept(&self, number: u64) -> PathBuf {
        self.own.join(format!("kept-{number}"))
    }
}

/// Makes a directory, and those above it.
pub(super) fn make(folder: &Path) -> Result<(), WorktreeError> {
    fs::create_dir_all(folder)
        .map_err(|source| WorktreeError::file("make the directory", folder, source))
}

/// Refuses a place of ours that somebody has put elsewhere.
fn refuse_link(path: &Path) -> Result<(), WorktreeError> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_dir() => {
            Err(WorktreeError::file("use", path, ErrorKind::NotADirectory.into()))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), WorktreeError> {
    let write = || {
        fs::write(file, bytes)?;
        File::open(file)?.sync_all()
    };
    write().map_err(|source| WorktreeError::file("write", file, source))
}

/// A file that is neither a link nor anything that waits; `None` where there is none.
fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(file) {
        Ok(about) if about.is_file() => fs::read(file).map(Some),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> Result<(), WorktreeError> {
    let gone = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(WorktreeError::file("remove", path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn device(path: &Path) -> Result<u64, WorktreeError> {
    let about =
        fs::metadata(path).map_err(|source| WorktreeError::file("look at", path, source))?;
    Ok(about.dev())
}
