//! Bringing the work of an agent home: what it is, and how it comes into a checkout. Agents that work there are told.
//!
//! What was done in a worktree counts as it stands at this moment; of one that was removed, as it was last kept. It waits for nobody:
//! whoever brings the work of an agent that runs has what is there by now.

use std::path::{Path, PathBuf};

use tine_model::{AgentId, AgentRecord, AgentState, WorktreeRecord};
use tine_store::AgentFilter;
use tine_worktree::{
    Applied, Apply, Changes, CherryPick, Commit, FastForward, FileChange, Merge, Merged, Name,
    Obstacle, OnConflict, Outcome, Repository, Snapshot, Uncommitted, WorktreeError,
};

use super::checkouts::{any_checkout, blocking, checkout, name_of, worktree_of};
use super::standing::Standing;
use super::view::Unseen;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Most files that an agent is told by name. It has to read them again one by one; of more it is told that there are more.
const FILES_TOLD_MAX: usize = 20;

/// Fewest characters of a commit's name that are taken for it, as git has it.
const COMMIT_CHARACTERS_MIN: usize = 4;

/// Whose work is brought, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BringSpec {
    /// Whose work it is.
    pub agent: AgentId,
    /// A directory in the checkout that gets it; `None` for the one that the worktree was forked from.
    pub to: Option<PathBuf>,
    /// Whether nothing is changed, and only found out what would be.
    pub dry_run: bool,
    /// Whether the work counts as it was last held by its ref, and not as it stands now: since then something may have changed files
    /// that was no work, such as a check.
    pub as_held: bool,
}

/// What came of bringing work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought<T> {
    /// What became of the checkout.
    pub came: T,
    /// The top of the checkout.
    pub onto: PathBuf,
    /// Whether that is another checkout than the one that the worktree was forked from.
    pub elsewhere: bool,
    /// Whether the agent still runs, so that more may come of it.
    pub runs: bool,
    /// The place where the work was.
    pub standing: Standing,
    /// Agents that work there, and were told which files changed.
    pub told: Vec<AgentId>,
}

/// What an agent has done in its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Files and commits.
    pub changes: Changes,
    /// The same as a patch that `git apply` takes. Not always text.
    pub patch: Vec<u8>,
    /// The same as a list of files with a bar for each.
    pub stat: String,
    /// What the patch does not show.
    pub unseen: Unseen,
    /// The place where all this is.
    pub standing: Standing,
    /// Whether the agent still runs.
    pub runs: bool,
}

/// The things that must be there for a checkout to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// The work, in its worktree or kept.
    Work,
    /// Only what the checkout's own refs hold.
    Nothing,
}

/// Work, held by its commits.
pub(super) struct Held {
    pub(super) name: Name,
    pub(super) start: Snapshot,
    pub(super) end: Snapshot,
}

impl Held {
    /// Returns what is in the worktree now, or was when it was last kept. Of one that was removed unchanged it is what `repository` holds.
    pub(super) fn of(
        repository: &Repository,
        record: &WorktreeRecord,
        (as_held, now_ms): (bool, i64),
    ) -> Result<Self, WorktreeError> {
        let name = name_of(record.agent)?;
        if let (Ok(worktree), false) = (worktree_of(record), as_held) {
            let end = worktree.state(now_ms)?;
            return Ok(Self { name, start: worktree.start().clone(), end });
        }
        let (start, end) = match repository.find_kept(&name)? {
            Some(kept) => kept,
            None => (repository.snapshot_of_head(now_ms)?, None),
        };
        let end = end.unwrap_or_else(|| start.clone());
        Ok(Self { name, start, end })
    }
}

/// Refuses work of which files are in conflict: they hold marks, and nobody has said yet what is right. Of a worktree that was removed
/// it is not known.
fn refuse_conflicts(record: &WorktreeRecord, paths: &[PathBuf]) -> Result<(), WorktreeError> {
    let Ok(worktree) = worktree_of(record) else { return Ok(()) };
    let mut found = worktree.repository().in_conflict()?;
    found.retain(|path| paths.is_empty() || paths.iter().any(|asked| path.starts_with(asked)));
    if found.is_empty() { Ok(()) } else { Err(Obstacle::InConflict(found).into()) }
}

