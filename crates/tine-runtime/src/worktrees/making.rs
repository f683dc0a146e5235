//! Notes of worktrees that are being made. What a killed maker leaves goes at the next start, and what is still being made stays.
//!
//! A maker holds a lock on its note until the store knows the agent, so nobody has to guess by the time how long a fork may take.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tine_model::AgentId;
use tine_worktree::{FoundState, Repository, WorktreeError};

use super::checkouts::{blocking, name_of};
use super::policy::WorktreePolicy;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The most times that a note is opened anew because somebody removed it before it was locked.
const OPENS_MAX: u32 = 10;

/// Most bytes of a note: three paths.
const NOTE_BYTES_MAX: u64 = 64 * 1024;

/// A note that is held.
#[derive(Debug)]
pub(super) struct MakingNote {
    path: PathBuf,
    /// Locked until it is dropped, or its process ends.
    _file: File,
}

/// The text of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Text {
    /// The store that will know the agent, by the directory of its processes' locks.
    store: PathBuf,
    agent: String,
    /// A checkout of the repository.
    origin: PathBuf,
    /// The place where the worktree is to be.
    path: PathBuf,
}

impl MakingNote {
    /// Writes the note of a worktree before anything else of it is there.
    pub(super) fn begin(
        policy: &WorktreePolicy,
        owners: &Path,
        agent: AgentId,
        (origin, path): (&Path, &Path),
    ) -> Result<Self, WorktreeError> {
        let folder = policy.notes();
        let note = folder.join(agent.to_string());
        let failed = |doing| failed(doing, &note);
        fs::create_dir_all(&folder).map_err(failed("make the directory"))?;
        let text = Text {
            store: owners.to_owned(),
            agent: agent.to_string(),
            origin: origin.to_owned(),
            path: path.to_owned(),
        };
        let text = serde_json::to_vec(&text).map_err(|error| failed("write")(error.into()))?;
        for _ in 0..OPENS_MAX {
            let mut file = File::create(&note).map_err(failed("write"))?;
            match file.lock() {
                // There are file systems without locks; there a note of ours is removed with its worktree by nobody but us.
                Err(error) if error.kind() != ErrorKind::Unsupported => {
                    return Err(failed("lock")(error));
                }
                Ok(()) | Err(_) => {}
            }
            if is_at(&file, &note) {
                file.write_all(&text).map_err(failed("write"))?;
                return Ok(Self { path: note, _file: file });
            }
        }
        Err(failed("lock")(ErrorKind::ResourceBusy.into()))
    }
}

impl Drop for MakingNote {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "the note of a worktree that is made is left");
        }
    }
}

impl WorktreePolicy {
    /// The directory of these notes.
    fn notes(&self) -> PathBuf {
        self.root.join("making")
    }
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> WorktreeError {
    let path = path.to_owned();
    move |source| WorktreeError::File { doing, path, source }
}

/// Returns true where the path leads to this file: somebody else may have removed it before it was locked.
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |one: &fs::Metadata, other: &fs::Metadata| {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    };
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(one), Ok(other)) => same(&one, &other),
        (Ok(_) | Err(_), _) => false,
    }
}

/// A note whose maker is dead.
struct LeftBehind {
    path: PathBuf,
    /// Locked, so that nobody else sweeps the same.
    _file: File,
    /// Its text; `None` where its maker was killed before it was written.
    text: Option<Text>,
}

impl LeftBehind {
    fn find(policy: &WorktreePolicy) -> Vec<Self> {
        let entries = fs::read_dir(policy.notes()).into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::lock(entry.path())).collect()
    }

    fn lock(path: PathBuf) -> Option<Self> {
        let mut file = File::open(&path).ok()?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
        }
        let mut bytes = Vec::new();
        (&mut file).take(NOTE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = serde_json::from_slice(&bytes).ok();
        is_at(&file, &path).then_some(Self { path, _file: file, text })
    }

    fn remove(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, "the note of a worktree that was never made stays");
        }
    }
}

/// Returns how many worktrees are being made now.
pub fn worktrees_being_made(policy: &WorktreePolicy) -> usize {
    let entries = fs::read_dir(policy.notes()).into_iter().flatten().flatten();
    let is_held = |path: PathBuf| {
        let file = File::open(path).ok();
        file.is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    };
    entries.filter(|entry| is_held(entry.path())).count()
}

