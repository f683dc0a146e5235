//! The worktree that an agent works in, for the time of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_fork::ToolFilter;
use tine_fork::stray::Done;
use tine_guard::filter::{FilterError, WorkerFilter};
use tine_model::{AgentId, AgentRecord, RawJson, Reach, WorktreeRecord};

use super::checkouts::{any_checkout, blocking, name_of, worktree_of};
use super::place::text;
use super::ready::{Cause, Unready};
use super::standing::{Standing, refuse_moved};
use super::travel::known_as;
use crate::confine::Confinement;
use crate::error::RuntimeError;
use crate::prompt::worktree_notice;
use crate::runtime::Runtime;

/// Where an agent works, when that is a worktree.
pub(crate) struct Home {
    path: PathBuf,
    /// The top of the checkout that it was made of, as conversations name it.
    known_as: PathBuf,
    /// What the agent's directory stands for there.
    stands_for: PathBuf,
    variables: Vec<(String, String)>,
}

impl Home {
    /// What commands find in their environment there.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.variables.iter().cloned()
    }

    /// The filter of a run there: what leaves the worktree, or reaches what all worktrees share, is refused.
    pub(crate) fn confined(
        &self,
        rest: &Arc<dyn ToolFilter>,
    ) -> Result<Arc<dyn ToolFilter>, FilterError> {
        let worktree = WorkerFilter::new(&self.path)?.with_origin(&self.known_as);
        Ok(Arc::new(Inside { worktree, rest: Arc::clone(rest) }))
    }

    /// The wall of a run there: git can commit behind it, and nothing may change where the worktree was made of.
    pub(crate) fn walled(&self, confinement: &Confinement) -> Confinement {
        Confinement { origin: Some(self.stands_for.clone()), ..confinement.clone() }
    }
}

/// Refuses what leaves a worktree, and what the rest refuses.
struct Inside {
    worktree: WorkerFilter,
    rest: Arc<dyn ToolFilter>,
}

impl ToolFilter for Inside {
    fn allows(&self, tool: &str, input: &RawJson) -> bool {
        self.worktree.allows(tool, input) && self.rest.allows(tool, input)
    }

    fn denial_message(&self, tool: &str, input: &RawJson) -> String {
        if self.worktree.allows(tool, input) {
            self.rest.denial_message(tool, input)
        } else {
            self.worktree.denial_message(tool, input)
        }
    }
}

/// The directory of the checkout that a worktree was made of which one in the worktree stands for.
fn stands_for(directory: &Path, record: &WorktreeRecord) -> PathBuf {
    let inside = directory.strip_prefix(&record.path).unwrap_or(Path::new(""));
    Path::new(&record.origin).components().chain(inside.components()).collect()
}

/// Whether a worktree can be worked in.
async fn is_ready(record: &WorktreeRecord) -> Result<bool, RuntimeError> {
    let found = record.clone();
    blocking(move || Ok(worktree_of(&found).is_ok())).await
}

impl Runtime {
    /// The worktree that the agent's directory lies in, its own or an ancestor's. One that was removed is made again, as it was, within
    /// the reach of the agent and of the worktree's own.
    pub(crate) async fn home(
        &self,
        agent: &AgentRecord,
        cause: Cause,
    ) -> Result<Option<Home>, RuntimeError> {
        let Some(record) = self.worktree_around(agent).await? else { return Ok(None) };
        let (owner, path) = (record.agent, PathBuf::from(&record.path));
        let origin = PathBuf::from(&record.origin);
        refuse_moved(&record)?;
        // One that is there and whose row says otherwise was being made again by somebody who was cut short, or still is.
        if record.removed_ms.is_some() || !is_ready(&record).await? {
            self.make_again(&record, (&agent.reach, cause)).await?;
        }
        let variables = self
            .worktree_policy()
            .map_or_else(Vec::new, |policy| policy.variables(&origin, &path, owner));
        let stands_for = stands_for(Path::new(&agent.directory), &record);
        let known = record.clone();
        let known_as = blocking(move || Ok(known_as(&known))).await?;
        Ok(Some(Home { path, known_as, stands_for, variables }))
    }

