//! What a confined run changed outside its directories: two looks at the file system, and the difference.
//!
//! The wall refuses; this looks whether it did. It judges files as they are, not commands as they were meant, so a refused
//! attempt is no escape. It cannot tell who changed a file: an editor that saves while a run is on looks the same.

use std::collections::HashMap;
use std::fmt;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::linked::{Linked, repository};
use crate::repository::{repository_settings, settings_in};

/// Entries of one look: memory for some 100 MB, and about four seconds of a slow disk.
const ENTRIES_MAX: usize = 500_000;

/// Escapes that are named; a run that changed more has changed everything.
pub const ESCAPES_MAX: usize = 1_000;

/// How deep a home is looked into: its own files and the settings of programs, not the projects.
const HOME_DEPTH: usize = 2;

/// Deeper than any path the system takes.
const ALL_THE_WAY: usize = 4_096;

/// The places of a repository's branches, tags and stashes.
const SHARED: [&str; 5] = ["HEAD", "packed-refs", "refs/heads", "refs/tags", "refs/stash"];

/// Directories of a home in which programs write all the time and from which nothing is run.
const RESTLESS: [&str; 2] = [".cache", ".local/state"];

/// Where is looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Files and directories, and how many directories deep. A directory is always looked at where it is named here.
    pub roots: Vec<(PathBuf, usize)>,
    /// What may change: nothing below is looked at.
    pub without: Vec<PathBuf>,
}

impl Watch {
    /// Around a run in `directory` that may write in `writable`: the directory, what steers git in it, the directories
    /// that those lie in, and the home. `own` is what tine itself writes. Paths must be real ones. In a linked worktree, what
    /// commits write in its repository may change, apart from what names that repository.
    pub fn around(
        directory: &Path,
        writable: &[PathBuf],
        home: Option<&Path>,
        own: &[PathBuf],
    ) -> Self {
        let mut roots = vec![(directory.to_owned(), ALL_THE_WAY)];
        // No diff shows them.
        let settings = repository_settings(&directory.join(".git"));
        roots.extend(settings.into_iter().map(|path| (path, ALL_THE_WAY)));
        let linked = Linked::around(directory);
        let steering = linked.as_ref().map_or_else(Vec::new, Linked::steering);
        roots.extend(steering.into_iter().map(|path| (path, ALL_THE_WAY)));
        let beside = writable.iter().map(PathBuf::as_path).chain([directory]);
        // In a directory that everybody shares, everybody writes.
        let lying = beside.filter_map(Path::parent).filter(|parent| !is_shared(parent));
        roots.extend(lying.map(|parent| (parent.to_owned(), 1)));
        let written = linked.as_ref().map_or_else(Vec::new, Linked::written);
        let mut without = [writable, own, &written].concat();
        if let Some(home) = home {
            roots.push((home.to_owned(), HOME_DEPTH));
            without.extend(RESTLESS.iter().map(|name| home.join(name)));
        }
        // A directory that may be written is not looked through because it is the one that is worked in.
        roots.retain(|(root, depth)| *depth != ALL_THE_WAY || !writable.contains(root));
        Self { roots, without }
    }

    /// The same for a run in a worktree that was made of the checkout `origin`: nothing of that may change, neither its files
    /// nor what its repository shares. Beside the worktree lie those of other runs, which come and go.
    pub fn with_origin(mut self, directory: &Path, origin: &Path) -> Self {
        self.roots
            .retain(|(root, depth)| *depth != 1 || Some(root.as_path()) != directory.parent());
        self.roots.push((origin.to_owned(), ALL_THE_WAY));
        if let Some(shared) = repository(origin) {
            let refs = SHARED.iter().map(|name| shared.join(name));
            let all = settings_in(&shared).chain(refs);
            self.roots.extend(all.map(|path| (path, ALL_THE_WAY)));
            // The rest changes with every commit of anybody.
            self.without.push(shared);
        }
        self
    }

    /// What goes when the linked worktree is removed that `directory`, a real path, is or lies in: its checkout, and git's own part
    /// of it.
    pub fn goes_with(directory: &Path) -> Vec<PathBuf> {
        let linked = Linked::around(directory);
        linked.map_or_else(Vec::new, |linked| vec![linked.top, linked.administration])
    }

