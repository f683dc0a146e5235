//! Which files a change touches, checked against what stands there, with their new content staged. Touches nothing of the checkout.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::bytes::{Sources, Staged};
use super::journal::{HeadMove, Journal, Step, Target};
use super::print::{Print, Seen, There, look, print};
use super::room::{Room, make};
use super::write::Change;
use crate::changes::Mode;
use crate::diff::{Difference, differences};
use crate::error::WorktreeError;
use crate::git::{Git, joined, parts, path};
use crate::ids::Tree;
use crate::obstacle::Obstacle;
use crate::repository::Repository;
use crate::scratch::Scratch;
use crate::snapshot::Taken;

/// A change of the files of a checkout that nothing stands in the way of.
pub(crate) struct Plan<'a> {
    found: Vec<Difference>,
    sources: Sources<'a>,
    before: Tree,
    after: Tree,
    deleted: Vec<PathBuf>,
    replaced: Vec<(PathBuf, Mode)>,
    added: Vec<(PathBuf, Mode)>,
    removed: Vec<(PathBuf, u32)>,
    made: BTreeSet<PathBuf>,
}

impl<'a> Plan<'a> {
    /// Returns the same change, with bytes of files that are known from elsewhere.
    pub(crate) fn by(self, sources: Sources<'a>) -> Self {
        Self { sources, ..self }
    }

    /// What has to change in the checkout so that it holds `after` in place of what was looked at.
    pub(crate) fn make(
        repository: &Repository,
        ours: &Taken,
        after: &Tree,
    ) -> Result<Self, WorktreeError> {
        let before = &ours.snapshot.work_tree;
        let found = differences(&repository.git(), before, after)?;
        let is_submodule = |found: &&Difference| {
            [&found.before, &found.after].iter().any(|side| side.kind() == Some(Mode::Submodule))
        };
        let submodules: Vec<PathBuf> =
            found.iter().filter(is_submodule).map(|found| found.path.clone()).collect();
        if !submodules.is_empty() {
            return Err(Obstacle::Submodules(submodules).into());
        }
        let mut plan = Self {
            sources: Sources::default(),
            found: Vec::new(),
            before: before.clone(),
            after: after.clone(),
            deleted: Vec::new(),
            replaced: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            made: BTreeSet::new(),
        };
        for Difference { before, after, path, .. } in found.iter().cloned() {
            // What git keeps out of a sparse checkout is not there, and need not go.
            let there = here(repository, &path)?.is_some();
            match (before.kind(), after.kind()) {
                (Some(_), Some(mode)) if there => plan.replaced.push((path, mode)),
                (_, Some(mode)) => plan.added.push((path, mode)),
                (Some(_), None) if there => plan.deleted.push(path),
                (_, None) => {}
            }
        }
        plan.found = found;
        plan.make_way(repository)?;
        Ok(plan)
    }

    /// Finds the directories that must come or go, and what stands in the way.
    fn make_way(&mut self, repository: &Repository) -> Result<(), WorktreeError> {
        let deleted: HashSet<&Path> = self.deleted.iter().map(PathBuf::as_path).collect();
        let (mut in_the_way, mut removed, mut made) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (path, _) in &self.added {
            match here(repository, path)? {
                None => {}
                Some(about) if about.is_dir() => {
                    clear_way(repository, path, &deleted, (&mut removed, &mut in_the_way))?;
                    removed.push((path.clone(), about.mode() & 0o777));
                }
                Some(_) if deleted.contains(path.as_path()) => {}
                Some(_) => in_the_way.push(path.clone()),
            }
            for folder in path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()) {
                match here(repository, folder)? {
                    Some(about) if about.is_dir() => {}
                    Some(_) if !deleted.contains(folder) => in_the_way.push(folder.to_owned()),
                    Some(_) | None => drop(made.insert(folder.to_owned())),
                }
            }
        }
        in_the_way.sort();
        in_the_way.dedup();
        if !in_the_way.is_empty() {
            return Err(Obstacle::InTheWay(in_the_way).into());
        }
        (self.removed, self.made) = (removed, made);
        Ok(())
    }

    /// Does it, and moves HEAD and the index with it where that is asked for. On failure all is as it was.
    pub(crate) fn carry_out(
        self,
        repository: &Repository,
        room: &Room,
        ours: &Taken,
        head: Option<HeadMove>,
    ) -> Result<(), WorktreeError> {
        let making = room.making();
        let slots = making.join("slots");
        // With a move of HEAD, the new index is prepared already, and the place with it.
        if head.is_none() {
            room.prepare()?;
        }
        make(&slots)?;
        let new: Vec<&PathBuf> =
            self.replaced.iter().chain(&self.added).map(|(path, _)| path).collect();
        let tree = making.join("tree");
        let modes = self.stage(repository, room, ours, &tree)?;
        let mut journal = Journal {
            removed: self.removed,
            made: self.made.into_iter().collect(),
            head,
            ..Journal::default()
        };
        let mut seen = Vec::new();
        let first = self.deleted.len();
        for path in &self.deleted {
            seen.push(look(&repository.top().join(path)).ok().flatten().as_ref().map(Seen::of));
            journal.targets.push(Target { path: path.clone(), step: Step::Delete });
        }
        for (index, path) in new.iter().enumerate() {
            let (staged, slot) = (tree.join(path), slots.join((first + index).to_string()));
            let old = if index < self.replaced.len() {
                look(&repository.top().join(path)).ok().flatten().as_ref().map(Seen::of)
            } else {
                None
            };
            let print = take_staged(&staged, &slot, (old, modes.get(*path).copied()))
                .map_err(|source| WorktreeError::file("stage", &staged, source))?;
            let step =
                if index < self.replaced.len() { Step::Replace(print) } else { Step::Add(print) };
            seen.push(old);
            journal.targets.push(Target { path: (*path).clone(), step });
        }
        remove_staging(&tree)?;
        let touched: Vec<&Path> = self.deleted.iter().chain(new).map(PathBuf::as_path).collect();
        refuse_changed(repository, ours, &touched)?;
        room.write_journal(&journal)?;
        let sync = || {
            File::open(&slots)?.sync_all()?;
            File::open(&making)?.sync_all()
        };
        sync().map_err(|source| WorktreeError::file("sync", &making, source))?;
        Change { repository, room, journal }.carry_out(&seen)
    }

    /// Lets git write the new files below `tree`, through its filters and with the attributes that hold after the change; then those get
    /// their bytes of which git would write others. Returns permissions that files are to have.
    fn stage(
        &self,
        repository: &Repository,
        room: &Room,
        ours: &Taken,
        tree: &Path,
    ) -> Result<BTreeMap<PathBuf, u32>, WorktreeError> {
        make(tree)?;
        if self.replaced.is_empty() && self.added.is_empty() {
            return Ok(BTreeMap::new());
        }
        let scratch = Scratch::new()?;
        let git = Git::at(tree)
            .with("GIT_DIR", repository.obeyed_dir().as_os_str())
            .with("GIT_WORK_TREE", tree.as_os_str())
            .with_index(&scratch.index())
            .with_settings(repository.programs())
            .holding(&room.lock);
        // What changes is written though git may keep it out of a sparse checkout.
        let read = ["-c", "core.sparseCheckout=false", "read-tree"];
        git.run(read.iter().copied().chain([self.before.as_str()]))?;
        // An index that has all of one directory, moved to another: only files that differ are written.
        let two = ["-m", "-u", self.before.as_str(), self.after.as_str()];
        git.run(read.iter().copied().chain(two))?;
        let (found, after) = (&self.found, &self.after);
        let staged =
            Staged { top: repository.top(), ours: &ours.snapshot, after, found, tree, git: &git };
        staged.write_bytes(&self.sources)
    }
}

