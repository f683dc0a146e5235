//! A worktree while it is being made, and how one is taken away again.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::{Refusal, WorktreeError};
use crate::exact::{Others, Sparse};
use crate::fault;
use crate::git::path;
use crate::included::Held;
use crate::index;
use crate::marker::Marker;
use crate::removing::{is_gone, remove};
use crate::repository::Repository;
use crate::snapshot::{Snapshot, Taken, Trees};
use crate::wary;
use crate::worktree::{NewWorktree, Worktree};

/// By what a checkout says where git's own part of it is.
pub(crate) const DOT_GIT: &str = ".git";

/// How the lock of a worktree begins that is made for the first time.
const LOCK_FIRST: &str = "tine: ";

/// How the lock of a worktree begins that is made again of what was kept.
const LOCK_AGAIN: &str = "tine, again: ";

/// Whether there was one of this name before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Making {
    /// The name is new. Should it come to nothing, nothing is to be left.
    First,
    /// What was kept of one is made again. Should it come to nothing, it is to be kept as before.
    Again,
}

impl Making {
    /// Reads the reason of a lock: how it was made, and the name.
    pub(crate) fn read_lock(reason: &str) -> Option<(Self, &str)> {
        let reason = reason.trim_end();
        let first = reason.strip_prefix(LOCK_FIRST).map(|name| (Self::First, name));
        first.or_else(|| reason.strip_prefix(LOCK_AGAIN).map(|name| (Self::Again, name)))
    }

    fn lock(self, name: &str) -> String {
        match self {
            Self::First => format!("{LOCK_FIRST}{name}"),
            Self::Again => format!("{LOCK_AGAIN}{name}"),
        }
    }
}

/// A worktree that is being made; what is there of it goes when this is dropped.
pub(crate) struct Unfinished<'a> {
    origin: &'a Repository,
    new: &'a NewWorktree,
    making: Making,
    repository: Repository,
    /// Whether the ref that holds the start is one that goes as well.
    has_ref: bool,
    finished: bool,
}

