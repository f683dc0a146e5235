//! Ignored files that were made in a worktree: results, perhaps, that nobody keeps.
//!
//! Nobody can tell a result from what a build leaves, but for directories that say of themselves that they are caches. So they are named
//! before a worktree goes. What stood there when the worktree began is what made it ready.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::WorktreeError;
use crate::fault;
use crate::git::{parts, path};
use crate::repository::Repository;
use crate::wary;
use crate::worktree::Worktree;

/// Files by which directories say that they are caches, and their first bytes: the mark that backup programs know
/// (<https://bford.info/cachedir/>), and that of Python's environments.
const CACHE_MARKS: [(&str, &[u8]); 2] =
    [("CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55"), ("pyvenv.cfg", b"")];

/// Directories that are caches by their names alone.
const CACHES: [&str; 2] = ["__pycache__", "node_modules"];

/// In git's own part of a worktree: what was ignored there when it began.
const BEGAN: &str = "tine-ignored";

/// Most bytes of that list. What is not in it is named once too often.
const BEGAN_BYTES_MAX: u64 = 1024 * 1024;

impl Repository {
    /// Ignored files, and directories with nothing else in them, relative to the top; such a path ends with a slash.
    fn ignored_there(&self) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let scratch = self.take_index()?;
        let git = self.git().with_index(&scratch.index());
        let list = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        Ok(parts(&git.run(list)?).map(path).collect())
    }

    fn is_cache(&self, folder: &Path) -> bool {
        let is_named = folder.file_name().is_some_and(|name| CACHES.iter().any(|it| name == *it));
        let is_marked = |(file, begins): &(&str, &[u8])| {
            let mark = wary::note(&self.top().join(folder).join(file));
            mark.is_ok_and(|mark| mark.starts_with(begins))
        };
        is_named || CACHE_MARKS.iter().any(is_marked)
    }
}

impl Worktree {
    /// Ignored files and directories that were made since the worktree began, but for caches and for what is kept of ignored files.
    pub fn made_ignored(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let repository = self.repository();
        let mut made = repository.ignored_there()?;
        if made.is_empty() {
            return Ok(Vec::new());
        }
        let began = wary::read(&repository.git_dir().join(BEGAN), BEGAN_BYTES_MAX);
        for known in parts(&began.unwrap_or_default()) {
            made.remove(&path(known));
        }
        let kept = self.included_now()?;
        made.retain(|found| !kept.contains(found) && !repository.is_cache(found));
        // A directory of which all is kept is named by its files.
        made.retain(|found| {
            !kept.iter().any(|kept| kept.starts_with(found))
                || !is_all_kept(repository.top(), found, &kept)
        });
        Ok(made.into_iter().collect())
    }

    /// Writes down what is ignored there by now: it came with making the worktree ready.
    pub(crate) fn begin_made(&self) -> Result<(), WorktreeError> {
        let there = self.repository().ignored_there()?;
        let file = self.repository().git_dir().join(BEGAN);
        let names = crate::git::joined(&there);
        fault::step()
            .and_then(|()| fs::write(&file, names))
            .map_err(|source| WorktreeError::file("write", &file, source))
    }
}

/// Returns true if every file of a directory is one of these.
fn is_all_kept(top: &Path, folder: &Path, kept: &BTreeSet<PathBuf>) -> bool {
    let Ok(entries) = fs::read_dir(top.join(folder)) else { return false };
    entries.flatten().all(|entry| {
        let path = folder.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => is_all_kept(top, &path, kept),
            Ok(_) | Err(_) => kept.contains(&path),
        }
    })
}