    /// Both, for runs that go on at the same time: what one of them may change is no escape of the other.
    pub fn and(mut self, other: Self) -> Self {
        self.roots.extend(other.roots);
        self.without.extend(other.without);
        self.roots.sort();
        self.roots.dedup();
        self.without.sort();
        self.without.dedup();
        self
    }
}

/// Whether it is a directory for everybody's temporary files.
fn is_shared(directory: &Path) -> bool {
    directory.metadata().is_ok_and(|metadata| metadata.mode() & 0o1000 != 0)
}

/// Seconds and nanoseconds.
type Time = (i64, i64);

/// What is compared of a file. Times of the last change come from the kernel and cannot be set back, so what is inside need not be
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    file: (u64, u64),
    mode: u32,
    owner: (u32, u32),
    /// Of a directory these say only that its entries changed, and those are looked at themselves.
    content: Option<(u64, Time, Time)>,
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        let content = (!metadata.is_dir()).then(|| {
            let modified = (metadata.mtime(), metadata.mtime_nsec());
            (metadata.size(), modified, (metadata.ctime(), metadata.ctime_nsec()))
        });
        Self {
            file: (metadata.dev(), metadata.ino()),
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            content,
        }
    }
}

/// One look.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    seen: HashMap<PathBuf, Mark>,
    entries_max: usize,
    complete: bool,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Made,
    /// It is gone.
    Removed,
    /// Its content, its mode, its owner, its names, or what file has its name.
    Changed,
}

/// Something outside that changed while a confined run was on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    /// Where.
    pub path: PathBuf,
    /// What became of it.
    pub change: Change,
}

impl fmt::Display for Escape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.change {
            Change::Made => "was made",
            Change::Removed => "was removed",
            Change::Changed => "was changed",
        };
        write!(formatter, "{} {word}", self.path.display())
    }
}

impl Snapshot {
    /// Looks. Blocks; follows no links, and stays within its limits.
    pub fn take(watch: &Watch) -> Self {
        Self::take_at_most(watch, ENTRIES_MAX)
    }

    /// The same, of so many entries; where there are more it is not complete.
    pub fn take_at_most(watch: &Watch, entries_max: usize) -> Self {
        let mut snapshot = Self { seen: HashMap::new(), entries_max, complete: true };
        for (root, depth) in &watch.roots {
            match root.symlink_metadata() {
                Ok(metadata) => snapshot.look(root, &metadata, *depth, &watch.without),
                // What is not there may be made; below the `.git` file of a worktree nothing can be.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(_) => snapshot.complete = false,
            }
        }
        snapshot
    }

    /// Whether everything could be looked at.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How many files and directories were seen.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// What `after` shows differently, by path; at most [`ESCAPES_MAX`].
    pub fn escapes(&self, after: &Self) -> Vec<Escape> {
        let escape = |path: &Path, change| Escape { path: path.to_owned(), change };
        let changed = after.seen.iter().filter_map(|(path, now)| match self.seen.get(path) {
            None => Some(escape(path, Change::Made)),
            Some(before) if before == now => None,
            Some(_) => Some(escape(path, Change::Changed)),
        });
        let gone = self.seen.keys().filter(|path| !after.seen.contains_key(*path));
        let mut escapes: Vec<Escape> =
            changed.chain(gone.map(|path| escape(path, Change::Removed))).collect();
        escapes.sort_by(|one, other| one.path.cmp(&other.path));
        escapes.truncate(ESCAPES_MAX);
        escapes
    }

