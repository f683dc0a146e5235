//! Fan-out: several workers over one prefix.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::future::join_all;
use tine_cache::{Launch, Prefix, plan};
use tine_fork::{
    Conversation, Flight, LEADER_WAIT_MAX, RunEvent, RunReport, Seat, worker_directive,
};
use tine_model::{AgentId, AgentRecord, Message, TaskRecord};
use tine_store::{Forked, Lease, StoreError, TaskEnd};

use crate::error::RuntimeError;
use crate::fan_report::{FanReport, FanTask, cache_report, ended, failed};
use crate::load::Loaded;
use crate::notice::task_notice;
use crate::run::{Prepared, RunOptions};
use crate::runtime::Runtime;

/// Most workers of one fan. More would overrun every provider's rate limits, and the machine's.
pub const FAN_MAX: usize = 256;

/// Bytes of prompt that make about one token; good enough to tell a small gap from a large one.
const BYTES_PER_TOKEN: u64 = 4;

/// How the workers start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FanPlan {
    /// Together when the prefix is warm, leader first when it is cold.
    #[default]
    Auto,
    /// All at once.
    Together,
    /// One first.
    LeaderFirst,
}

/// What a fan is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FanSpec {
    /// Whose workers they are.
    pub parent: AgentId,
    /// One worker each.
    pub directives: Vec<String>,
    /// How they start.
    pub plan: FanPlan,
}

/// Sees every worker. Called on the fan's own task: must be quick.
pub trait FanWatcher: Send + Sync {
    /// The workers exist; nothing runs yet.
    fn on_start(&self, workers: &[AgentId], launch: Launch);

    /// Something happened in the run of worker number `index`.
    fn on_event(&self, index: usize, event: &RunEvent<'_>);

    /// Worker number `index` has ended.
    fn on_end(&self, index: usize, task: &FanTask);
}

/// One worker that is about to run.
struct Worker<'a> {
    index: usize,
    agent: AgentId,
    directive: &'a String,
    lease: Option<Lease>,
    conversation: Conversation,
    seat: Seat,
}

/// Keeps a panicking watcher from taking the workers down.
struct Shielded(Arc<dyn FanWatcher>);

impl Shielded {
    fn call(&self, tell: impl FnOnce(&dyn FanWatcher)) {
        if catch_unwind(AssertUnwindSafe(|| tell(&*self.0))).is_err() {
            tracing::warn!("a watcher panicked; the workers go on");
        }
    }
}

impl FanWatcher for Shielded {
    fn on_start(&self, workers: &[AgentId], launch: Launch) {
        self.call(|watcher| watcher.on_start(workers, launch));
    }

    fn on_event(&self, index: usize, event: &RunEvent<'_>) {
        self.call(|watcher| watcher.on_event(index, event));
    }

    fn on_end(&self, index: usize, task: &FanTask) {
        self.call(|watcher| watcher.on_end(index, task));
    }
}

impl Runtime {
    /// Forks one worker per directive from the parent's head, runs them at the same time, and returns when all have
    /// ended. Each has a task row; its end and the notice to the parent are one transaction. The watcher sees
    /// the runs; `options.observer` is not used.
    pub async fn fan(
        &self,
        spec: FanSpec,
        options: &RunOptions,
        watcher: Arc<dyn FanWatcher>,
    ) -> Result<FanReport, RuntimeError> {
        if spec.directives.iter().any(|directive| directive.trim().is_empty()) {
            return Err(RuntimeError::NoDirective);
        }
        match spec.directives.len() {
            0 => return Err(RuntimeError::NoDirective),
            asked if asked > FAN_MAX => {
                return Err(RuntimeError::TooMany { asked, most: FAN_MAX });
            }
            _ => {}
        }
        let parent = self.store().agent(spec.parent).await?;
        let llm = self.ports().models.connect(&parent.settings.model).await?;
        let watcher: Arc<dyn FanWatcher> = Arc::new(Shielded(watcher));
        let forked = self.fork_workers(&parent, &spec.directives).await?;
        let result = self.run_workers(&parent, &spec, &forked, &*llm, options, &watcher).await;
        if let Err(error) = &result {
            // The workers exist, and nobody will run them: they must not look as if somebody did.
            for (made, directive) in forked.iter().zip(&spec.directives) {
                if let Some(lease) = &made.lease {
                    let task = failed(made.child, directive, error);
                    self.finish(lease, &task).await?;
                    self.store().release(lease).await?;
                }
            }
        }
        result
    }

