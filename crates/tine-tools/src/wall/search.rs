//! Looks through directories for what a view must cover or protect: secrets, settings that start programs, repositories.
//!
//! The search goes level by level, so that what lies near is found even where the number of entries ends it. Symbolic links
//! are never followed.

use std::collections::{HashSet, VecDeque};
use std::fs::DirEntry;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt};
use std::path::{Path, PathBuf};

use tine_guard::{is_protected, names_files_alone};

use super::namespace::Identity;
use crate::place::Withheld;
use crate::repository::{REPOSITORY_PARTS, is_repository};

/// Directories of other people's packages: thousands of files, and no secrets of the user's. Their names are used for nothing
/// else.
const PACKAGES: [&str; 4] = ["__pycache__", "dist-packages", "node_modules", "site-packages"];

/// The same, where only the whole name tells. Ends of paths.
const PACKAGE_STORES: [&str; 15] = [
    ".asdf/installs",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".gradle/wrapper",
    ".local/share/mise",
    ".m2/repository",
    ".npm/_cacache",
    ".nvm/versions",
    ".pyenv/versions",
    ".rbenv/versions",
    ".rustup/toolchains",
    ".sdkman/candidates",
    ".volta/tools",
    "go/pkg/mod",
];

/// A directory of build products is one that says so: compilers put this file into it.
const BUILD_DIRECTORY: (&str, &str) = ("target", "CACHEDIR.TAG");

/// What of a home is written all the time and can be made again.
const HOME_CACHE: &str = ".cache";

/// Secrets of the directories of a run, and of homes, that are remembered at the most, before those that the repository holds are taken
/// off. Far more than are covered.
const SECRETS_SEEN_MAX: usize = 65_536;

/// Repositories below a directory whose settings are protected at the most.
const REPOSITORIES_MAX: usize = 1_024;

/// Other files and folders that start programs by themselves. Each costs every command some microseconds.
const PROTECTED_MAX: usize = 4_096;

/// Entries of a directory of secrets that are looked at for files with a second name. Key stores have some dozen.
const STORE_ENTRIES_MAX: usize = 1_000;

/// What a directory is to the commands of a wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// They may write in it.
    Writable,
    /// They may read it.
    Readable,
    /// It belongs to the user or to a service.
    Home,
}

/// A search over several directories with one bound.
pub(super) struct Search<'a> {
    hidden: &'a Withheld,
    entries_left: usize,
    secrets_left: usize,
    /// Files that are secrets under every name. Where there are some, each entry is looked at.
    known: &'a HashSet<Identity>,
    /// Whether nothing is passed over.
    is_thorough: bool,
    /// Directories that were looked through.
    done: Vec<PathBuf>,
    pub(super) seen: Seen,
}

/// What a search has found.
pub(super) struct Seen {
    /// Files and directories that hold secrets.
    pub(super) secrets: Vec<PathBuf>,
    /// Directories named `.git`, files of that name, and other folders that git takes for repositories, below what may be written.
    pub(super) repositories: Vec<PathBuf>,
    /// Files and folders below what may be written that start programs by themselves.
    pub(super) protected: Vec<PathBuf>,
    /// True if the search looked at everything.
    pub(super) is_complete: bool,
}

impl<'a> Search<'a> {
    /// A search for what `hidden` names and for the files `known`.
    pub(super) fn new(hidden: &'a Withheld, known: &'a HashSet<Identity>) -> Self {
        Self {
            hidden,
            entries_left: 0,
            secrets_left: 0,
            known,
            is_thorough: false,
            done: Vec::new(),
            seen: Seen {
                secrets: Vec::new(),
                repositories: Vec::new(),
                protected: Vec::new(),
                is_complete: true,
            },
        }
    }

    /// Allows so many entries from here on, and secrets anew.
    pub(super) fn allow(&mut self, entries_max: usize) {
        (self.entries_left, self.secrets_left) = (entries_max, SECRETS_SEEN_MAX);
    }

    /// Passes over nothing from here on, or passes over packages and build products again.
    pub(super) fn be_thorough(&mut self, is_thorough: bool) {
        self.is_thorough = is_thorough;
    }

    /// Looks through `root`, or at it if it is a file.
    pub(super) fn through(&mut self, root: &Path, part: Part) {
        if root.is_file() && (self.hidden)(root) {
            self.seen.secrets.push(root.to_owned());
        }
        let mut left = VecDeque::from([root.to_owned()]);
        while let Some(directory) = left.pop_front() {
            let Ok(entries) = std::fs::read_dir(&directory) else { continue };
            let mut parts = HashSet::new();
            for entry in entries.flatten() {
                if self.entries_left == 0 || self.secrets_left == 0 {
                    self.seen.is_complete = false;
                    return;
                }
                self.entries_left -= 1;
                let name = entry.file_name();
                parts.extend(REPOSITORY_PARTS.into_iter().filter(|part| name == *part));
                if let Some(below) = self.look(&entry, part)
                    && !self.passes_over(&below, root, part)
                {
                    left.push_back(below);
                }
            }
            // One that is named `.git` is known by its name.
            let has_name = directory.ends_with(".git");
            if part == Part::Writable && !has_name && is_repository(|name| parts.contains(name)) {
                self.note_repository(directory);
            }
        }
        self.done.push(root.to_owned());
    }

