//! The life of a worktree: made, found again, removed.
//!
//! A worktree counts from the moment its note is there, which is written last; what a crash leaves before that is found as
//! unfinished. It is removed in the order: what it holds is kept by a ref, its note changes its name, its files go. So a crash at any
//! point leaves a worktree that is whole, or one of which everything is kept.
//!
//! HEAD of a worktree is detached: no ref of the user's changes, and no branch name can be taken.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::copy::copy;
use crate::error::{Refusal, WorktreeError};
use crate::exact::LeftOut;
use crate::git::{Git, parts, path};
use crate::ids::{Name, Tree};
use crate::making::{Making, Unfinished, names};
use crate::marker::{Marked, Marker};
use crate::removing::{remove, writable_then};
use crate::repository::Repository;
use crate::snapshot::{Conflicts, Snapshot, Start, Trees, commits};
use crate::wary;

/// How often files that change while they are copied are copied again.
const COPIES_MAX: u32 = 3;

/// A worktree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// What it is called; refs below `refs/tine/` have this name.
    pub name: Name,
    /// Where it is to be. Must not exist; folders above it are made.
    pub path: PathBuf,
    /// What it starts from.
    pub start: Start,
    /// Milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// A worktree that tine has made.
#[derive(Debug, Clone)]
pub struct Worktree {
    repository: Repository,
    marker: Marker,
    left_out: Vec<LeftOut>,
}

/// A worktree that was removed, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The state that it held.
    pub end: Snapshot,
    /// The number of files that differ in that from the start.
    pub files: u32,
    /// The number of commits that were made.
    pub commits: u32,
}

/// Something of tine's in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is called.
    pub name: Name,
    /// Where its files are, or were.
    pub path: PathBuf,
    /// How it is.
    pub state: FoundState,
}

/// How a worktree is that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundState {
    /// It can be worked in.
    Ready,
    /// It was being made when its maker ended, or still is.
    Unfinished,
    /// It was being removed when its remover ended, or still is. What it held is kept.
    Leaving,
    /// Somebody has removed its files without tine; its note may be spoilt, too.
    Gone,
}

impl Repository {
    /// Makes a worktree that holds what `start` says, in a checkout of its own with HEAD detached. Nothing of this checkout changes;
    /// of the repository, objects and a ref below `refs/tine/` are added. On failure nothing is left.
    pub fn fork(&self, new: &NewWorktree) -> Result<Worktree, WorktreeError> {
        self.refuse_taken(new)?;
        match &new.start {
            Start::State => self.fork_state(new),
            Start::Clean => {
                let base = self.base(new.now_ms)?;
                let start = self.snapshot_of(base, new.now_ms)?;
                self.fork_commit(new, Making::First, &start, &start)
            }
            Start::At(name) => {
                let start = self.snapshot_of(self.commit(name)?, new.now_ms)?;
                self.fork_commit(new, Making::First, &start, &start)
            }
        }
    }

    fn refuse_taken(&self, new: &NewWorktree) -> Result<(), WorktreeError> {
        if self.ref_at(&new.name.start_ref())?.is_some() {
            return Err(Refusal::Taken(new.name.to_string()).into());
        }
        self.refuse_existing(&new.path)
    }

