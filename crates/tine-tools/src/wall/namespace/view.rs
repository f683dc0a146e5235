//! Decides what the view of a wall shows: from the wall's description to the order for the stages.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt};
use std::path::{Path, PathBuf};

use super::order::{Identity, Masked, PathText, Rules, Setup};
use crate::wall::finder::Found;
use crate::wall::grants::{Access, Grant, SHARED_MEMORY, TERMINALS};
use crate::wall::support::Support;
use crate::wall::{Metadata, ResourceLimits};

/// Everything that a view depends on. Paths are real paths.
pub(in crate::wall) struct Wanted<'a> {
    pub(in crate::wall) directory: &'a Path,
    pub(in crate::wall) writable: &'a [PathBuf],
    /// Directories from which no program starts.
    pub(in crate::wall) without_programs: &'a [PathBuf],
    /// Directories and files that the command needs, wherever they lie.
    pub(in crate::wall) visible: &'a [PathBuf],
    /// Directories for temporary files that the command gets for itself.
    pub(in crate::wall) private: &'a [PathBuf],
    /// The wall's own directory for temporary files.
    pub(in crate::wall) scratch: &'a Path,
    pub(in crate::wall) grants: &'a [Grant],
    /// Where tine listens in the network of the command. None without a network.
    pub(in crate::wall) listen: &'a [SocketAddr],
    /// True if the command has a loopback device and terminals of its own.
    pub(in crate::wall) has_loopback: bool,
    /// True if the command reads everything but secrets.
    pub(in crate::wall) reads_most: bool,
    pub(in crate::wall) metadata: Metadata,
    pub(in crate::wall) support: Support,
    pub(in crate::wall) limits: ResourceLimits,
}

/// The order for the stages, without what [`cover`] adds. Makes the directories below `scratch` that stand in place of those
/// for temporary files.
pub(in crate::wall) fn view(wanted: &Wanted<'_>) -> std::io::Result<Setup> {
    let mut writable: Vec<PathBuf> = wanted.writable.to_vec();
    writable.push(wanted.scratch.to_owned());
    let writable = outermost(writable);
    let is_writable = |path: &Path| writable.iter().any(|root| path.starts_with(root));
    // A right holds for all that lies below. What is laid there is mounted read-only, and read by a worker, but for secrets, which are covered;
    // whoever may read less gets it only where nothing is laid but the wall's own.
    let may_write_all = |place: &Path| {
        let lies_below = |path: &Path| path.starts_with(place) && path != wanted.scratch;
        let mut laid = wanted.visible.iter().chain(&writable).map(PathBuf::as_path);
        wanted.reads_most || !laid.any(lies_below) && !lies_below(wanted.directory)
    };
    let mut private = Vec::new();
    let mut rules = Rules::new(
        wanted.grants,
        (wanted.has_loopback, wanted.metadata),
        wanted.support,
        wanted.limits,
    );
    for (number, place) in wanted.private.iter().enumerate() {
        // A link leads to one that is private already; and what is worked in as a whole cannot be private.
        let is_real = place.is_dir() && place.canonicalize().is_ok_and(|real| real == *place);
        if !is_real || writable.contains(place) || wanted.directory == place {
            continue;
        }
        let own = wanted.scratch.join(format!("private-{number}"));
        std::fs::create_dir_all(&own)?;
        private.push((PathText::from(place.as_path()), PathText::from(own.as_path())));
        if may_write_all(place) {
            rules.grants.push(Rules::right(&Grant::new(place, Access::Full)));
        }
    }
    if wanted.has_loopback {
        let own = TERMINALS.map(|path| Rules::right(&Grant::new(path, Access::Device)));
        rules.grants.extend(own);
    }
    let shared = Path::new(SHARED_MEMORY);
    let access = if may_write_all(shared) { Access::Full } else { Access::Read };
    rules.grants.push(Rules::right(&Grant::new(shared, access)));
    let is_hidden = |path: &Path| {
        let mut empty = private.iter().map(|(place, _)| place.path()).chain([shared.to_owned()]);
        empty.any(|place| path.starts_with(place)) && (path.is_dir() || path.is_file())
    };
    let visible = wanted.visible.iter().map(PathBuf::as_path).chain([wanted.directory]);
    let visible: Vec<PathBuf> =
        visible.filter(|path| is_hidden(path) && !is_writable(path)).map(Path::to_owned).collect();
    Ok(Setup {
        directory: PathText::from(wanted.directory),
        writable: texts(&writable),
        without_programs: texts(wanted.without_programs),
        pinned: Vec::new(),
        protected: Vec::new(),
        masked: Vec::new(),
        visible: texts(&outermost(visible)),
        private,
        listen: wanted.listen.to_vec(),
        rules,
    })
}

fn texts(paths: &[PathBuf]) -> Vec<PathText> {
    paths.iter().map(|path| PathText::from(path.as_path())).collect()
}

/// Secrets that are covered at the most. Each covering costs every command some microseconds.
const SECRETS_MAX: usize = 4_096;

/// Secrets of the directories that are held open, so that it can be told whether one was removed or moved.
const HELD_MAX: usize = 64;

/// How what a view covers, protects and pins lay when the order was made.
pub(in crate::wall) struct Anchors {
    /// What else than secrets must be there, and what it must be where that is known.
    paths: Vec<(PathBuf, Option<Identity>)>,
    /// Secrets that a command could move with a folder.
    secrets: Vec<(PathBuf, Identity)>,
    held: Vec<(File, Identity)>,
}

impl Anchors {
    fn add_secret(&mut self, path: PathBuf, identity: Identity) {
        if self.held.len() < HELD_MAX
            && let Ok(file) = hold(&path)
        {
            self.held.push((file, identity));
        }
        self.secrets.push((path, identity));
    }

