//! A worker's run, from its first step to the end of its task.
//!
//! However it ends, the task has an end and its spawner a notice of it: one transaction. What goes wrong here is the worker's own
//! failure and never its siblings'.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tine_fork::stray::{Finding, examine_worker, nudge};
use tine_fork::{Conversation, Observer, RunEvent, RunLimits, RunReport, Seat};
use tine_llm::LlmClient;
use tine_model::{AgentRecord, Message, Outcome, StopKind, TaskRecord, TaskStatus};
use tine_store::{Lease, TaskEnd};

use crate::error::RuntimeError;
use crate::fan_report::{FanTask, ended, failed};
use crate::live::Entered;
use crate::load::Loaded;
use crate::notice::task_notice;
use crate::run::{Prepared, RunOptions};
use crate::runtime::Runtime;

/// What a worker that panicked is said to have failed with.
const PANICKED: &str = "the worker failed in a way that it should not: this is a bug";

/// One worker that is about to run: its rows are made, its lease is held.
pub(crate) struct WorkerRun {
    pub(crate) lease: Lease,
    pub(crate) directive: String,
    pub(crate) start: Start,
    pub(crate) entered: Entered,
    pub(crate) llm: Arc<dyn LlmClient>,
}

/// What a run of a worker begins with.
pub(crate) struct Start {
    /// What it is told.
    pub(crate) told: Message,
    /// The task in it.
    pub(crate) task: String,
    /// What it knows.
    pub(crate) conversation: Conversation,
    /// Its place among those that it starts with.
    pub(crate) seat: Option<Seat>,
}

impl Start {
    /// A worker that goes on with what it knows.
    pub(crate) fn again(prompt: String, conversation: Conversation) -> Self {
        Self { told: Message::user(prompt.clone()), task: prompt, conversation, seat: None }
    }
}

impl Runtime {
    /// Runs a worker that nobody waits for, and whatever it is told to do next; then gives its lease back.
    pub(crate) async fn work_alone(&self, run: WorkerRun, options: &RunOptions) {
        let WorkerRun { lease, directive, start, entered, llm } = run;
        let mut next = Some(start);
        while let Some(start) = next.take() {
            let once = Once { lease: &lease, directive: &directive, entered: &entered, llm: &*llm };
            let worked = AssertUnwindSafe(self.watched(once, start, options));
            if worked.catch_unwind().await.is_err() {
                tracing::error!(agent = %lease.agent, "a worker panicked");
                let task = failed(lease.agent, &directive, &RuntimeError::Panicked(PANICKED));
                drop(self.finish(&lease, &task).await);
            }
            next = self.next_of(&lease, &entered, options).await;
        }
        drop(self.store().release(&lease).await);
        drop(entered);
    }

    /// What an ended worker was told to do next, and its conversation as it is then.
    async fn next_of(
        &self,
        lease: &Lease,
        entered: &Entered,
        options: &RunOptions,
    ) -> Option<Start> {
        if entered.stop.asked().is_some() || options.cancel.is_cancelled() {
            return None;
        }
        let text = self.store().take_follow_up(lease.agent).await.ok().flatten()?;
        self.store().resume_task(lease.agent).await.ok().filter(|resumed| *resumed)?;
        let loaded = self.load(lease.agent, options.caching).await.ok()?;
        Some(Start::again(text, loaded.conversation))
    }

    /// Runs a worker once, and tells the watcher of it.
    async fn watched(&self, once: Once<'_>, start: Start, options: &RunOptions) {
        let (agent, watcher) = (once.lease.agent, Arc::clone(&options.crew.watcher));
        let lease = once.lease;
        if let Ok(Some(task)) = self.store().task(agent).await {
            watcher.on_start(agent, &task);
        }
        let observer = {
            let watcher = Arc::clone(&watcher);
            move |event: &RunEvent<'_>| watcher.on_event(agent, event)
        };
        let observed: Arc<dyn Observer> = Arc::new(observer);
        let options = RunOptions { observer: observed, ..options.clone() };
        let task = self.work(once, start, &options).await;
        if let Err(error) = self.finish(lease, &task).await {
            tracing::error!(%agent, %error, "the end of a task could not be kept");
        }
        if let Ok(Some(task)) = self.store().task(agent).await {
            watcher.on_end(&task);
        }
        self.live().beat();
    }

    /// One run of a worker. What it used in earlier ones counts too.
    pub(crate) async fn work(&self, once: Once<'_>, start: Start, options: &RunOptions) -> FanTask {
        let start_ms = self.now_ms();
        let (lease, directive, stop) = (once.lease, once.directive, Arc::clone(&once.entered.stop));
        let mut task = match self.drive_worker(once, start, options).await {
            Ok((report, before, flags)) => {
                let mut task = stopped(ended(lease.agent, directive, &report), stop.asked());
                task.flags = flags;
                task.usage += before.usage;
                task.turns += before.turns;
                task.tool_uses += before.tool_uses;
                task
            }
            Err(error) => failed(lease.agent, directive, &error),
        };
        task.duration_ms = self.now_ms() - start_ms;
        task
    }

