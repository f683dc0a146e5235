//! Copying the files of a checkout, several at a time: copy-on-write where the file system has it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps, utimensat};

use crate::error::WorktreeError;
use crate::exact::permissions;
use crate::fault;

/// Most threads of one copy. More than the disk can serve would only wait.
const THREADS_MAX: usize = 8;

/// Fewest files that are worth a thread of their own.
const FILES_A_THREAD: usize = 256;

/// Files up to this size are read and written at once: less to ask the system for than to let it copy them.
const SMALL_BYTES_MAX: u64 = 64 * 1024;

/// A file is copied with its content, its permissions and its time, so that builds that go by times see nothing new.
struct Copying<'a> {
    from: &'a Path,
    to: &'a Path,
    files: &'a [PathBuf],
    next: AtomicUsize,
    /// Whether the file system has said that it cannot share content.
    copies: AtomicBool,
}

/// Copies `files`, relative to `from`, to the same places below `to`. What is not there any more is left out.
pub(crate) fn copy(from: &Path, to: &Path, files: &[PathBuf]) -> Result<(), WorktreeError> {
    let (next, copies) = (AtomicUsize::new(0), AtomicBool::new(false));
    let copying = Copying { from, to, files, next, copies };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = (files.len() / FILES_A_THREAD + 1).min(cores).min(THREADS_MAX);
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| copying.go())).collect();
        let mine = copying.go();
        let others = others.into_iter().map(|other| match other.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        others.fold(mine, Result::and)
    })
}

impl Copying<'_> {
    fn go(&self) -> Result<(), WorktreeError> {
        let mut made = PathBuf::new();
        while let Some(file) = self.files.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let (from, to) = (self.from.join(file), self.to.join(file));
            if let Some(folder) = to.parent().filter(|folder| *folder != made) {
                fault::step()
                    .and_then(|()| fs::create_dir_all(folder))
                    .map_err(|source| WorktreeError::file("make the directory", folder, source))?;
                made = folder.to_owned();
            }
            match self.one(&from, &to) {
                Ok(()) => {}
                // Deleted, but still in the index, or removed this moment.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(source) => return Err(WorktreeError::file("copy", &from, source)),
            }
        }
        Ok(())
    }

    fn one(&self, from: &Path, to: &Path) -> io::Result<()> {
        fault::step()?;
        let about = fs::symlink_metadata(from)?;
        if about.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
        } else if about.is_file() {
            // Whatever took its place by now is not followed, and not waited for.
            let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
            let source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
            let mode = permissions(&about);
            let goal = OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
            fault::step()?;
            self.content(source, &goal, about.len())?;
            // The mask that takes permissions from new files does not hold for copies.
            goal.set_permissions(fs::Permissions::from_mode(mode))?;
        } else {
            return Ok(());
        }
        let modified = Timespec { tv_sec: about.mtime(), tv_nsec: about.mtime_nsec() };
        let times = Timestamps { last_access: modified, last_modification: modified };
        fault::step()?;
        utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(())
    }

    fn content(&self, mut source: File, mut goal: &File, bytes: u64) -> io::Result<()> {
        if !self.copies.load(Ordering::Relaxed) {
            match rustix::fs::ioctl_ficlone(goal, &source) {
                Ok(()) => return Ok(()),
                Err(_) => self.copies.store(true, Ordering::Relaxed),
            }
        }
        if bytes > SMALL_BYTES_MAX {
            return io::copy(&mut source, &mut goal).map(drop);
        }
        // Should it grow meanwhile, it has another size than git knows, and is copied again.
        let mut content =
            Vec::with_capacity(SMALL_BYTES_MAX.min(bytes + 1).try_into().unwrap_or(0));
        source.take(SMALL_BYTES_MAX).read_to_end(&mut content)?;
        goal.write_all(&content)
    }
}
