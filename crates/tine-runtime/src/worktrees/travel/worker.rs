//! The part of a worker: worktrees of projects that are at home elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_model::{AgentId, WorktreeRecord};
use tine_store::NewWorktree;
use tine_worktree::{Cache, CacheLimits, Commit, WorktreeError};

use super::super::checkouts::{any_checkout, blocking, name_of, worktree_of};
use super::super::place::text;
use super::super::ready::Cause;
use super::state::{PackedState, TravelRefusal};
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The folder in a cached repository with a note for each worktree: the description that it came with.
const RECEIVED: &str = "tine-received";

fn note_of(common_dir: &Path, agent: AgentId) -> PathBuf {
    common_dir.join(RECEIVED).join(format!("{agent}.json"))
}

/// The description that the worktree of an agent came with; `None` for one that was made here.
fn received(record: &WorktreeRecord) -> Option<PackedState> {
    let note = fs::read(note_of(Path::new(&record.repository), record.agent)).ok()?;
    let state: PackedState = serde_json::from_slice(&note).ok()?;
    state.check().is_ok().then_some(state)
}

/// The directory that conversations name where they mean the one that a worktree was made of: of one that came from
/// another machine that is a path there.
pub(in super::super) fn known_as(record: &WorktreeRecord) -> PathBuf {
    let came = received(record).map(|state| state.origin);
    PathBuf::from(came.unwrap_or_else(|| record.origin.clone()))
}

impl Runtime {
    /// Makes the worktree of an agent that has none here from what came from its home: exactly that state, of a repository below `cache`
    /// that has the objects of the project. The agent works there from now on. As with any worktree the user's setup command runs, if there
    /// is one; what it changes is no work of the agent's.
    pub async fn unpack_worktree(
        &self,
        agent: AgentId,
        bundle: &Path,
        state: &PackedState,
        cache: &Path,
    ) -> Result<(), RuntimeError> {
        state.check()?;
        let policy = Arc::clone(self.worktree_policy().ok_or(RuntimeError::NoWorktrees)?);
        let owner = self.store().agent(agent).await?;
        if let Some(record) = self.store().worktree(agent).await? {
            return Err(RuntimeError::WorktreeThere { agent, path: record.path.into() });
        }
        let now_ms = self.now_ms();
        let (bundle, wanted, root) = (bundle.to_owned(), state.clone(), cache.to_owned());
        let (cache, row) = blocking(move || {
            let carrier = Commit::parse(&wanted.carrier)?;
            let like = (&carrier, &wanted.conventions);
            let cache = Cache::open(&root, &wanted.project, like, now_ms)?;
            let (repository, name) = (cache.repository(), name_of(agent)?);
            let came = repository.arrive(&name, &bundle, &carrier)?;
            cache.hold(&came)?;
            // As of a worktree that was removed: it is made again in the usual way.
            repository.hold_arrived(&name, &came)?;
            let common_dir = repository.common_dir();
            write_note(common_dir, agent, &wanted)?;
            let path = text(&policy.path(common_dir, agent));
            let (origin, repository) = (text(repository.top()), text(common_dir));
            Ok((cache, NewWorktree { path, origin, repository }))
        })
        .await?;
        let top = Path::new(&row.path);
        let directory: PathBuf =
            top.components().chain(Path::new(&state.inside).components()).collect();
        let store = self.store();
        store.adopt_worktree(agent, row.clone(), &text(&directory), now_ms).await?;
        let record = self.own_worktree(agent).await?;
        let made = self.make_again(&record, (&owner.reach, Cause::Run)).await;
        if made.is_ok() && !directory.is_dir() {
            // Git knows of no file in it.
            fs::create_dir_all(&directory)
                .map_err(|source| failed("make the directory", &directory, source))?;
        }
        drop(cache);
        if made.is_err() {
            self.forget_received(&record).await?;
        }
        made
    }

    /// Takes a state that came whole into the cache of its project, where it is not there: those that come later build on it.
    pub async fn unpack_whole(
        &self,
        agent: AgentId,
        bundle: &Path,
        state: &PackedState,
        cache: &Path,
    ) -> Result<(), RuntimeError> {
        state.check()?;
        let (bundle, wanted, root) = (bundle.to_owned(), state.clone(), cache.to_owned());
        let now_ms = self.now_ms();
        blocking(move || {
            let carrier = Commit::parse(&wanted.carrier)?;
            let like = (&carrier, &wanted.conventions);
            let cache = Cache::open(&root, &wanted.project, like, now_ms)?;
            let (repository, name) = (cache.repository(), name_of(agent)?);
            let came = repository.arrive(&name, &bundle, &carrier)?;
            cache.hold_whole(&came)?;
            repository.forget_arrived(&name)
        })
        .await
    }

    /// Removes the worktree of an agent that came from another machine, with all that is kept of it here; its project's objects stay in
    /// the cache. For when its work is at home. Refused where files of other repositories are inside, which are nowhere else.
    pub async fn forget_unpacked(&self, agent: AgentId) -> Result<(), RuntimeError> {
        let record = self.own_worktree(agent).await?;
        if received(&record).is_none() {
            return Err(TravelRefusal::MadeHere(agent).into());
        }
        self.forget_received(&record).await
    }

    async fn forget_received(&self, record: &WorktreeRecord) -> Result<(), RuntimeError> {
        let (found, agent, now_ms) = (record.clone(), record.agent, self.now_ms());
        blocking(move || {
            let name = name_of(agent)?;
            match worktree_of(&found) {
                Ok(worktree) => drop(worktree.remove(now_ms)?),
                Err(_) => {
                    let path = Path::new(&found.path);
                    any_checkout(&found, None)?.tidy(&name, path)?;
                }
            }
            any_checkout(&found, None)?.forget(&name)?;
            let note = note_of(Path::new(&found.repository), agent);
            fs::remove_file(&note).map_err(|source| failed("remove", &note, source))
        })
        .await?;
        Ok(self.store().disown_worktree(agent).await?)
    }

    /// Commits of a project that a worker has below `cache`, as [`pack_worktree`](Self::pack_worktree) takes them.
    pub async fn cached_commits(
        &self,
        cache: &Path,
        project: &str,
    ) -> Result<Vec<String>, RuntimeError> {
        let (cache, project) = (cache.to_owned(), project.to_owned());
        let commits = blocking(move || Cache::commits(&cache, &project)).await?;
        Ok(commits.iter().map(Commit::to_string).collect())
    }

    /// Removes the projects below `cache` that were used least recently, until the rest is within the limits; none of which a worktree is
    /// there. Returns how many went.
    pub async fn trim_cache(
        &self,
        cache: &Path,
        limits: CacheLimits,
    ) -> Result<usize, RuntimeError> {
        let cache = cache.to_owned();
        blocking(move || Cache::trim(&cache, limits)).await
    }
}

fn write_note(common_dir: &Path, agent: AgentId, state: &PackedState) -> Result<(), WorktreeError> {
    let note = note_of(common_dir, agent);
    let write = || {
        fs::create_dir_all(common_dir.join(RECEIVED))?;
        fs::write(&note, serde_json::to_vec(state)?)
    };
    write().map_err(|source| failed("write", &note, source))
}

fn failed(doing: &'static str, path: &Path, source: std::io::Error) -> WorktreeError {
    WorktreeError::File { doing, path: path.to_owned(), source }
}
