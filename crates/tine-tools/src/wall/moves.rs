//! Moves of `HEAD` to another commit that left protected files as they were. Git takes a checkout for done where it could not replace a
//! file, and the next commit of everything would undo what the other commit holds.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::git;
use crate::beneath::open_regular;
use crate::linked::{Linked, nearest};

/// Bytes that are read of the log, behind where a command began. A line has some hundred.
const BYTES_MAX: u64 = 64 * 1024;

/// The log of the checkout that commands work in.
#[derive(Debug)]
pub(super) struct Moves {
    top: PathBuf,
    log: PathBuf,
    /// The log's length when the last command began.
    length: AtomicU64,
}

impl Moves {
    /// `None` where the directory lies in no checkout.
    pub(super) fn new(directory: &Path) -> Option<Self> {
        let (top, own) = nearest(directory)?;
        let own = Linked::around(directory).map_or(own, |linked| linked.administration);
        let log = own.join("logs/HEAD");
        Some(Self { top: top.to_owned(), length: AtomicU64::new(length(&log)), log })
    }

    /// Says that a command starts.
    pub(super) fn begin(&self) {
        self.length.store(length(&self.log), Ordering::Relaxed);
    }

    /// Those of the protected paths that a move since then would have changed, and that still are as the commit before holds them. Runs git
    /// where there was a move, and blocks.
    pub(super) fn left_behind(&self, protected: impl FnOnce() -> Vec<PathBuf>) -> Vec<PathBuf> {
        let before = self.length.load(Ordering::Relaxed);
        match self.moved(before) {
            Some((old, new)) if old != new => {
                git::left_behind(&self.top, (&old, &new), &protected())
            }
            _ => Vec::new(),
        }
    }

    /// The commits before and after what the log says behind its first bytes; `None` if nothing was moved.
    fn moved(&self, before: u64) -> Option<(String, String)> {
        if length(&self.log) <= before {
            return None;
        }
        let folder = std::fs::File::open(self.log.parent()?).ok()?;
        let (mut file, _) = open_regular(folder, self.log.file_name()?).ok()??;
        file.seek(SeekFrom::Start(before)).ok()?;
        let mut text = String::new();
        file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
        let mut lines = text.lines().map(|line| line.splitn(3, ' '));
        let (mut first, last) = (lines.next()?, lines.next_back());
        let (old, new) = (first.next()?, first.next()?);
        let new = match last {
            Some(mut last) => last.nth(1)?,
            None => new,
        };
        let is_commit = |name: &str| {
            matches!(name.len(), 40 | 64)
                && name.bytes().all(|byte| byte.is_ascii_hexdigit())
                && name.bytes().any(|byte| byte != b'0')
        };
        (is_commit(old) && is_commit(new)).then(|| (old.to_owned(), new.to_owned()))
    }
}

fn length(log: &Path) -> u64 {
    log.symlink_metadata().map_or(0, |about| about.len())
}
