//! What there is to make worktrees with: the git program, and a file system that shares content.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use crate::error::WorktreeError;
use crate::git::Git;

/// The version of the git program, where there is one that is new enough.
pub fn git_version() -> Result<String, WorktreeError> {
    Git::at(Path::new("/")).version()
}

/// Whether files in a directory can share their content until one of them changes, so that copies cost nothing. Tries it, and leaves
/// nothing behind.
pub fn shares_content(directory: &Path) -> io::Result<bool> {
    let scratch = tempfile::Builder::new().prefix(".tine-").tempdir_in(directory)?;
    let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
    let mut source = File::create_new(from)?;
    source.write_all(b"shared")?;
    let goal = File::create_new(to)?;
    Ok(rustix::fs::ioctl_ficlone(&goal, &source).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        shares_content(directory.path()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(shares_content(&directory.path().join("none")).is_err());
    }

    #[test]
    fn the_version_of_git_is_told() {
        assert!(git_version().unwrap().starts_with(|first: char| first.is_ascii_digit()));
    }
}
