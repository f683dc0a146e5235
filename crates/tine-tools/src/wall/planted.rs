//! Repositories that commands make: their settings run programs whenever somebody else calls git there, outside of every wall.
//!
//! The wall protects the settings of repositories that exist when a command starts. What a command has made is looked at when
//! it has ended: settings that could have git run a program are renamed, and git does without them. A repository is known by
//! its identity, never by its path, so that one which was moved stays as it is. What else a command has made that other programs start by
//! themselves, settings of editors and CI for instance, is named.
//!
//! Limits. The search is bounded and passes over folders of packages and of build products, except where the index of a
//! repository that was found names another one there.

mod settings;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags, RenameFlags};
use tine_guard::is_protected_name;

use super::git;
use super::namespace::Identity;
use super::search::is_passed_over;
use crate::beneath::{Root, look};
use crate::linked::{Linked, nearest};
use crate::repository::is_repository;
use settings::Own;

/// Entries that are looked at after a command.
const ENTRIES_MAX: usize = 200_000;

/// The largest index that is looked through without git. That of a million files is as large.
const INDEX_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Numbers that are tried for the new name of a file.
const NAMES_MAX: usize = 100;

/// The files and folders that steer git, and that a repository may be without.
const OPTIONAL: [&str; 3] = ["commondir", "config.worktree", "hooks"];

/// A repository, whatever its path: the identity of its own folder, and when that was made, since numbers are used again.
type Known = (Identity, Option<SystemTime>);

/// The result of the look after a command.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    /// The new paths of settings by which git could have run a program.
    pub(crate) renamed: Vec<PathBuf>,
    /// New files and folders that other programs start by themselves.
    pub(crate) starters: Vec<PathBuf>,
    /// True if there is so much now that not all of it was looked at, and there was not before.
    pub(crate) is_cut_short: bool,
}

/// The repositories below what commands may write.
pub(super) struct Repositories {
    roots: Vec<PathBuf>,
    /// The one of them for temporary files, where nobody starts anything.
    scratch: PathBuf,
    /// Entries of the roots that are looked at.
    entries_max: usize,
    /// Folders outside the roots that steer git in them: of the linked worktree that is worked in.
    beside: Vec<PathBuf>,
    /// Those that were there before the first command, and what of [`OPTIONAL`] each had.
    known: HashMap<Known, HashSet<&'static str>>,
    /// True if the search for them came to its end.
    was_complete: bool,
    /// Files that other programs start: those that were there, and those that were named since.
    starters: Mutex<HashSet<PathBuf>>,
    /// Repositories that the index of one named when it was last looked at, by the repository's own folder.
    indexes: Mutex<HashMap<PathBuf, (Stamp, Vec<PathBuf>)>>,
    /// Commands that have started and were not looked after.
    begun: AtomicUsize,
}

impl Repositories {
    /// Remembers what is there. Blocks, for a walk through the folders.
    pub(super) fn new(roots: Vec<PathBuf>, scratch: &Path, linked: Option<&Linked>) -> Self {
        Self::with_bound(roots, scratch, linked, ENTRIES_MAX)
    }

    fn with_bound(
        mut roots: Vec<PathBuf>,
        scratch: &Path,
        linked: Option<&Linked>,
        entries_max: usize,
    ) -> Self {
        if !roots.is_empty() {
            roots.push(scratch.to_owned());
        }
        let beside: Vec<PathBuf> = linked
            .iter()
            .flat_map(|linked| [linked.administration.clone(), linked.own_common()])
            .collect();
        let mut new = Self {
            roots,
            scratch: scratch.to_owned(),
            entries_max,
            beside,
            known: HashMap::new(),
            was_complete: false,
            starters: Mutex::default(),
            indexes: Mutex::default(),
            begun: AtomicUsize::new(0),
        };
        let There { folders, starters, is_complete } = new.all();
        (new.was_complete, new.starters) = (is_complete, Mutex::new(starters));
        new.known = folders
            .into_iter()
            .filter_map(|folder| {
                let has = |name: &&str| folder.join(name).symlink_metadata().is_ok();
                Some((known(&folder)?, OPTIONAL.into_iter().filter(has).collect()))
            })
            .collect();
        new
    }