    async fn run_workers(
        &self,
        parent: &AgentRecord,
        spec: &FanSpec,
        forked: &[Forked],
        llm: &dyn tine_llm::LlmClient,
        options: &RunOptions,
        watcher: &Arc<dyn FanWatcher>,
    ) -> Result<FanReport, RuntimeError> {
        let workers: Vec<AgentId> = forked.iter().map(|forked| forked.child).collect();
        let Some(first) = workers.first() else { return Err(RuntimeError::NoDirective) };
        // Loaded once, as the first child sees it; the others fork it in memory.
        let mut base = self.load(*first).await?.conversation;
        let launch = match spec.plan {
            FanPlan::Together => Launch::Together,
            FanPlan::LeaderFirst => Launch::LeaderFirst,
            FanPlan::Auto => {
                let prefix = self.prefix(parent, &mut base).await?;
                plan(prefix, workers.len(), self.now_ms())
            }
        };
        watcher.on_start(&workers, launch);
        let flight = match launch {
            Launch::Together => Flight::together(),
            Launch::LeaderFirst => {
                Flight::leader_first(shortest(&spec.directives), LEADER_WAIT_MAX)
            }
        };
        let runs =
            forked.iter().zip(&spec.directives).enumerate().map(|(index, (made, directive))| {
                let worker = Worker {
                    index,
                    agent: made.child,
                    directive,
                    lease: made.lease.clone(),
                    conversation: base.fork(),
                    seat: flight.seat(index),
                };
                self.work(worker, llm, options, watcher)
            });
        let runs: Vec<_> = runs.collect();
        let tasks = join_all(runs).await;
        let cache = cache_report(parent, launch, &tasks);
        let fork_point = forked.first().and_then(|forked| forked.fork_point);
        Ok(FanReport { parent: parent.id, fork_point, tasks, cache })
    }

    /// One worker from its first step to the end of its task. Whatever goes wrong is its own failure: its siblings go on.
    async fn work(
        &self,
        worker: Worker<'_>,
        llm: &dyn tine_llm::LlmClient,
        options: &RunOptions,
        watcher: &Arc<dyn FanWatcher>,
    ) -> FanTask {
        let start_ms = self.now_ms();
        let (index, agent, directive) = (worker.index, worker.agent, worker.directive);
        let lease = worker.lease.clone();
        let mut task = match self.drive_worker(worker, llm, options, watcher).await {
            Ok(report) => ended(agent, directive, &report),
            Err(error) => failed(agent, directive, &error),
        };
        task.duration_ms = self.now_ms() - start_ms;
        if let Some(lease) = lease {
            let closed = async {
                self.finish(&lease, &task).await?;
                Ok::<_, RuntimeError>(self.store().release(&lease).await?)
            };
            if let Err(error) = closed.await {
                task.error.get_or_insert(error.to_string());
            }
        }
        watcher.on_end(index, &task);
        task
    }

