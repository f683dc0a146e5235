//! Finds what a view covers, protects and pins, and finds it again when it was moved.
//!
//! A command may rename folders of its directory, and what was covered in them lies somewhere else then. So each finding below
//! a writable directory is remembered by its identity. Before a command starts, those are looked at again; where one is not
//! where it was, everything is searched anew, and what was covered once is covered under every name.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use tine_guard::HOME_STARTERS;

use super::namespace::Identity;
use super::search::{Part, Search, Seen};
use super::{git, named, reads};
use crate::linked::Linked;
use crate::place::Withheld;
use crate::repository::repository_settings;

/// Entries of the directories of a run that are looked at. About half a second on a warm disk.
const WORK_ENTRIES_MAX: usize = 200_000;

/// Entries of each home, and of each other place of secrets, that are looked at. Each takes as long.
const HOME_ENTRIES_MAX: usize = 200_000;

/// Entries that are looked at for what was moved. Some seconds, once.
const MOVED_ENTRIES_MAX: usize = 1_000_000;

/// What was found. Paths are real ones, apart from links at their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Files and directories that hold secrets.
    pub(super) masked: Vec<PathBuf>,
    /// Paths that start programs by themselves, where they exist.
    pub(super) protected: Vec<PathBuf>,
    /// Repositories' own folders.
    pub(super) pinned: Vec<PathBuf>,
    /// True if the search looked at everything.
    pub(super) is_complete: bool,
}

/// The places to search, and the names to find.
pub(super) struct Finder {
    hidden: Withheld,
    /// In the order in which they are looked through.
    roots: Vec<(PathBuf, Part)>,
    /// Private files of the system.
    private: Vec<PathBuf>,
    /// The linked worktree that is worked in: its part of the repository lies outside the roots.
    linked: Option<Linked>,
    /// Files of a secret's name that the repository holds as they are.
    exempt: HashSet<Identity>,
    /// The user's home, and the checkout that is worked in, where commands may write in them.
    home: Option<PathBuf>,
    top: Option<PathBuf>,
}

impl Finder {
    pub(super) fn new(hidden: Withheld, roots: Vec<(PathBuf, Part)>) -> Self {
        let (private, exempt) = (Vec::new(), HashSet::new());
        Self { hidden, roots, private, linked: None, exempt, home: None, top: None }
    }

    /// The same, which covers these private files of the system as well.
    pub(super) fn with_private(self, private: Vec<PathBuf>) -> Self {
        Self { private, ..self }
    }

    /// The same, which protects what the settings of this checkout name, and where this home is written, what starts there.
    pub(super) fn with_starters(self, top: Option<PathBuf>, home: Option<&Path>) -> Self {
        Self { top, home: home.map(Path::to_owned), ..self }
    }

    /// The same, which protects what steers git in a linked worktree as well.
    pub(super) fn with_linked(self, linked: Option<Linked>) -> Self {
        Self { linked, ..self }
    }

    /// The same, which shows this file whatever its name is: whoever named it was judged.
    pub(super) fn with_shown(mut self, file: &Path) -> Self {
        self.exempt.extend(Identity::at(file));
        self
    }

    /// Looks for the first time. Leaves out, for good, files that the repository of `directory` holds as they lie there now: a
    /// key that is committed is a sample or no secret any more, and builds need it.
    pub(super) fn find_uncommitted(&mut self, directory: &Path) -> Found {
        let seen = self.search(&HashSet::new(), false);
        let committed = git::committed(directory, &seen.secrets);
        self.exempt.extend(committed.iter().filter_map(|path| Identity::at(path)));
        self.found(seen)
    }

    /// Looks.
    pub(super) fn find(&self) -> Found {
        self.found(self.search(&HashSet::new(), false))
    }

    /// Looks again, after a command may have moved the files `known`, which are secrets. Fails if one of them cannot be found and
    /// may be there all the same.
    pub(super) fn find_again(&self, known: &HashSet<Identity>) -> io::Result<Found> {
        let identities = |paths: &[PathBuf]| -> HashSet<Identity> {
            paths.iter().filter_map(|path| Identity::at(path)).collect()
        };
        let found = self.find();
        if known.is_subset(&identities(&found.masked)) {
            return Ok(found);
        }
        let seen = self.search(known, true);
        if !seen.is_complete && !known.is_subset(&identities(&seen.secrets)) {
            return Err(io::Error::other(
                "a secret of the directory was moved and cannot be found among so many files",
            ));
        }
        Ok(self.found(seen))
    }

