//! Repositories that commands make: their settings run programs whenever somebody else calls git there, outside of every wall.
//!
//! The wall protects the settings of repositories that exist when a command starts. What a command has made is looked at when
//! it has ended: settings that could have git run a program are renamed, and git does without them. A repository is known by
//! its identity, never by its path, so that one which was moved stays as it is.
//!
//! Limits. The search is bounded and passes over folders of packages and of build products, except where the index of the
//! checkout names a repository there. A program that git is told to run by the settings of the user is not looked for.

mod settings;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags, RenameFlags};

use super::git;
use super::namespace::Identity;
use super::search::is_passed_over;
use crate::beneath::{Root, look};
use crate::linked::Linked;
use crate::repository::is_repository;
use settings::Own;

/// Entries that are looked at after a command.
const ENTRIES_MAX: usize = 200_000;

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
    /// True if there is so much now that not all of it was looked at, and there was not before.
    pub(crate) is_cut_short: bool,
}

/// The repositories below what commands may write.
pub(super) struct Repositories {
    roots: Vec<PathBuf>,
    /// Entries of the roots that are looked at.
    entries_max: usize,
    /// Folders outside the roots that steer git in them: of the linked worktree that is worked in.
    beside: Vec<PathBuf>,
    /// Those that were there before the first command, and what of [`OPTIONAL`] each had.
    known: HashMap<Known, HashSet<&'static str>>,
    /// True if the search for them came to its end.
    was_complete: bool,
    /// Commands that have started and were not looked after.
    begun: AtomicUsize,
}

impl Repositories {
    /// Remembers what is there. Blocks, for a walk through the folders.
    pub(super) fn new(roots: Vec<PathBuf>, linked: Option<&Linked>) -> Self {
        Self::with_bound(roots, linked, ENTRIES_MAX)
    }

    fn with_bound(roots: Vec<PathBuf>, linked: Option<&Linked>, entries_max: usize) -> Self {
        let beside: Vec<PathBuf> = linked
            .iter()
            .flat_map(|linked| [linked.administration.clone(), linked.own_common()])
            .collect();
        let mut new = Self {
            roots,
            entries_max,
            beside,
            known: HashMap::new(),
            was_complete: false,
            begun: AtomicUsize::new(0),
        };
        let folders;
        (folders, new.was_complete) = new.all();
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
        let (folders, is_complete) = self.all();
        done.is_cut_short = !is_complete && self.was_complete;
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

    /// The folders of all repositories, and whether the search came to its end.
    fn all(&self) -> (Vec<PathBuf>, bool) {
        let mut all: Vec<PathBuf> =
            self.beside.iter().filter(|folder| folder.is_dir()).cloned().collect();
        let mut is_complete = true;
        for root in &self.roots {
            let (found, is_all) = found_below(root, self.entries_max);
            is_complete &= is_all;
            let indexed =
                git::repositories_in_index(root).into_iter().map(|path| path.join(".git"));
            for path in found.into_iter().chain(indexed) {
                all.extend(self.own_folders(&path));
            }
        }
        all.sort();
        all.dedup();
        (all, is_complete)
    }

    /// The folders that a repository keeps its things in, those where commands may write: itself, or where a `.git` file or a link
    /// leads, and the one that it shares with others.
    fn own_folders(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let own = match path.is_file() {
            true => settings::named_by_git_file(path),
            false => Some(path.to_owned()),
        };
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

fn known(folder: &Path) -> Option<Known> {
    let about = folder.symlink_metadata().ok()?;
    Some((Identity::of(&about), about.created().ok()))
}

/// Paths named `.git`, and other folders that git takes for repositories, level by level. False if it did not come to its end.
fn found_below(root: &Path, entries_max: usize) -> (Vec<PathBuf>, bool) {
    let (mut found, mut entries_left) = (Vec::new(), entries_max);
    let mut left = std::collections::VecDeque::from([root.to_owned()]);
    while let Some(directory) = left.pop_front() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let mut names = HashSet::new();
        let mut below = Vec::new();
        for entry in entries.flatten() {
            if entries_left == 0 {
                return (found, false);
            }
            entries_left -= 1;
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
            if name == ".git" {
                found.push(entry.path());
            } else if kind.is_dir() {
                below.push(entry.path());
            }
            names.insert(name);
        }
        if is_repository(|name| names.contains(OsStr::new(name))) {
            found.push(directory);
        }
        left.extend(below.into_iter().filter(|path| !is_passed_over(path)));
    }
    (found, true)
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
        let few = Repositories::with_bound(roots.clone(), None, 3);
        few.begin();
        assert!(!few.set_aside().is_cut_short);
        few.begin();
        ["c", "d"].into_iter().for_each(make);
        assert!(few.set_aside().is_cut_short);
        let many = Repositories::with_bound(roots, None, 3);
        many.begin();
        assert!(!many.set_aside().is_cut_short);
    }
}
