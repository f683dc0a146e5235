//! Removing worktrees that nobody needs any more. What one holds is kept first.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tine_model::{AgentId, Reach, WorktreeRecord};
use tine_store::{Lease, StoreError};
use tine_worktree::{
    Found, Name, Refusal as WorktreeRefusal, Removed, Repository, Worktree, WorktreeError,
};

use super::checkouts::{any_checkout, blocking, name_of, worktree_of};
use super::ready::Cause;
use super::standing::{Standing, refuse_moved};
use super::view::{WorktreeState, WorktreeView};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// How old what a maker or remover left behind must be before it is taken for left behind: no one takes that long.
const LEFT_BEHIND_AGE: Duration = Duration::from_secs(3600);

/// The reason to leave a worktree of which nobody can tell what it began with.
const NOTE_LOST: &str = "its note is lost, and its files are there; take what you need of them, remove the directory, and collect again";

/// Which worktrees go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectSpec {
    /// A directory whose repository is looked at, whether or not an agent of this store has a worktree of it.
    pub directory: PathBuf,
    /// Those in which nothing has changed for so long.
    pub age_max: Duration,
    /// Whether nothing is done, and only said.
    pub dry_run: bool,
}

/// What happened to a worktree, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is removed; what it held is kept.
    Removed,
    /// It is removed; it was as it had begun.
    Vanished,
    /// The rest of one that was never finished, or already removed.
    Tidied,
    /// It could not be removed.
    Failed(String),
}

/// A worktree that went, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// What it was called.
    pub name: Name,
    /// Whose it was.
    pub agent: Option<AgentId>,
    /// Where its files were.
    pub path: PathBuf,
    /// What happened to it.
    pub fate: Fate,
    /// Ignored files that had come along and were changed there; they are kept.
    pub ignored: Vec<PathBuf>,
    /// Ignored files and directories that were made there, but for caches; they went with it.
    pub made: Vec<PathBuf>,
    /// Whether a ref holds what it held, or of one whose files somebody else removed what was last kept of them.
    pub is_kept: bool,
}

/// Of when the files of a worktree are that was made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// Its removal, before which all was kept.
    Removal,
    /// When it was last kept; somebody else removed its files after that.
    LastKept,
    /// Now: its files were there, and only the one was lost by which git knows them.
    Now,
    /// Its start: somebody else removed its files, and nothing of them was kept.
    Start,
    /// The checkout as it stands now: nothing is kept of the worktree.
    Anew,
}

/// The loss that is allowed when a worktree is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayLose {
    /// Nothing that was kept.
    Nothing,
    /// All work, where it was purged.
    Everything,
}

/// A worktree that was made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// Where its files are.
    pub path: PathBuf,
    /// Of when they are.
    pub as_of: AsOf,
}

/// The fate of a worktree and of the files in it.
struct Gone {
    fate: Fate,
    /// Ignored files that had come along and were changed in it.
    ignored: Vec<PathBuf>,
    /// Ignored files that were made in it.
    made: Vec<PathBuf>,
    /// True if anything of it is kept.
    is_kept: bool,
    /// The numbers of files and commits that were made in it, where somebody looked.
    progress: Option<(u32, u32)>,
}

impl Gone {
    fn new(fate: Fate) -> Self {
        Self { fate, ignored: Vec::new(), made: Vec::new(), is_kept: false, progress: None }
    }

    /// The row of one that went.
    fn noted(&self, record: &WorktreeRecord, now_ms: i64) -> WorktreeRecord {
        let (files, commits) = self.progress.unwrap_or((record.files, record.commits));
        WorktreeRecord { files, commits, removed_ms: Some(now_ms), ..record.clone() }
    }
}

impl Runtime {
    /// Removes worktrees in which nothing has changed for long and in which nobody runs, and what crashes have left.
    pub async fn collect_worktrees(
        &self,
        spec: &CollectSpec,
    ) -> Result<Vec<Collected>, RuntimeError> {
        self.recover().await?;
        let mut collected = Vec::new();
        for view in self.worktrees(&spec.directory).await? {
            let age_max = match view.state {
                WorktreeState::Removed | WorktreeState::Moved => continue,
                WorktreeState::Ready if view.record.is_some() => spec.age_max,
                WorktreeState::Ready => spec.age_max.max(LEFT_BEHIND_AGE),
                WorktreeState::Unfinished | WorktreeState::Leaving | WorktreeState::Gone => {
                    LEFT_BEHIND_AGE
                }
            };
            if view.runs || self.age_of(&view).await? < age_max {
                continue;
            }
            // While it goes, nobody is to begin in it.
            let lease = match (&view.agent, spec.dry_run) {
                (Some(agent), false) => match self.lease_for_removal(agent.id).await {
                    Ok(lease) => lease,
                    Err(RuntimeError::Store(StoreError::Held { .. })) => continue,
                    Err(error) => return Err(error),
                },
                (Some(_), true) | (None, _) => None,
            };
            let fate = self.fate_of(&view, spec).await;
            let Gone { fate, ignored, made, is_kept, .. } =
                fate.unwrap_or_else(|error| Gone::new(Fate::Failed(error.to_string())));
            if let Some(lease) = lease {
                self.give_back(&lease).await?;
            }
            let agent = view.agent.as_ref().map(|agent| agent.id);
            let (name, path) = (view.name, view.path);
            collected.push(Collected { name, agent, path, fate, ignored, made, is_kept });
        }
        Ok(collected)
    }

