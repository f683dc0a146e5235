//! A look at what a command would read that goes through a folder, before it runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

/// Entries that one look takes in.
pub const SWEEP_ENTRIES_MAX: usize = 200_000;

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swept {
    /// No such file.
    Nothing,
    /// The first such file, in path order within its folder.
    Found(PathBuf),
    /// None so far, but the look came to no end: there are more than [`SWEEP_ENTRIES_MAX`] entries, or the folder was exchanged meanwhile.
    Unknown,
}

/// Looks for a file below a folder that `is_meant`. `all` looks at hidden and ignored files, too, as `grep -r` does and `rg` does not.
/// Links are not followed; `.git` is passed over.
pub fn sweep(folder: &Path, all: bool, is_meant: impl Fn(&Path) -> bool) -> Swept {
    let mut builder = WalkBuilder::new(folder);
    builder.standard_filters(!all).follow_links(false).sort_by_file_name(Ord::cmp);
    builder.filter_entry(|entry| entry.file_name() != ".git");
    let mut walk = builder.build();
    for number in 0.. {
        // The library panics where its root becomes a link, or is one no longer, between two of its looks.
        let entry = match catch_unwind(AssertUnwindSafe(|| walk.next())) {
            Ok(None) => break,
            Ok(Some(entry)) if number < SWEEP_ENTRIES_MAX => entry,
            Ok(Some(_)) | Err(_) => return Swept::Unknown,
        };
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| !kind.is_dir()) && is_meant(entry.path()) {
            return Swept::Found(entry.into_path());
        }
    }
    Swept::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_finds_what_the_search_would_print() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["src/a.rs", "deploy/.env", "deploy/id_rsa", ".git/x.key"] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let look = |folder: &str, all| sweep(&root.join(folder), all, tine_guard::is_secret);
        assert_eq!(look("", true), Swept::Found(root.join("deploy/.env")));
        assert_eq!(look("", false), Swept::Found(root.join("deploy/id_rsa")));
        assert_eq!(look("src", true), Swept::Nothing);
        std::fs::write(root.join(".ignore"), "id_rsa").unwrap();
        assert_eq!(look("", false), Swept::Nothing);
    }
}
