//! Builds the view in the mount namespace of the calling process.
//!
//! Every mount becomes read-only and loses its devices first. What may be written, and the devices that everybody may use, were
//! cloned before and are laid over their places again; private directories take the place of those for temporary files; what
//! nobody may open is covered by something that cannot be opened. The order matters, and each step names itself in an error.
//!
//! No path is resolved twice: each is opened without following links, and what was opened is mounted or mounted on.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, Stat, StatVfsMountFlags, fstat, openat2, statvfs,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, mount_remount, move_mount, open_tree,
};

use super::order::{Identity, Masked, PathText, Setup};
use crate::wall::grants::{DEVICES, SHARED_MEMORY, TERMINALS};
use crate::wall::sockets::unescaped;

/// What of `/proc` is about the machine and can be written by root.
const MACHINE: [&str; 5] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];

/// The most that shared memory of one command holds.
const SHARED_MEMORY_OPTIONS: &str = "size=256m,mode=1777";

/// The settings of file systems that the view brings along.
const PRIVATE_FLAGS: MountFlags =
    MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

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
    let there = DEVICES.map(PathBuf::from).into_iter().filter(|path| path.exists());
    let devices = clones(there)?;
    let writable = clones(paths(&setup.writable))?;
    let private = clones(setup.private.iter().map(|(_, own)| own.path()))?;
    all_read_only()?;
    // What is gone or another thing since the view was described is not shown.
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|about| !about.is_symlink());
    let visible: Vec<(PathBuf, OwnedFd)> = paths(&setup.visible)
        .filter(is_there)
        .filter_map(|path| clones(std::iter::once(path)).ok())
        .flatten()
        .collect();
    shared_memory()?;
    for ((place, _), (_, own)) in setup.private.iter().zip(private) {
        // A place that is gone holds nothing of anybody's.
        if place.path().symlink_metadata().is_ok() {
            lay(&own, &place.path())?;
        }
    }
    for (path, tree) in visible {
        if make_room(&tree, &path).is_ok() {
            // It is another thing meanwhile.
            let _ = lay(&tree, &path);
        }
    }
    // A visible directory may hold a writable one, never the other way round.
    for (path, tree) in writable {
        at("make room for", &path, make_room(&tree, &path))?;
        lay(&tree, &path)?;
    }
    for (path, device) in devices {
        lay(&device, &path)?;
    }
    if setup.rules.has_loopback {
        // A system that does not let the user have them has none.
        let _ = terminals();
    }
    for path in paths(&setup.without_programs) {
        let tree = bind(&path)?;
        change(&path, &tree, MountFlags::RDONLY | MountFlags::NOEXEC)?;
    }
    // What is a mount point cannot be renamed, and so nothing else be put in its place.
    for path in paths(&setup.pinned) {
        bind(&path)?;
    }
    for path in paths(&setup.protected) {
        protect(&path)?;
    }
    cover(&setup.masked)?;
    processes()?;
    let directory = setup.directory.path();
    at("enter", &directory, std::env::set_current_dir(&directory))
}

/// Makes what the tree can be laid over, where there is nothing. Only below a private directory or shared memory, which are empty.
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

fn paths(texts: &[PathText]) -> impl Iterator<Item = PathBuf> {
    texts.iter().map(PathText::path)
}

/// Opens what lies at a path, to be mounted or mounted on. A symbolic link on the way is refused: somebody has put it there since
/// the path was looked at. A link at its end is opened itself.
fn open(step: &str, path: &Path) -> Result<OwnedFd, Failed> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    at(step, path, openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS))
}

/// Copies the tree below an open file or directory as it is now, to be laid over something.
fn copy(path: &Path, file: &OwnedFd) -> Result<OwnedFd, Failed> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    at("copy", path, open_tree(file, "", flags))
}

/// Copies of the trees at these paths.
fn clones(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<(PathBuf, OwnedFd)>, Failed> {
    paths
        .map(|path| {
            let tree = copy(&path, &open("copy", &path)?)?;
            Ok((path, tree))
        })
        .collect()
}

fn lay(tree: &OwnedFd, path: &Path) -> Result<(), Failed> {
    lay_over(tree, path, &open("lay", path)?)
}

fn lay_over(tree: &OwnedFd, path: &Path, target: &OwnedFd) -> Result<(), Failed> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    at("lay", path, move_mount(tree, "", target, "", flags))
}

/// Makes what lies at the path a mount of its own.
fn bind(path: &Path) -> Result<OwnedFd, Failed> {
    let file = open("bind", path)?;
    let tree = copy(path, &file)?;
    lay_over(&tree, path, &file)?;
    Ok(tree)
}

/// Makes a path read-only that is writable otherwise.
fn protect(path: &Path) -> Result<(), Failed> {
    let file = open("protect", path)?;
    let kind = FileType::from_raw_mode(at("look at", path, fstat(&file))?.st_mode);
    let tree = match copy(path, &file).and_then(|tree| lay_over(&tree, path, &file).map(|()| tree))
    {
        Ok(tree) => tree,
        // Older kernels mount nothing on a symbolic link.
        Err(_) if kind == FileType::Symlink => return Ok(()),
        Err(failed) => return Err(failed),
    };
    match kind {
        // A link cannot be written, only replaced, which a mount point is not.
        FileType::Symlink => Ok(()),
        _ => change(path, &tree, MountFlags::RDONLY),
    }
}