    async fn drive_worker(
        &self,
        worker: Worker<'_>,
        llm: &dyn tine_llm::LlmClient,
        options: &RunOptions,
        watcher: &Arc<dyn FanWatcher>,
    ) -> Result<RunReport, RuntimeError> {
        let Worker { index, agent, directive, lease, conversation, seat } = worker;
        let record = self.store().agent(agent).await?;
        let lease = lease.ok_or(StoreError::Fenced { agent })?;
        self.store().start_task(agent).await?;
        let watcher = Arc::clone(watcher);
        let observer = move |event: &RunEvent<'_>| watcher.on_event(index, event);
        let options = RunOptions { observer: Arc::new(observer), ..options.clone() };
        let prepared = Prepared {
            loaded: Loaded { record, conversation },
            lease,
            llm,
            seat: Some(seat),
            label: Some(directive.clone()),
        };
        self.drive(prepared, Some(Message::user(worker_directive(directive))), &options).await
    }

    /// The task of a worker that did not complete it, running again; `None` for everybody else.
    pub(crate) async fn reopened_task(
        &self,
        record: &AgentRecord,
    ) -> Result<Option<TaskRecord>, RuntimeError> {
        match self.store().task(record.id).await? {
            Some(task) if self.store().start_task(record.id).await? => Ok(Some(task)),
            _ => Ok(None),
        }
    }

    /// Ends a task that was taken up again: what it used before counts too, and the spawner is told.
    pub(crate) async fn finish_again(
        &self,
        lease: &Lease,
        before: &TaskRecord,
        result: &Result<RunReport, RuntimeError>,
    ) -> Result<(), RuntimeError> {
        let mut task = match result {
            Ok(report) => ended(before.agent, &before.directive, report),
            Err(error) => failed(before.agent, &before.directive, error),
        };
        task.usage += before.usage;
        task.turns += before.turns;
        task.tool_uses += before.tool_uses;
        self.finish(lease, &task).await
    }

    /// Ends the task and tells the spawner, in one transaction. A worker that was killed has ended already.
    async fn finish(&self, lease: &Lease, task: &FanTask) -> Result<(), RuntimeError> {
        let now_ms = self.now_ms();
        let mut row = match self.store().task(task.agent).await? {
            Some(row) if !row.status.is_final() => row,
            _ => return Ok(()),
        };
        row.status = task.status;
        row.report = task.report.as_ref().map(|report| report.raw.clone());
        row.error = task.error.clone();
        row.usage = task.usage;
        (row.turns, row.tool_uses) = (task.turns, task.tool_uses);
        let end = TaskEnd {
            agent: task.agent,
            fence: Some(lease.fence),
            status: task.status,
            notice: task_notice(&row),
            report: row.report,
            error: row.error,
            usage: task.usage,
            turns: task.turns,
            tool_uses: task.tool_uses,
            now_ms,
        };
        self.store().finish_task(end).await?;
        Ok(())
    }

    /// What is known of the prefix that the workers will share.
    async fn prefix(
        &self,
        parent: &AgentRecord,
        base: &mut Conversation,
    ) -> Result<Prefix, RuntimeError> {
        let mut last_request_ms = None;
        let line = self.store().ancestry(parent.id).await?;
        for (index, ancestor) in line.iter().enumerate() {
            // What an ancestor sent after it was forked is no part of this prefix.
            let until_ms = line.get(index + 1).map_or(i64::MAX, |next| next.created_ms);
            let sent = self.store().requests(ancestor.id).await?.into_iter();
            let started = sent.map(|row| row.started_ms).filter(|start| *start <= until_ms).max();
            last_request_ms = last_request_ms.max(started);
        }
        if let Some(since_ms) = self.ports().models.cache_since_ms(&parent.settings.model) {
            last_request_ms = last_request_ms.filter(|last_ms| *last_ms >= since_ms);
        }
        let (_, assembled) = base.request();
        Ok(Prefix {
            tokens: assembled.body.len() / BYTES_PER_TOKEN,
            gap_tokens: base.unsent_bytes() / BYTES_PER_TOKEN,
            last_request_ms,
        })
    }
}

/// The member that starts fastest leads: the one with the least to read.
fn shortest(directives: &[String]) -> usize {
    let lengths = directives.iter().map(String::len).enumerate();
    lengths.min_by_key(|(_, length)| *length).map_or(0, |(index, _)| index)
}