impl Runtime {
    /// What an agent has done in its worktree, or of it what concerns `paths`, relative to the top of the checkout; all without any.
    pub async fn work_of(&self, agent: AgentId, paths: Vec<PathBuf>) -> Result<Work, RuntimeError> {
        let record = self.own_worktree(agent).await?;
        let runs = self.store().agent(agent).await?.state == AgentState::Running;
        let standing = self.standing_of_work(&record).await?;
        let around = self.worktree_at(Path::new(&record.origin)).await?;
        let now_ms = self.now_ms();
        blocking(move || {
            let repository = any_checkout(&record, around.as_ref())?;
            let Held { start, end, .. } = Held::of(&repository, &record, (false, now_ms))?;
            let mut changes = repository.changes(&start, &end)?;
            let is_asked =
                |path: &Path| paths.is_empty() || paths.iter().any(|asked| path.starts_with(asked));
            refuse_unchanged(&changes, &paths)?;
            changes.files.retain(|file| is_asked(&file.path));
            changes.uncommitted.retain(|path| is_asked(path));
            let patch = repository.patch_of(&start, &end, &paths)?;
            let stat = repository.stat_of(&start, &end, &paths)?;
            let unseen = Unseen::of(&repository, &record, (&start, &end))?;
            Ok(Work { changes, patch, stat, unseen, standing, runs })
        })
        .await
    }

    /// Brings the files that an agent has changed into a checkout, three-way; `paths` are relative to its top, none for all.
    pub async fn apply_work(
        &self,
        spec: &BringSpec,
        paths: Vec<PathBuf>,
        on_conflict: OnConflict,
    ) -> Result<Brought<Applied>, RuntimeError> {
        let BringSpec { dry_run, as_held, .. } = *spec;
        let brought = self.bring_work((spec, Needs::Work), move |repository, record, now_ms| {
            refuse_conflicts(record, &paths)?;
            let Held { name, start, end } = Held::of(repository, record, (as_held, now_ms))?;
            let (name, start, end, paths) = (&name, &start, &end, &paths);
            repository.apply(&Apply { name, start, end, paths, on_conflict, dry_run, now_ms })
        });
        let brought = brought.await?;
        self.told_of(spec, "applied the work of", brought, |came| (came.outcome, &came.files)).await
    }

    /// Takes the last apply of an agent's work out of a checkout again; what changed since stays. It is never a dry run.
    pub async fn undo_work(&self, spec: &BringSpec) -> Result<Brought<Applied>, RuntimeError> {
        let brought = self.bring_work((spec, Needs::Nothing), |repository, record, now_ms| {
            repository.undo(&name_of(record.agent)?, now_ms)
        });
        let brought = brought.await?;
        self.told_of(spec, "took back the work of", brought, |came| (came.outcome, &came.files))
            .await
    }

    /// Merges the commits of an agent into what a checkout has checked out. `uncommitted`: what is done where they hold what the
    /// checkout had not committed at the fork.
    pub async fn merge_work(
        &self,
        spec: &BringSpec,
        fast_forward: FastForward,
        uncommitted: Uncommitted,
    ) -> Result<Brought<Merged>, RuntimeError> {
        let BringSpec { dry_run, as_held, .. } = *spec;
        let label = self.label_of(spec.agent).await?;
        let brought = self.bring_work((spec, Needs::Work), move |repository, record, now_ms| {
            refuse_conflicts(record, &[])?;
            let Held { name, start, end } = Held::of(repository, record, (as_held, now_ms))?;
            let (name, start, end, label) = (&name, &start, &end, label.as_str());
            let merge =
                Merge { name, label, start, end, fast_forward, uncommitted, dry_run, now_ms };
            repository.merge(&merge)
        });
        let brought = brought.await?;
        self.told_of(spec, "merged the commits of", brought, |came| (came.outcome, &came.files))
            .await
    }