/// Makes every mount read-only and without devices, and changes nothing else about it.
fn all_read_only() -> Result<(), Failed> {
    let table = Path::new("/proc/self/mountinfo");
    let mounts = at("read", table, std::fs::read(table))?;
    for line in mounts.split(|byte| *byte == b'\n') {
        let Some(path) = line.split(|byte| *byte == b' ').nth(4).map(unescaped) else { continue };
        match remount(&path, &path, MountFlags::RDONLY | MountFlags::NODEV) {
            Ok(()) => {}
            // Under another mount, gone meanwhile, or in a directory that this user cannot enter: nobody behind the wall can.
            Err(failed) if is_unreachable(&failed.error) => {}
            Err(failed) => return Err(failed),
        }
    }
    Ok(())
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOENT.raw_os_error())
}

fn is_unreachable(error: &io::Error) -> bool {
    [Errno::NOENT, Errno::ACCESS, Errno::NOTDIR, Errno::INVAL]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Gives a mount that was laid these settings as well. Whatever has its path by now, it is the mount that is changed.
fn change(path: &Path, tree: &OwnedFd, more: MountFlags) -> Result<(), Failed> {
    remount(path, Path::new(&format!("/proc/self/fd/{}", tree.as_raw_fd())), more)
}

/// Gives the mount at `place` these settings as well. The kernel forgets its other settings otherwise, so they are told again.
fn remount(path: &Path, place: &Path, more: MountFlags) -> Result<(), Failed> {
    const SETTINGS: [(StatVfsMountFlags, MountFlags); 7] = [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let now = at("look at", path, statvfs(place))?.f_flag;
    let mut flags = MountFlags::BIND | more;
    for (is, flag) in SETTINGS {
        if now.contains(is) {
            flags |= flag;
        }
    }
    at("change", path, mount_remount(place, flags, c""))
}

/// Covers what nobody may open: a directory with an empty one, a file with a device that may not be used as one, so that
/// opening it fails for root as well.
fn cover(masked: &[Masked]) -> Result<(), Failed> {
    if masked.is_empty() {
        return Ok(());
    }
    let workshop = Path::new(WORKSHOP);
    at(
        "make",
        workshop,
        mount("tmpfs", workshop, "tmpfs", PRIVATE_FLAGS, Some(c"size=64k,mode=0755")),
    )?;
    let (file, directory) = (workshop.join("file"), workshop.join("directory"));
    at("make", &file, std::fs::write(&file, ""))?;
    at("make", &directory, std::fs::create_dir(&directory))?;
    let nobody = std::os::unix::fs::PermissionsExt::from_mode(0o0);
    at("close", &directory, std::fs::set_permissions(&directory, nobody))?;
    at("close", &file, mount_bind("/dev/null", &file))?;
    let flags = PRIVATE_FLAGS | MountFlags::RDONLY | MountFlags::BIND;
    for path in [&file, workshop] {
        at("close", path, mount_remount(path, flags, c""))?;
    }
    let (file, directory) = (open("open", &file)?, open("open", &directory)?);
    for masked in masked {
        cover_one(masked, &file, &directory)?;
    }
    Ok(())
}

fn cover_one(masked: &Masked, file: &OwnedFd, directory: &OwnedFd) -> Result<(), Failed> {
    let path = masked.path.path();
    let target = match open("cover", &path) {
        Ok(target) => target,
        // Where nobody behind the wall can move it, it is gone, or out of everybody's reach.
        Err(failed) if masked.identity.is_none() && is_unreachable(&failed.error) => return Ok(()),
        Err(failed) => return Err(failed),
    };
    let about = at("look at", &path, fstat(&target))?;
    if masked.identity.is_some_and(|known| known != identity(&about)) {
        let moved = io::Error::other("another file lies there than when it was looked at");
        return Err(Failed { step: format!("cover {}", path.display()), error: moved });
    }
    let covering = match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory => directory,
        _ => file,
    };
    let tree = copy(&path, covering)?;
    match lay_over(&tree, &path, &target) {
        // A service has taken its socket away meanwhile: nothing is left that could be opened.
        Err(failed) if masked.identity.is_none() && is_gone(&failed.error) => Ok(()),
        laid => laid,
    }
}

fn identity(about: &Stat) -> Identity {
    Identity { device: about.st_dev, inode: about.st_ino }
}

/// Shared memory of this command alone.
fn shared_memory() -> Result<(), Failed> {
    let shared = Path::new(SHARED_MEMORY);
    if !shared.is_dir() {
        return Ok(());
    }
    let options = std::ffi::CString::new(SHARED_MEMORY_OPTIONS).map_err(io::Error::other);
    let options = at("mount", shared, options)?;
    at("mount", shared, mount("tmpfs", shared, "tmpfs", PRIVATE_FLAGS, Some(options.as_c_str())))
}

/// Terminals of this command and no others.
fn terminals() -> Result<(), Failed> {
    let [maker, all] = TERMINALS.map(Path::new);
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = Some(c"newinstance,ptmxmode=0666,mode=0620");
    at("mount", all, mount("devpts", all, "devpts", flags, options))?;
    at("mount", maker, mount_bind(all.join("ptmx"), maker))
}

/// The processes of this command and no others.
fn processes() -> Result<(), Failed> {
    let proc = Path::new("/proc");
    at("mount", proc, mount("proc", proc, "proc", PRIVATE_FLAGS, None))?;
    for path in MACHINE.iter().map(Path::new).filter(|path| path.exists()) {
        at("protect", path, mount_bind_recursive(path, path))?;
        remount(path, path, MountFlags::RDONLY)?;
    }
    Ok(())
}