    async fn worktree_around(
        &self,
        agent: &AgentRecord,
    ) -> Result<Option<WorktreeRecord>, RuntimeError> {
        if let Some(own) = self.store().worktree(agent.id).await? {
            return Ok(Some(own));
        }
        self.worktree_at(Path::new(&agent.directory)).await
    }

    /// The worktree of an agent's that a directory lies in.
    pub(super) async fn worktree_at(
        &self,
        directory: &Path,
    ) -> Result<Option<WorktreeRecord>, RuntimeError> {
        let around = |record: &WorktreeRecord| directory.starts_with(&record.path);
        Ok(self.store().worktrees().await?.into_iter().find(around))
    }

    /// Makes a worktree again that was removed, or whose making or removal was cut short, as it was when it was last kept. One that was
    /// removed unchanged begins as its checkout stands now, and one of which all was purged is refused. Where
    /// the user's preparations fail it is removed again, and stays kept. What they change counts as the agent's work where it has
    /// done any, for nobody could tell the two apart; else the worktree begins anew behind them.
    pub(super) async fn make_again(
        &self,
        record: &WorktreeRecord,
        (reach, cause): (&Reach, Cause),
    ) -> Result<(), RuntimeError> {
        let (agent, now_ms) = (record.agent, self.now_ms());
        let policy = self.worktree_policy().cloned();
        // Others that work there may want the same at the same time; they wait until it can be worked in.
        let _alone = match policy.clone() {
            Some(policy) => Some(blocking(move || policy.lock()).await?),
            None => None,
        };
        let record = self.store().worktree(agent).await?.unwrap_or_else(|| record.clone());
        self.link_again(&record).await?;
        let (is_there, found) = (is_ready(&record).await?, record.clone());
        if is_there && record.removed_ms.is_none() {
            return Ok(());
        }
        if !is_there && self.standing(&record).await? == Standing::Purged {
            return Err(RuntimeError::WorktreePurged(agent));
        }
        let around = self.worktree_at(Path::new(&record.origin)).await?;
        let made = blocking(move || {
            if !is_there {
                let (name, path) = (name_of(agent)?, PathBuf::from(&found.path));
                any_checkout(&found, around.as_ref())?.recover(&name, path, now_ms)?;
            }
            // From here on something runs there that need not be trusted.
            worktree_of(&found)
        })
        .await?;
        if let Some(policy) = policy {
            let owner = self.store().agent(agent).await?;
            let unready = Unready {
                agent,
                path: PathBuf::from(&record.path),
                origin: PathBuf::from(&record.origin),
                reach: owner.reach.narrowed(reach),
                directory: PathBuf::from(owner.directory),
                cause,
            };
            if let Err(error) = unready.make_ready(&policy).await {
                blocking(move || made.remove(now_ms).map(drop)).await?;
                return Err(error);
            }
            blocking(move || {
                match (policy.setup.is_some(), made.repository().kept(made.name())?) {
                    (true, (_, None)) => made.begin(now_ms).map(drop),
                    (false, _) | (true, (_, Some(_))) => Ok(()),
                }
            })
            .await?;
        }
        let back = WorktreeRecord { removed_ms: None, ..record };
        Ok(self.store().note_worktree(back).await?)
    }

    /// What an agent is told of its own worktree, before the first thing that it is asked; `None` without one.
    pub(crate) async fn worktree_notice(
        &self,
        (agent, directory): (AgentId, &str),
        has_history: bool,
    ) -> Result<Option<String>, RuntimeError> {
        let Some(record) = self.store().worktree(agent).await? else { return Ok(None) };
        let known = record.clone();
        let origin = text(&blocking(move || Ok(known_as(&known))).await?);
        let record = WorktreeRecord { origin, ..record };
        let before = text(&stands_for(Path::new(directory), &record));
        let port = self.worktree_policy().and_then(|policy| {
            let ports = policy.ports?;
            let first = tine_worktree::Ports::of(&policy.blocks(), Path::new(&record.path))?;
            Some((first, first + (ports.count - 1)))
        });
        // What cannot be found out, the agent sees for itself.
        let found = record.clone();
        let submodules = blocking(move || worktree_of(&found)?.repository().empty_submodules());
        let submodules = submodules.await.unwrap_or_default();
        Ok(Some(worktree_notice(
            (directory, &before),
            (&record.path, &record.origin),
            port,
            &submodules,
            has_history,
        )))
    }

