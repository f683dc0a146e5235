//! Worktrees of agents whose runs happen on another machine: their files go there and come back.
//!
//! The machine that an agent belongs to is its home; the other one is a worker, with a store of its own. At home a worktree is packed into a
//! file ([`Runtime::pack_worktree`]); on the worker it is made anew of a cache of the project ([`Runtime::unpack_worktree`]), and a run
//! finds it as any other. What it holds in the end is packed there ([`Runtime::pack_work`]), and takes its place at home
//! ([`Runtime::unpack_work`]) as the work of a worktree that was removed: it is made again on demand, and comes into the checkout in
//! the usual ways. Moving the file is the caller's part, and so is that nobody runs the agent on two machines.

mod state;
mod worker;

use std::path::{Path, PathBuf};

use tine_model::{AgentId, AgentState, WorktreeRecord};
use tine_store::AgentFilter;
use tine_worktree::{Commit, Conventions, Pack, Refusal, Repository, TravelError, WorktreeError};

use super::bring::Held;
use super::checkouts::{any_checkout, blocking, checkout, name_of, worktree_of};
use super::place::text;
use super::standing::refuse_moved;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

pub use state::{PackedState, TravelRefusal};
pub(super) use worker::known_as;

/// Most paths that a state names which do not travel as they are: a person reads them.
const PATHS_NAMED_MAX: usize = 100;

/// Work that came home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CameHome {
    /// Number of files that differ from the start of the worktree.
    pub files: u32,
    /// Number of commits that were made.
    pub commits: u32,
}

/// A state that was taken from the home machine or the worker.
struct Sending<'a> {
    agent: AgentId,
    into: &'a Path,
    receiver_has: &'a [String],
}

impl Runtime {
    /// Refuses a directory whose state cannot go to another machine: one in no git repository, or in a clone without its whole history.
    pub async fn check_travel(&self, directory: &Path) -> Result<(), RuntimeError> {
        let around = self.worktree_at(directory).await?;
        let place = directory.to_owned();
        let looked = blocking(move || checkout(&place, around.as_ref())?.refuse_to_travel()).await;
        looked.map_err(|error| match error {
            RuntimeError::Worktree(WorktreeError::Refused(Refusal::NoRepository(place))) => {
                TravelRefusal::NoRepository(place).into()
            }
            other => other,
        })
    }

    /// Packs the worktree of an agent into the file `into`, for a worker that has the commits `receiver_has` with all that they stand
    /// on; those that are not known here are passed over. Until its work is back, nobody is to run the agent here.
    pub async fn pack_worktree(
        &self,
        agent: AgentId,
        into: &Path,
        receiver_has: &[String],
    ) -> Result<PackedState, RuntimeError> {
        let Some(record) = self.store().worktree(agent).await? else {
            let directory = self.store().agent(agent).await?.directory;
            self.check_travel(Path::new(&directory)).await?;
            return Err(RuntimeError::NoWorktree(agent));
        };
        self.standing_of_work(&record).await?;
        self.pack_state(&record, None, &Sending { agent, into, receiver_has }).await
    }

    /// Packs what the worktree of an agent holds, where the worker has it from `state`, into the file `into`.
    pub async fn pack_work(
        &self,
        agent: AgentId,
        into: &Path,
        state: &PackedState,
    ) -> Result<PackedState, RuntimeError> {
        let record = self.own_worktree(agent).await?;
        let receiver_has = [state.carrier.clone()];
        let sending = Sending { agent, into, receiver_has: &receiver_has };
        self.pack_state(&record, Some(state.clone()), &sending).await
    }

    async fn pack_state(
        &self,
        record: &WorktreeRecord,
        answer_to: Option<PackedState>,
        sending: &Sending<'_>,
    ) -> Result<PackedState, RuntimeError> {
        let directory = self.store().agent(sending.agent).await?.directory;
        let inside = Path::new(&directory).strip_prefix(&record.path).unwrap_or(Path::new(""));
        let inside = text(inside);
        let around = self.worktree_at(Path::new(&record.origin)).await?;
        let (record, now_ms, into) = (record.clone(), self.now_ms(), sending.into.to_owned());
        let receiver_has = state::commits(sending.receiver_has)?;
        blocking(move || {
            let repository = any_checkout(&record, around.as_ref())?;
            let left = left_behind(&record, answer_to.is_some())?;
            let held = Held::of(&repository, &record, (false, now_ms))?;
            let pack = Pack {
                name: &held.name,
                start: &held.start,
                end: &held.end,
                receiver_has: &receiver_has,
                into: &into,
                now_ms,
            };
            let packed = repository.pack(&pack)?;
            let (project, conventions, origin, against) = match answer_to {
                Some(PackedState { project, conventions, origin, carrier, .. }) => {
                    (project, conventions, origin, Some(carrier))
                }
                None => {
                    let conventions = Conventions::of(&repository)?;
                    let project = repository.project(&held.end.base, &conventions)?;
                    (project, conventions, record.origin.clone(), None)
                }
            };
            Ok(PackedState {
                version: state::VERSION,
                project,
                carrier: packed.carrier.to_string(),
                base: held.end.base.to_string(),
                against,
                needed: packed.needed.iter().map(Commit::to_string).collect(),
                bytes: packed.bytes,
                origin,
                inside,
                conventions,
                filtered: named(packed.filtered),
                left: named(left),
            })
        })
        .await
    }

