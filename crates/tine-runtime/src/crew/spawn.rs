//! Starting a worker: rows first, in one transaction; then its run, on a task of this process.

use tine_fork::run::{RunLimits, Snapshot};
use tine_model::{AgentId, AgentRecord, Standing, StopKind};
use tine_store::{Forked, NewTask, StoreError};

use super::role::WorkerRole;
use super::told::{ToldPlace, told, worker_options};
use crate::children::Births;
use crate::error::RuntimeError;
use crate::fork_spec::ForkSpec;
use crate::inherit::Inherit;
use crate::names::check_name;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::worker::{Start, WorkerRun};
use crate::worktrees::Cause;

/// Most workers that one run has at the same time, at any depth. More would overrun every provider's rate limits, and the machine's.
const WORKERS_LIVE_MAX: usize = 256;

/// A worker to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Spawn {
    /// Whose fork it is, and what it is made of.
    pub fork: ForkSpec,
    /// What it is told to do.
    pub prompt: String,
    /// The same in a few words.
    pub description: Option<String>,
    /// Where its run stops by itself.
    pub limits: RunLimits,
}

/// Who starts a worker.
pub(crate) struct Spawner<'a> {
    pub(crate) record: &'a AgentRecord,
    /// Its conversation when the call was made; `None` where nobody runs it here.
    pub(crate) snapshot: Option<&'a Snapshot>,
    /// The agent whose run holds this one in this process; `None` where the worker is nobody's but its own.
    pub(crate) top: Option<AgentId>,
}

impl Runtime {
    /// Makes a worker and starts it; returns its id, which is that of its task, when it is in the store. What it inherits is what the snapshot holds, or, without
    /// one, all that the log held when it was made.
    pub(crate) async fn spawn(
        &self,
        spawner: Spawner<'_>,
        spawn: Spawn,
        options: &RunOptions,
    ) -> Result<AgentId, RuntimeError> {
        let Spawn { fork, prompt, description, limits } = spawn;
        check_name(fork.name.as_deref())?;
        if prompt.trim().is_empty() {
            return Err(RuntimeError::NoDirective);
        }
        let parent = spawner.record;
        let live = spawner.top.map_or(0, |top| self.live().below(top).len());
        if live >= WORKERS_LIVE_MAX {
            return Err(RuntimeError::TooMany { asked: live + 1, most: WORKERS_LIVE_MAX });
        }
        let root = self.root_of(parent).await?;
        let role = WorkerRole::of(&fork);
        let at = fork.at.or_else(|| spawner.snapshot.and_then(Snapshot::at));
        let reach = options.crew.confinement.reach.clone();
        let fork = ForkSpec { at, reach, ..fork };
        let births = Births {
            parent,
            spec: &fork,
            standing: Standing::Worker,
            cause: if spawner.top.is_some() { Cause::Run } else { Cause::Command },
            held: true,
        };
        let definition = fork.agent.as_ref().map(|definition| definition.name.clone());
        let task = NewTask { directive: prompt.clone(), description, definition };
        let unborn = self.unborn(&births, vec![Some(task)]).await?;
        // All of the conversation that is in memory, behind the head that it has there.
        let is_in_memory = fork.inherit == Inherit::Full
            && unborn.iter().all(|child| child.agent.head.body.is_none());
        let snapshot = spawner.snapshot.filter(|_| is_in_memory);
        let model =
            unborn.first().map_or(&parent.settings.model, |child| &child.agent.settings.model);
        let llm = self.client_of(parent, model).await?;
        let made = self.bear(&births, unborn).await?.forked.into_iter().next();
        let (lease, record) = match made {
            Some(Forked { lease: Some(lease), record, .. }) => (lease, record),
            Some(_) | None => return Err(StoreError::no_agent(parent.id).into()),
        };
        let agent = record.id;
        let conversation = match snapshot {
            Some(snapshot) => Ok(snapshot.fork()),
            None => self.load(agent, options.caching).await.map(|loaded| loaded.conversation),
        };
        let conversation = match conversation {
            Ok(conversation) => conversation,
            Err(error) => return Err(self.never_began(&lease, &prompt, error).await),
        };
        let strips = self.facts(&record.settings.model).strips_reasoning;
        let place = match self.told_place(agent, &record.directory, &role).await {
            Ok(place) => place,
            Err(error) => return Err(self.never_began(&lease, &prompt, error).await),
        };
        let told =
            told((&role, &prompt), (&conversation, &place), (strips, &options.crew.inherits));
        let teller = self.teller(&record, root, Some(&lease));
        let entered = self.live().enter(teller, spawner.top.unwrap_or(agent), &options.cancel);
        // Whoever stops all below its spawner may have looked before this one was there.
        let stopped = self.live().asked(parent.id).filter(|how| *how == StopKind::Hard);
        stopped.into_iter().for_each(|how| entered.stop.ask(how));
        let run = WorkerRun {
            lease,
            directive: prompt.clone(),
            start: Start::first(told, prompt, conversation),
            entered,
            llm,
        };
        let options = worker_options(options, &role, limits);
        self.start(run, options);
        Ok(agent)
    }

    /// What a worker is told of the place where it works.
    pub(crate) async fn told_place(
        &self,
        agent: AgentId,
        directory: &str,
        role: &WorkerRole,
    ) -> Result<ToldPlace, RuntimeError> {
        let notice = self.worktree_notice((agent, directory), role.has_history()).await?;
        Ok(ToldPlace { directory: directory.to_owned(), notice })
    }

    /// Runs a worker on a task of this process, to the end of its task.
    pub(crate) fn start(&self, run: WorkerRun, options: RunOptions) {
        let runtime = self.clone();
        self.tasks().spawn(async move { runtime.work_alone(run, &options).await });
    }
}
