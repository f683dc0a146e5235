//! Where changes of one checkout are prepared and carried out, one at a time.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
        let own = repository.git_dir().join("tine");
        make(&own)?;
        let file = own.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&file);
        let lock = lock.map_err(|source| WorktreeError::file("open", &file, source))?;
        lock.lock().map_err(|source| WorktreeError::file("lock", &file, source))?;
        let home = match device(&own)? == device(repository.top())? {
            true => own.clone(),
            false => repository.top().join(BESIDE),
        };
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

    /// Makes an empty place for a change to be prepared in.
    pub(crate) fn prepare(&self) -> Result<PathBuf, WorktreeError> {
        self.clear()?;
        let making = self.making();
        make(&making)?;
        if self.home != self.own {
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
        if self.home != self.own {
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

fn make(folder: &Path) -> Result<(), WorktreeError> {
    fs::create_dir_all(folder)
        .map_err(|source| WorktreeError::file("make the directory", folder, source))
}

fn remove(path: &Path) -> Result<(), WorktreeError> {
    let gone = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
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