/// What stands at a path of the checkout.
fn here(repository: &Repository, path: &Path) -> Result<Option<fs::Metadata>, WorktreeError> {
    let path = repository.top().join(path);
    look(&path).map_err(|source| WorktreeError::file("look at", &path, source))
}

/// Goes through a directory in whose place a file is to come: what is in it must go, too.
fn clear_way(
    repository: &Repository,
    folder: &Path,
    deleted: &HashSet<&Path>,
    (removed, in_the_way): (&mut Vec<(PathBuf, u32)>, &mut Vec<PathBuf>),
) -> Result<(), WorktreeError> {
    let real = repository.top().join(folder);
    let wrong = |source| WorktreeError::file("read", &real, source);
    for entry in fs::read_dir(&real).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let path = folder.join(entry.file_name());
        let about = entry.metadata().map_err(wrong)?;
        if about.is_dir() {
            clear_way(repository, &path, deleted, (removed, in_the_way))?;
            removed.push((path, about.mode() & 0o777));
        } else if !deleted.contains(path.as_path()) {
            in_the_way.push(path);
        }
    }
    Ok(())
}

/// Moves a staged file into its slot, with the permissions that it is to have, or those of the file that it replaces but for who may run it.
fn take_staged(
    staged: &Path,
    slot: &Path,
    (old, wanted): (Option<Seen>, Option<u32>),
) -> io::Result<Print> {
    fs::rename(staged, slot)?;
    let There::Content(print) = print(slot)? else { return Err(io::ErrorKind::InvalidData.into()) };
    if print.mode == Mode::Link {
        return Ok(print);
    }
    let file = File::open(slot)?;
    if let Some(wanted) = wanted {
        file.set_permissions(Permissions::from_mode(wanted))?;
    } else if let Some(old) = old.filter(Seen::is_file) {
        let readable = old.permissions();
        let mode = match print.mode {
            // Who can read it can run it.
            Mode::Program => readable | ((readable & 0o444) >> 2) | 0o100,
            Mode::File | Mode::Link | Mode::Submodule => readable & !0o111,
        };
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()?;
    Ok(print)
}

fn remove_staging(tree: &Path) -> Result<(), WorktreeError> {
    fs::remove_dir_all(tree).map_err(|source| WorktreeError::file("remove", tree, source))
}

/// Refuses files that are not what the snapshot says, by git's own judgement.
fn refuse_changed(
    repository: &Repository,
    ours: &Taken,
    touched: &[&Path],
) -> Result<(), WorktreeError> {
    let touched: HashSet<&Path> = touched.iter().copied().collect();
    let input = joined(ours.files.iter().filter(|file| touched.contains(file.as_path())));
    if input.is_empty() {
        return Ok(());
    }
    let git = repository.git().with_index(&ours.scratch.work());
    // Changes that git was told to overlook are changes all the same.
    git.fed(["update-index", "--no-assume-unchanged", "-z", "--stdin"], &input)?;
    // Says no where files are changed.
    git.answer(["update-index", "-q", "--refresh"], &[])?;
    // A look into a submodule would be a git of its own there, with the settings that stand there.
    let said = git.run(["diff-files", "--ignore-submodules=dirty", "--name-only", "-z"])?;
    let changed: Vec<PathBuf> =
        parts(&said).map(path).filter(|path| touched.contains(path.as_path())).collect();
    if changed.is_empty() { Ok(()) } else { Err(Obstacle::Changed(changed).into()) }
}