    /// Looks through everything for secrets by their names and for the files `known`. Those of homes come first: what a directory is
    /// full of takes none of their room.
    fn search(&self, known: &HashSet<Identity>, is_moved: bool) -> Seen {
        let mut search = Search::new(&self.hidden, known);
        search.allow(if is_moved { MOVED_ENTRIES_MAX } else { WORK_ENTRIES_MAX });
        let (homes, work): (Vec<_>, Vec<_>) =
            self.roots.iter().partition(|(_, part)| *part == Part::Home);
        for (root, part) in work {
            // Nothing can be moved to where nothing can be written.
            search.be_thorough(is_moved && *part == Part::Writable);
            search.through(root, *part);
        }
        let in_work = search.seen.secrets.len();
        search.be_thorough(false);
        for (root, part) in homes {
            search.allow(HOME_ENTRIES_MAX);
            search.through(root, *part);
        }
        search.seen.secrets.rotate_left(in_work);
        search.seen
    }

    fn found(&self, mut seen: Seen) -> Found {
        self.exempt(&mut seen);
        let several = seen.with_several_names();
        if !several.is_empty() {
            let named = self.search(&several, false);
            seen.secrets.extend(named.secrets);
            seen.is_complete &= named.is_complete;
            self.exempt(&mut seen);
        }
        let Seen { secrets, repositories, protected, is_complete } = seen;
        let masked = self.private.iter().cloned().chain(secrets).collect();
        let settings = repositories.iter().flat_map(|repository| repository_settings(repository));
        let mut protected: Vec<PathBuf> = protected
            .into_iter()
            .chain(settings)
            .chain(self.linked.iter().flat_map(Linked::steering))
            .chain(self.starting(&repositories))
            .collect();
        // What stands behind a link counts as what stands there.
        let is_link = |path: &&PathBuf| path.is_symlink();
        let behind: Vec<PathBuf> =
            protected.iter().filter(is_link).filter_map(|path| path.canonicalize().ok()).collect();
        protected.extend(behind);
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|about| about.is_dir());
        let pinned = repositories.into_iter().chain(self.linked.iter().map(Linked::own_common));
        let mut pinned: Vec<PathBuf> = pinned.filter(is_folder).collect();
        // An outer one comes first, or it would hide an inner one.
        pinned.sort();
        Found { masked, protected, pinned, is_complete }
    }

    /// Files and folders that are run because the settings of git name them, or because the user's shell or desktop looks there.
    fn starting(&self, repositories: &[PathBuf]) -> Vec<PathBuf> {
        let is_written = |place: &Path| {
            let mut roots = self.roots.iter().filter(|(_, part)| *part == Part::Writable);
            roots.any(|(root, _)| place.starts_with(root))
        };
        if !self.roots.iter().any(|(_, part)| *part == Part::Writable) {
            return Vec::new();
        }
        let below = repositories.iter().filter_map(|own| own.parent());
        let below = below.filter(|top| Some(*top) != self.top.as_deref() && named::may_name(top));
        let mut starting: Vec<PathBuf> = self
            .top
            .iter()
            .map(PathBuf::as_path)
            .chain(below)
            .flat_map(|top| named::places(top, self.home.as_deref()))
            .filter(|path| is_written(path))
            .collect();
        let home = self.home.as_ref().filter(|home| is_written(home));
        starting
            .extend(home.into_iter().flat_map(|home| HOME_STARTERS.map(|name| home.join(name))));
        starting
    }

    fn exempt(&self, seen: &mut Seen) {
        let is_exempt = |path: &PathBuf| {
            Identity::at(path).is_some_and(|identity| self.exempt.contains(&identity))
        };
        seen.secrets.retain(|path| !is_exempt(path));
        let mut before = HashSet::new();
        seen.secrets.retain(|path| before.insert(path.clone()));
    }
}

/// The roots of a finder: what may be written, what else may be read, and where secrets of the user and of services lie.
pub(super) fn roots(
    writable: &[PathBuf],
    readable: &[PathBuf],
    homes: &[PathBuf],
) -> Vec<(PathBuf, Part)> {
    let parts = [(writable, Part::Writable), (readable, Part::Readable), (homes, Part::Home)];
    let mut roots: Vec<(PathBuf, Part)> = Vec::new();
    for (paths, part) in parts {
        let is_searched =
            |path: &&PathBuf| part == Part::Writable || !reads::is_of_the_system(path);
        for path in paths.iter().filter(is_searched) {
            let is_in = |(root, _): &(PathBuf, Part)| path.starts_with(root);
            if !roots.iter().any(is_in) {
                roots.push((path.clone(), part));
            }
        }
    }
    roots
}