impl Runtime {
    /// Sweeps as [`sweep_unborn`](Self::sweep_unborn) does, for whoever has something else to do: failures are only logged.
    pub async fn sweep_at_start(&self) {
        if let Err(error) = self.sweep_unborn().await {
            tracing::warn!(%error, "what killed makers of worktrees have left stays");
        }
    }

    /// Removes what makers of worktrees have left that were killed before the store knew their agents: files, git's own part, and refs.
    /// Nobody has worked there. Returns how many there were.
    pub async fn sweep_unborn(&self) -> Result<usize, RuntimeError> {
        let Some(policy) = self.worktree_policy().cloned() else { return Ok(0) };
        let mut swept = 0;
        for left in LeftBehind::find(&policy) {
            let text = left.text.clone();
            let agent = text.as_ref().and_then(|text| text.agent.parse::<AgentId>().ok());
            let (Some(text), Some(agent)) = (text, agent) else {
                // Whoever was killed before the note was written had done nothing else.
                left.remove();
                continue;
            };
            if text.store != self.owners() {
                continue;
            }
            // After the lock: its maker has written the row by then, or never will.
            if self.store().worktree(agent).await?.is_some() {
                left.remove();
                continue;
            }
            match blocking(move || sweep(agent, &text)).await {
                Ok(was_there) => {
                    swept += usize::from(was_there);
                    left.remove();
                }
                Err(error) => {
                    tracing::warn!(%error, "what is left of a worktree that was never made stays");
                }
            }
        }
        Ok(swept)
    }
}

fn sweep(agent: AgentId, text: &Text) -> Result<bool, WorktreeError> {
    // A repository that is gone has taken all of it along.
    if !text.origin.exists() {
        return Ok(false);
    }
    let (name, repository) = (name_of(agent)?, Repository::at(&text.origin)?);
    let found = repository.worktrees()?.into_iter().find(|found| found.name == name);
    let is_ready = found.as_ref().is_some_and(|found| found.state == FoundState::Ready);
    if is_ready {
        repository.worktree(&name, &text.path)?.remove(0)?;
    } else {
        repository.tidy(&name, &text.path)?;
    }
    repository.forget(&name)?;
    Ok(found.is_some())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::confine::Confinement;

    fn policy(root: PathBuf) -> WorktreePolicy {
        WorktreePolicy {
            root,
            setup: None,
            setup_time_max: Duration::ZERO,
            confinement: Confinement::default(),
            persons_network: tine_model::NetworkReach::none(),
            ports: None,
            environment: Vec::new(),
        }
    }

    #[test]
    fn a_note_is_left_behind_once_nobody_holds_it() {
        let home = tempfile::tempdir().unwrap();
        let policy = policy(home.path().to_owned());
        let [agent, other] = [1, 2].map(|byte| AgentId::from_random([byte; 16]));
        let begin = |agent| {
            let places = (Path::new("/o"), Path::new("/w"));
            MakingNote::begin(&policy, Path::new("/run"), agent, places).unwrap()
        };
        let held = begin(agent);
        assert_eq!((LeftBehind::find(&policy).len(), worktrees_being_made(&policy)), (0, 1));
        drop(held);
        assert_eq!(fs::read_dir(policy.notes()).unwrap().count(), 0, "it goes in the end");

        // As a process leaves it that is killed.
        let MakingNote { path, .. } = &begin(agent);
        let text = fs::read(path).unwrap();
        let name = other.to_string();
        fs::write(policy.notes().join(&name), &text).unwrap();
        fs::write(policy.notes().join("empty"), "").unwrap();
        let mut found = LeftBehind::find(&policy);
        found.sort_by_key(|left| left.path.clone());
        let read: Vec<_> = found.iter().map(|left| left.text.is_some()).collect();
        assert_eq!(read, [true, false]);
        assert!(LeftBehind::find(&policy).is_empty(), "nobody else sweeps them");
        found.into_iter().for_each(LeftBehind::remove);
        assert_eq!(fs::read_dir(policy.notes()).unwrap().count(), 1);
    }
}