    fn look(&mut self, path: &Path, metadata: &Metadata, depth: usize, without: &[PathBuf]) {
        if self.seen.len() >= self.entries_max {
            self.complete = false;
            return;
        }
        self.seen.insert(path.to_owned(), Mark::of(metadata));
        if !metadata.is_dir() || depth == 0 {
            return;
        }
        let Ok(entries) = std::fs::read_dir(path) else {
            self.complete = false;
            return;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.complete = false;
                return;
            };
            let path = entry.path();
            if without.contains(&path) {
                continue;
            }
            // Otherwise it is gone since its directory was read.
            if let Ok(metadata) = entry.metadata() {
                self.look(&path, &metadata, depth - 1, without);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn shown(root: &Path, watch: &Watch, act: impl FnOnce()) -> String {
        let before = Snapshot::take(watch);
        act();
        let after = Snapshot::take(watch);
        assert!(before.is_complete() && after.is_complete());
        let lines = before.escapes(&after).iter().map(Escape::to_string).collect::<Vec<_>>();
        lines.join("\n").replace(&format!("{}/", root.display()), "")
    }

    #[test]
    fn every_kind_of_change_outside_is_named_and_none_inside() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for name in [
            "home/.profile",
            "home/a/b/deep",
            "work/own",
            "work/.git/config",
            "work/.git/modules/sub/HEAD",
            "beside",
        ] {
            write(&path(name), "text");
        }
        let home = path("home");
        let watch = Watch::around(&path("work"), &[path("work")], Some(&home), &[path("tine")]);
        let all = || {
            write(&path("work/own"), "more");
            write(&path("work/new"), "more");
            write(&path("tine/db"), "more");
            write(&path("home/.cache/x"), "more");
            write(&path("work/.git/hooks/pre-commit"), "evil");
            write(&path("work/.git/config"), "evil");
            write(&path("work/.git/commondir"), "../evil");
            write(&path("work/.git/modules/sub/config"), "evil");
            write(&path("home/.profile"), "evil");
            write(&path("home/a/new"), "evil");
            std::fs::set_permissions(path("beside"), PermissionsExt::from_mode(0o600)).unwrap();
            std::fs::remove_dir_all(path("home/a/b")).unwrap();
        };
        insta::assert_snapshot!(shown(root.path(), &watch, all), @"
        beside was changed
        home/.profile was changed
        home/a/b was removed
        home/a/new was made
        work/.git/commondir was made
        work/.git/config was changed
        work/.git/hooks was made
        work/.git/hooks/pre-commit was made
        work/.git/modules/sub/config was made
        ");
        insta::assert_snapshot!(shown(root.path(), &watch, || {}), @"");
    }

    #[test]
    fn a_worktree_may_commit_and_touch_nothing_of_its_origin() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let path = |name: &str| real.join(name);
        for name in ["main/src/a", "main/.git/objects/x", "main/.git/refs/heads/main"] {
            write(&path(name), "text");
        }
        write(&path("main/.git/HEAD"), "ref: refs/heads/main\n");
        let own = "main/.git/worktrees/own";
        write(&path(own).join("commondir"), "../..\n");
        write(&path(own).join("gitdir"), &path("trees/own/.git").display().to_string());
        write(&path("trees/own/.git"), &format!("gitdir: {}\n", path(own).display()));
        let tree = path("trees/own");
        let watch = Watch::around(&tree, std::slice::from_ref(&tree), None, &[])
            .with_origin(&tree, &path("main"));
        let both = Watch::around(&path("main"), &[path("other")], None, &[]).and(watch.clone());
        assert!(watch.roots.iter().all(|root| both.roots.contains(root)));
        assert!(both.without.contains(&tree) && both.without.contains(&path("other")));
        let allowed = || {
            write(&path("trees/own/src/a"), "mine");
            write(&path(own).join("index"), "mine");
            write(&path("main/.git/objects/y"), "mine");
            write(&path("main/.git/worktrees/other/HEAD"), "another run");
            write(&path("trees/other/a"), "another run");
        };
        insta::assert_snapshot!(shown(&real, &watch, allowed), @"");
        let escapes = || {
            write(&path("main/src/a"), "evil");
            write(&path("main/new"), "evil");
            write(&path("main/.git/refs/heads/main"), "evil");
            write(&path("main/.git/refs/stash"), "evil");
            write(&path("main/.git/hooks/pre-commit"), "evil");
            write(&path(own).join("commondir"), "/evil");
            write(&path("trees/own/.git"), "gitdir: /evil");
        };
        insta::assert_snapshot!(shown(&real, &watch, escapes), @"
        main/.git/hooks was made
        main/.git/hooks/pre-commit was made
        main/.git/refs/heads/main was changed
        main/.git/refs/stash was made
        main/.git/worktrees/own/commondir was changed
        main/new was made
        main/src/a was changed
        trees/own/.git was changed
        ");
    }

    #[test]
    fn a_change_that_hides_its_time_is_seen_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("work/file");
        write(&file, "one");
        let watch = Watch::around(&root.path().join("work"), &[], None, &[]);
        let act = || {
            let modified = file.metadata().unwrap().modified().unwrap();
            std::fs::write(&file, "two").unwrap();
            std::fs::File::options()
                .write(true)
                .open(&file)
                .unwrap()
                .set_modified(modified)
                .unwrap();
        };
        insta::assert_snapshot!(shown(root.path(), &watch, act), @"work/file was changed");
    }
}
