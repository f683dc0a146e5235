//! A worker: takes runs of a cluster, and makes them here.
//!
//! Each run has a store of its own, made of the rows that came with it. It goes the same way as every run, through the same turn loop,
//! guard and wall; a [mirror](super::mirror) writes into its record what it writes into its log, before it goes on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use tine_fork::run::RunReport;
use tine_guard::{PermissionMode, Rules};
use tine_model::{
    AgentId, AgentState, Block, Cap, Decision, Message, Outcome, PermissionScope, Reach, Role,
    StopKind, in_full,
};
use tine_nats::event::{Ended, Event, Happened};
use tine_nats::{BlobCache, Cluster, ClusterError, HeldJob, Order, Orders, Present, Queue, Record};
use tine_store::{
    AnswerPermission, CacheRow, NewEntry, NewMail, RequestStop, Rows, SetBudget, SetReach,
    SetState, Store, UsageScope,
};
use tine_wire::PortableMessage;
use tine_worktree::CacheLimits;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::follow::empty_report;
use super::job::{
    CacheText, EndText, EntryText, Files, KIND, OwnRows, RequestText, Work, lifetime_of,
};
use super::questions::BY_HOME;
use super::scratch::Scratch;
use super::writer::Writer;
use crate::cache::CachePolicy;
use crate::confine::{Confinement, ReachWish};
use crate::crew::told::only_its_tools;
use crate::error::RuntimeError;
use crate::load::Loaded;
use crate::owner::{Owner, is_alive, sweep_owners};
use crate::permission::Permissions;
use crate::ports::Ports;
use crate::prepared::Prepared;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::worktrees::WorktreePolicy;

/// How often a job is given to somebody before it is given up: one that ends its workers would end them all.
const TIMES_MAX: u64 = 5;

/// What a run is told that another worker has begun.
fn taken_over(directory: &str) -> String {
    format!(
        "Another machine goes on with this, because the one that had it is gone. From here on you work in {directory}. A call that was under way \
         may have run, whole or in part, or not at all: nobody knows. The files there are as they were when this run began: what was changed in them since is lost. Look, and do again what is needed."
    )
}

/// Limits of the cache of projects: a machine that builds for many keeps the last ones.
const PROJECTS: CacheLimits = CacheLimits { projects_max: 64, bytes_max: 20 << 30 };

/// The pause where the servers hand no job over because they are away.
const AWAY: Duration = Duration::from_secs(1);

/// What a worker is told apart by, and what it may use.
pub struct RemoteWorker {
    /// The servers.
    pub cluster: Cluster,
    /// Its name, which no other worker has.
    pub name: String,
    /// The labels of the jobs that it takes, beside those that any worker may take.
    pub labels: Vec<String>,
    /// Most runs at the same time.
    pub jobs: usize,
    /// The directory for the stores of its runs.
    pub directory: PathBuf,
    /// The rows and files that came with earlier jobs.
    pub blobs: BlobCache,
    /// Time, ids, and its own way to models.
    pub ports: Ports,
    /// The making of worktrees.
    pub worktrees: WorktreePolicy,
    /// Rules of this machine: what they deny is denied to every run.
    pub rules: Rules,
    /// The confinement of every run. No job widens it.
    pub confinement: Confinement,
    /// The version of the program.
    pub version: String,
}

/// Something that a worker tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerNews {
    /// A run begins.
    Began {
        /// The agent.
        agent: AgentId,
        /// The number of workers that have had it, this one included.
        attempt: u32,
    },
    /// A run has ended.
    Ended {
        /// The agent.
        agent: AgentId,
        /// The word of its outcome.
        outcome: String,
    },
    /// A run was given to another worker.
    Lost {
        /// The agent.
        agent: AgentId,
        /// Why.
        why: String,
    },
    /// The servers are away.
    Away(String),
}

/// A run that is made here.
struct Making<'a> {
    held: &'a HeldJob,
    work: Work,
    /// What an earlier worker has written of it.
    before: Vec<Event>,
    /// The folder of its store and files.
    scratch: &'a Path,
    /// Stops it, because nobody can know any more whose it is.
    lost: &'a CancellationToken,
    /// Cancelled once it can be stopped and told things. Orders are kept: those that came before are found then.
    begun: CancellationToken,
}

/// How a run begins here.
enum Begins {
    /// With what it is told; `None` to go on.
    With(Option<Message>),
    /// Where the worker before this one was lost, after so many turns.
    Again { turns: u32 },
}