    /// Returns true if everything lies where it lay.
    pub(in crate::wall) fn hold(&self) -> bool {
        let lies = |path: &Path, known: Option<Identity>| {
            Identity::at(path).is_some_and(|now| known.is_none_or(|known| known == now))
        };
        self.secrets.iter().all(|(path, known)| lies(path, Some(*known)))
            && self.paths.iter().all(|(path, known)| lies(path, *known))
    }

    /// The secrets that a command could have moved, without those that were surely removed.
    pub(in crate::wall) fn left(&self) -> HashSet<Identity> {
        let is_removed = |known: &Identity| {
            let held = self.held.iter().find(|(_, identity)| identity == known);
            held.is_some_and(|(file, _)| file.metadata().is_ok_and(|about| about.nlink() == 0))
        };
        let known = self.secrets.iter().map(|(_, identity)| *identity);
        known.filter(|known| !is_removed(known)).collect()
    }
}

/// Puts into the order what was found. Returns how it lies, and whether there was room for all of it.
pub(in crate::wall) fn cover(setup: &mut Setup, found: &Found) -> (Anchors, bool) {
    let writable: Vec<PathBuf> = setup.writable.iter().map(PathText::path).collect();
    let is_writable = |path: &Path| writable.iter().any(|root| path.starts_with(root));
    let (masked, has_room) = masked(setup, &found.masked, is_writable);
    let protected = outermost(existing(&found.protected, is_writable));
    let mut pinned = existing(&found.pinned, is_writable);
    // A mount below one that is read-only would not be.
    pinned.retain(|path| !protected.iter().any(|outer| path.starts_with(outer)));
    let mut anchors = Anchors { paths: Vec::new(), secrets: Vec::new(), held: Vec::new() };
    setup.masked = Vec::with_capacity(masked.len());
    for path in masked {
        let identity = Identity::at(&path).filter(|_| is_writable(&path));
        setup.masked.push(Masked { path: PathText::from(path.as_path()), identity });
        match identity {
            None => anchors.paths.push((path, None)),
            Some(identity) => anchors.add_secret(path, identity),
        }
    }
    setup.protected = texts(&protected);
    setup.pinned = texts(&pinned);
    // A person's editor puts a new file in the place of an old one, and nothing in the place of a folder.
    let folder = |path: &Path| Identity::at(path).filter(|_| path.is_dir());
    let others = pinned.into_iter().chain(protected);
    anchors.paths.extend(others.map(|path| (path.clone(), folder(&path))));
    (anchors, has_room)
}

/// Puts into the order the socket files of others, which are covered whatever may be read.
pub(in crate::wall) fn cover_sockets(
    setup: &mut Setup,
    anchors: &mut Anchors,
    sockets: &BTreeSet<PathBuf>,
) {
    let writable: Vec<PathBuf> = setup.writable.iter().map(PathText::path).collect();
    for path in sockets {
        let is_writable = writable.iter().any(|root| path.starts_with(root));
        let identity = Identity::at(path).filter(|_| is_writable);
        setup.masked.push(Masked { path: PathText::from(path.as_path()), identity });
        if let Some(identity) = identity {
            anchors.add_secret(path.clone(), identity);
        }
    }
}

/// Opens a file without the right to read it, so that it can be known again.
#[cfg(target_os = "linux")]
fn hold(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(target_os = "linux"))]
fn hold(_path: &Path) -> std::io::Result<File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Those that exist and lie below something writable.
fn existing(paths: &[PathBuf], is_writable: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let is_there = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|about| about.is_dir() || about.is_file() || about.is_symlink())
    };
    paths.iter().filter(|path| is_writable(path) && is_there(path)).cloned().collect()
}

/// Without those that lie in another one, sorted.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup();
    let mut kept: Vec<PathBuf> = Vec::with_capacity(paths.len());
    for path in paths {
        // What lies in it follows it at once.
        if !kept.last().is_some_and(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

/// The secrets to be covered. Those that the second layer keeps back by itself are none of them: each covering costs every
/// command some microseconds. Returns also whether there was room for all of them; near ones come first.
fn masked(
    setup: &Setup,
    secrets: &[PathBuf],
    is_writable: impl Fn(&Path) -> bool,
) -> (Vec<PathBuf>, bool) {
    let has_rules = setup.rules.landlock > 0;
    let is_read = |access: &Access| matches!(access, Access::Look | Access::Read | Access::Full);
    let grants = setup.rules.grants.iter().filter(|(_, access)| is_read(access));
    let read: HashSet<PathBuf> = grants.map(|(path, _)| path.path()).collect();
    let can_be_read =
        |path: &Path| !has_rules || path.ancestors().any(|above| read.contains(above));
    let is_there = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|about| about.is_dir() || about.is_file() || about.file_type().is_socket())
    };
    let shown = [&setup.writable[..], &setup.visible].concat();
    let shown: Vec<PathBuf> = shown.iter().chain([&setup.directory]).map(PathText::path).collect();
    let needed = secrets.iter().filter(|path| {
        // Who works in a directory of secrets has been given it.
        let leads_to_shown = shown.iter().any(|shown| shown.starts_with(path));
        !leads_to_shown && (can_be_read(path) || is_writable(path)) && is_there(path)
    });
    let mut needed: Vec<PathBuf> = needed.cloned().collect();
    let has_room = needed.len() <= SECRETS_MAX;
    needed.truncate(SECRETS_MAX);
    (outermost(needed), has_room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_of_several_paths_are_laid() {
        let paths = ["/b/c", "/a", "/b", "/a-b", "/a/x/y"].map(PathBuf::from);
        assert_eq!(outermost(paths.to_vec()), ["/a", "/a-b", "/b"].map(PathBuf::from));
    }
}