impl<'a> Unfinished<'a> {
    /// An empty worktree, known to git.
    pub(crate) fn begin(
        origin: &'a Repository,
        new: &'a NewWorktree,
        making: Making,
        base: &str,
    ) -> Result<Self, WorktreeError> {
        if let Some(folder) = new.path.parent() {
            make_folder(folder)?;
        }
        // Git looks whether the directory exists and makes it then, so two at once could share it.
        let _alone = origin.lock()?;
        origin.refuse_existing(&new.path)?;
        let reason = making.lock(new.name.as_str());
        let arguments =
            ["worktree", "add", "--quiet", "--detach", "--no-checkout", "--lock", "--reason"];
        let arguments = arguments.iter().map(OsStr::new);
        let rest = [reason.as_ref(), new.path.as_os_str(), base.as_ref()];
        let added = origin.git().run(arguments.chain(rest));
        let path = new.path.canonicalize().unwrap_or_else(|_| new.path.clone());
        let git_dir = origin.git_dir_of(&path)?;
        match (added, git_dir) {
            (Ok(_), Some(git_dir)) => {
                let repository = origin.linked(path, git_dir);
                Ok(Self { origin, new, making, repository, has_ref: false, finished: false })
            }
            (Ok(_), None) => {
                remove(&path, None)?;
                let text = path.display().to_string();
                Err(WorktreeError::Output { what: "worktree", text })
            }
            (Err(error), git_dir) => {
                remove(&path, git_dir.as_deref())?;
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.repository.top()
    }

    /// Every file of the state, and the index as it was.
    pub(crate) fn fill(&self, state: &Snapshot) -> Result<(), WorktreeError> {
        // Of one that an older version kept only git knows which files are meant to be there.
        if state.exact.is_none() && self.repository.sparse().is_some() {
            self.check_out(state)
        } else {
            self.repository.fill(state, self.new.now_ms)
        }
    }

    /// Returns the start with what git's commits do not hold of the files as they are now.
    pub(crate) fn with_exact(&self, start: &Snapshot) -> Result<Snapshot, WorktreeError> {
        self.repository.with_exact(start, self.new.now_ms)
    }

    /// Makes what git knows nothing of, as it is in the checkout.
    pub(crate) fn write_others(&self, others: &Others) -> Result<(), WorktreeError> {
        self.repository.write_others(&others.pipes, &others.links)
    }

    /// Which files are meant to be there.
    pub(crate) fn set_sparse(&self, sparse: Option<&Sparse>) -> Result<(), WorktreeError> {
        self.repository.set_sparse(sparse)
    }

    /// Fills it by git alone.
    fn check_out(&self, state: &Snapshot) -> Result<(), WorktreeError> {
        let git = self.repository.git();
        // As a checkout does it, so that files that are not meant to be there are left out.
        git.run(["read-tree", "-m", "-u", state.work_tree.as_str()])?;
        if state.index_tree == state.work_tree {
            return Ok(());
        }
        // What is the same keeps what the index knows of the file. Git is not asked whether a file is: a filter may say no each time.
        git.run(["read-tree", "--reset", state.index_tree.as_str()]).map(drop)
    }

    /// Gives the worktree the index of the checkout, and looks what it holds then.
    ///
    /// Files that were clean by what the index knows of them are taken to be so in the copy too, if the copy has their size and time,
    /// and so git does not read them. All others it reads. So this finds what was left out or is there though it should not be, what changed while
    /// it was copied, and every copy that has another size, kind or time than it should.
    pub(crate) fn adopt_index(&self, taken: &Taken) -> Result<Trees, WorktreeError> {
        let to = self.repository.index();
        let hash_bytes = taken.snapshot.base.as_str().len() / 2;
        let (from, origin) = (taken.scratch.index(), self.origin.top());
        index::adopt(&from, hash_bytes, origin, self.path(), &to)?;
        // Says no where files are changed, which is what they are meant to be.
        let arguments = ["update-index", "-q", "--refresh", "--force-write-index"];
        self.repository.git().answer(arguments, &[])?;
        self.repository.trees(taken)
    }

    /// An empty directory, by which git knows a submodule whose files are not there.
    pub(crate) fn folder(&self, path: &Path) -> Result<(), WorktreeError> {
        make_folder(&self.path().join(path))
    }

    /// Removes what was copied to these paths, which are in order.
    pub(crate) fn clear(&self, paths: &[PathBuf]) -> Result<(), WorktreeError> {
        // What is in a directory goes before a file that takes the directory's place.
        for file in paths.iter().rev().map(|path| self.path().join(path)) {
            let removed = match fault::step().and_then(|()| fs::remove_file(&file)) {
                Err(error) if error.kind() == ErrorKind::IsADirectory => remove_empty(&file),
                other => other,
            };
            match removed {
                Err(error) if !is_gone(&error) => {
                    return Err(WorktreeError::file("remove", &file, error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// What was kept of the ignored files of one that is made again.
    pub(crate) fn ignored_held(&self) -> Result<Option<Held>, WorktreeError> {
        match self.making {
            Making::First => Ok(None),
            Making::Again => self.origin.ignored_held(&self.new.name),
        }
    }

    /// Writes them where nothing else stands.
    pub(crate) fn write_ignored(
        &self,
        held: &Held,
        is_free: impl Fn(&Path) -> bool,
    ) -> Result<(), WorktreeError> {
        self.repository.write_ignored(held, is_free)
    }

    /// From here on the worktree counts.
    pub(crate) fn finish(mut self, start: &Snapshot) -> Result<Worktree, WorktreeError> {
        let (origin, new) = (self.origin, self.new);
        let start_ref = new.name.start_ref();
        {
            let _alone = origin.lock()?;
            if self.making == Making::First {
                if origin.ref_at(&start_ref)?.is_some() {
                    return Err(Refusal::Taken(new.name.to_string()).into());
                }
                self.has_ref = true;
            }
            origin.set_ref(&start_ref, &start.work)?;
        }
        if self.making == Making::First {
            self.repository.note_included(origin, &new.name)?;
        }
        let marker = Marker {
            name: new.name.clone(),
            origin: origin.top().to_owned(),
            inside: origin.inside().to_owned(),
            start: start.clone(),
            made_ms: new.now_ms,
        };
        marker.write(self.repository.git_dir())?;
        self.finished = true;
        Ok(Worktree::new(self.repository.clone(), marker))
    }

    fn undo(&self) -> Result<(), WorktreeError> {
        let forget = || {
            if self.has_ref {
                self.origin.delete_ref(&self.new.name.included_ref())?;
                self.origin.delete_ref(&self.new.name.start_ref())
            } else {
                Ok(())
            }
        };
        // While the files still say whose they are: whoever is cut short after this is tidied up after.
        forget()?;
        remove(self.path(), Some(self.repository.git_dir()))?;
        // A git that was still at it when this began may have set it meanwhile.
        forget()
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = self.undo()
        {
            tracing::warn!(%error, "an unfinished worktree is left; `tine worktree gc` removes it");
        }
    }
}

/// Whether the checkout at `files` says that `git_dir` is git's own part of it. Who works in a worktree can write in its part, but
/// not in the files of others.
pub(crate) fn names(files: &Path, git_dir: &Path) -> bool {
    let Ok(text) = wary::note(&files.join(DOT_GIT)) else { return false };
    let named = text.strip_prefix(b"gitdir: ").map(|named| path(named.trim_ascii_end()));
    let real = |path: &Path| path.canonicalize().ok();
    named.is_some_and(|named| real(&files.join(named)).is_some_and(|at| Some(at) == real(git_dir)))
}

/// Makes a directory, and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), WorktreeError> {
    fault::step()
        .and_then(|()| fs::create_dir_all(folder))
        .map_err(|source| WorktreeError::file("make the directory", folder, source))
}

/// Removes directories that hold nothing but directories that do.
fn remove_empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}
