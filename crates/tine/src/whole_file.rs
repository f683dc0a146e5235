//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Writes a file in one step: whoever reads it sees the old text or the new one, and a full disk costs neither. What is
/// no regular file (a pipe, a device) is written to directly.
pub(crate) fn write_file(path: &Path, text: &str) -> io::Result<()> {
    // A link is followed, not replaced.
    let path = match fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    match fs::metadata(&path) {
        Ok(there) if !there.is_file() => {
            fs::OpenOptions::new().write(true).open(&path)?.write_all(text.as_bytes())
        }
        Ok(there) => replace(&path, text, Some(there.permissions())),
        Err(_) => replace(&path, text, None),
    }
}

/// Writes a file that nobody but its owner reads, in one step.
pub(crate) fn write_private_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    replace(path, text, Some(fs::Permissions::from_mode(0o600)))
}

fn replace(path: &Path, text: &str, permissions: Option<fs::Permissions>) -> io::Result<()> {
    let next = beside(path);
    let written = File::create_new(&next).and_then(|mut file| {
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, path)
    });
    if written.is_err() {
        // The first error is the one that matters.
        let _ = fs::remove_file(&next);
    }
    written
}

/// A name in the same directory that no other process uses.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_a_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("a"), directory.path().join("b"));
        write_file(&file, "one").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&file, &link).unwrap();
        #[cfg(not(unix))]
        fs::hard_link(&file, &link).unwrap();
        write_file(&link, "two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        assert!(write_file(directory.path(), "x").is_err());
        assert!(write_file(&directory.path().join("none/x"), "x").is_err());
    }
}
