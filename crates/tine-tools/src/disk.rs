//! Reading a file whole and replacing it in one step, below the handle of its folder.
//!
//! A reader sees the old content or the new one, never half of it. No link is followed here: a
//! [`Spot`] is where the judged path leads, and a link that stands there now is a change to be told.
//! Nothing here knows what an agent has read; the tools check that before they write.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::beneath::{is_folder, is_regular, look, met_a_link, open_regular};
use crate::ground::Spot;
use crate::tool::Failure;

/// The largest file that is read whole. Anything larger is data, for which Grep and Bash are made.
pub(crate) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A regular file with its content, and the folder it was opened in.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) content: Vec<u8>,
    folder: OwnedFd,
    name: OsString,
    permissions: Mode,
    /// Held open, and which one it is.
    file: File,
    stat: Stat,
}

/// Reads the file at a spot; `None` if nothing is there.
pub(crate) fn find(spot: &Spot) -> Result<Option<Existing>, Failure> {
    let shown = &spot.shown;
    let told = |error| failure("read", shown, &error);
    let Some((folder, name)) = folder_of(spot).map_err(told)? else { return Ok(None) };
    let Some(stat) = look(&folder, name).map_err(told)? else { return Ok(None) };
    if is_folder(&stat) {
        return Err(is_a_folder(shown));
    }
    let opened = open_regular(&folder, name).map_err(told)?;
    let Some((file, stat)) = opened else {
        return Err(Failure::new(format!("`{shown}` is not a regular file")));
    };
    let content = read_limited(&file, shown)?;
    // A program that runs as its owner no longer does once its content is another, as when it is written in place.
    let permissions = Mode::from_raw_mode(stat.st_mode) - Mode::SUID - Mode::SGID;
    Ok(Some(Existing { content, folder, name: name.to_owned(), permissions, file, stat }))
}

/// Opens the regular file at a spot to be read in parts; `None` if something else is there.
pub(crate) fn open(spot: &Spot) -> Result<Option<File>, Failure> {
    let told = |error| failure("read", &spot.shown, &error);
    let Some((folder, name)) = folder_of(spot).map_err(told)? else {
        return Err(told(Errno::NOENT.into()));
    };
    Ok(open_regular(folder, name).map_err(told)?.map(|(file, _)| file))
}