    /// Says that a command starts.
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Says that a command has ended: renames what it has made. Blocks.
    pub(super) fn set_aside(&self) -> SetAside {
        self.begun.fetch_sub(1, Ordering::Relaxed);
        let mut done = SetAside::default();
        if self.roots.is_empty() {
            return done;
        }
        let There { folders, starters, is_complete } = self.all();
        done.is_cut_short = !is_complete && self.was_complete;
        let mut known_starters = lock(&self.starters);
        done.starters = starters.difference(&known_starters).cloned().collect();
        done.starters.sort();
        known_starters.extend(done.starters.iter().cloned());
        drop(known_starters);
        for folder in folders {
            let Some(identity) = known(&folder) else { continue };
            let new = match self.known.get(&identity) {
                None => OPTIONAL.into_iter().chain(["config"]).collect(),
                Some(had) => OPTIONAL.into_iter().filter(|name| !had.contains(name)).collect(),
            };
            done.renamed.extend(self.judge(&folder, new));
        }
        done
    }

    /// Renames those of the `names` in a repository's own folder by which git could run a program.
    fn judge(&self, path: &Path, names: Vec<&str>) -> Vec<PathBuf> {
        let places = self.roots.iter().chain(&self.beside);
        let Some(root) =
            places.filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len())
        else {
            return Vec::new();
        };
        let below = path.strip_prefix(root).unwrap_or(Path::new(""));
        let opened = Root::open(root).and_then(|root| root.folder(below)).and_then(|folder| {
            // A handle that can be read, of the same folder.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(&folder, ".", flags, Mode::empty())?)
        });
        let Ok(folder) = opened else { return Vec::new() };
        let own = Own { folder, path, root };
        let is_harmful = |name: &&str| {
            let is_there = !matches!(look(&own.folder, OsStr::new(*name)), Ok(None));
            is_there && !own.is_harmless(name)
        };
        let harmful = names.into_iter().filter(is_harmful);
        harmful.filter_map(|name| aside(&own.folder, name).ok().map(|new| path.join(new))).collect()
    }

    /// Everything that is there now.
    fn all(&self) -> There {
        let folders = self.beside.iter().filter(|folder| folder.is_dir()).cloned().collect();
        let mut there = There { folders, starters: HashSet::new(), is_complete: true };
        let mut left = Vec::new();
        for root in &self.roots {
            let found = found_below(root, self.entries_max);
            there.is_complete &= found.is_complete;
            if *root != self.scratch {
                there.starters.extend(found.starters);
            }
            left.extend(found.repositories);
            if let Some((top, own)) = nearest(root) {
                let own = settings::named_by_git_file(&own).unwrap_or(own);
                let named = self.named_in_index(&own, top);
                left.extend(named.into_iter().filter(|path| path.starts_with(root)));
            }
        }
        let mut done = HashSet::new();
        while let Some(path) = left.pop() {
            if !done.insert(path.clone()) {
                continue;
            }
            let top = if path.ends_with(".git") { path.parent() } else { None };
            for folder in self.own_folders(&path) {
                left.extend(top.into_iter().flat_map(|top| self.named_in_index(&folder, top)));
                there.folders.insert(folder);
            }
        }
        there
    }

    /// The `.git` of the checkouts that the index of a repository names below its own checkout, `top`.
    fn named_in_index(&self, own: &Path, top: &Path) -> Vec<PathBuf> {
        let Some(stamp) = Stamp::of(&own.join("index")) else { return Vec::new() };
        if let Some((known, named)) = lock(&self.indexes).get(own)
            && *known == stamp
        {
            return named.clone();
        }
        let named = if may_name(own) { git::repositories_in_index(own, top) } else { Vec::new() };
        let named: Vec<PathBuf> = named.into_iter().map(|path| path.join(".git")).collect();
        lock(&self.indexes).insert(own.to_owned(), (stamp, named.clone()));
        named
    }

    /// The folders that a repository keeps its things in, those where commands may write: itself, or where a `.git` file or a link
    /// leads, and the one that it shares with others.
    fn own_folders(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let own =
            if path.is_file() { settings::named_by_git_file(path) } else { Some(path.to_owned()) };
        let shared = own.as_deref().and_then(settings::named_by_commondir);
        own.into_iter().chain(shared).filter_map(|folder| {
            let real = folder.canonicalize().ok()?;
            let is_within = self.roots.iter().any(|root| real.starts_with(root));
            (is_within && real.is_dir()).then_some(real)
        })
    }
}

