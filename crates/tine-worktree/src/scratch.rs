//! Throw-away copies of an index: git looks at a checkout through them, and the checkout's own stays as it is.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use crate::error::WorktreeError;
use crate::fault;
use crate::git::Git;
use crate::index;
use crate::repository::Repository;
use crate::wary;

/// How long the name of an object is in an index, by either hash; an index is read by one of them only.
const HASH_BYTES: [usize; 2] = [20, 32];

/// Nothing is there.
fn gone<T>(error: io::Error) -> io::Result<Option<T>> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(None),
        _ => Err(error),
    }
}

/// The number of the next directory of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Throw-away copies of an index, gone when this is dropped.
///
/// The directory has the name of those that commands get for temporary files, `tine-PROCESS-NUMBER`, and is locked as they are: what a
/// killed process leaves goes with what it has left of them.
pub(crate) struct Scratch {
    directory: TempDir,
    /// Held open, and so locked.
    _lock: File,
}

impl Scratch {
    pub(crate) fn new() -> Result<Self, WorktreeError> {
        let failed =
            |source| WorktreeError::file("make a directory in", &std::env::temp_dir(), source);
        // For nobody else's eyes.
        let mode = fs::Permissions::from_mode(0o700);
        loop {
            let name =
                format!("tine-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let directory = match tempfile::Builder::new()
                .prefix(&name)
                .rand_bytes(0)
                .permissions(mode.clone())
                .tempdir()
            {
                Ok(directory) => directory,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed(error)),
            };
            // Whoever clears up may have met it before it was locked.
            let Ok(lock) = File::open(directory.path()) else { continue };
            lock.lock().map_err(failed)?;
            if directory.path().exists() {
                return Ok(Self { directory, _lock: lock });
            }
        }
    }

    /// Copies the index of a checkout.
    pub(crate) fn copy_from(&self, checkout: &Repository) -> Result<(), WorktreeError> {
        copy_index(&checkout.index(), &self.index())?;
        // Written anew as one whole file, without what belongs to the checkout alone.
        let whole = ["--no-split-index", "--no-untracked-cache", "--no-fsmonitor"];
        let git = if checkout.is_obeyed() { checkout.git() } else { self.beside_shared(checkout)? };
        let git = git.with_index(&self.index());
        git.run(["update-index", "--force-write-index"].into_iter().chain(whole)).map(drop)
    }

    /// Git for an index that lies partly in a file beside it. Git looks for that file where HEAD is, which is not to be obeyed in
    /// such a checkout: so it gets a place of its own, with a copy of that file and nothing else of the worker's.
    fn beside_shared(&self, checkout: &Repository) -> Result<Git, WorktreeError> {
        let git = checkout.git();
        let failed = |source| WorktreeError::file("read the index", &self.index(), source);
        let Some(bytes) = wary::read(&self.index(), wary::INDEX_BYTES_MAX)
            .map(Some)
            .or_else(gone)
            .map_err(failed)?
        else {
            return Ok(git);
        };
        let shared = HASH_BYTES.iter().find_map(|length| index::shared_name(&bytes, *length));
        let Some(shared) = shared else { return Ok(git) };
        let place = self.directory.path().join("beside");
        let make = || {
            fault::step()?;
            fs::create_dir(&place)?;
            fs::write(place.join("HEAD"), "ref: refs/heads/tine\n")?;
            let mut common = checkout.common_dir().as_os_str().as_encoded_bytes().to_vec();
            common.push(b'\n');
            fs::write(place.join("commondir"), common)
        };
        make().map_err(|source| WorktreeError::file("write in", &place, source))?;
        let from = checkout.git_dir().join(&shared);
        copy_index(&from, &place.join(&shared))?;
        Ok(git.with("GIT_DIR", place.as_os_str()))
    }

    /// A file or a directory beside the copies.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The copy that is as the checkout's index is.
    pub(crate) fn index(&self) -> PathBuf {
        self.directory.path().join("index")
    }

    /// The copy that has every file.
    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }
}

/// Copies an index with its time, by which git knows which files may have changed since without a trace. There is none before the
/// first file was added.
pub(crate) fn copy_index(from: &Path, to: &Path) -> Result<(), WorktreeError> {
    let copy = || {
        fault::step()?;
        let source = wary::open(from, wary::INDEX_BYTES_MAX)?;
        let modified = source.metadata()?.modified()?;
        let mut goal = File::create(to)?;
        io::copy(&mut source.take(wary::INDEX_BYTES_MAX), &mut goal)?;
        goal.set_modified(modified)
    };
    match copy() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|source| WorktreeError::file("read the index", from, source)),
    }
}