    async fn fate_of(&self, view: &WorktreeView, spec: &CollectSpec) -> Result<Gone, RuntimeError> {
        let origin = view
            .record
            .as_ref()
            .map_or_else(|| spec.directory.clone(), |record| PathBuf::from(&record.origin));
        let (name, path) = (view.name.clone(), view.path.clone());
        let (state, record) = (view.state, view.record.clone());
        let (dry_run, now_ms) = (spec.dry_run, self.now_ms());
        let gone = blocking(move || match state {
            WorktreeState::Ready => {
                let found = match record {
                    Some(record) => worktree_of(&record)?,
                    None => Repository::at(&origin)?.worktree(&name, &path)?,
                };
                removed(found, dry_run, now_ms)
            }
            WorktreeState::Removed
            | WorktreeState::Unfinished
            | WorktreeState::Leaving
            | WorktreeState::Gone
            | WorktreeState::Moved => {
                let repository = Repository::at(&origin)?;
                let is_known = |found: &Found| found.name == name && found.path == path;
                if path.exists() && !repository.worktrees()?.iter().any(is_known) {
                    return Ok(Gone::new(Fate::Failed(NOTE_LOST.to_owned())));
                }
                if !dry_run {
                    repository.tidy(&name, &path)?;
                }
                // Nothing was ever kept of one that was not finished.
                let is_kept = repository.kept(&name).is_ok_and(|(_, end)| end.is_some());
                Ok(Gone { is_kept, ..Gone::new(Fate::Tidied) })
            }
        })
        .await?;
        let went = !matches!(gone.fate, Fate::Failed(_));
        if let (Some(record), true) = (&view.record, went && !dry_run) {
            self.store().note_worktree(gone.noted(record, now_ms)).await?;
        }
        Ok(gone)
    }