    pub(crate) fn refuse_existing(&self, path: &Path) -> Result<(), WorktreeError> {
        match fs::symlink_metadata(path) {
            Ok(_) => Err(Refusal::Exists(path.to_owned()).into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(source) => Err(WorktreeError::file("look at", path, source)),
        }
    }

    /// Copies the checkout, and makes sure that what was copied is what the snapshot says.
    fn fork_state(&self, new: &NewWorktree) -> Result<Worktree, WorktreeError> {
        let mut taken = self.take(Conflicts::Refuse, new.now_ms)?;
        let included = self.included(&taken.scratch)?;
        let making = Unfinished::begin(self, new, Making::First, taken.snapshot.base.as_str())?;
        making.set_sparse(self.sparse().as_ref())?;
        copy(self.top(), making.path(), &taken.files)?;
        for submodule in &taken.submodules {
            making.folder(submodule)?;
        }
        copy(self.top(), making.path(), &included)?;
        making.write_others(&taken.others)?;
        for copies in 1.. {
            let there = making.adopt_index(&taken)?;
            let difference = self.difference(&taken.snapshot, &there)?;
            if difference.is_empty() {
                break;
            }
            if copies == COPIES_MAX {
                return Err(Refusal::Changing(difference).into());
            }
            taken = self.take(Conflicts::Refuse, new.now_ms)?;
            making.clear(&difference)?;
            copy(self.top(), making.path(), &difference)?;
        }
        let made = making.finish(&taken.snapshot)?;
        Ok(Worktree { left_out: taken.others.left_out, ..made })
    }

    /// Fills a worktree with `state`: as it was where that is kept, else as git would check it out.
    pub(crate) fn fork_commit(
        &self,
        new: &NewWorktree,
        making: Making,
        start: &Snapshot,
        state: &Snapshot,
    ) -> Result<Worktree, WorktreeError> {
        let is_first = making == Making::First;
        let making = Unfinished::begin(self, new, making, state.base.as_str())?;
        making.fill(state)?;
        let start = if is_first { &making.with_exact(start)? } else { start };
        let scratch = self.take_index()?;
        let mut included = self.included(&scratch)?;
        let held = making.ignored_held()?;
        // What the state itself has goes before what is only ignored here, and what a worker made of that before it, too.
        let is_anew = |file: &Path| held.as_ref().is_none_or(|held| held.is_anew(file));
        included.retain(|file| is_anew(file) && is_free(making.path(), file));
        copy(self.top(), making.path(), &included)?;
        if let Some(held) = &held {
            making.write_ignored(held, |file| is_free(making.path(), file))?;
        }
        making.finish(start)
    }

    /// Paths in which two states differ, staged or not.
    fn difference(&self, one: &Snapshot, other: &Trees) -> Result<Vec<PathBuf>, WorktreeError> {
        let git = self.git();
        let mut paths = changed_paths(&git, &one.work_tree, &other.work)?;
        paths.extend(changed_paths(&git, &one.index_tree, &other.index)?);
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// All worktrees of tine's that the repository has files or notes of.
    pub fn worktrees(&self) -> Result<Vec<Found>, WorktreeError> {
        let mut found = Vec::new();
        for git_dir in own_parts(self.common_dir())? {
            found.extend(found_at(&git_dir).map(|(found, _)| found));
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The worktree of this name at `path`, which must be ready.
    pub fn worktree(&self, name: &Name, path: &Path) -> Result<Worktree, WorktreeError> {
        Worktree::of(self.common_dir(), name, path)
    }

    /// Removes what is left of the worktree of this name at `path`, of which a maker or a remover was cut short, or whose files somebody
    /// else removed; its commits and what was staged are kept first. Must not be called while a maker or remover may still be at work.
    /// A worktree that is ready is left, and so is whatever is elsewhere, whatever it says of itself. Returns whether anything was there.
    pub fn tidy(&self, name: &Name, path: &Path) -> Result<bool, WorktreeError> {
        let mut any = false;
        let place = place_of(path);
        for git_dir in own_parts(self.common_dir())? {
            let Some((found, making)) = found_at(&git_dir) else {
                any |= self.tidy_lost(name, &place, &git_dir)?;
                continue;
            };
            if found.name != *name || found.path != place {
                continue;
            }
            match (found.state, making) {
                (FoundState::Ready, _) => continue,
                // Of one that was to be made again, what was kept stays kept; and whoever only says that they are here get nothing
                // forgotten that belongs to another.
                (FoundState::Unfinished, Making::First) if names(&place, &git_dir) => {
                    self.delete_ref(&name.included_ref())?;
                    self.delete_ref(&name.start_ref())?;
                }
                (FoundState::Gone, _) => {
                    self.hold_rest(name, &git_dir)?;
                    writable_then(&git_dir, || Marker::leave(&git_dir))?;
                }
                // What is left to forget is the note; the refs keep what was there.
                (FoundState::Unfinished | FoundState::Leaving, _) => {}
            }
            remove(&found.path, Some(&git_dir))?;
            any = true;
        }
        Ok(any)
    }

    /// The same for one whose note is lost: it goes if it was made for this place, and nothing stands there any more.
    fn tidy_lost(&self, name: &Name, place: &Path, git_dir: &Path) -> Result<bool, WorktreeError> {
        let is_its = path_of(git_dir).is_some_and(|path| path == place);
        if !is_its || self.refuse_existing(place).is_err() {
            return Ok(false);
        }
        self.hold_rest(name, git_dir)?;
        remove(place, Some(git_dir))?;
        Ok(true)
    }

    /// What says of itself that it is git's own part of the worktree of this name at `path`, which is ready but for its files.
    pub(crate) fn git_dirs_of(
        &self,
        name: &Name,
        path: &Path,
    ) -> Result<Vec<PathBuf>, WorktreeError> {
        let place = place_of(path);
        let is_its = |git_dir: &PathBuf| {
            path_of(git_dir).is_some_and(|found| found == place)
                && matches!(marked(git_dir), Some(Marked::Ready(marker)) if marker.name == *name)
        };
        Ok(own_parts(self.common_dir())?.into_iter().filter(is_its).collect())
    }

    /// Where git keeps what belongs to the worktree at `path`.
    pub(crate) fn git_dir_of(&self, path: &Path) -> Result<Option<PathBuf>, WorktreeError> {
        let leads_here = |git_dir: &PathBuf| path_of(git_dir).is_some_and(|found| found == path);
        Ok(own_parts(self.common_dir())?.into_iter().find(leads_here))
    }
}

/// Whether nothing stands at `file` below `top`, and nothing but directories on the way there: no link that leads elsewhere.
fn is_free(top: &Path, file: &Path) -> bool {
    let mut way: Vec<&Path> = file.ancestors().filter(|above| **above != *Path::new("")).collect();
    way.reverse();
    for above in way {
        match fs::symlink_metadata(top.join(above)) {
            Err(error) => return error.kind() == ErrorKind::NotFound,
            Ok(about) if about.is_dir() => {}
            Ok(_) => return false,
        }
    }
    false
}

/// The paths in which two directories differ.
pub(crate) fn changed_paths(
    git: &Git,
    one: &Tree,
    other: &Tree,
) -> Result<Vec<PathBuf>, WorktreeError> {
    if one == other {
        return Ok(Vec::new());
    }
    let arguments = ["diff-tree", "-r", "--no-renames", "--name-only", "-z"];
    let said = git.run(arguments.into_iter().chain([one.as_str(), other.as_str()]))?;
    Ok(parts(&said).map(path).collect())
}

/// Where git keeps what belongs to each linked checkout alone.
pub(crate) fn own_parts(common_dir: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
    let folder = common_dir.join("worktrees");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(WorktreeError::file("read", &folder, source)),
    };
    let failed = |source| WorktreeError::file("read", &folder, source);
    entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect()
}

/// A path as git keeps it for a worktree: the directory above may be reached by links, the worktree itself is none.
pub(crate) fn place_of(path: &Path) -> PathBuf {
    let above = path.parent().and_then(|above| above.canonicalize().ok());
    match (above, path.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        (None, _) | (_, None) => path.to_owned(),
    }
}

/// What git's own part of a worktree says of it, and how it was made; `None` where tine has not made it.
fn found_at(git_dir: &Path) -> Option<(Found, Making)> {
    let path = path_of(git_dir)?;
    let reason = wary::note(&git_dir.join("locked")).unwrap_or_default();
    let reason = String::from_utf8_lossy(&reason);
    let lock = Making::read_lock(&reason);
    let making = lock.map_or(Making::Again, |(making, _)| making);
    let named = || lock.and_then(|(_, name)| Name::new(name).ok());
    let (name, state) = match marked(git_dir) {
        Some(Marked::Ready(marker)) if names(&path, git_dir) => (marker.name, FoundState::Ready),
        Some(Marked::Ready(marker)) => (marker.name, FoundState::Gone),
        Some(Marked::Leaving(marker)) => (marker.name, FoundState::Leaving),
        Some(Marked::Not) => (named()?, FoundState::Unfinished),
        // Where its files are there, nobody knows what they began with, and they are left.
        None if names(&path, git_dir) => return None,
        None => (named()?, FoundState::Gone),
    };
    Some((Found { name, path, state }, making))
}

/// What the note in git's own part of a worktree says; `None` where it cannot be read, which must not stand in the way of others.
pub(crate) fn marked(git_dir: &Path) -> Option<Marked> {
    let read = Marker::read(git_dir);
    read.inspect_err(|error| tracing::warn!(%error, "passed over the note of a worktree")).ok()
}

/// Where the files of a worktree are, by git's own part of it.
pub(crate) fn path_of(git_dir: &Path) -> Option<PathBuf> {
    let text = wary::note(&git_dir.join("gitdir")).ok()?;
    let dot_git = path(text.strip_suffix(b"\n").unwrap_or(&text));
    dot_git.parent().map(Path::to_owned)
}

impl Worktree {
    pub(crate) fn new(repository: Repository, marker: Marker) -> Self {
        Self { repository, marker, left_out: Vec::new() }
    }

    /// The worktree of this name at `path` in the repository whose shared part is `common_dir`; it must be ready. Whoever works in it is
    /// not trusted: its files, and what git keeps for it, are looked at and not obeyed, what it started from is what the ref says, and
    /// only a checkout counts that says itself that it is this one. So `path` is what the caller has written down, not what was found.
    pub fn of(common_dir: &Path, name: &Name, path: &Path) -> Result<Self, WorktreeError> {
        let place = place_of(path);
        for git_dir in own_parts(common_dir)? {
            let Some(top) = path_of(&git_dir).filter(|top| *top == place) else { continue };
            let Some(Marked::Ready(marker)) = marked(&git_dir) else { continue };
            if marker.name != *name || !names(&top, &git_dir) {
                continue;
            }
            let repository = Repository::strange(common_dir, top, git_dir);
            let Some(start) = repository.ref_at(&name.start_ref())? else { continue };
            let start = Snapshot::read(&repository.git(), start)?;
            return Ok(Self::new(repository, Marker { start, ..marker }));
        }
        Err(Refusal::Unknown(name.to_string()).into())
    }

    /// What it is called.
    pub fn name(&self) -> &Name {
        &self.marker.name
    }

    /// Its checkout.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The directory in it that stands for the one that it was forked from.
    pub fn directory(&self) -> PathBuf {
        // Component by component, so that nothing is added to the top. Where git knows of no file in it, it was not made.
        let directory: PathBuf =
            self.repository.top().components().chain(self.marker.inside.components()).collect();
        if directory.is_dir() { directory } else { self.repository.top().to_owned() }
    }

    /// The top of the checkout that it was forked from.
    pub fn origin(&self) -> &Path {
        &self.marker.origin
    }

    /// What it started from.
    pub fn start(&self) -> &Snapshot {
        &self.marker.start
    }

    /// Things that the checkout has and the worktree did not get. Known only to whoever has just made it.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// When it was made, in milliseconds since the Unix epoch.
    pub fn made_ms(&self) -> i64 {
        self.marker.made_ms
    }

    /// What it holds now. Files in conflict count as they stand, and other repositories inside do not.
    pub fn state(&self, now_ms: i64) -> Result<Snapshot, WorktreeError> {
        Ok(self.look(now_ms)?.0)
    }

    /// What it holds now, and the folders of other repositories inside, of whose files that has none: also those of submodules that
    /// are not there, if somebody wrote into them.
    pub fn look(&self, now_ms: i64) -> Result<(Snapshot, Vec<PathBuf>), WorktreeError> {
        let taken = self.repository.take(Conflicts::AsFiles, now_ms)?;
        Ok((taken.snapshot, taken.left_out))
    }

    /// The folders in it of other repositories, of whose files no state has any.
    pub fn repositories(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        self.repository.repositories()
    }

    /// From now on it starts from what it holds: what made it ready to work in is no work. HEAD is not part of that, and commits made
    /// since it was made count. Must not be called once somebody has worked in it. One ref moves, by which everybody goes who finds
    /// the worktree; whoever is cut short leaves it with its old start or its new one.
    pub fn begin(self, now_ms: i64) -> Result<Self, WorktreeError> {
        self.begin_ignored()?;
        self.begin_made()?;
        let (state, before) = (self.state(now_ms)?, self.start());
        let is_same =
            (&state.index_tree, &state.work_tree) == (&before.index_tree, &before.work_tree);
        if is_same && state.is_exactly(before) {
            return Ok(self);
        }
        let base = (before.base.clone(), before.base_tree.clone());
        let trees = Trees { index: state.index_tree, work: state.work_tree };
        let exact = (state.exact.map(|exact| *exact), now_ms);
        let start = commits(&self.repository.git(), base, trees, exact)?;
        let (name, old) = (self.name().start_ref(), before.work.as_str());
        self.repository.git().run(["update-ref", &name, start.work.as_str(), old])?;
        Ok(Self { marker: Marker { start, ..self.marker }, ..self })
    }

    /// Returns true if `state` is what it started from: no commit, nothing staged, no file changed, not even in a way that git does not see.
    pub fn is_unchanged(&self, state: &Snapshot) -> bool {
        let start = self.start();
        (&state.base, &state.index_tree, &state.work_tree)
            == (&start.base, &start.index_tree, &start.work_tree)
            && state.is_exactly(start)
    }

    /// Removes it. What it holds is kept first, where that is not what it started from; of ignored files only those that came along
    /// and that it changed. Returns what is kept. Refused where files of other repositories are inside, which nobody would keep.
    pub fn remove(self, now_ms: i64) -> Result<Option<Snapshot>, WorktreeError> {
        Ok(self.remove_counted(now_ms)?.map(|removed| removed.end))
    }

    /// Does the same as [`remove`](Self::remove), and counts what is kept.
    pub fn remove_counted(self, now_ms: i64) -> Result<Option<Removed>, WorktreeError> {
        let (state, left_out) = self.look(now_ms)?;
        if !left_out.is_empty() {
            return Err(Refusal::HoldsRepositories(left_out).into());
        }
        let ignored = self.hold_ignored(now_ms)?;
        // What was kept before would come back in place of what it holds.
        let is_start = ignored.is_empty()
            && self.is_unchanged(&state)
            && self.repository.ref_at(&self.name().end_ref())?.is_none();
        let kept = if is_start {
            None
        } else {
            self.hold(&state)?;
            let (files, commits) = self.progress(&state)?;
            Some(Removed { end: state, files, commits })
        };
        let git_dir = self.repository.git_dir();
        writable_then(git_dir, || Marker::leave(git_dir))?;
        if kept.is_none() {
            self.repository.forget_start(self.name())?;
        }
        remove(self.repository.top(), Some(git_dir))?;
        Ok(kept)
    }

    /// Holds a state by a ref, in place of what was held before, so that it is not lost whatever happens to the files.
    pub fn hold(&self, state: &Snapshot) -> Result<(), WorktreeError> {
        self.repository.set_ref(&self.name().end_ref(), &state.work)
    }

    /// How many files differ in `state` from the start, and how many commits were made.
    pub fn progress(&self, state: &Snapshot) -> Result<(u32, u32), WorktreeError> {
        self.repository.progress(self.start(), state)
    }
}

impl Repository {
    /// Counts files that differ between two states of a worktree of this repository, there or removed, those that git sees no change of
    /// among them, and commits that were made.
    pub fn progress(&self, start: &Snapshot, end: &Snapshot) -> Result<(u32, u32), WorktreeError> {
        let git = self.git();
        let files = changed_paths(&git, &start.work_tree, &end.work_tree)?.len()
            + self.unseen_changes(start, end)?.len();
        let range = format!("{}..{}", start.base, end.base);
        let said = git.text(["rev-list", "--count", &range])?;
        let commits = said
            .trim()
            .parse()
            .map_err(|_| WorktreeError::Output { what: "number of commits", text: said.clone() })?;
        Ok((u32::try_from(files).unwrap_or(u32::MAX), commits))
    }
}