impl Drop for Repositories {
    /// A command that was ended with its caller is looked after here.
    fn drop(&mut self) {
        if self.begun.load(Ordering::Relaxed) > 0 {
            self.set_aside();
        }
    }
}

/// The things below the roots at one time.
struct There {
    /// The folders of all repositories.
    folders: BTreeSet<PathBuf>,
    starters: HashSet<PathBuf>,
    /// True if the search came to its end.
    is_complete: bool,
}

/// Tells whether a file is the one that was looked at, as it was then. A command can set the time of a change, and not that of a status.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    identity: Identity,
    bytes: u64,
    status_time: (i64, i64),
}

impl Stamp {
    /// `None` for what is no regular file: git would wait for whoever writes into a pipe.
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let about = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        let status_time = (about.ctime(), about.ctime_nsec());
        Some(Self { identity: Identity::of(&about), bytes: about.len(), status_time })
    }
}

/// Returns false if an index surely names no other repository, without a call of git.
fn may_name(own: &Path) -> bool {
    // The mode of such an entry, and the mark of an index whose entries are in a second file. Source: gitformat-index(5).
    const MODE: &[u8] = &[0, 0, 0xe0, 0];
    const SECOND: &[u8] = b"link";
    let opened = std::fs::File::open(own).map(Into::into);
    let index = opened
        .ok()
        .and_then(|folder| settings::bytes_of(&folder, OsStr::new("index"), INDEX_BYTES_MAX));
    index.is_none_or(|bytes| bytes.windows(4).any(|four| four == MODE || four == SECOND))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of a search below one root.
struct Below {
    /// Paths named `.git`, and other folders that git takes for repositories.
    repositories: Vec<PathBuf>,
    /// The outermost files and folders that programs start by themselves.
    starters: Vec<PathBuf>,
    is_complete: bool,
}

fn known(folder: &Path) -> Option<Known> {
    let about = folder.symlink_metadata().ok()?;
    Some((Identity::of(&about), about.created().ok()))
}

/// Searches level by level.
fn found_below(root: &Path, entries_max: usize) -> Below {
    let mut found = Below { repositories: Vec::new(), starters: Vec::new(), is_complete: true };
    let mut entries_left = entries_max;
    let mut left = std::collections::VecDeque::from([root.to_owned()]);
    while let Some(directory) = left.pop_front() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let mut names = HashSet::new();
        let mut below = Vec::new();
        for entry in entries.flatten() {
            if entries_left == 0 {
                found.is_complete = false;
                return found;
            }
            entries_left -= 1;
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
            if name == ".git" {
                found.repositories.push(entry.path());
            } else {
                let is_starter = is_protected_name(name.as_bytes());
                if is_starter && !found.starters.iter().any(|outer| directory.starts_with(outer)) {
                    found.starters.push(entry.path());
                }
                if kind.is_dir() {
                    below.push(entry.path());
                }
            }
            names.insert(name);
        }
        if is_repository(|name| names.contains(OsStr::new(name))) {
            found.repositories.push(directory);
        }
        left.extend(below.into_iter().filter(|path| !is_passed_over(path)));
    }
    found
}

/// Gives a file or folder another name that nothing has. Returns the name.
fn aside(folder: &impl std::os::fd::AsFd, name: &str) -> io::Result<String> {
    for number in 0..NAMES_MAX {
        let new = match number {
            0 => format!("{name}.set-aside"),
            _ => format!("{name}.set-aside-{number}"),
        };
        match rustix::fs::renameat_with(folder, name, folder, &new, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(new),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_the_search_too_long_is_said_once_it_does() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str| std::fs::write(root.path().join(name), "").unwrap();
        ["a", "b"].into_iter().for_each(make);
        let roots = vec![root.path().to_owned()];
        let scratch = tempfile::tempdir().unwrap();
        let few = Repositories::with_bound(roots.clone(), scratch.path(), None, 3);
        few.begin();
        assert!(!few.set_aside().is_cut_short);
        few.begin();
        ["c", "d"].into_iter().for_each(make);
        assert!(few.set_aside().is_cut_short);
        let many = Repositories::with_bound(roots, scratch.path(), None, 3);
        many.begin();
        assert!(!many.set_aside().is_cut_short);
    }
}