    /// The lease on an agent whose worktree is to go; `None` for a dead one, which nobody runs any more.
    pub(super) async fn lease_for_removal(
        &self,
        agent: AgentId,
    ) -> Result<Option<Lease>, RuntimeError> {
        match self.acquire(agent).await {
            Ok(lease) => Ok(Some(lease)),
            Err(RuntimeError::Store(StoreError::Dead { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How long ago its agent last did anything, and something was last changed that a worktree's life leaves traces in.
    async fn age_of(&self, view: &WorktreeView) -> Result<Duration, RuntimeError> {
        let now_ms = self.now_ms();
        let (path, updated_ms) =
            (view.path.clone(), view.agent.as_ref().map(|agent| agent.updated_ms));
        blocking(move || {
            let last_ms = last_change_ms(&path).max(updated_ms).unwrap_or(0);
            Ok(Duration::from_millis(u64::try_from(now_ms.saturating_sub(last_ms)).unwrap_or(0)))
        })
        .await
    }

    /// Removes the worktree of an agent now; what it holds is kept, and [`recover_worktree`](Self::recover_worktree) brings it back.
    /// Refused while somebody runs in it.
    pub async fn drop_worktree(&self, agent: AgentId) -> Result<Collected, RuntimeError> {
        self.drop_worktree_with(agent, &[]).await
    }

    /// The same, where these agents go as well: that they work in the worktree is no reason to keep it.
    pub(crate) async fn drop_worktree_with(
        &self,
        agent: AgentId,
        going: &[AgentId],
    ) -> Result<Collected, RuntimeError> {
        self.recover().await?;
        let record = self.own_worktree(agent).await?;
        let path = PathBuf::from(&record.path);
        if record.removed_ms.is_some() {
            return Err(RuntimeError::WorktreeRemoved(agent));
        }
        // Whoever runs in it holds a lease, so that nobody begins while it goes.
        let lease = self.lease_for_removal(agent).await?;
        let dropped = self.drop_leased(&record, path, going).await;
        if let Some(lease) = lease {
            self.give_back(&lease).await?;
        }
        dropped
    }

    async fn drop_leased(
        &self,
        record: &WorktreeRecord,
        path: PathBuf,
        going: &[AgentId],
    ) -> Result<Collected, RuntimeError> {
        if self.is_shared(record, going).await? {
            return Err(RuntimeError::WorktreeShared(record.agent));
        }
        refuse_moved(record)?;
        self.link_again(record).await?;
        let (found, now_ms) = (record.clone(), self.now_ms());
        let around = self.worktree_at(Path::new(&record.origin)).await?;
        let dropped = blocking(move || match worktree_of(&found) {
            Ok(worktree) => removed(worktree, false, now_ms),
            // Somebody else removed its files: what git has of it goes, and what is kept stays.
            Err(_) if !Path::new(&found.path).exists() => {
                let (name, path) = (name_of(found.agent)?, PathBuf::from(&found.path));
                let repository = any_checkout(&found, around.as_ref())?;
                repository.tidy(&name, &path)?;
                let kept = repository.find_kept(&name)?;
                let is_kept = kept.is_some_and(|(_, end)| end.is_some());
                Ok(Gone { is_kept, ..Gone::new(Fate::Tidied) })
            }
            Err(error) => Err(error),
        });
        let gone = dropped.await?;
        self.store().note_worktree(gone.noted(record, now_ms)).await?;
        let Gone { fate, ignored, made, is_kept, .. } = gone;
        let name = name_of(record.agent)?;
        Ok(Collected { name, agent: Some(record.agent), path, fate, ignored, made, is_kept })
    }

    /// Makes the worktree of an agent again that was removed, as it was when it was last kept. Where `may_lose` is given, one of which
    /// all was purged begins as its checkout stands now.
    pub async fn recover_worktree(
        &self,
        agent: AgentId,
        may_lose: MayLose,
    ) -> Result<Recovered, RuntimeError> {
        let record = self.own_worktree(agent).await?;
        refuse_moved(&record)?;
        let path = PathBuf::from(&record.path);
        let found = record.clone();
        if blocking(move || Ok(worktree_of(&found).is_ok())).await? {
            return Err(RuntimeError::WorktreeThere { agent, path });
        }
        if self.link_again(&record).await? {
            return Ok(Recovered { path, as_of: AsOf::Now });
        }
        let standing = self.standing(&record).await?;
        if (standing, may_lose) == (Standing::Purged, MayLose::Everything) {
            let begun = WorktreeRecord { files: 0, commits: 0, ..record.clone() };
            self.store().note_worktree(begun).await?;
        }
        self.make_again(&record, (&Reach::open(), Cause::Command)).await?;
        match standing {
            Standing::Kept => return Ok(Recovered { path, as_of: AsOf::Removal }),
            Standing::Vanished | Standing::Purged => {
                return Ok(Recovered { path, as_of: AsOf::Anew });
            }
            Standing::Ready | Standing::Gone | Standing::Lost => {}
        }
        let kept = blocking(move || worktree_of(&record)?.repository().kept(&name_of(agent)?));
        let as_of = if kept.await?.1.is_some() { AsOf::LastKept } else { AsOf::Start };
        Ok(Recovered { path, as_of })
    }

    /// Mends a worktree that counts as there, and whose files are, but not the one by which git knows them. Returns whether it was so.
    pub(super) async fn link_again(&self, record: &WorktreeRecord) -> Result<bool, RuntimeError> {
        let around = self.worktree_at(Path::new(&record.origin)).await?;
        let record = record.clone();
        if record.removed_ms.is_some() || !Path::new(&record.path).exists() {
            return Ok(false);
        }
        blocking(move || {
            let (name, path) = (name_of(record.agent)?, PathBuf::from(&record.path));
            any_checkout(&record, around.as_ref())?.link_again(&name, &path)
        })
        .await
    }

    /// The worktree that was made for this agent, there or removed; an error where none was.
    pub async fn own_worktree(&self, agent: AgentId) -> Result<WorktreeRecord, RuntimeError> {
        self.store().agent(agent).await?;
        self.store().worktree(agent).await?.ok_or(RuntimeError::NoWorktree(agent))
    }
}

fn removed(worktree: Worktree, dry_run: bool, now_ms: i64) -> Result<Gone, WorktreeError> {
    let (ignored, made) = (worktree.ignored()?, worktree.made_ignored()?);
    if dry_run {
        let (state, left_out) = worktree.look(now_ms)?;
        if !left_out.is_empty() {
            return Err(WorktreeRefusal::HoldsRepositories(left_out).into());
        }
        let changed = !ignored.is_empty() || !worktree.is_unchanged(&state);
        let fate = if changed { Fate::Removed } else { Fate::Vanished };
        return Ok(Gone { ignored, made, is_kept: changed, ..Gone::new(fate) });
    }
    let Some(Removed { files, commits, .. }) = worktree.remove_counted(now_ms)? else {
        return Ok(Gone { made, progress: Some((0, 0)), ..Gone::new(Fate::Vanished) });
    };
    // Whoever asks for work that was purged is told so by these figures.
    let files = files.saturating_add(u32::try_from(ignored.len()).unwrap_or(u32::MAX));
    let progress = Some((files, commits));
    Ok(Gone { ignored, made, is_kept: true, progress, ..Gone::new(Fate::Removed) })
}

/// In milliseconds since the Unix epoch; `None` where nothing is left to look at.
fn last_change_ms(path: &Path) -> Option<i64> {
    let git_dir = std::fs::read_to_string(path.join(".git")).unwrap_or_default();
    let git_dir = git_dir.trim().strip_prefix("gitdir: ").map(PathBuf::from);
    let traces = ["index", "HEAD", "logs/HEAD"];
    let traces = git_dir.iter().flat_map(|git_dir| traces.map(|trace| git_dir.join(trace)));
    let times = traces.chain([path.to_owned()]).filter_map(|trace| {
        let time = std::fs::metadata(trace).ok()?.modified().ok()?;
        let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    });
    times.max()
}
