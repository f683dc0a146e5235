//! The worktrees that there are, as a person wants to see them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use futures_util::stream::{self, StreamExt as _};
use tine_model::{AgentId, AgentRecord, AgentState, WorktreeRecord};
use tine_store::AgentFilter;
use tine_worktree::{Found, FoundState, Name, Repository};

use super::{WORKTREES_AT_ONCE, blocking, worktree_of};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

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

impl Runtime {
    /// All worktrees that agents have or had, and those that are nobody's in their repositories and in that of `directory`.
    pub async fn worktrees(&self, directory: &Path) -> Result<Vec<WorktreeView>, RuntimeError> {
        let records = self.store().worktrees().await?;
        let agents = self.store().agents(AgentFilter::All).await?;
        let mut origins: BTreeSet<PathBuf> =
            records.iter().map(|record| PathBuf::from(&record.origin)).collect();
        origins.insert(directory.to_owned());
        let found = blocking(move || Ok(found_in(origins))).await?;
        let mut views = Vec::new();
        for record in records {
            // Whoever works elsewhere may call their worktree the same.
            let at = found.iter().find(|found| {
                found.name.as_str() == record.agent.to_string()
                    && found.path == Path::new(&record.path)
            });
            let agent = agents.iter().find(|agent| agent.id == record.agent).cloned();
            views.push(WorktreeView {
                name: super::name_of(record.agent)?,
                agent,
                runs: runs_in(&agents, Path::new(&record.path)),
                path: PathBuf::from(&record.path),
                state: match (at.map(|found| found.state), record.removed_ms) {
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

    /// What was done in each worktree by now: how many files differ from its start, and how many commits were made. Those that are
    /// there are looked at; of the others it is what they had come to, as far as the store knows. `None` where nobody can tell.
    pub async fn progress(&self, views: &[WorktreeView]) -> Vec<Option<(u32, u32)>> {
        let looks = views.iter().map(|view| self.progress_of(view));
        stream::iter(looks).buffered(WORKTREES_AT_ONCE).collect().await
    }

    async fn progress_of(&self, view: &WorktreeView) -> Option<(u32, u32)> {
        let (record, now_ms) = (view.record.clone()?, self.now_ms());
        match view.state {
            WorktreeState::Ready => {
                let looked = blocking(move || {
                    let worktree = worktree_of(&record)?;
                    worktree.progress(&worktree.state(now_ms)?)
                });
                looked.await.ok()
            }
            WorktreeState::Removed
            | WorktreeState::Unfinished
            | WorktreeState::Leaving
            | WorktreeState::Gone => Some((record.files, record.commits)),
        }
    }

    /// Whether anybody runs in the worktree of this agent now.
    pub(super) async fn is_run_in(&self, record: &WorktreeRecord) -> Result<bool, RuntimeError> {
        Ok(runs_in(&self.store().agents(AgentFilter::All).await?, Path::new(&record.path)))
    }

    /// Whether somebody else who lives works in the worktree of this agent.
    pub(super) async fn is_shared(&self, record: &WorktreeRecord) -> Result<bool, RuntimeError> {
        let is_other = |agent: &AgentRecord| lives_in(agent, record.agent, &record.path);
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

/// What tine has in these repositories. A directory that is in none any more has nothing.
fn found_in(origins: BTreeSet<PathBuf>) -> Vec<Found> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for origin in origins {
        let Ok(repository) = Repository::at(&origin) else { continue };
        if seen.insert(repository.common_dir().to_owned()) {
            found.extend(repository.worktrees().unwrap_or_default());
        }
    }
    found
}