/// Told of news.
pub(crate) type Tell<'a> = &'a (dyn Fn(WorkerNews) + Send + Sync);

impl RemoteWorker {
    /// Works until `drain` is cancelled, and then until its runs have ended, or `cancel` is cancelled as well. Runs that are cut off go to
    /// other workers.
    pub async fn work(
        self: Arc<Self>,
        tell: Arc<dyn Fn(WorkerNews) + Send + Sync>,
        (drain, cancel): (CancellationToken, CancellationToken),
    ) -> Result<(), RuntimeError> {
        let own = Owner::register(&self.directory, self.ports.ids.random())?;
        let runs = folder_of(&self.directory, own.name());
        sweep(&self.directory);
        let mut queue = Queue::open(&self.cluster, KIND, &self.labels).await?;
        let places = Arc::new(Semaphore::new(self.jobs.max(1)));
        let running = Arc::new(std::sync::Mutex::new(Vec::<AgentId>::new()));
        let tasks = TaskTracker::new();
        let presence = self.tell_presence(&running);
        tokio::pin!(presence);
        loop {
            let place = tokio::select! {
                place = Arc::clone(&places).acquire_owned() => place,
                never = &mut presence => match never {},
                () = drain.cancelled() => break,
            };
            let Ok(place) = place else { break };
            // Not cut short: a job that is handed over at that moment would wait for its lease to end.
            let next = queue.next();
            tokio::pin!(next);
            let held = tokio::select! {
                held = &mut next => held,
                never = &mut presence => match never {},
            };
            match held {
                Ok(Some(held)) => {
                    let (worker, tell, cancel) =
                        (Arc::clone(&self), Arc::clone(&tell), cancel.clone());
                    let (running, runs) = (Arc::clone(&running), runs.clone());
                    tasks.spawn(async move {
                        worker.take(held, (&*tell, &running), (&runs, &cancel)).await;
                        drop(place);
                    });
                }
                Ok(None) => {}
                Err(error) => {
                    tell(WorkerNews::Away(in_full(&error)));
                    tokio::time::sleep(AWAY).await;
                }
            }
            if drain.is_cancelled() {
                break;
            }
        }
        tasks.close();
        tokio::select! {
            () = tasks.wait() => {}
            never = &mut presence => match never {},
            () = cancel.cancelled() => tasks.wait().await,
        }
        let _ = std::fs::remove_dir_all(&runs);
        // Who looks finds it gone by itself a little later.
        let _ = self.cluster.leave(&self.name).await;
        Ok(())
    }

    async fn tell_presence(
        &self,
        running: &std::sync::Mutex<Vec<AgentId>>,
    ) -> std::convert::Infallible {
        loop {
            let now = running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            let present = Present {
                worker: self.name.clone(),
                labels: self.labels.clone(),
                jobs: self.jobs,
                running: now.iter().map(AgentId::to_string).collect(),
                version: self.version.clone(),
            };
            if let Err(error) = self.cluster.tell_presence(&present).await {
                tracing::debug!(%error, "the servers do not know of this worker");
            }
            tokio::time::sleep(self.cluster.settings().lease / 4).await;
        }
    }