/// The folder that a spot is in, and its name there; `None` if there is no such folder.
fn folder_of(spot: &Spot) -> io::Result<Option<(OwnedFd, &OsStr)>> {
    let (root, below) = spot.parts();
    let Some(name) = below.file_name() else {
        // The held directory itself, for which there is no folder to look from.
        return Err(Errno::ISDIR.into());
    };
    match root.folder(below.parent().unwrap_or(Path::new(""))) {
        Ok(folder) => Ok(Some((folder, name))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What stands at a spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File,
    Other,
}

/// What stands at a spot; `verb` is for the message that nothing does.
pub(crate) fn kind(spot: &Spot, verb: &str) -> Result<Kind, Failure> {
    let (root, below) = spot.parts();
    let seen = match below.file_name() {
        None => return Ok(Kind::Folder),
        Some(name) => root
            .folder(below.parent().unwrap_or(Path::new("")))
            .and_then(|folder| look(folder, name)?.ok_or_else(|| Errno::NOENT.into())),
    };
    let stat = seen.map_err(|error| failure(verb, &spot.shown, &error))?;
    if is_folder(&stat) {
        return Ok(Kind::Folder);
    }
    Ok(if is_regular(&stat) { Kind::File } else { Kind::Other })
}

/// Reads at most the limit, whatever the size was said to be: a file may grow while it is read.
fn read_limited(file: &File, shown: &str) -> Result<Vec<u8>, Failure> {
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

/// Replaces a file that `find` has found, in the folder where it was found; its permissions stay. The
/// name gets a new file, so content that other names (hard links) lead to is never written.
///
/// Refused where the file is another one, or was changed, since `find`: looked at as the last thing before the name is given
/// away. A lock on the old file keeps every other process that writes this way out from there to the end.
pub(crate) fn replace(existing: &Existing, content: &[u8], shown: &str) -> Result<(), Failure> {
    if !existing.permissions.intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH) {
        return Err(Failure::new(format!("cannot write `{shown}`: the file is read-only")));
    }
    let told = |error: io::Error| failure("write", shown, &error);
    let permissions = Some(existing.permissions);
    let temporary = Temporary::create(&existing.folder, content, permissions).map_err(told)?;
    let locked = rustix::fs::flock(&existing.file, FlockOperation::NonBlockingLockExclusive);
    // Some file systems know no locks; what follows is then all there is.
    if locked == Err(Errno::WOULDBLOCK) {
        return Err(changed_meanwhile(shown));
    }
    let now = look(&existing.folder, &existing.name).map_err(told)?;
    let which = |stat: &Stat| (stat.st_dev, stat.st_ino);
    let is_same = now.is_some_and(|now| which(&now) == which(&existing.stat));
    if !is_same || again(&existing.file, shown)? != existing.content {
        return Err(changed_meanwhile(shown));
    }
    temporary.rename_to(&existing.name).map_err(told)
}

/// The content of an open file once more. Times would not do: they stand still for some milliseconds.
fn again(mut file: &File, shown: &str) -> Result<Vec<u8>, Failure> {
    file.seek(SeekFrom::Start(0)).map_err(|error| failure("read", shown, &error))?;
    read_limited(file, shown)
}

fn changed_meanwhile(shown: &str) -> Failure {
    Failure::new(format!(
        "`{shown}` was changed by somebody else just now; read it again with FileRead"
    ))
}

/// Writes a file where none was, with the folders above it. A file that appeared meanwhile is left
/// alone.
pub(crate) fn create(spot: &Spot, content: &[u8]) -> Result<(), Failure> {
    let shown = &spot.shown;
    let (root, below) = spot.parts();
    let Some(name) = below.file_name() else { return Err(is_a_folder(shown)) };
    let write = || {
        let folder = root.made_folder(below.parent().unwrap_or(Path::new("")))?;
        Temporary::create(&folder, content, None)?.link_to(name)
    };
    write().map_err(|error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(format!(
            "cannot write `{shown}`: it came into being just now; read it with FileRead first"
        )),
        _ => failure("write", shown, &error),
    })
}

fn is_a_folder(shown: &str) -> Failure {
    Failure::new(format!("`{shown}` is a directory; use Glob to list its files"))
}

/// An input/output error in words.
pub(crate) fn failure(verb: &str, shown: &str, error: &io::Error) -> Failure {
    if met_a_link(error) {
        return Failure::new(format!(
            "cannot {verb} `{shown}`: its path changed after it was judged, a symbolic link is in it now; \
             look where it leads and make the call again"
        ));
    }
    let reason = match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => "the permission is missing".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is a file, not a directory".to_owned(),
        ErrorKind::IsADirectory => return is_a_folder(shown),
        _ => error.to_string(),
    };
    Failure::new(format!("cannot {verb} `{shown}`: {reason}"))
}

/// Tells the temporary files of this process apart.
static TEMPORARY_NUMBER: AtomicU64 = AtomicU64::new(0);

/// Names that are tried before giving up; only a crashed process with the same id can hold one.
const TEMPORARY_TRIES_MAX: u32 = 100;

/// A written file in the folder of its goal, removed on drop unless it was moved there.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: Option<OsString>,
}

impl<'a> Temporary<'a> {
    /// `permissions` are set at the end; without them the file gets what new files get.
    fn create(folder: &'a OwnedFd, content: &[u8], permissions: Option<Mode>) -> io::Result<Self> {
        let (mut file, temporary) = Self::open(folder, permissions.is_some())?;
        file.write_all(content)?;
        if let Some(mode) = permissions {
            rustix::fs::fchmod(&file, mode)?;
        }
        file.sync_data()?;
        Ok(temporary)
    }

