//! A change is carried out, finished or taken back.
//!
//! The order is: files that go, directories that go, files that change, directories and files that come; then HEAD, which is one act
//! that git can refuse; then the index, whose lock is held all along. A change without HEAD counts once all its files are moved; one
//! with HEAD counts once HEAD is moved: what is left then cannot be refused any more.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::head::{detached, move_detached};
use super::journal::{HeadMove, Journal, Kept, Step, Target};
use super::moves::{exchange, put, settle, take};
use super::print::{Seen, There, index_hash, leads_astray, look, print};
use super::room::{Room, make};
use crate::error::WorktreeError;
use crate::fault;
use crate::obstacle::Obstacle;
use crate::repository::Repository;

/// What HEAD's log says of a move.
const REFLOG: &str = "tine: the work of a worktree";

/// A change that is written down.
pub(crate) struct Change<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) room: &'a Room,
    pub(crate) journal: Journal,
}

/// Where HEAD stands, seen from a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadIs {
    Old,
    New,
    Elsewhere,
}

impl Change<'_> {
    /// Does all of it. On failure all is as it was before. `seen`: what each target was when it was checked.
    pub(crate) fn carry_out(&self, seen: &[Option<Seen>]) -> Result<(), WorktreeError> {
        step(&self.room.change())?;
        self.room.begin()?;
        let done = self.forward(seen);
        match done {
            Ok(()) => self.finish(),
            // A command that was stopped may have moved it all the same.
            Err(_) if self.head_is()? == Some(HeadIs::New) => self.finish(),
            Err(error) => {
                let kept = self.roll_back()?;
                if kept.is_empty() {
                    Err(error)
                } else {
                    Err(WorktreeError::TakenBack { why: Box::new(error), kept })
                }
            }
        }
    }

    fn forward(&self, seen: &[Option<Seen>]) -> Result<(), WorktreeError> {
        if let Some(head) = &self.journal.head {
            self.lock_index(head)?;
        }
        let is_delete = |target: &Target| target.step == Step::Delete;
        let targets = || self.journal.targets.iter().enumerate().zip(seen);
        for ((number, target), seen) in targets().filter(|((_, target), _)| is_delete(target)) {
            self.go(number, target, *seen)?;
        }
        for (folder, _) in &self.journal.removed {
            self.refuse_astray(folder)?;
            let folder = self.repository.top().join(folder);
            step(&folder)?;
            // One that is not empty any more got a file this moment.
            fs::remove_dir(&folder).map_err(|source| match source.kind() {
                ErrorKind::DirectoryNotEmpty => Obstacle::InTheWay(vec![folder.clone()]).into(),
                _ => WorktreeError::file("remove", &folder, source),
            })?;
        }
        for folder in &self.journal.made {
            self.refuse_astray(folder)?;
            let folder = self.repository.top().join(folder);
            step(&folder)?;
            make(&folder)?;
        }
        for ((number, target), seen) in targets().filter(|((_, target), _)| !is_delete(target)) {
            self.go(number, target, *seen)?;
        }
        self.sync()?;
        match &self.journal.head {
            Some(head) => self.move_head(head),
            None => Ok(()),
        }
    }

    /// Moves one file, and takes the move back if it was not the file that was checked.
    fn go(&self, number: usize, target: &Target, seen: Option<Seen>) -> Result<(), WorktreeError> {
        let (slot, path) = (self.slot(number), self.repository.top().join(&target.path));
        let changed = || Obstacle::Changed(vec![target.path.clone()]).into();
        let gone = |source: io::Error| match source.kind() {
            ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => changed(),
            _ => WorktreeError::file("replace", &path, source),
        };
        step(&path)?;
        self.refuse_astray(&target.path)?;
        match target.step {
            Step::Delete => take(&path, &slot).map_err(gone)?,
            Step::Replace(_) => exchange(&slot, &path, &self.aside(number)).map_err(gone)?,
            Step::Add(_) => return put(&slot, &path).map_err(gone),
        }
        step(&path)?;
        let about = look(&slot).map_err(gone)?;
        if about.as_ref().map(Seen::of) == seen {
            return Ok(());
        }
        match target.step {
            Step::Delete => put(&slot, &path),
            Step::Replace(_) => exchange(&slot, &path, &self.aside(number)),
            Step::Add(_) => Ok(()),
        }
        .map_err(gone)?;
        Err(changed())
    }

    /// What is left to do once the change counts.
    pub(super) fn finish(&self) -> Result<(), WorktreeError> {
        if let Some(head) = &self.journal.head {
            self.set_index(head)?;
        }
        let deleted = self.journal.targets.iter().filter(|target| target.step == Step::Delete);
        for target in deleted {
            self.remove_empty(&target.path);
        }
        self.sync()?;
        step(&self.room.change())?;
        self.room.end()
    }

    /// Takes all of it back. What somebody changed in the meantime is left, and what stood there before is kept beside.
    pub(super) fn roll_back(&self) -> Result<Vec<Kept>, WorktreeError> {
        let mut kept = Vec::new();
        let is_delete = |target: &Target| target.step == Step::Delete;
        let targets = || self.journal.targets.iter().enumerate().rev();
        for (number, target) in targets().filter(|(_, target)| !is_delete(target)) {
            step(&target.path)?;
            kept.extend(self.back(number, target)?);
        }
        for folder in self.journal.made.iter().rev() {
            if self.is_astray(folder)? {
                continue;
            }
            // One that is not empty was there before, or is used by now.
            fs::remove_dir(self.repository.top().join(folder)).ok();
        }
        for (folder, mode) in self.journal.removed.iter().rev() {
            step(folder)?;
            if self.is_astray(folder)? {
                continue;
            }
            let path = self.repository.top().join(folder);
            if look(&path).ok().flatten().is_none() {
                make(&path)?;
                fs::set_permissions(&path, Permissions::from_mode(*mode))
                    .map_err(|source| WorktreeError::file("set permissions of", &path, source))?;
            }
        }
        for (number, target) in targets().filter(|(_, target)| is_delete(target)) {
            step(&target.path)?;
            kept.extend(self.back(number, target)?);
        }
        if self.journal.head.is_some() {
            self.unlock_index()?;
        }
        self.sync()?;
        self.room.end()?;
        Ok(kept)
    }

    /// Takes one move back, if it was made.
    fn back(&self, number: usize, target: &Target) -> Result<Option<Kept>, WorktreeError> {
        let (slot, path) = (self.slot(number), self.repository.top().join(&target.path));
        let wrong = |source| WorktreeError::file("restore", &path, source);
        if self.is_astray(&target.path)? {
            return self.left_astray(number, target);
        }
        settle(&slot, &path, &self.aside(number)).map_err(wrong)?;
        let there = print(&path).map_err(wrong)?;
        let in_slot = print(&slot).map_err(wrong)?;
        match target.step {
            Step::Delete if in_slot == There::Nothing => Ok(None),
            Step::Delete if there == There::Nothing => {
                if let Some(folder) = path.parent() {
                    make(folder)?;
                }
                put(&slot, &path).map_err(wrong)?;
                Ok(None)
            }
            Step::Add(_) if in_slot != There::Nothing => Ok(None),
            Step::Add(new) if there == There::Content(new) => {
                take(&path, &slot).map_err(wrong)?;
                Ok(None)
            }
            Step::Add(_) if there == There::Nothing => Ok(None),
            Step::Add(_) => Ok(Some(Kept { path: target.path.clone(), before: None })),
            Step::Replace(new) if in_slot == There::Content(new) => Ok(None),
            Step::Replace(new) if there == There::Content(new) => {
                exchange(&slot, &path, &self.aside(number)).map_err(wrong)?;
                Ok(None)
            }
            Step::Replace(_) | Step::Delete => self.keep(&slot, target).map(Some),
        }
    }

    /// Where the target is behind a link by now, nothing is moved there: what stood at it before is kept.
    fn left_astray(&self, number: usize, target: &Target) -> Result<Option<Kept>, WorktreeError> {
        let (slot, aside) = (self.slot(number), self.aside(number));
        let wrong = |source| WorktreeError::file("keep", &slot, source);
        if look(&aside).map_err(wrong)?.is_some() {
            fs::rename(&aside, &slot).map_err(wrong)?;
        }
        match (target.step, print(&slot).map_err(wrong)?) {
            (Step::Add(_), There::Nothing) => {
                Ok(Some(Kept { path: target.path.clone(), before: None }))
            }
            (Step::Add(_), _) | (Step::Delete | Step::Replace(_), There::Nothing) => Ok(None),
            (Step::Replace(new), There::Content(there)) if there == new => Ok(None),
            (Step::Replace(_) | Step::Delete, _) => self.keep(&slot, target).map(Some),
        }
    }

    fn is_astray(&self, path: &Path) -> Result<bool, WorktreeError> {
        leads_astray(self.repository.top(), path).map_err(|source| {
            WorktreeError::file("look at", &self.repository.top().join(path), source)
        })
    }

    /// Refuses a path above which a link came meanwhile.
    fn refuse_astray(&self, path: &Path) -> Result<(), WorktreeError> {
        if self.is_astray(path)? {
            Err(Obstacle::Changed(vec![path.to_owned()]).into())
        } else {
            Ok(())
        }
    }

    /// Moves what stood at the target before to a place where it stays.
    fn keep(&self, slot: &Path, target: &Target) -> Result<Kept, WorktreeError> {
        let place = self.room.keep()?;
        let name = target.path.file_name().unwrap_or(target.path.as_os_str());
        let goal = place.join(name);
        let moved = match fs::rename(slot, &goal) {
            // The place may be on another file system.
            Err(error) if error.kind() == ErrorKind::CrossesDevices => copy(slot, &goal),
            result => result,
        };
        moved.map_err(|source| WorktreeError::file("keep", &goal, source))?;
        Ok(Kept { path: target.path.clone(), before: Some(goal) })
    }

    /// Leaves everything as somebody made it, and keeps what stood there before.
    pub(super) fn let_be(&self) -> Result<Vec<Kept>, WorktreeError> {
        let mut kept = Vec::new();
        for (number, target) in self.journal.targets.iter().enumerate() {
            let (slot, path) = (self.slot(number), self.repository.top().join(&target.path));
            let wrong = |source| WorktreeError::file("look at", &path, source);
            if self.is_astray(&target.path)? {
                kept.extend(self.left_astray(number, target)?);
                continue;
            }
            settle(&slot, &path, &self.aside(number)).map_err(wrong)?;
            let holds_old = match (target.step, print(&slot).map_err(wrong)?) {
                (Step::Add(_), _) | (_, There::Nothing) => false,
                (Step::Delete, _) => true,
                (Step::Replace(new), in_slot) => in_slot != There::Content(new),
            };
            if holds_old {
                kept.push(self.keep(&slot, target)?);
            }
        }
        self.unlock_index()?;
        self.room.end()?;
        Ok(kept)
    }

    /// Whether every file is moved.
    pub(super) fn is_written(&self) -> Result<bool, WorktreeError> {
        for (number, target) in self.journal.targets.iter().enumerate() {
            let (slot, path) = (self.slot(number), self.repository.top().join(&target.path));
            let wrong = |source| WorktreeError::file("look at", &path, source);
            // Where a link took the place of a directory, what was deleted in that one is behind the link.
            match self.is_astray(&target.path)? {
                true if look(&self.aside(number)).map_err(wrong)?.is_some() => return Ok(false),
                true => {}
                false => settle(&slot, &path, &self.aside(number)).map_err(wrong)?,
            }
            let in_slot = print(&slot).map_err(wrong)?;
            let is_moved = match target.step {
                Step::Delete => in_slot != There::Nothing,
                Step::Add(_) => in_slot == There::Nothing,
                Step::Replace(new) => in_slot != There::Content(new),
            };
            if !is_moved {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where HEAD stands; `None` if it is no part of the change.
    pub(super) fn head_is(&self) -> Result<Option<HeadIs>, WorktreeError> {
        let Some(head) = &self.journal.head else { return Ok(None) };
        let now = if self.repository.is_strange() {
            detached(self.repository)?
        } else {
            self.repository.ref_at("HEAD")?
        };
        Ok(Some(match now {
            Some(now) if now == head.old => HeadIs::Old,
            Some(now) if now == head.new => HeadIs::New,
            Some(_) | None => HeadIs::Elsewhere,
        }))
    }

    fn slot(&self, number: usize) -> PathBuf {
        self.room.change().join("slots").join(number.to_string())
    }

    fn aside(&self, number: usize) -> PathBuf {
        self.room.change().join("slots").join(format!("{number}.aside"))
    }

    /// Removes the directories above a file that went, as far as they are empty.
    fn remove_empty(&self, path: &Path) {
        if leads_astray(self.repository.top(), path).unwrap_or(true) {
            return;
        }
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(self.repository.top().join(folder)).is_err() {
                return;
            }
        }
    }

    /// Makes sure that the moves outlast a power cut.
    fn sync(&self) -> Result<(), WorktreeError> {
        let top = self.repository.top();
        let folders: BTreeSet<PathBuf> = self
            .journal
            .targets
            .iter()
            .filter_map(|target| target.path.parent().map(|folder| top.join(folder)))
            .collect();
        for folder in folders {
            match File::open(&folder).and_then(|folder| folder.sync_all()) {
                Ok(()) => {}
                // It went with its last file.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(source) => return Err(WorktreeError::file("sync", &folder, source)),
            }
        }
        Ok(())
    }
}

/// The part that moves HEAD and the index.
impl Change<'_> {
    fn index_lock(&self) -> PathBuf {
        self.repository.git_dir().join("index.lock")
    }

    /// Takes git's own lock of the index: a file that is to become the index. Refuses if the index is not what was looked at.
    fn lock_index(&self, head: &HeadMove) -> Result<(), WorktreeError> {
        let lock = self.index_lock();
        step(&lock)?;
        match fs::hard_link(self.room.index(), &lock) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(Obstacle::IndexLocked(lock).into());
            }
            Err(source) => return Err(WorktreeError::file("make", &lock, source)),
        }
        step(&lock)?;
        if self.index_is(head)? { Ok(()) } else { Err(Obstacle::HeadMoved.into()) }
    }

    fn index_is(&self, head: &HeadMove) -> Result<bool, WorktreeError> {
        Ok(index_hash(self.repository)? == head.index)
    }

    fn move_head(&self, head: &HeadMove) -> Result<(), WorktreeError> {
        step(&self.index_lock())?;
        if self.repository.is_strange() {
            return move_detached(self.repository, head);
        }
        let git = self.repository.git().holding(&self.room.lock);
        let moved =
            git.run(["update-ref", "-m", REFLOG, "HEAD", head.new.as_str(), head.old.as_str()]);
        match moved {
            Ok(_) => step(&self.index_lock()),
            Err(error) => match self.head_is()? {
                Some(HeadIs::Elsewhere) => Err(Obstacle::HeadMoved.into()),
                Some(HeadIs::Old | HeadIs::New) | None => Err(error),
            },
        }
    }

    /// Lets the lock become the index. If somebody took the lock away, and left the index, it is taken again.
    fn set_index(&self, head: &HeadMove) -> Result<(), WorktreeError> {
        let (lock, index) = (self.index_lock(), self.repository.index());
        if !self.is_ours(&lock)? {
            if self.is_ours(&index)? || !self.index_is(head)? {
                return Ok(());
            }
            self.lock_index(head)?;
        }
        step(&lock)?;
        fs::rename(&lock, &index)
            .map_err(|source| WorktreeError::file("replace", &index, source))?;
        step(&index)
    }

    fn unlock_index(&self) -> Result<(), WorktreeError> {
        let lock = self.index_lock();
        if self.is_ours(&lock)? {
            fs::remove_file(&lock).map_err(|source| WorktreeError::file("remove", &lock, source))
        } else {
            Ok(())
        }
    }

    /// Whether a file is the one that was prepared as the index: the same file, not one of the same content.
    fn is_ours(&self, path: &Path) -> Result<bool, WorktreeError> {
        let wrong = |source| WorktreeError::file("look at", path, source);
        let one = look(path).map_err(wrong)?;
        let other = look(&self.room.index()).map_err(wrong)?;
        Ok(match (one, other) {
            (Some(one), Some(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
            (_, _) => false,
        })
    }
}

fn step(path: &Path) -> Result<(), WorktreeError> {
    fault::step().map_err(|source| WorktreeError::file("change", path, source))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)
    } else {
        fs::copy(from, to).map(drop)
    }
}
