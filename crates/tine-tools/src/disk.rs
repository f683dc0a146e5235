//! Reading a file whole and replacing it in one step.
//!
//! A reader sees the old content or the new one, never half of it. Nothing here knows what an agent
//! has read; the tools check that before they write.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::tool::Failure;

/// The largest file that is read whole. Anything larger is data, for which Grep and Bash are made.
pub(crate) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A regular file with its content, at the path without symbolic links.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) real: PathBuf,
    pub(crate) content: Vec<u8>,
    metadata: Metadata,
}

/// Reads the file at `path`; `None` if nothing is there. `shown` is the path for messages.
pub(crate) fn find(path: &Path, shown: &str) -> Result<Option<Existing>, Failure> {
    if let Err(error) = fs::symlink_metadata(path) {
        return match error.kind() {
            ErrorKind::NotFound => Ok(None),
            _ => Err(failure("read", shown, &error)),
        };
    }
    let real = fs::canonicalize(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Failure::new(format!("`{shown}` is a symbolic link to something that does not exist"))
        }
        _ => failure("read", shown, &error),
    })?;
    let metadata = fs::metadata(&real).map_err(|error| failure("read", shown, &error))?;
    if metadata.is_dir() {
        return Err(Failure::new(format!("`{shown}` is a directory; use Glob to list its files")));
    }
    if !metadata.is_file() {
        return Err(Failure::new(format!("`{shown}` is not a regular file")));
    }
    let content = read_limited(&real, shown)?;
    Ok(Some(Existing { real, content, metadata }))
}

/// Reads at most the limit, whatever the size was said to be: a file may grow while it is read.
fn read_limited(real: &Path, shown: &str) -> Result<Vec<u8>, Failure> {
    let file = File::open(real).map_err(|error| failure("read", shown, &error))?;
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut content)
        .map_err(|error| failure("read", shown, &error))?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::new(format!(
            "`{shown}` is larger than {} MiB; search it with Grep, or print a part of it with Bash",
            FILE_BYTES_MAX / (1024 * 1024)
        )));
    }
    Ok(content)
}

/// Replaces the content of a file that `find` has found; its permissions stay.
pub(crate) fn replace(existing: &Existing, content: &[u8], shown: &str) -> Result<(), Failure> {
    if existing.metadata.permissions().readonly() {
        return Err(Failure::new(format!("cannot write `{shown}`: the file is read-only")));
    }
    let write = || {
        let temporary = Temporary::create(&existing.real, content, Some(&existing.metadata))?;
        temporary.rename_to(&existing.real)
    };
    write().map_err(|error| failure("write", shown, &error))
}

/// Writes a file where none was, with the folders above it. A file that appeared meanwhile is left
/// alone. Returns the path without symbolic links.
pub(crate) fn create(path: &Path, content: &[u8], shown: &str) -> Result<PathBuf, Failure> {
    let write = || {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Temporary::create(path, content, None)?.link_to(path)?;
        fs::canonicalize(path)
    };
    write().map_err(|error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(format!(
            "cannot write `{shown}`: it came into being just now; read it with FileRead first"
        )),
        _ => failure("write", shown, &error),
    })
}

/// An input/output error in words.
pub(crate) fn failure(verb: &str, shown: &str, error: &io::Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => "the permission is missing".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is a file, not a directory".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(format!("cannot {verb} `{shown}`: {reason}"))
}

/// Tells the temporary files of this process apart.
static TEMPORARY_NUMBER: AtomicU64 = AtomicU64::new(0);

/// Names that are tried before giving up; only a crashed process with the same id can hold one.
const TEMPORARY_TRIES_MAX: u32 = 100;

/// A written file beside its goal, removed on drop unless it was moved there.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn create(goal: &Path, content: &[u8], like: Option<&Metadata>) -> io::Result<Self> {
        let folder = goal.parent().unwrap_or(Path::new("/"));
        let (mut file, temporary) = Self::open(folder, like.is_some())?;
        file.write_all(content)?;
        if let Some(metadata) = like {
            file.set_permissions(metadata.permissions())?;
        }
        file.sync_data()?;
        Ok(temporary)
    }

    /// `private` keeps others out until the final permissions are set.
    fn open(folder: &Path, private: bool) -> io::Result<(File, Self)> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(if private { 0o600 } else { 0o666 });
        let mut tries = 0;
        loop {
            let number = TEMPORARY_NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".tine-{}-{number}.tmp", std::process::id()));
            match options.open(&path) {
                Ok(file) => return Ok((file, Self(Some(path)))),
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Err(error) if tries >= TEMPORARY_TRIES_MAX => {
                    return Err(io::Error::other(error.to_string()));
                }
                Err(_) => tries += 1,
            }
        }
    }

    fn rename_to(mut self, goal: &Path) -> io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, goal)?;
        }
        self.0 = None;
        Ok(())
    }

    /// Moves the file to a free name. Linking fails where the name is taken, renaming would not;
    /// file systems without hard links get the rename.
    fn link_to(self, goal: &Path) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        match fs::hard_link(path, goal) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(_) => self.rename_to(goal),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nobody is left to be told, and the name says whose it was.
            drop(fs::remove_file(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn replacing_keeps_permissions_and_goes_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("run.sh"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
        symlink(&file, &link).unwrap();

        let existing = find(&link, "link").unwrap().unwrap();
        replace(&existing, b"new", "link").unwrap();

        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o751);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(folder.path()), ["link", "run.sh"]);
    }

    #[test]
    fn creating_never_overwrites_and_leaves_no_rest() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/new");
        create(&file, b"1", "new").unwrap();
        let second = create(&file, b"2", "new").unwrap_err();
        let expected =
            "cannot write `new`: it came into being just now; read it with FileRead first";
        assert_eq!(second, Failure::new(expected));
        assert_eq!(fs::read(&file).unwrap(), b"1");
        assert_eq!(names(file.parent().unwrap()), ["new"]);
    }

    #[test]
    fn a_dangling_link_and_a_read_only_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        symlink(folder.path().join("nothing"), &link).unwrap();
        let expected = "`link` is a symbolic link to something that does not exist";
        assert_eq!(find(&link, "link").unwrap_err(), Failure::new(expected));

        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        let existing = find(&file, "file").unwrap().unwrap();
        let expected = "cannot write `file`: the file is read-only";
        assert_eq!(replace(&existing, b"y", "file").unwrap_err(), Failure::new(expected));
    }
}
