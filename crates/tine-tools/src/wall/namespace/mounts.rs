//! Builds the view in the mount namespace of the calling process.
//!
//! Every mount becomes read-only first. What may be written was cloned before and is laid over its place again; private
//! directories take the place of those for temporary files; what nobody may open is covered by something that cannot be
//! opened. The order matters, and each step names itself in an error.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstat, openat2, statvfs,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, mount_remount, move_mount, open_tree,
};

use super::order::Setup;

/// What of `/proc` is about the machine and can be written by root.
const MACHINE: [&str; 5] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];

/// Shared memory of this command alone, at most this large.
const SHARED_MEMORY: &str = "/dev/shm";
const SHARED_MEMORY_OPTIONS: &str = "size=256m,mode=1777";

/// Where the coverings are made: a directory that every system has, and that is free again before the command starts.
const WORKSHOP: &str = "/proc";

/// A step that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) step: String,
    pub(super) error: io::Error,
}

fn at<T, E: Into<io::Error>>(step: &str, path: &Path, result: Result<T, E>) -> Result<T, Failed> {
    result
        .map_err(|error| Failed { step: format!("{step} {}", path.display()), error: error.into() })
}

/// Builds it. The process must be the first of its process namespace, and have the mount namespace for itself.
pub(super) fn build(setup: &Setup) -> Result<(), Failed> {
    let root = Path::new("/");
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    at("separate", root, mount_change(root, flags))?;
    let writable = clones(setup.writable.iter().map(|path| path.path()))?;
    let private = clones(setup.private.iter().map(|(_, own)| own.path()))?;
    all_read_only()?;
    let visible = clones(setup.visible.iter().map(|path| path.path()))?;
    for ((place, _), (_, own)) in setup.private.iter().zip(private) {
        lay(&own, &place.path())?;
    }
    // A visible directory may hold a writable one, never the other way round.
    for (path, tree) in visible.into_iter().chain(writable) {
        at("make room for", &path, make_room(&tree, &path))?;
        lay(&tree, &path)?;
    }
    for path in setup.protected.iter().map(|path| path.path()) {
        at("protect", &path, mount_bind_recursive(&path, &path))?;
        make_read_only(&path)?;
    }
    cover(setup)?;
    processes()?;
    let directory = setup.directory.path();
    at("enter", &directory, std::env::set_current_dir(&directory))
}

/// Makes what the tree can be laid over, where there is nothing. Only below a private directory, which is empty.
fn make_room(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if FileType::from_raw_mode(fstat(tree)?.st_mode) == FileType::Directory {
        return std::fs::create_dir_all(path);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, "")
}

/// Copies of the trees at these paths as they are now, to be laid over something.
fn clones(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<(PathBuf, OwnedFd)>, Failed> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let how = OFlags::PATH | OFlags::CLOEXEC;
    paths
        .map(|path| {
            // No symbolic link anywhere on the way: the path was judged without any.
            let place = openat2(CWD, &path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS);
            let tree = at("copy", &path, open_tree(at("open", &path, place)?, "", flags))?;
            Ok((path, tree))
        })
        .collect()
}

fn lay(tree: &OwnedFd, path: &Path) -> Result<(), Failed> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    at("lay", path, move_mount(tree, "", CWD, path, flags))
}

/// Makes every mount read-only, and changes nothing else about it.
fn all_read_only() -> Result<(), Failed> {
    let table = Path::new("/proc/self/mountinfo");
    let mounts = at("read", table, std::fs::read(table))?;
    for line in mounts.split(|byte| *byte == b'\n') {
        let Some(path) = line.split(|byte| *byte == b' ').nth(4).map(unescaped) else { continue };
        match make_read_only(&path) {
            Ok(()) => {}
            // Under another mount, gone meanwhile, or in a directory that this user cannot enter: nobody behind the wall can.
            Err(failed) if is_unreachable(&failed.error) => {}
            Err(failed) => return Err(failed),
        }
    }
    Ok(())
}

fn is_unreachable(error: &io::Error) -> bool {
    [Errno::NOENT, Errno::ACCESS, Errno::NOTDIR, Errno::INVAL]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Makes the mount at this path read-only. The kernel refuses a change of its other settings, so they are told again.
fn make_read_only(path: &Path) -> Result<(), Failed> {
    const SETTINGS: [(StatVfsMountFlags, MountFlags); 6] = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let now = at("look at", path, statvfs(path))?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (is, flag) in SETTINGS {
        if now.contains(is) {
            flags |= flag;
        }
    }
    at("make read-only", path, mount_remount(path, flags, c""))
}

/// Covers what nobody may open: a directory with an empty one, a file with a device that may not be used as one, so that
/// opening it fails for root as well.
fn cover(setup: &Setup) -> Result<(), Failed> {
    if setup.masked.is_empty() {
        return Ok(());
    }
    let workshop = Path::new(WORKSHOP);
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    at("make", workshop, mount("tmpfs", workshop, "tmpfs", flags, Some(c"size=64k,mode=0755")))?;
    let (file, directory) = (workshop.join("file"), workshop.join("directory"));
    at("make", &file, std::fs::write(&file, ""))?;
    at("make", &directory, std::fs::create_dir(&directory))?;
    let nobody = std::os::unix::fs::PermissionsExt::from_mode(0o0);
    at("close", &directory, std::fs::set_permissions(&directory, nobody))?;
    at("close", &file, mount_bind("/dev/null", &file))?;
    let flags = flags | MountFlags::RDONLY | MountFlags::BIND;
    for path in [&file, workshop] {
        at("close", path, mount_remount(path, flags, c""))?;
    }
    for path in setup.masked.iter().map(|path| path.path()) {
        let Ok(about) = path.symlink_metadata() else { continue };
        let covering = if about.is_dir() { &directory } else { &file };
        at("cover", &path, mount_bind(covering, &path))?;
    }
    Ok(())
}

/// The processes of this command and no others, and shared memory of its own.
fn processes() -> Result<(), Failed> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let proc = Path::new("/proc");
    at("mount", proc, mount("proc", proc, "proc", flags, None))?;
    for path in MACHINE.iter().map(Path::new).filter(|path| path.exists()) {
        at("protect", path, mount_bind_recursive(path, path))?;
        make_read_only(path)?;
    }
    let shared = Path::new(SHARED_MEMORY);
    if shared.is_dir() {
        let options = std::ffi::CString::new(SHARED_MEMORY_OPTIONS).map_err(io::Error::other);
        let options = at("mount", shared, options)?;
        at("mount", shared, mount("tmpfs", shared, "tmpfs", flags, Some(options.as_c_str())))?;
    }
    Ok(())
}

/// A path of the mount table: blanks and backslashes stand there as three octal digits.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let number = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_mount_table_are_read_as_they_are() {
        for (text, path) in [
            ("/", "/"),
            (r"/a\040b", "/a b"),
            (r"/\134x\011", "/\\x\t"),
            (r"/a\04", r"/a\04"),
            (r"/\", r"/\"),
        ] {
            assert_eq!(unescaped(text.as_bytes()), Path::new(path), "{text}");
        }
    }
}