    /// Makes one run, whatever becomes of it.
    async fn take(
        &self,
        held: HeldJob,
        (tell, running): (Tell<'_>, &std::sync::Mutex<Vec<AgentId>>),
        (runs, cancel): (&Path, &CancellationToken),
    ) {
        let lost = cancel.child_token();
        let agents = || running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let work = serde_json::from_value::<Work>(held.job.work.clone());
        let agent = work.as_ref().ok().map(|work| work.agent.0);
        agents().extend(agent);
        let made = tokio::select! {
            made = Box::pin(self.make((&held, work), tell, (runs, &lost))) => made,
            () = held.beat(&lost) => Ok(()),
        };
        agents().retain(|other| Some(*other) != agent);
        if cancel.is_cancelled()
            && made.is_err()
            && let Err(error) = held.give_back().await
        {
            tracing::debug!(%error, "a job waits for its lease to end");
        }
        match (made, agent) {
            (Err(error), Some(agent)) => tell(WorkerNews::Lost { agent, why: in_full(&error) }),
            (Err(error), None) => tracing::warn!(%error, "a job that cannot be read"),
            (Ok(()), _) => {}
        }
    }

    async fn make(
        &self,
        (held, work): (&HeldJob, Result<Work, serde_json::Error>),
        tell: Tell<'_>,
        (runs, lost): (&Path, &CancellationToken),
    ) -> Result<(), RuntimeError> {
        let (run, clock) = (held.job.run, &self.ports.clock);
        let traceparent = held.job.traceparent.clone();
        let named = (run, self.name.as_str());
        let claimed = Record::claim(&self.cluster, named, traceparent, clock.now_ms()).await;
        let (mut record, before) = match claimed {
            Ok(claimed) => claimed,
            Err(ClusterError::Ended) => return Ok(held.done().await?),
            Err(error) => return Err(error.into()),
        };
        let work = match work {
            Ok(work) if held.times <= TIMES_MAX => work,
            unusable => {
                let why = unusable.err().map_or_else(
                    || format!("{} workers had this run, and none has ended it", held.times - 1),
                    |error| format!("the job cannot be read: {error}"),
                );
                record.write(&Happened::Ended(failed(why)), clock.now_ms()).await?;
                return Ok(held.done().await?);
            }
        };
        let agent = work.agent.0;
        tell(WorkerNews::Began { agent, attempt: record.attempt() });
        let scratch = runs.join(format!("{run}-{}", record.attempt()));
        let begun = CancellationToken::new();
        let making = Making { held, work, before, scratch: &scratch, lost, begun };
        let outcome = Box::pin(self.run(&making, record)).await;
        // What is left behind of it is nobody's.
        let _ = tokio::fs::remove_dir_all(&scratch).await;
        tell(WorkerNews::Ended { agent, outcome: outcome? });
        Ok(held.done().await?)
    }

    /// Makes the run in a store of its own, and writes its end. Returns the word of its outcome.
    async fn run(&self, making: &Making<'_>, record: Record) -> Result<String, RuntimeError> {
        let Making { work, scratch, lost, .. } = making;
        let agent = work.agent.0;
        let (database, owners) = (scratch.join("tine.db"), scratch.join("owners"));
        let runtime = Runtime::open(database, owners, self.ports.clone(), None).await?;
        // The worktree goes with the rest of the run.
        let root = scratch.join("worktrees");
        let runtime = runtime
            .with_compaction(false)
            .with_worktrees(WorktreePolicy { root, ..self.worktrees.clone() });
        let heard = runtime.subscribe(crate::events::EventFilter::Agent(agent));
        let (store, clock) = (Arc::clone(runtime.store()), Arc::clone(&self.ports.clock));
        let writer = Writer::new((record, heard), (store, clock), agent, (*lost).clone());
        let writer = Arc::new(writer);
        let runtime = runtime.with_mirror(Arc::clone(&writer) as _);
        let outcome = self.to_its_end(making, &runtime, &writer).await;
        // Also of one that is another worker's now: its files are nobody's.
        if runtime.store().worktree(agent).await?.is_some()
            && let Err(error) = runtime.forget_unpacked(agent).await
        {
            tracing::warn!(%agent, %error, "a worktree is left in the cache of projects");
        }
        if let Err(error) = runtime.trim_cache(&self.projects(), PROJECTS).await {
            tracing::warn!(%error, "the cache of projects could not be made smaller");
        }
        runtime.store().close().await?;
        outcome
    }

    async fn to_its_end(
        &self,
        making: &Making<'_>,
        runtime: &Runtime,
        writer: &Writer,
    ) -> Result<String, RuntimeError> {
        let Making { work, before, scratch, lost, .. } = making;
        let agent = work.agent.0;
        let base = OnceLock::new();
        let made = async {
            let resumed = self.fill(runtime, (work, before), &base).await?;
            self.unpack(runtime, work, scratch).await?;
            let begins = match resumed {
                Some(turns) => Begins::Again { turns },
                None => {
                    let directory = runtime.store().agent(agent).await?.directory;
                    Begins::With(prompt_of(work, &directory)?)
                }
            };
            self.go(runtime, making, begins).await
        };
        let report = tokio::select! {
            made = Box::pin(made) => made,
            () = writer.beat() => Err(ClusterError::Fenced.into()),
            never = self.obey(runtime, making, &base) => match never {},
        };
        if lost.is_cancelled() {
            return Err(ClusterError::Fenced.into());
        }
        let (last_words, ended) = match &report {
            Ok(report) => {
                let files = self.pack(runtime, work, scratch).await?;
                (report.final_text(), ended_of(report, files))
            }
            Err(error) => (None, failed(in_full(error))),
        };
        let outcome = ended.outcome.clone();
        writer.end(last_words, ended).await?;
        Ok(outcome)
    }

    /// Puts the rows into the store, and what an earlier worker has written. Returns the number of its turns, where there was something.
    async fn fill(
        &self,
        runtime: &Runtime,
        (work, before): (&Work, &[Event]),
        base: &OnceLock<Used>,
    ) -> Result<Option<u32>, RuntimeError> {
        let (agent, store) = (work.agent.0, runtime.store());
        let rows = |bytes: &[u8]| -> Result<Rows, RuntimeError> {
            serde_json::from_slice(bytes).map_err(RuntimeError::RemoteForm)
        };
        let inherited = rows(&self.blobs.get(&self.cluster, work.inherited).await?)?;
        let own = match &work.own {
            OwnRows::Here(rows) => rows.clone(),
            OwnRows::Blob(hash) => rows(&self.blobs.get(&self.cluster, *hash).await?)?,
        };
        store.put_rows(&[&inherited, &own]).await?;
        let state = AgentState::Idle;
        let now_ms = runtime.now_ms();
        let idle = SetState { agent, state, failure: None, fence: None, now_ms };
        store.set_state(idle).await?;
        let cache: Vec<CacheRow> = work.cache.iter().filter_map(CacheText::row).collect();
        store.note_cache(&cache).await?;
        let before_this = used_in(runtime, agent).await?;
        let reach = self.confinement.reach.within(&work.reach.reach());
        store.set_reach(SetReach { agent, reach, fence: None, now_ms }).await?;
        let base = *base.get_or_init(|| before_this);
        set_caps(runtime, agent, (base, &work.budget)).await?;
        let (mut entries, mut requests) = (Vec::<NewEntry>::new(), Vec::new());
        for event in before {
            match event.happened()? {
                Happened::Entry(entry) => {
                    let text: EntryText =
                        serde_json::from_value(entry.entry).map_err(RuntimeError::RemoteForm)?;
                    entries.extend(text.entry());
                }
                Happened::Cost(cost) => {
                    let text: RequestText =
                        serde_json::from_value(cost.detail).map_err(RuntimeError::RemoteForm)?;
                    let id = cost.request.parse().ok();
                    requests.extend(id.map(|id| text.rows((id, agent), cost.tokens)));
                }
                _ => {}
            }
        }
        let turns = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        for (row, cache) in requests {
            store.record_request(row, &cache).await?;
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let lease = runtime.acquire(agent).await?;
        store.append(agent, lease.fence, &entries).await?;
        runtime.give_back(&lease).await?;
        Ok(Some(turns))
    }

    /// Makes the worktree that the run works in.
    async fn unpack(
        &self,
        runtime: &Runtime,
        work: &Work,
        scratch: &Path,
    ) -> Result<(), RuntimeError> {
        let Files { bundle, state } = &work.files;
        let folder = Scratch::within(scratch)?;
        let bundle = folder.download("state.bundle", &self.cluster, *bundle).await?;
        runtime.unpack_worktree(work.agent.0, &bundle, state, &self.projects()).await
    }

    /// Uploads what the worktree holds now.
    async fn pack(
        &self,
        runtime: &Runtime,
        work: &Work,
        scratch: &Path,
    ) -> Result<Files, RuntimeError> {
        let folder = Scratch::within(scratch)?;
        let into = folder.file("work.bundle");
        let state = runtime.pack_work(work.agent.0, &into, &work.files.state).await?;
        Ok(Files { bundle: folder.upload("work.bundle", &self.cluster).await?, state })
    }

    /// The cache of projects, beside the stores of runs.
    fn projects(&self) -> PathBuf {
        self.directory.with_file_name("projects")
    }

    /// Runs the agent as any other is run.
    async fn go(
        &self,
        runtime: &Runtime,
        making: &Making<'_>,
        begins: Begins,
    ) -> Result<RunReport, RuntimeError> {
        let agent = making.work.agent.0;
        let mut options = self.options(&making.work, making.lost)?;
        let record = runtime.store().agent(agent).await?;
        let llm = runtime.client_of(&record, &record.settings.model).await?;
        let root = runtime.root_of(&record).await?;
        let lease = runtime.acquire(agent).await?;
        let teller = runtime.teller(&record, root, Some(&lease));
        let entered = runtime.live().enter(teller, agent, &options.cancel);
        making.begun.cancel();
        let mut loaded = runtime.load(agent, options.caching).await?;
        let prompt = match begins {
            Begins::With(prompt) => prompt,
            Begins::Again { turns } => {
                if let Some(last) = last_words(&loaded) {
                    // Its end alone was not told.
                    runtime.give_back(&lease).await?;
                    let messages = vec![last];
                    let outcome = Outcome::Completed;
                    return Ok(RunReport { outcome, messages, ..empty_report() });
                }
                options.limits.turns = options.limits.turns.saturating_sub(turns);
                let (body, now_ms) = (taken_over(&record.directory), runtime.now_ms());
                let mail = NewMail { recipient: agent, sender: None, body, now_ms };
                runtime.store().send_mail(mail).await?;
                None
            }
        };
        let caching = (&mut loaded, options.caching);
        let writing = tokio::select! {
            writing = runtime.await_prefix(&self.cluster, &making.work, caching) => writing?,
            () = entered.stop.cancel.cancelled() => None,
        };
        let prepared = Prepared {
            loaded,
            lease: lease.clone(),
            llm: &*llm,
            seat: None,
            label: record.name.clone(),
            entered: &entered,
            prompt_first: false,
            takes_follow_ups: false,
        };
        let run = Box::pin(runtime.drive(prepared, prompt, &options));
        let result = match writing {
            Some(writing) => {
                let told = writing.tell(agent).then(|told| async {
                    if let Err(error) = told {
                        tracing::debug!(%error, "those who wait for a prefix are not told of it");
                    }
                    std::future::pending::<std::convert::Infallible>().await
                });
                tokio::select! {
                    result = run => result,
                    never = told => match never {},
                }
            }
            None => run.await,
        };
        runtime.end_all_background().await;
        runtime.give_back(&lease).await?;
        result
    }

    fn options(&self, work: &Work, lost: &CancellationToken) -> Result<RunOptions, RuntimeError> {
        let allowed = &work.permissions;
        let mut rules = Rules::parse(&allowed.allow, &allowed.ask, &allowed.deny)
            .map_err(RuntimeError::RemoteRules)?;
        rules.ask.extend(self.rules.ask.clone());
        rules.deny.extend(self.rules.deny.clone());
        let mode = allowed.mode.parse().unwrap_or(PermissionMode::Default);
        let permissions = Permissions {
            asks: true,
            queue: allowed.queue(),
            accepts_worktree_edits: allowed.worktree_edits,
            ..Permissions::new(mode, rules)
        };
        let options = RunOptions {
            limits: work.limits.clone().into(),
            cancel: lost.clone(),
            caching: CachePolicy {
                lifetime: lifetime_of(work.lifetime.as_deref()),
                ..CachePolicy::default()
            },
            confinement: Confinement {
                reach: ReachWish::Run(Reach::open()),
                ..self.confinement.clone()
            },
            ..RunOptions::new(permissions)
        };
        let mut options = match &work.tools {
            Some(only) => RunOptions {
                filter: only_its_tools(only.clone().into(), Arc::clone(&options.filter)),
                ..options
            },
            None => options,
        };
        // Nobody would see the workers of a worker's run.
        options.crew.policy.depth_max = 0;
        Ok(options)
    }

    /// Does what is ordered where the run comes from.
    async fn obey(
        &self,
        runtime: &Runtime,
        making: &Making<'_>,
        base: &OnceLock<Used>,
    ) -> std::convert::Infallible {
        making.begun.cancelled().await;
        let agent = making.work.agent.0;
        let base = base.get().copied().unwrap_or_default();
        let mut orders = Orders::new(&self.cluster, making.held.job.run);
        loop {
            let order = orders.next().await;
            if let Err(error) = obey(runtime, (agent, base), order).await {
                tracing::warn!(%agent, %error, "an order could not be carried out");
            }
        }
    }
}

/// The folder for the runs of a worker's process, below `runs`.
fn folder_of(runs: &Path, owner: &str) -> PathBuf {
    runs.join(owner.replace(' ', "-"))
}

/// Removes what workers have left that died.
fn sweep(runs: &Path) {
    sweep_owners(runs);
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !entry.file_name().to_str().is_some_and(|owner| is_alive(runs, owner)) {
            // What cannot be removed now is looked at again by the next one.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

async fn obey(
    runtime: &Runtime,
    (agent, base): (AgentId, Used),
    order: Order,
) -> Result<(), RuntimeError> {
    let store: &dyn Store = &**runtime.store();
    match order {
        Order::Stop { kind } => {
            let how = StopKind::from_name(&kind).unwrap_or(StopKind::Hard);
            store.request_stop(RequestStop { agent, how, cascade: true }).await?;
            runtime.live().stop(agent, how);
        }
        Order::Answer { question, default_by: Some(by), .. } => {
            let Ok(id) = question.parse() else { return Ok(()) };
            store.default_permission(id, &by, runtime.now_ms()).await?;
            runtime.live().beat();
        }
        Order::Answer { question, decision, scope, rule, reason, default_by: None } => {
            let Ok(id) = question.parse() else { return Ok(()) };
            let scope = scope.as_deref().and_then(PermissionScope::from_name);
            let answer = AnswerPermission {
                id,
                decision: Decision::from_name(&decision).unwrap_or(Decision::Deny),
                scope: scope.unwrap_or(PermissionScope::Once),
                rule,
                by: BY_HOME.to_owned(),
                reason,
                now_ms: runtime.now_ms(),
            };
            store.answer_permission(answer).await?;
            runtime.live().beat();
        }
        Order::Caps { most } => set_caps(runtime, agent, (base, &most)).await?,
        Order::Mail { text, .. } => {
            let now_ms = runtime.now_ms();
            let mail = NewMail { recipient: agent, sender: None, body: text, now_ms };
            store.send_mail(mail).await?;
        }
    }
    Ok(())
}

/// Tokens, and millionths of a USD, of requests that came with the rows: the store counts them as the tree's.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    tokens: u64,
    micro_usd: u64,
}

/// What the tree of an agent has used.
async fn used_in(runtime: &Runtime, agent: AgentId) -> Result<Used, RuntimeError> {
    let root = runtime.store().ancestry(agent).await?.first().map_or(agent, |root| root.id);
    let requests = runtime.store().requests(root, UsageScope::Subtree).await?;
    let mut used = Used::default();
    for request in requests {
        let usage = request.usage.unwrap_or_default();
        used.tokens += usage.prompt() + usage.output;
        used.micro_usd += request.micro_usd.unwrap_or(0);
    }
    Ok(used)
}

/// Lets the run use so much.
async fn set_caps(
    runtime: &Runtime,
    agent: AgentId,
    (base, most): (Used, &[(String, u64)]),
) -> Result<(), RuntimeError> {
    if most.is_empty() {
        return Ok(());
    }
    let caps = most.iter().filter_map(|(word, most)| {
        let cap = Cap::from_name(word)?;
        let base = if cap == Cap::Tokens { base.tokens } else { base.micro_usd };
        Some((cap, Some(base.saturating_add(*most))))
    });
    let set = SetBudget { agent, caps: caps.collect(), now_ms: runtime.now_ms() };
    runtime.store().set_budget(set).await?;
    Ok(())
}

/// The reply that ends a conversation, where it calls nothing.
fn last_words(loaded: &Loaded) -> Option<Arc<Message>> {
    let history = loaded.conversation.history();
    let last = history.last().filter(|_| !history.has_open_calls())?;
    (last.message.role() == Role::Assistant).then(|| Arc::clone(&last.message))
}

/// What the run is told: where it names the directory that the run has where it comes from, it names the one here.
fn prompt_of(work: &Work, directory: &str) -> Result<Option<Message>, RuntimeError> {
    let Some(text) = &work.prompt else { return Ok(None) };
    let message: PortableMessage<'_> =
        serde_json::from_str(text).map_err(RuntimeError::RemoteForm)?;
    let message = message.into_message();
    let there = work.directory.to_string_lossy();
    let blocks = message.blocks().iter().map(|block| match block {
        Block::Text(text) => Block::Text(text.replace(&*there, directory)),
        other => other.clone(),
    });
    Ok(Some(Message::new(message.role(), blocks.collect())))
}

fn failed(why: String) -> Ended {
    let outcome = Outcome::Failed(String::new()).as_str().to_owned();
    Ended { outcome, error: Some(why), detail: serde_json::Value::Null }
}

fn ended_of(report: &RunReport, files: Files) -> Ended {
    let error = match &report.outcome {
        Outcome::Failed(why) => Some(why.clone()),
        _ => None,
    };
    let end = EndText {
        turns: report.turns,
        tool_uses: report.tool_uses,
        denied: report.denials.of_all().map(str::to_owned),
        reached: report
            .reached
            .map(|reached| (reached.cap.as_str().to_owned(), reached.used, reached.most)),
        files: Some(files),
    };
    let outcome = report.outcome.as_str().to_owned();
    Ended { outcome, error, detail: serde_json::to_value(end).unwrap_or_default() }
}