    /// `private` keeps others out until the final permissions are set.
    fn open(folder: &'a OwnedFd, private: bool) -> io::Result<(File, Self)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
        let mut tries = 0;
        loop {
            let number = TEMPORARY_NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".tine-{}-{number}.tmp", std::process::id());
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(file) => return Ok((file.into(), Self { folder, name: Some(name.into()) })),
                Err(Errno::EXIST) if tries < TEMPORARY_TRIES_MAX => tries += 1,
                Err(Errno::EXIST) => return Err(io::Error::other("no temporary name is free")),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn rename_to(mut self, goal: &OsStr) -> io::Result<()> {
        if let Some(name) = &self.name {
            rustix::fs::renameat(self.folder, name, self.folder, goal)?;
        }
        self.name = None;
        Ok(())
    }

    /// Moves the file to a free name. Linking fails where the name is taken, renaming would not;
    /// file systems without hard links get the rename.
    fn link_to(self, goal: &OsStr) -> io::Result<()> {
        let Some(name) = &self.name else { return Ok(()) };
        match rustix::fs::linkat(self.folder, name, self.folder, goal, AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Errno::EXIST.into()),
            Err(_) => self.rename_to(goal),
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nobody is left to be told, and the name says whose it was.
            rustix::fs::unlinkat(self.folder, name, AtFlags::empty()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;
    use crate::place::fixture::Fixture;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &PathBuf) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn replacing_keeps_permissions_and_goes_through_a_link() {
        let fixture = Fixture::new();
        fixture.write("run.sh", "old");
        let file = fixture.path("run.sh");
        // With the bit that lets a program run as its owner, which only the old content may have.
        fs::set_permissions(&file, Permissions::from_mode(0o4751)).unwrap();
        std::os::unix::fs::symlink("run.sh", fixture.path("link")).unwrap();

        let existing = find(&fixture.spot("link")).unwrap().unwrap();
        replace(&existing, b"new", "link").unwrap();

        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(mode(&file), 0o751);
        assert!(fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
        assert_eq!(names(&fixture.path("")), ["link", "run.sh"]);
    }

    #[test]
    fn what_somebody_did_since_the_look_is_kept() {
        type Act = fn(&Path);
        let acts: [(&str, Act); 5] = [
            ("written", |path| fs::write(path, "theirs").unwrap()),
            ("of the same length", |path| fs::write(path, "new").unwrap()),
            ("removed", |path| fs::remove_file(path).unwrap()),
            ("replaced", |path| {
                fs::write(path.with_extension("x"), "theirs").unwrap();
                fs::rename(path.with_extension("x"), path).unwrap();
            }),
            ("locked", |path| {
                let file = File::open(path).unwrap();
                rustix::fs::flock(&file, FlockOperation::LockExclusive).unwrap();
                // For as long as the test lives.
                std::mem::forget(file);
            }),
        ];
        for (what, act) in acts {
            let fixture = Fixture::new();
            fixture.write("file", "old");
            let existing = find(&fixture.spot("file")).unwrap().unwrap();
            act(&fixture.path("file"));
            let theirs = fs::read(fixture.path("file")).ok();
            let refusal = replace(&existing, b"mine", "file").unwrap_err();
            assert_eq!(refusal, changed_meanwhile("file"), "{what}");
            assert_eq!(fs::read(fixture.path("file")).ok(), theirs, "{what}");
            assert!(names(&fixture.path("")).iter().all(|name| name == "file"), "{what}");
        }
    }

    #[test]
    fn creating_never_overwrites_and_leaves_no_rest() {
        let fixture = Fixture::new();
        let spot = fixture.spot("a/b/new");
        create(&spot, b"1").unwrap();
        let second = create(&spot, b"2").unwrap_err();
        let expected =
            "cannot write `a/b/new`: it came into being just now; read it with FileRead first";
        assert_eq!(second, Failure::new(expected));
        assert_eq!(fixture.read("a/b/new"), "1");
        assert_eq!(names(&fixture.path("a/b")), ["new"]);
    }

    #[test]
    fn a_read_only_file_is_refused() {
        let fixture = Fixture::new();
        fixture.write("file", "x");
        fs::set_permissions(fixture.path("file"), Permissions::from_mode(0o444)).unwrap();
        let existing = find(&fixture.spot("file")).unwrap().unwrap();
        let expected = "cannot write `file`: the file is read-only";
        assert_eq!(replace(&existing, b"y", "file").unwrap_err(), Failure::new(expected));
    }
}