    /// Takes the work that a worker has packed as an answer to what [`pack_worktree`](Self::pack_worktree) packed. Taking the
    /// same once more does nothing. Where somebody has changed the worktree here meanwhile, both are kept, and the error names the ref
    /// that holds what came.
    pub async fn unpack_work(
        &self,
        agent: AgentId,
        bundle: &Path,
        state: &PackedState,
    ) -> Result<CameHome, RuntimeError> {
        state.check()?;
        let record = self.own_worktree(agent).await?;
        refuse_moved(&record)?;
        self.link_again(&record).await?;
        self.refuse_other_runs(agent, &record).await?;
        let around = self.worktree_at(Path::new(&record.origin)).await?;
        let (found, bundle, wanted) = (record.clone(), bundle.to_owned(), state.clone());
        let now_ms = self.now_ms();
        let taken = blocking(move || {
            take(&any_checkout(&found, around.as_ref())?, &found, (&bundle, &wanted), now_ms)
        });
        let (files, commits) = match taken.await? {
            Taken::Here { files, commits } => (files, commits),
            Taken::NotSent => return Err(TravelRefusal::NotSent(agent).into()),
            Taken::Changed => {
                let reference = name_of(agent)?.arrived_ref();
                let path = PathBuf::from(&record.path);
                return Err(TravelRefusal::Changed { agent, path, reference }.into());
            }
        };
        let removed_ms = Some(record.removed_ms.unwrap_or(now_ms));
        self.store().note_worktree(WorktreeRecord { files, commits, removed_ms, ..record }).await?;
        Ok(CameHome { files, commits })
    }

    /// Refuses while another agent runs in the worktree: its files are about to go.
    async fn refuse_other_runs(
        &self,
        agent: AgentId,
        record: &WorktreeRecord,
    ) -> Result<(), RuntimeError> {
        let agents = self.store().agents(AgentFilter::All).await?;
        let runs = agents.iter().any(|other| {
            other.id != agent
                && other.state == AgentState::Running
                && Path::new(&other.directory).starts_with(&record.path)
        });
        if runs { Err(RuntimeError::WorktreeShared(agent)) } else { Ok(()) }
    }
}

/// The fate of work that came.
enum Taken {
    /// It is where it belongs; the numbers of files and commits.
    Here { files: u32, commits: u32 },
    /// Nothing was sent that it could be the answer to.
    NotSent,
    /// The worktree holds something else than was sent.
    Changed,
}

fn take(
    repository: &Repository,
    record: &WorktreeRecord,
    (bundle, state): (&Path, &PackedState),
    now_ms: i64,
) -> Result<Taken, WorktreeError> {
    let name = name_of(record.agent)?;
    let carrier = Commit::parse(&state.carrier)?;
    let Some(sent) = repository.sent(&name)? else { return Ok(Taken::NotSent) };
    if state.against.as_deref() != Some(sent.carrier.as_str()) {
        return Ok(Taken::NotSent);
    }
    let came = repository.arrive(&name, bundle, &carrier)?;
    if came.start.base != sent.start.base {
        repository.forget_arrived(&name)?;
        let why = "it is of a worktree with another beginning".to_owned();
        return Err(TravelError::Refused(why).into());
    }
    // A message can come twice, and a taker be cut short.
    let worktree = worktree_of(record).ok();
    let kept = repository.find_kept(&name)?.and_then(|(_, end)| end);
    let is_here = worktree.is_none() && kept.is_some_and(|end| end.work == came.end.work);
    // The checkout that git is asked in may be the one that goes.
    let (files, commits) = repository.progress(&came.start, &came.end)?;
    let is_taken = match worktree {
        _ if is_here => {
            repository.forget_arrived(&name)?;
            true
        }
        Some(worktree) => worktree.exchange(&sent.end, &came, now_ms)?,
        None => {
            repository.tidy(&name, Path::new(&record.path))?;
            repository.exchange_kept(&name, &sent.end, &came)?
        }
    };
    if is_taken { Ok(Taken::Here { files, commits }) } else { Ok(Taken::Changed) }
}

/// Files of a worktree that do not travel: ignored ones that came along when it was made, and on the way back those of other
/// repositories inside. On the way out such repositories are refused, for nobody would keep their files while the rest is away.
fn left_behind(record: &WorktreeRecord, is_answer: bool) -> Result<Vec<PathBuf>, WorktreeError> {
    let Ok(worktree) = worktree_of(record) else { return Ok(Vec::new()) };
    let mut repositories = worktree.repositories()?;
    if !repositories.is_empty() && !is_answer {
        return Err(TravelError::HoldsRepositories(repositories).into());
    }
    let mut left = worktree.included_files()?;
    left.append(&mut repositories);
    Ok(left)
}

fn named(mut paths: Vec<PathBuf>) -> Vec<String> {
    paths.truncate(PATHS_NAMED_MAX);
    paths.iter().map(|path| text(path)).collect()
}
