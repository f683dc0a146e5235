//! The files of a directory at one time, to see whether a command changed any. Contents are not read.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is below a directory; `None` where there is too much of it, or not all could be seen.
pub(crate) struct Snapshot(Option<HashMap<PathBuf, Mark>>);

impl Snapshot {
    /// Looks at no more than `entries_max` entries, and follows no links. Blocks.
    pub(super) fn take(directory: &Path, entries_max: usize) -> Self {
        // Where something cannot be read, nothing can be said of it.
        Self(entries(directory, entries_max).unwrap_or_default())
    }

    /// Returns true if all files could be seen.
    pub(super) fn is_complete(&self) -> bool {
        self.0.is_some()
    }

    /// Returns true if all files could be seen both times, and none of them has changed.
    pub(super) fn is_unchanged(&self, after: &Self) -> bool {
        self.is_complete() && self.0 == after.0
    }
}

/// What is compared of an entry.
#[derive(PartialEq, Eq)]
struct Mark {
    file: (u64, u64),
    mode: u32,
    owner: (u32, u32),
    /// The size and the time of the last change, which programs cannot set back. `None` for a directory: there both only say that
    /// its entries changed, and those are compared themselves.
    content: Option<(u64, i64, i64)>,
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        let content = (metadata.size(), metadata.ctime(), metadata.ctime_nsec());
        Self {
            file: (metadata.dev(), metadata.ino()),
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            content: (!metadata.is_dir()).then_some(content),
        }
    }
}

/// Returns `None` for more than `entries_max`.
fn entries(directory: &Path, entries_max: usize) -> io::Result<Option<HashMap<PathBuf, Mark>>> {
    let mut seen = HashMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            // Otherwise it is gone since its folder was read.
            let Ok(metadata) = entry.metadata() else { continue };
            if seen.len() == entries_max {
                return Ok(None);
            }
            if metadata.is_dir() {
                left.push(entry.path());
            }
            seen.insert(entry.path(), Mark::of(&metadata));
        }
    }
    Ok(Some(seen))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn is_unchanged_by(act: fn(&Path)) -> bool {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("folder")).unwrap();
        std::fs::write(root.path().join("folder/file"), "one").unwrap();
        let before = Snapshot::take(root.path(), 2);
        act(root.path());
        before.is_unchanged(&Snapshot::take(root.path(), 2))
    }

    #[test]
    fn every_change_of_a_file_is_seen() {
        assert!(is_unchanged_by(|_| {}));
        // What a command has taken away again leaves nothing that others could miss.
        assert!(is_unchanged_by(|root| {
            std::fs::write(root.join("folder/lock"), "").unwrap();
            std::fs::remove_file(root.join("folder/lock")).unwrap();
        }));
        let changes: [fn(&Path); 5] = [
            |root| std::fs::write(root.join("folder/file"), "more").unwrap(),
            |root| std::fs::remove_file(root.join("folder/file")).unwrap(),
            |root| std::fs::rename(root.join("folder/file"), root.join("file")).unwrap(),
            |root| {
                let mode = PermissionsExt::from_mode(0o700);
                std::fs::set_permissions(root.join("folder"), mode).unwrap();
            },
            |root| {
                std::fs::write(root.join("other"), "two").unwrap();
                std::fs::rename(root.join("other"), root.join("folder/file")).unwrap();
            },
        ];
        for (at, change) in changes.into_iter().enumerate() {
            assert!(!is_unchanged_by(change), "change {at}");
        }
    }

    #[test]
    fn too_many_files_prove_nothing() {
        let root = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        let look = |entries_max| Snapshot::take(root.path(), entries_max);
        assert!(look(2).is_complete() && look(2).is_unchanged(&look(2)));
        assert!(!look(1).is_complete() && !look(1).is_unchanged(&look(1)));
        let none = root.path().join("none");
        assert!(!Snapshot::take(&none, 2).is_complete());
    }
}