    /// Returns a worker's changes in its own worktree, for whoever reads its report; `None` where it has no worktree, or they cannot be
    /// told.
    pub(crate) async fn done_in_worktree(&self, agent: AgentId) -> Option<Done> {
        let record = self.store().worktree(agent).await.ok().flatten()?;
        let now_ms = self.now_ms();
        let done = blocking(move || {
            let worktree = worktree_of(&record)?;
            let state = worktree.state(now_ms)?;
            let changes = worktree.repository().changes(worktree.start(), &state)?;
            let path = |path: &PathBuf| path.to_string_lossy().into_owned();
            // A file that was renamed may be reported by either name.
            let files = changes.files.iter().flat_map(|file| file.from.iter().chain([&file.path]));
            let commits = changes.commits.iter().map(|made| made.commit.as_str().to_owned());
            Ok(Done { files: files.map(path).collect(), commits: commits.collect() })
        });
        match done.await {
            Ok(done) => Some(done),
            Err(error) => {
                tracing::warn!(%agent, %error, "a worker's report could not be compared with its worktree");
                None
            }
        }
    }

    /// Looks at what an agent has done in its own worktree, and holds that by a ref.
    pub(crate) async fn keep_worktree(&self, agent: AgentId) -> Result<(), RuntimeError> {
        let Some(record) = self.store().worktree(agent).await? else { return Ok(()) };
        let (found, now_ms) = (record.clone(), self.now_ms());
        if !Path::new(&record.path).exists() {
            return Ok(());
        }
        let (files, commits) = blocking(move || {
            let worktree = worktree_of(&found)?;
            let state = worktree.state(now_ms)?;
            let ignored = worktree.hold_ignored(now_ms)?.len();
            if !worktree.is_unchanged(&state) || ignored > 0 {
                worktree.hold(&state)?;
            }
            // What no diff shows is work all the same.
            let (files, commits) = worktree.progress(&state)?;
            Ok((files.saturating_add(u32::try_from(ignored).unwrap_or(u32::MAX)), commits))
        })
        .await?;
        let noted = WorktreeRecord { files, commits, ..record };
        Ok(self.store().note_worktree(noted).await?)
    }

    /// Removes the worktree of a worker that has ended and whose lease is still held, where nothing was changed in it and nobody else works there.
    pub(crate) async fn leave_worktree(&self, agent: AgentId) -> Result<(), RuntimeError> {
        let Some(record) = self.store().worktree(agent).await? else { return Ok(()) };
        if !Path::new(&record.path).exists() || self.is_shared(&record, &[]).await? {
            return Ok(());
        }
        let (found, now_ms) = (record.clone(), self.now_ms());
        let removed = blocking(move || {
            let worktree = worktree_of(&found)?;
            // What is only staged differently is no work, and is kept all the same.
            let (state, left_out) = worktree.look(now_ms)?;
            let unchanged = left_out.is_empty()
                && worktree.progress(&state)? == (0, 0)
                && worktree.ignored()?.is_empty()
                // A result that git ignores would be gone without a word.
                && worktree.made_ignored()?.is_empty();
            if unchanged {
                worktree.remove(now_ms)?;
            }
            Ok(unchanged)
        })
        .await?;
        if removed {
            let gone = WorktreeRecord { removed_ms: Some(now_ms), ..record };
            self.store().note_worktree(gone).await?;
        }
        Ok(())
    }
}
