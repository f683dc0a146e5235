//! The worktrees that there are, as a person wants to see them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use futures_util::stream::{self, StreamExt as _};
use tine_model::{AgentId, AgentRecord, AgentState, WorktreeRecord};
use tine_store::AgentFilter;
use tine_worktree::{Found, FoundState, Name, Repository, Snapshot, Worktree, WorktreeError};

use super::checkouts::{WORKTREES_AT_ONCE, any_checkout, blocking, worktree_of};
use super::standing::had_work;
use crate::error::RuntimeError;
use crate::runtime::Runtime;
use tine_worktree::Refusal as WorktreeRefusal;

/// How a worktree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeState {
    /// It can be worked in.
    Ready,
    /// It was removed; what it held is kept.
    Removed,
    /// It is being made, or its maker ended before it was.
    Unfinished,
    /// It is being removed, or its remover ended before it was; what it held is kept.
    Leaving,
    /// Somebody has removed its files without tine.
    Gone,
    /// Its repository is not where it was.
    Moved,
}

impl WorktreeState {
    /// The word in lists and in `--json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Removed => "removed",
            Self::Unfinished => "unfinished",
            Self::Leaving => "leaving",
            Self::Gone => "gone",
            Self::Moved => "moved",
        }
    }
}

/// One worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeView {
    /// What it is called: its agent's id.
    pub name: Name,
    /// Whose it is; `None` where the store knows no such agent.
    pub agent: Option<AgentRecord>,
    /// What the store knows of it.
    pub record: Option<WorktreeRecord>,
    /// Where its files are, or were.
    pub path: PathBuf,
    /// How it is.
    pub state: WorktreeState,
    /// Whether an agent runs in it now.
    pub runs: bool,
}

/// The contents of a worktree, present or former, that no diff shows and no way back brings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unseen {
    /// Ignored files that came along and were changed, or are new and of the same patterns. They are kept when it goes.
    pub ignored: Vec<PathBuf>,
    /// Files that changed in a way that git does not see: what a filter takes out, line ends, permissions. They are kept when it goes.
    pub filtered: Vec<PathBuf>,
    /// Ignored files and directories that were made there, but for caches. They go with it.
    pub made: Vec<PathBuf>,
    /// Folders of other repositories in it that have files, those of submodules among them. While they are there, it does not go.
    pub repositories: Vec<PathBuf>,
}

impl Unseen {
    /// Whether there is nothing of the kind.
    pub fn is_empty(&self) -> bool {
        let all = [&self.ignored, &self.filtered, &self.made, &self.repositories];
        all.iter().all(|paths| paths.is_empty())
    }

    /// Of the worktree that a row of the store tells of, there or removed, between its start and what it holds.
    pub(super) fn of(
        repository: &Repository,
        record: &WorktreeRecord,
        (start, end): (&Snapshot, &Snapshot),
    ) -> Result<Self, WorktreeError> {
        let unseen = match worktree_of(record) {
            Ok(worktree) => Self::within(&worktree)?,
            Err(_) => {
                let ignored = repository.kept_ignored(&super::checkouts::name_of(record.agent)?)?;
                Self { ignored, ..Self::default() }
            }
        };
        Ok(Self { filtered: repository.unseen_changes(start, end)?, ..unseen })
    }

    fn within(worktree: &Worktree) -> Result<Self, WorktreeError> {
        let (ignored, made) = (worktree.ignored()?, worktree.made_ignored()?);
        let repositories = worktree.repositories()?;
        Ok(Self { ignored, made, repositories, filtered: Vec::new() })
    }
}

/// What was done in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many files differ from its start.
    pub files: u32,
    /// How many commits were made.
    pub commits: u32,
    /// What no diff shows.
    pub unseen: Unseen,
    /// The ref that holds what it held when it was last kept; `None` where nothing was.
    pub kept_by: Option<String>,
    /// True if it had changes, and the refs that kept them were purged.
    pub is_purged: bool,
}