    /// Picks commits of an agent, by the beginnings of their names, onto what a checkout has checked out; all without any.
    /// `uncommitted` as with [`Runtime::merge_work`].
    pub async fn cherry_pick_work(
        &self,
        spec: &BringSpec,
        commits: Vec<String>,
        uncommitted: Uncommitted,
    ) -> Result<Brought<Merged>, RuntimeError> {
        let BringSpec { dry_run, as_held, .. } = *spec;
        let commits = self.commits_of(spec.agent, commits).await?;
        let brought = self.bring_work((spec, Needs::Work), move |repository, record, now_ms| {
            refuse_conflicts(record, &[])?;
            let Held { name, start, end } = Held::of(repository, record, (as_held, now_ms))?;
            let (name, start, end, commits) = (&name, &start, &end, &commits);
            let pick = CherryPick { name, start, end, commits, uncommitted, dry_run, now_ms };
            repository.cherry_pick(&pick)
        });
        let brought = brought.await?;
        self.told_of(spec, "picked commits of", brought, |came| (came.outcome, &came.files)).await
    }

    async fn bring_work<T: Send + 'static>(
        &self,
        (spec, needs): (&BringSpec, Needs),
        act: impl FnOnce(&Repository, &WorktreeRecord, i64) -> Result<T, WorktreeError> + Send + 'static,
    ) -> Result<Brought<T>, RuntimeError> {
        let record = self.own_worktree(spec.agent).await?;
        let standing = match needs {
            Needs::Work => self.standing_of_work(&record).await?,
            Needs::Nothing => self.standing(&record).await?,
        };
        let onto = spec.to.clone().unwrap_or_else(|| PathBuf::from(&record.origin));
        if spec.to.is_none() && !onto.exists() {
            let owner = self.worktree_at(&onto).await?.map(|around| around.agent);
            return Err(RuntimeError::NoOrigin { agent: spec.agent, path: onto, owner });
        }
        let around = self.worktree_at(&onto).await?;
        let repository = blocking(move || checkout(&onto, around.as_ref())).await?;
        if repository.common_dir() != Path::new(&record.repository) {
            return Err(RuntimeError::OtherRepository(repository.top().to_owned()));
        }
        let runs = self.store().agent(spec.agent).await?.state == AgentState::Running;
        let (onto, now_ms) = (repository.top().to_owned(), self.now_ms());
        let elsewhere = onto != Path::new(&record.origin);
        let came = blocking(move || act(&repository, &record, now_ms)).await?;
        Ok(Brought { came, onto, elsewhere, runs, standing, told: Vec::new() })
    }

    /// Tells those who work in the checkout, where something was written.
    async fn told_of<T>(
        &self,
        spec: &BringSpec,
        what: &str,
        brought: Brought<T>,
        read: impl Fn(&T) -> (Outcome, &Vec<FileChange>),
    ) -> Result<Brought<T>, RuntimeError> {
        let (outcome, files) = read(&brought.came);
        if outcome != Outcome::Written || files.is_empty() {
            return Ok(brought);
        }
        let label = self.label_of(spec.agent).await?;
        let text = news(what, &label, &brought.onto, files);
        let mut told = Vec::new();
        for agent in self.concerned(spec.agent, &brought.onto).await? {
            match self.send(agent, text.clone()).await {
                Ok(_) => told.push(agent),
                // The files have changed, whoever can be told of it.
                Err(error) => {
                    tracing::warn!(%agent, %error, "an agent could not be told of changed files")
                }
            }
        }
        Ok(Brought { told, ..brought })
    }

    /// The living agents whose files these are: the nearest above the one whose work came, who runs there, and whose worktree it is.
    async fn concerned(&self, agent: AgentId, onto: &Path) -> Result<Vec<AgentId>, RuntimeError> {
        let agents = self.store().agents(AgentFilter::All).await?;
        let worktrees = self.store().worktrees().await?;
        let is_here = |record: &&WorktreeRecord| {
            record.removed_ms.is_none() && Path::new(&record.path) == onto
        };
        let owner = worktrees.iter().rev().find(is_here).map(|record| record.agent);
        let find = |id: AgentId| agents.iter().find(|agent| agent.id == id);
        let works_there = |other: &&AgentRecord| {
            other.id != agent
                && other.state != AgentState::Dead
                && Path::new(&other.directory).starts_with(onto)
        };
        let mut above = std::iter::successors(find(agent), |agent| find(agent.parent?)).skip(1);
        let nearest = above.find(|other| works_there(other)).map(|nearest| nearest.id);
        let is_concerned = |other: &&AgentRecord| {
            Some(other.id) == nearest
                || Some(other.id) == owner
                || other.state == AgentState::Running
        };
        let concerned = agents.iter().filter(works_there).filter(is_concerned);
        Ok(concerned.map(|agent| agent.id).collect())
    }

    /// An agent as people know it.
    async fn label_of(&self, agent: AgentId) -> Result<String, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let short = agent.short();
        Ok(record.name.map_or_else(|| format!("agent {short}"), |name| format!("{name} ({short})")))
    }

    /// The commits of an agent that the beginnings of their names stand for.
    async fn commits_of(
        &self,
        agent: AgentId,
        texts: Vec<String>,
    ) -> Result<Vec<Commit>, RuntimeError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let made = self.work_of(agent, Vec::new()).await?.changes.commits;
        let find = |text: String| {
            let lower = text.to_ascii_lowercase();
            let is_meant = |commit: &&Commit| {
                lower.len() >= COMMIT_CHARACTERS_MIN && commit.as_str().starts_with(&lower)
            };
            let mut found = made.iter().map(|made| &made.commit).filter(is_meant);
            match (found.next(), found.next()) {
                (Some(commit), None) => Ok(commit.clone()),
                (None, _) | (Some(_), Some(_)) => Err(RuntimeError::UnknownCommit { agent, text }),
            }
        };
        texts.into_iter().map(find).collect()
    }
}

