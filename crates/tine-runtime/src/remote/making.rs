//! One run, made by a worker: in a store of its own, by the turn loop of every run, to its end in the record.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt as _;
use tine_fork::run::RunReport;
use tine_guard::{PermissionMode, Rules};
use tine_model::{AgentState, Block, Message, Outcome, Reach, Role, in_full};
use tine_nats::event::{Ended, Event, Happened};
use tine_nats::{ClusterError, HeldJob, Record};
use tine_store::{CacheRow, NewEntry, NewMail, Rows, SetReach, SetState};
use tine_wire::PortableMessage;
use tine_worktree::CacheLimits;
use tokio_util::sync::CancellationToken;

use super::job::{CacheText, EndText, EntryText, Files, RequestText, RestRows, Work, lifetime_of};
use super::orders::{Used, set_caps, used_in};
use super::worker::RemoteWorker;
use super::writer::Writer;
use crate::cache::CachePolicy;
use crate::confine::{Confinement, ReachWish};
use crate::crew::told::only_its_tools;
use crate::error::RuntimeError;
use crate::events::EventFilter;
use crate::load::Loaded;
use crate::permission::Permissions;
use crate::prepared::Prepared;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::worktrees::WorktreePolicy;

/// Told to a run that another worker has begun.
fn taken_over(directory: &str) -> String {
    format!(
        "Another machine goes on with this, because the one that had it is gone. From here on you work in {directory}. A call that \
         was under way may have run, whole or in part, or not at all: nobody knows. The files there are as they were when this run \
         began: what was changed in them since is lost. Look, and do again what is needed."
    )
}

/// Limits of the cache of projects: a machine that builds for many keeps the last ones.
const PROJECTS: CacheLimits = CacheLimits { projects_max: 64, bytes_max: 20 << 30 };

/// A run that is made here.
pub(super) struct Making<'a> {
    pub(super) held: &'a HeldJob,
    pub(super) work: Work,
    /// The events that earlier workers have written of it.
    pub(super) before: Vec<Event>,
    /// The folder of its store and files.
    pub(super) scratch: &'a Path,
    /// Stops it, because nobody can know any more whose it is.
    pub(super) lost: &'a CancellationToken,
    /// Cancelled once it can be stopped and told things. Orders are kept: those that came before are found then.
    pub(super) begun: CancellationToken,
}

/// The beginning of a run here.
enum Begins {
    /// With what it is told; `None` to go on.
    With(Option<Message>),
    /// Behind a worker that was lost, after so many turns. It may have changed files, which went with it.
    Again { turns: u32, has_worked: bool },
}

impl RemoteWorker {
    /// Makes the run in a store of its own, and writes its end. Returns the word of its outcome.
    pub(super) async fn run(
        &self,
        making: &Making<'_>,
        record: Record,
    ) -> Result<String, RuntimeError> {
        let Making { work, scratch, lost, .. } = making;
        let agent = work.agent.0;
        let (database, owners) = (scratch.join("tine.db"), scratch.join("owners"));
        let runtime = Runtime::open(database, owners, self.ports.clone(), None).await?;
        // The worktree goes with the rest of the run.
        let root = scratch.join("worktrees");
        let runtime = runtime
            .with_compaction(false)
            .with_worktrees(WorktreePolicy { root, ..self.worktrees.clone() });
        let heard = runtime.subscribe(EventFilter::Agent(agent));
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
                Some(turns) => Begins::Again { turns, has_worked: has_worked(before)? },
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
            Ok(report) => match self.pack(runtime, work, scratch).await {
                Ok(files) => (report.final_text(), ended_of(report, files)),
                Err(error) => {
                    let why = format!("its work could not be sent home: {}", in_full(&error));
                    (report.final_text(), failed(why))
                }
            },
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
        let mut parts = Vec::with_capacity(work.inherited.len() + 1);
        for piece in &work.inherited {
            parts.push(rows(&self.blobs.get(&self.cluster, *piece).await?)?);
        }
        parts.push(match &work.rest {
            RestRows::Here(rows) => rows.clone(),
            RestRows::Blob(hash) => rows(&self.blobs.get(&self.cluster, *hash).await?)?,
        });
        store.put_rows(&parts.iter().collect::<Vec<_>>()).await?;
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

    /// The cache of projects, beside the stores of runs.
    pub(super) fn projects(&self) -> PathBuf {
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
            Begins::Again { turns, has_worked } => {
                if let Some(last) = last_words(&loaded).filter(|_| !has_worked) {
                    // Its end alone was not told.
                    runtime.give_back(&lease).await?;
                    let report = RunReport::empty(Outcome::Completed);
                    return Ok(RunReport { messages: vec![last], ..report });
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
            writing = runtime.await_prefix(&self.cluster, caching) => writing?,
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
}

/// Returns true where an earlier worker has begun a tool call.
fn has_worked(before: &[Event]) -> Result<bool, RuntimeError> {
    for event in before {
        if matches!(event.happened()?, Happened::Tool(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The reply that ends a conversation, where it calls nothing.
fn last_words(loaded: &Loaded) -> Option<Arc<Message>> {
    let history = loaded.conversation.history();
    let last = history.last().filter(|_| !history.has_open_calls())?;
    (last.message.role() == Role::Assistant).then(|| Arc::clone(&last.message))
}

/// The prompt of the run: where it names the run's directory at home, it names the one here.
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

/// The end of a run that failed.
pub(super) fn failed(why: String) -> Ended {
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
        reached: report.reached.map(|reached| reached.cap.as_str().to_owned()),
        files: Some(files),
    };
    let outcome = report.outcome.as_str().to_owned();
    Ended { outcome, error, detail: serde_json::to_value(end).unwrap_or_default() }
}