impl Progress {
    fn of(
        record: &WorktreeRecord,
        around: Option<&WorktreeRecord>,
        state: WorktreeState,
        now_ms: i64,
    ) -> Result<Self, WorktreeError> {
        let name = super::checkouts::name_of(record.agent)?;
        let live = match state {
            WorktreeState::Ready => Some(worktree_of(record)?),
            WorktreeState::Removed
            | WorktreeState::Unfinished
            | WorktreeState::Leaving
            | WorktreeState::Gone
            | WorktreeState::Moved => None,
        };
        let repository = any_checkout(record, around)?;
        let Some((start, kept)) = repository.find_kept(&name)? else {
            return match state {
                WorktreeState::Removed => Ok(Self::without_refs(record)),
                WorktreeState::Ready
                | WorktreeState::Unfinished
                | WorktreeState::Leaving
                | WorktreeState::Gone
                | WorktreeState::Moved => Err(WorktreeRefusal::Unknown(name.to_string()).into()),
            };
        };
        let kept_by = kept.is_some().then(|| name.end_ref());
        let end = match (&live, kept) {
            (Some(worktree), _) => worktree.state(now_ms)?,
            (None, Some(kept)) => kept,
            (None, None) => start.clone(),
        };
        let unseen = Unseen::of(&repository, record, (&start, &end))?;
        let (files, commits) = repository.progress(&start, &end)?;
        Ok(Self { files, commits, unseen, kept_by, is_purged: false })
    }

    /// Of one that was removed and of which nothing is kept: it was unchanged then, or that was purged.
    fn without_refs(record: &WorktreeRecord) -> Self {
        Self {
            files: record.files,
            commits: record.commits,
            unseen: Unseen::default(),
            kept_by: None,
            is_purged: had_work(record),
        }
    }
}

impl Runtime {
    /// All worktrees that agents have or had, and those that are nobody's in their repositories and in that of `directory`.
    pub async fn worktrees(&self, directory: &Path) -> Result<Vec<WorktreeView>, RuntimeError> {
        let records = self.store().worktrees().await?;
        let agents = self.store().agents(AgentFilter::All).await?;
        let mut origins: BTreeSet<PathBuf> =
            records.iter().map(|record| PathBuf::from(&record.origin)).collect();
        origins.insert(directory.to_owned());
        let found = blocking(move || found_in(origins)).await?;
        let mut views = Vec::new();
        for record in records {
            // Whoever works elsewhere may call their worktree the same.
            let at = found.iter().find(|found| {
                found.name.as_str() == record.agent.to_string()
                    && found.path == Path::new(&record.path)
            });
            let agent = agents.iter().find(|agent| agent.id == record.agent).cloned();
            views.push(WorktreeView {
                name: super::checkouts::name_of(record.agent)?,
                agent,
                runs: runs_in(&agents, Path::new(&record.path)),
                path: PathBuf::from(&record.path),
                state: match (at.map(|found| found.state), record.removed_ms) {
                    // Git itself no longer finds its files by then.
                    (_, None) if !Path::new(&record.repository).exists() => WorktreeState::Moved,
                    (Some(state), _) => state_of(state),
                    (None, Some(_)) => WorktreeState::Removed,
                    (None, None) => WorktreeState::Gone,
                },
                record: Some(record),
            });
        }
        let known: BTreeSet<Name> = views.iter().map(|view| view.name.clone()).collect();
        let nobodys = found.into_iter().filter(|found| !known.contains(&found.name));
        views.extend(nobodys.map(|found| WorktreeView {
            agent: None,
            record: None,
            runs: runs_in(&agents, &found.path),
            state: state_of(found.state),
            name: found.name,
            path: found.path,
        }));
        Ok(views)
    }

    /// What was done in each worktree by now. Those that are there are looked at; of the others it is what is kept of them. `None` where
    /// nobody can tell.
    pub async fn progress(&self, views: &[WorktreeView]) -> Vec<Option<Progress>> {
        let looks = views.iter().map(|view| self.progress_of(view));
        stream::iter(looks).buffered(WORKTREES_AT_ONCE).collect().await
    }