/// Refuses paths at which and below which nothing changed, as an apply does.
fn refuse_unchanged(changes: &Changes, paths: &[PathBuf]) -> Result<(), Obstacle> {
    let is_there = |asked: &Path| {
        let mut files = changes.files.iter().flat_map(|file| file.from.iter().chain([&file.path]));
        asked.as_os_str().is_empty() || files.any(|path| path.starts_with(asked))
    };
    let missing: Vec<PathBuf> = paths.iter().filter(|path| !is_there(path)).cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(Obstacle::NotChanged(missing)) }
}

/// The notice to an agent that files have changed where it works.
fn news(what: &str, label: &str, onto: &Path, files: &[FileChange]) -> String {
    let named: Vec<String> =
        files.iter().take(FILES_TOLD_MAX).map(|file| file.path.display().to_string()).collect();
    let more = match files.len().saturating_sub(FILES_TOLD_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (named, onto) = (named.join(", "), onto.display());
    let verb = if files.len() == 1 { "This file has" } else { "These files have" };
    format!(
        "The user {what} {label} in {onto}. {verb} changed: {named}{more}. Read a file again before you change it."
    )
}

#[cfg(test)]
mod tests {
    use tine_worktree::Status;

    use super::*;

    fn changed(count: usize) -> Vec<FileChange> {
        let file = |number| FileChange {
            path: format!("{number}.txt").into(),
            from: None,
            status: Status::Modified,
            lines: None,
            mode_before: None,
            mode: None,
            link: None,
        };
        (1..=count).map(file).collect()
    }

    #[test]
    fn an_agent_is_told_a_few_names_and_how_many_more_there_are() {
        let told = |count| {
            news("applied the work of", "agent 1a2b3c4d", Path::new("/app"), &changed(count))
        };
        insta::assert_snapshot!(told(1), @"The user applied the work of agent 1a2b3c4d in /app. This file has changed: 1.txt. Read a file again before you change it.");
        assert!(told(20).ends_with(" 20.txt. Read a file again before you change it."));
        assert!(told(23).contains(" 20.txt and 3 more. "));
    }
}