    /// Notes what an entry is. Returns its path if it is a directory to be looked into.
    fn look(&mut self, entry: &DirEntry, part: Part) -> Option<PathBuf> {
        let (kind, name) = (entry.file_type().ok()?, entry.file_name());
        let is_git = name == ".git";
        if part == Part::Writable {
            if is_git {
                self.note_repository(entry.path());
            } else if is_protected(Path::new(&name)) {
                if self.seen.protected.len() < PROTECTED_MAX {
                    self.seen.protected.push(entry.path())
                } else {
                    self.seen.is_complete = false
                }
            }
        }
        if kind.is_symlink() {
            return None;
        }
        let path = entry.path();
        let is_known = || {
            let about = entry.metadata().ok();
            about.is_some_and(|about| self.known.contains(&Identity::of(&about)))
        };
        // A folder of sources may have the name of a file of secrets; what is in it then counts by its own name.
        // Somebody listens there, in another container maybe, whom no list of this machine's sockets names.
        let is_service = part != Part::Writable && kind.is_socket();
        let is_sources = || kind.is_dir() && names_files_alone(&name.to_string_lossy());
        let is_hidden = || (self.hidden)(&path) && !is_sources();
        if is_service || !is_git && is_hidden() || !self.known.is_empty() && is_known() {
            self.seen.secrets.push(path);
            self.secrets_left -= 1;
            return None;
        }
        (kind.is_dir() && (!is_git || self.is_thorough)).then_some(path)
    }

    fn note_repository(&mut self, path: PathBuf) {
        if self.seen.repositories.len() < REPOSITORIES_MAX {
            self.seen.repositories.push(path)
        } else {
            self.seen.is_complete = false
        }
    }

    fn passes_over(&self, path: &Path, root: &Path, part: Part) -> bool {
        if self.done.iter().any(|done| done == path) {
            return true;
        }
        if self.is_thorough {
            return false;
        }
        let is_cache = || path.parent() == Some(root) && path.ends_with(HOME_CACHE);
        part == Part::Home && is_cache() || is_passed_over(path)
    }
}

/// Returns true for a directory of packages or of build products.
pub(super) fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (build, mark) = BUILD_DIRECTORY;
    PACKAGES.binary_search(&name).is_ok()
        || name == build && path.join(mark).is_file()
        || PACKAGE_STORES.iter().any(|store| path.ends_with(store))
}

impl Seen {
    /// Files among the secrets that have a second name somewhere.
    pub(super) fn with_several_names(&self) -> HashSet<Identity> {
        let mut found = HashSet::new();
        let mut entries_left = STORE_ENTRIES_MAX;
        let mut left: Vec<PathBuf> = self.secrets.clone();
        while let Some(path) = left.pop() {
            let Ok(about) = path.symlink_metadata() else { continue };
            if about.is_dir() {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                let below: Vec<PathBuf> =
                    entries.take(entries_left).map(|entry| entry.path()).collect();
                entries_left -= below.len();
                left.extend(below);
            } else if about.is_file() && about.nlink() > 1 {
                found.insert(Identity::of(&about));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_list_is_written_as_it_is_searched() {
        assert!(PACKAGES.is_sorted());
    }

    fn tree(names: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in names {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        root
    }

    fn shown(root: &tempfile::TempDir, paths: &[PathBuf]) -> Vec<String> {
        let below = |path: &PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
        let mut names: Vec<String> = paths.iter().map(below).collect();
        names.sort();
        names
    }

    fn hidden() -> Withheld {
        Arc::new(|path: &Path| path.ends_with("key"))
    }

    #[test]
    fn secrets_settings_and_repositories_are_found_near_ones_first() {
        let root = tree(&[
            "a/b/c/d/key",
            "key",
            "node_modules/x/key",
            "sub/.git/key",
            "a/.git",
            "bare.git/HEAD",
            "bare.git/objects/x",
            "bare.git/refs/x",
            "apart/HEAD",
            "apart/commondir",
            "no-repository/HEAD",
            "no-repository/objects",
            ".vscode/x",
            "a/.vscode/x",
            "x",
            "target/CACHEDIR.TAG",
            "target/key",
            "a/target/key",
            "pkg/key",
        ]);
        let (hidden, known) = (hidden(), HashSet::new());
        let mut search = Search::new(&hidden, &known);
        search.allow(99);
        search.through(root.path(), Part::Writable);
        assert!(search.seen.is_complete);
        assert_eq!(
            shown(&root, &search.seen.secrets),
            ["a/b/c/d/key", "a/target/key", "key", "pkg/key"]
        );
        assert_eq!(
            shown(&root, &search.seen.repositories),
            ["a/.git", "apart", "bare.git", "sub/.git"]
        );
        assert_eq!(shown(&root, &search.seen.protected), [".vscode", "a/.vscode"]);
        let mut short = Search::new(&hidden, &known);
        short.allow(8);
        short.through(root.path(), Part::Readable);
        assert!(!short.seen.is_complete);
        assert_eq!(shown(&root, &short.seen.secrets), ["key"]);
        assert!(short.seen.protected.is_empty() && short.seen.repositories.is_empty());
    }

    #[test]
    fn a_known_file_is_found_under_another_name_and_in_every_folder() {
        let root = tree(&["conf/key", "node_modules/x"]);
        let known = HashSet::from([Identity::at(&root.path().join("conf/key")).unwrap()]);
        std::fs::rename(root.path().join("conf/key"), root.path().join("node_modules/y")).unwrap();
        std::fs::hard_link(root.path().join("node_modules/y"), root.path().join("z")).unwrap();
        let hidden = hidden();
        let mut search = Search::new(&hidden, &known);
        search.allow(99);
        search.be_thorough(true);
        search.through(root.path(), Part::Writable);
        assert_eq!(shown(&root, &search.seen.secrets), ["node_modules/y", "z"]);
        assert_eq!(search.seen.with_several_names(), known);
    }
}