    /// Finds the part of an agent's own worktree that no diff shows; `None` where it has none, or none any more, and where nobody can tell.
    pub async fn unseen(&self, agent: AgentId) -> Option<Unseen> {
        let record = self.store().worktree(agent).await.ok().flatten()?;
        let now_ms = self.now_ms();
        let looked = blocking(move || {
            let worktree = worktree_of(&record)?;
            let (start, state) = (worktree.start(), worktree.state(now_ms)?);
            Unseen::of(worktree.repository(), &record, (start, &state))
        });
        looked.await.ok()
    }

    /// How many files of an agent's own worktree differ from its start now; of a removed one as many as did when it was last looked at.
    /// `None` for an agent without one, and where nobody can tell.
    pub async fn changed_files(&self, agent: AgentId) -> Result<Option<u32>, RuntimeError> {
        let Some(record) = self.store().worktree(agent).await? else { return Ok(None) };
        if record.removed_ms.is_some() {
            return Ok(Some(record.files));
        }
        let now_ms = self.now_ms();
        let progress = blocking(move || {
            let worktree = worktree_of(&record)?;
            worktree.progress(&worktree.state(now_ms)?)
        });
        Ok(progress.await.ok().map(|(files, _)| files))
    }

    async fn progress_of(&self, view: &WorktreeView) -> Option<Progress> {
        let (record, state, now_ms) = (view.record.clone()?, view.state, self.now_ms());
        let around = self.worktree_at(Path::new(&record.origin)).await.ok()?;
        blocking(move || Progress::of(&record, around.as_ref(), state, now_ms)).await.ok()
    }

    /// Whether anybody runs in the worktree of this agent now.
    pub(super) async fn is_run_in(&self, record: &WorktreeRecord) -> Result<bool, RuntimeError> {
        Ok(runs_in(&self.store().agents(AgentFilter::All).await?, Path::new(&record.path)))
    }

    /// Whether somebody else who lives works in the worktree of this agent; those who go with it are left out.
    pub(super) async fn is_shared(
        &self,
        record: &WorktreeRecord,
        going: &[AgentId],
    ) -> Result<bool, RuntimeError> {
        let is_other = |agent: &AgentRecord| {
            lives_in(agent, record.agent, &record.path) && !going.contains(&agent.id)
        };
        Ok(self.store().agents(AgentFilter::All).await?.iter().any(is_other))
    }
}

fn lives_in(agent: &AgentRecord, owner: AgentId, path: &str) -> bool {
    agent.id != owner
        && agent.state != AgentState::Dead
        && Path::new(&agent.directory).starts_with(path)
}

fn runs_in(agents: &[AgentRecord], path: &Path) -> bool {
    let runs = |agent: &AgentRecord| {
        agent.state == AgentState::Running && Path::new(&agent.directory).starts_with(path)
    };
    agents.iter().any(runs)
}

fn state_of(found: FoundState) -> WorktreeState {
    match found {
        FoundState::Ready => WorktreeState::Ready,
        FoundState::Unfinished => WorktreeState::Unfinished,
        FoundState::Leaving => WorktreeState::Leaving,
        FoundState::Gone => WorktreeState::Gone,
    }
}

/// What tine has in these repositories. A directory that is in none any more has nothing. Without a git that does, nothing is known.
fn found_in(origins: BTreeSet<PathBuf>) -> Result<Vec<Found>, WorktreeError> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for origin in origins {
        let repository = match Repository::at(&origin) {
            Ok(repository) => repository,
            Err(error @ (WorktreeError::NoGit(_) | WorktreeError::OldGit { .. })) => {
                return Err(error);
            }
            Err(_) => continue,
        };
        if seen.insert(repository.common_dir().to_owned()) {
            found.extend(repository.worktrees().unwrap_or_default());
        }
    }
    Ok(found)
}
