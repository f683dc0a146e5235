//! Looks at files from outside, before and after, and tells what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// One file as it is: everything that a command could change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    content: Vec<u8>,
}

/// A directory tree as it is.
#[derive(Debug, Clone)]
pub(crate) struct Look(BTreeMap<PathBuf, Seen>);

impl Look {
    /// Looks at everything below `root` but these.
    pub(crate) fn without(root: &Path, without: &[PathBuf]) -> Self {
        let mut seen = BTreeMap::new();
        let mut left = vec![root.to_owned()];
        while let Some(path) = left.pop() {
            if without.contains(&path) {
                continue;
            }
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let mut content = Vec::new();
            if metadata.is_dir() {
                left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if metadata.is_file() {
                content = std::fs::read(&path).unwrap();
            } else if metadata.is_symlink() {
                content = std::fs::read_link(&path).unwrap().into_os_string().into_vec();
            }
            let one = Seen {
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                links: metadata.nlink(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
                content,
            };
            seen.insert(path, one);
        }
        Self(seen)
    }

    /// Paths that differ.
    pub(crate) fn changes(&self, after: &Self) -> BTreeSet<PathBuf> {
        let all = self.0.keys().chain(after.0.keys());
        all.filter(|path| self.0.get(*path) != after.0.get(*path)).cloned().collect()
    }
}

/// Device files below a directory.
pub(crate) fn devices(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(kind) = path.symlink_metadata().map(|metadata| metadata.file_type()) else {
            continue;
        };
        if kind.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if kind.is_char_device() || kind.is_block_device() {
            found.push(path);
        }
    }
    found
}