    async fn drive_worker(
        &self,
        once: Once<'_>,
        Start { told, task, conversation, seat }: Start,
        options: &RunOptions,
    ) -> Result<(RunReport, TaskRecord, Vec<String>), RuntimeError> {
        let agent = once.lease.agent;
        let on_wait = |reached| options.observer.on_event(&RunEvent::Paused(reached));
        // Until then it is queued. Cancelled while it waits, its run ends before its first request.
        self.take_slot(once.lease, &on_wait, &once.entered.stop.cancel).await?;
        self.store().start_task(agent).await?;
        let before = self.store().task(agent).await?.ok_or(RuntimeError::NoTask(agent))?;
        let mut conversation = conversation;
        let inherited = conversation.fork();
        let prepared = self.prepared(&once, &before, (conversation, seat)).await?;
        let report = self.drive(prepared, Some(told), options).await?;
        let mut findings = examined(&report, &inherited, &task);
        let left = options.limits.turns.saturating_sub(report.turns);
        let asked = nudge(&findings)
            .filter(|_| options.crew.nudges && left > 0 && report.outcome == Outcome::Completed);
        let report = match asked.filter(|_| once.entered.stop.asked().is_none()) {
            None => report,
            Some(text) => {
                let conversation = self.load(agent, options.caching).await?.conversation;
                let prepared = self.prepared(&once, &before, (conversation, None)).await?;
                let limits = RunLimits { turns: left, ..options.limits };
                let options = RunOptions { limits, ..options.clone() };
                let second = self.drive(prepared, Some(Message::user(text)), &options).await?;
                let report = joined(report, second);
                findings = examined(&report, &inherited, &task);
                report
            }
        };
        let flags = findings.iter().map(|finding| finding.check.as_str().to_owned()).collect();
        Ok((report, before, flags))
    }

    async fn prepared<'a>(
        &self,
        once: &Once<'a>,
        task: &TaskRecord,
        (conversation, seat): (Conversation, Option<Seat>),
    ) -> Result<Prepared<'a>, RuntimeError> {
        let record = self.store().agent(once.lease.agent).await?;
        let label = task.description.clone().unwrap_or_else(|| once.directive.to_owned());
        Ok(Prepared {
            loaded: Loaded { record, conversation },
            lease: once.lease.clone(),
            llm: once.llm,
            seat,
            label: Some(label),
            entered: once.entered,
        })
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
        result: Result<&RunReport, &RuntimeError>,
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

    /// Ends the task of a worker that was made and never ran, and gives its lease back; the error why.
    pub(crate) async fn never_began(
        &self,
        lease: &Lease,
        directive: &str,
        error: RuntimeError,
    ) -> RuntimeError {
        let task = failed(lease.agent, directive, &error);
        // The error that is returned is the more important one.
        drop(self.finish(lease, &task).await);
        drop(self.store().release(lease).await);
        error
    }

    /// Ends the task and tells the spawner, in one transaction. A worker that was killed has ended already.
    pub(crate) async fn finish(&self, lease: &Lease, task: &FanTask) -> Result<(), RuntimeError> {
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
            flags: task.flags.clone(),
            now_ms,
        };
        self.store().finish_task(end).await?;
        Ok(())
    }
}

/// One run of a worker.
pub(crate) struct Once<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) directive: &'a str,
    pub(crate) entered: &'a Entered,
    pub(crate) llm: &'a dyn LlmClient,
}

/// What the checks see in a worker's run.
fn examined(report: &RunReport, inherited: &Conversation, task: &str) -> Vec<Finding> {
    let inherited = inherited.history().iter().map(|item| &*item.message);
    examine_worker(report, inherited, task)
}

/// Two runs of a worker, one behind the other.
fn joined(first: RunReport, second: RunReport) -> RunReport {
    let messages = first.messages.into_iter().chain(second.messages).collect();
    let requests = first.requests.into_iter().chain(second.requests).collect();
    let mut usage = first.usage;
    usage += second.usage;
    RunReport {
        outcome: second.outcome,
        messages,
        usage,
        requests,
        turns: first.turns + second.turns,
        tool_uses: first.tool_uses + second.tool_uses,
        error: second.error,
        reached: second.reached,
    }
}

/// How a task ended whose worker was asked to stop.
fn stopped(task: FanTask, asked: Option<StopKind>) -> FanTask {
    let Some(asked) = asked else { return task };
    let ended = (task.status, asked);
    let (status, error) = match ended {
        (TaskStatus::Cancelled, StopKind::Interrupt) => {
            (TaskStatus::Interrupted, "interrupted on request; the task can be resumed")
        }
        (TaskStatus::Completed, StopKind::Soft) => {
            (TaskStatus::Cancelled, "stopped on request, after it had reported")
        }
        (TaskStatus::Cancelled, StopKind::Soft | StopKind::Hard) => {
            (TaskStatus::Cancelled, "stopped on request")
        }
        (
            TaskStatus::Completed
            | TaskStatus::Failed
            | TaskStatus::TimedOut
            | TaskStatus::Interrupted
            | TaskStatus::Lost
            | TaskStatus::Queued
            | TaskStatus::Running,
            _,
        ) => return task,
    };
    FanTask { status, error: Some(error.to_owned()), ..task }
}
