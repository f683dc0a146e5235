//! Lets go of what is kept of worktrees that are gone. Nothing of this happens by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tine_model::AgentId;
use tine_store::StoreError;
use tine_worktree::{Holds, KeptRefs, Repository};

use super::checkouts::{blocking, name_of};
use super::standing::refuse_moved;
use super::view::{WorktreeState, WorktreeView};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The least age at which refs without work are due. A fork that is under way has written its refs a moment before it counts as made.
const UNDER_WAY_AGE: Duration = Duration::from_secs(3600);

/// Which refs are purged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeSpec {
    /// A directory whose repository is looked at, whether or not an agent of this store has a worktree of it.
    pub directory: PathBuf,
    /// The one agent whose refs are meant; `None` for those of all.
    pub agent: Option<AgentId>,
    /// Those with work that are at least so old.
    pub age_max: Duration,
}

/// All that is kept of one worktree and is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuePurge {
    /// Whose worktree it was; `None` where the store knows no such agent.
    pub agent: Option<AgentId>,
    /// A checkout of the repository that has the refs.
    pub repository: PathBuf,
    /// Its age.
    pub age: Duration,
    /// The refs.
    pub kept: KeptRefs,
}

/// All that is due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PurgePlan {
    /// All that goes, by worktree.
    pub due: Vec<DuePurge>,
    /// The number of those that stay, without those of worktrees that are there.
    pub stays: usize,
    /// The number of bytes that git can free afterwards; `None` where git does not say.
    pub bytes: Option<u64>,
}

impl PurgePlan {
    /// Returns those of which something is lost for good.
    pub fn losses(&self) -> impl Iterator<Item = &DuePurge> {
        self.due.iter().filter(|due| due.kept.holds > Holds::Nothing)
    }
}

impl Runtime {
    /// Finds the refs that are due. Changes nothing.
    pub async fn plan_purge(&self, spec: &PurgeSpec) -> Result<PurgePlan, RuntimeError> {
        let views = self.worktrees(&spec.directory).await?;
        if let Some(agent) = spec.agent {
            refuse_there(agent, &views)?;
        }
        let mut checkouts: BTreeSet<PathBuf> = [spec.directory.clone()].into();
        let records = views.iter().filter_map(|view| view.record.as_ref());
        checkouts.extend(records.map(|record| PathBuf::from(&record.origin)));
        let records = views.iter().filter_map(|view| view.record.as_ref());
        // Where the origin is gone, the repository is beside its own folder.
        let beside = records.filter_map(|record| Path::new(&record.repository).parent());
        checkouts.extend(beside.map(Path::to_owned));
        let (spec, now_ms) = (spec.clone(), self.now_ms());
        blocking(move || {
            let mut plan = PurgePlan { bytes: Some(0), ..PurgePlan::default() };
            for (checkout, repository) in repositories(checkouts) {
                let found = repository.kept_refs()?;
                let mine = due_in(&checkout, found, &views, (&spec, now_ms), &mut plan.stays);
                let refs: Vec<KeptRefs> = mine.iter().map(|due| due.kept.clone()).collect();
                let bytes = repository.bytes_held(&refs).ok();
                plan.bytes = plan.bytes.zip(bytes).map(|(all, more)| all.saturating_add(more));
                plan.due.extend(mine);
            }
            Ok(plan)
        })
        .await
    }

    /// Deletes the refs. Returns false, and deletes nothing, where the worktree is made again at this moment or was meanwhile.
    pub async fn purge(&self, due: &DuePurge) -> Result<bool, RuntimeError> {
        // Whoever makes a worktree again for a run holds this lease, or waits for it.
        let lease = match due.agent {
            None => None,
            Some(agent) => match self.lease_for_removal(agent).await {
                Ok(lease) => lease,
                Err(RuntimeError::Store(StoreError::Held { .. })) => return Ok(false),
                Err(error) => return Err(error),
            },
        };
        let purged = self.purge_leased(due).await;
        if let Some(lease) = lease {
            self.give_back(&lease).await?;
        }
        purged
    }

    async fn purge_leased(&self, due: &DuePurge) -> Result<bool, RuntimeError> {
        let policy = self.worktree_policy().cloned();
        let (repository, kept) = (due.repository.clone(), due.kept.clone());
        let worktree = match due.agent {
            Some(agent) => self.store().worktree(agent).await?,
            None => None,
        };
        if worktree.is_some_and(|record| record.removed_ms.is_none()) {
            return Ok(false);
        }
        blocking(move || {
            // A person who recovers a worktree holds no lease, but this.
            let _alone = policy.map(|policy| policy.lock()).transpose()?;
            let repository = Repository::at(&repository)?;
            if repository.worktrees()?.iter().any(|found| found.name == kept.name) {
                return Ok(false);
            }
            repository.purge(&kept)
        })
        .await
    }
}

fn refuse_there(agent: AgentId, views: &[WorktreeView]) -> Result<(), RuntimeError> {
    let is_its = |view: &&WorktreeView| {
        view.agent.as_ref().is_some_and(|found| found.id == agent) && view.record.is_some()
    };
    let view = views.iter().find(is_its).ok_or(RuntimeError::NoWorktree(agent))?;
    view.record.iter().try_for_each(refuse_moved)?;
    match view.state {
        WorktreeState::Removed => Ok(()),
        WorktreeState::Ready
        | WorktreeState::Unfinished
        | WorktreeState::Leaving
        | WorktreeState::Gone
        | WorktreeState::Moved => {
            Err(RuntimeError::WorktreeThere { agent, path: view.path.clone() })
        }
    }
}

/// Each repository once, with a checkout of it.
fn repositories(checkouts: BTreeSet<PathBuf>) -> Vec<(PathBuf, Repository)> {
    let mut found: BTreeMap<PathBuf, (PathBuf, Repository)> = BTreeMap::new();
    for checkout in checkouts {
        let Ok(repository) = Repository::at(&checkout) else { continue };
        let common_dir = repository.common_dir().to_owned();
        found.entry(common_dir).or_insert((checkout, repository));
    }
    found.into_values().collect()
}

fn due_in(
    checkout: &Path,
    found: Vec<KeptRefs>,
    views: &[WorktreeView],
    (spec, now_ms): (&PurgeSpec, i64),
    stays: &mut usize,
) -> Vec<DuePurge> {
    let mut due = Vec::new();
    for kept in found {
        let view = views.iter().find(|view| view.name == kept.name);
        if view.is_some_and(|view| view.state != WorktreeState::Removed) {
            continue;
        }
        let agent = view.and_then(|view| view.record.as_ref()).map(|record| record.agent);
        let is_meant =
            spec.agent.is_none_or(|meant| name_of(meant).is_ok_and(|meant| meant == kept.name));
        let age_ms = u64::try_from(now_ms.saturating_sub(kept.kept_ms)).unwrap_or(0);
        let age = Duration::from_millis(age_ms);
        let age_max = match (kept.holds, view) {
            // Its row says that it is removed: nobody makes it at this moment.
            (Holds::Nothing, Some(_)) => Duration::ZERO,
            (Holds::Nothing, None) => UNDER_WAY_AGE,
            (Holds::Undo | Holds::BroughtWork | Holds::Work, _) => spec.age_max,
        };
        if is_meant && age >= age_max {
            due.push(DuePurge { agent, repository: checkout.to_owned(), age, kept });
        } else {
            *stays += 1;
        }
    }
    due
}
