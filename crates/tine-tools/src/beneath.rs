//! Files opened below the handle of a directory, without following any link.
//!
//! A path that was judged holds no link. Opening it here fails when it holds one meanwhile, so what is
//! opened is what was judged: check and use are one act. Linux does the whole path in one step
//! (`openat2`); where the kernel lacks that, a walk opens folder after folder and refuses links at each.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// A directory that is held open.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    handle: OwnedFd,
}

impl Root {
    /// Opens a directory whose path the owner of a place has given; links in it are followed, once.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = std::fs::canonicalize(path)?;
        let handle = rustix::fs::open(&path, FOLDER, Mode::empty())?;
        Ok(Self { path, handle })
    }

    /// Its path without links, as it was when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory was removed while it was held.
    pub(crate) fn is_removed(&self) -> bool {
        rustix::fs::fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// The folder at a path below, which must be relative and hold neither links nor `..`.
    pub(crate) fn folder(&self, below: &Path) -> io::Result<OwnedFd> {
        let names = names(below)?;
        if names.is_empty() {
            return self.handle.try_clone();
        }
        #[cfg(target_os = "linux")]
        match at_once(&self.handle, below) {
            // Old kernels lack the call; some sandboxes forbid it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return Ok(result?),
        }
        Ok(step_by_step(&self.handle, &names)?)
    }

    /// As `folder`, making what is missing.
    pub(crate) fn made_folder(&self, below: &Path) -> io::Result<OwnedFd> {
        match self.folder(below) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        let mut folder = self.handle.try_clone()?;
        for name in names(below)? {
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => folder = next(&folder, name)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(folder)
    }
}

/// A folder that is only a place to start from; reading it is not needed.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// The names of a path below a root; everything else could lead elsewhere.
fn names(below: &Path) -> io::Result<Vec<&OsStr>> {
    below
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            Component::CurDir
            | Component::ParentDir
            | Component::RootDir
            | Component::Prefix(_) => Err(Errno::INVAL.into()),
        })
        .collect()
}

#[cfg(target_os = "linux")]
fn at_once(root: &OwnedFd, below: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, below, FOLDER, Mode::empty(), resolve)
}

fn step_by_step(root: &OwnedFd, names: &[&OsStr]) -> Result<OwnedFd, Errno> {
    let [first, rest @ ..] = names else { return Err(Errno::INVAL) };
    rest.iter().try_fold(next(root, first)?, |folder, name| next(&folder, name))
}

fn next(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let opened = rustix::fs::openat(folder, name, FOLDER.union(OFlags::NOFOLLOW), Mode::empty());
    match opened {
        // A link is no directory; say that it is the link which is in the way.
        Err(Errno::NOTDIR) if is_link(folder, name) => Err(Errno::LOOP),
        result => result,
    }
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// What stands under a name; `None` if nothing does. A link is an error, it is not followed.
pub(crate) fn look(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            Err(Errno::LOOP.into())
        }
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens a regular file for reading; `None` if something else stands there. Never waits for the other
/// end of a pipe, and never takes a terminal.
pub(crate) fn open_regular(
    folder: impl AsFd,
    name: &OsStr,
) -> io::Result<Option<(std::fs::File, Stat)>> {
    let folder = folder.as_fd();
    // Looked at first, because opening a device can be an act of its own.
    match look(folder, name)? {
        None => return Err(Errno::NOENT.into()),
        Some(stat) if !is_regular(&stat) => return Ok(None),
        Some(_) => {}
    }
    let flags =
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    Ok(is_regular(&stat).then(|| (file.into(), stat)))
}

/// Whether it is a plain file: no folder, link, pipe, socket or device.
pub(crate) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Whether it is a folder.
pub(crate) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Whether an opening failed because a link stood where none was when the path was judged.
pub(crate) fn met_a_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn identity(folder: &OwnedFd) -> (u64, u64) {
        let stat = rustix::fs::fstat(folder).unwrap();
        (stat.st_dev as u64, stat.st_ino as u64)
    }

    /// A folder with links in it that lead out, in and nowhere.
    fn tree() -> (tempfile::TempDir, Root) {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("in/a/b")).unwrap();
        std::fs::create_dir_all(home.path().join("out/b")).unwrap();
        let inside = home.path().join("in");
        std::fs::write(inside.join("f"), "x").unwrap();
        symlink("../out", inside.join("door")).unwrap();
        symlink("a", inside.join("here")).unwrap();
        symlink("/", inside.join("a/top")).unwrap();
        symlink("gone", inside.join("a/none")).unwrap();
        let root = Root::open(&inside).unwrap();
        (home, root)
    }

    #[test]
    fn a_link_anywhere_on_the_way_is_refused() {
        let (_home, root) = tree();
        assert!(root.folder(Path::new("a/b")).is_ok());
        for path in ["door", "door/b", "here", "here/b", "a/top", "a/top/etc", "a/none"] {
            let error = root.folder(Path::new(path)).unwrap_err();
            assert!(met_a_link(&error), "{path}: {error}");
            let error = root.made_folder(Path::new(path)).unwrap_err();
            assert!(met_a_link(&error), "{path}: {error}");
        }
    }

    #[test]
    fn what_is_no_plain_path_below_is_refused() {
        let (_home, root) = tree();
        for path in ["..", "a/../..", "/", "/etc", "a/../../out"] {
            assert!(root.folder(Path::new(path)).is_err(), "{path}");
            assert!(root.made_folder(Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn a_held_directory_stays_the_one_that_was_opened() {
        let (home, root) = tree();
        let before = identity(&root.folder(Path::new("a")).unwrap());
        std::fs::rename(home.path().join("in"), home.path().join("moved")).unwrap();
        symlink("out", home.path().join("in")).unwrap();
        assert_eq!(identity(&root.folder(Path::new("a")).unwrap()), before);
        assert!(!root.is_removed());
        std::fs::remove_dir_all(home.path().join("moved")).unwrap();
        assert!(root.is_removed());
    }

    proptest! {
        /// The walk that stands in for `openat2` opens the same folders and refuses the same paths.
        #[test]
        fn the_walk_agrees_with_the_kernel(
            parts in prop::collection::vec(
                prop::sample::select(vec!["a", "b", "f", "door", "here", "top", "none", "x", "etc"]), 1..5),
        ) {
            let (_home, root) = tree();
            let path: PathBuf = parts.iter().collect();
            let names: Vec<&OsStr> = parts.iter().map(OsStr::new).collect();
            let walked = step_by_step(&root.handle, &names).map(|folder| identity(&folder));
            let opened = root.folder(&path).map(|folder| identity(&folder));
            match (walked, opened) {
                (Ok(walked), Ok(opened)) => prop_assert_eq!(walked, opened),
                (Err(walked), Err(opened)) => {
                    prop_assert_eq!(Some(walked.raw_os_error()), opened.raw_os_error());
                }
                (walked, opened) => prop_assert!(false, "{walked:?} {opened:?}"),
            }
        }
    }
}
