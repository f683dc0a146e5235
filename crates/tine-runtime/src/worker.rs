//! A worker's run, from its first step to the end of its task.
//!
//! However it ends, the task has an end and its spawner a notice of it: one transaction. What goes wrong here is the worker's own
//! failure and never its siblings'.
//!
//! A worker runs on a tracked task of the process and holds its own lease. Before its run counts, `tine_fork::stray` checks it,
//! and it may be asked once to correct its report.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tine_fork::cache::Seat;
use tine_fork::run::{Conversation, Observer, RunEvent, RunLimits, RunReport};
use tine_fork::stray::{Done, Evidence, Finding, examine, nudge};
use tine_fork::worker::Report;
use tine_llm::LlmClient;
use tine_model::{
    AgentId, AgentRecord, Message, Outcome, StopKind, TaskRecord, TaskStatus, TaskWorktree,
};
use tine_store::{Lease, StoreError, TaskEnd};
use tokio::time::Instant;

use crate::error::RuntimeError;
use crate::events::EventKind;
use crate::fan_report::{FanTask, as_told, ended, failed};
use crate::live::Entered;
use crate::load::Loaded;
use crate::notice::task_notice;
use crate::prepared::Prepared;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;

/// The error of a worker that panicked.
const PANICKED: &str = "the worker failed in a way that it should not: this is a bug";

/// How often the end of a task is tried to be written, and how long each try waits for the next.
const FINISH_TRIES: u32 = 10;
const FINISH_WAIT: Duration = Duration::from_secs(1);

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
    /// What it is told; `None` where that waits in its mailbox.
    pub(crate) told: Option<Message>,
    /// Whether it is the worker's directive, which stands before all mail.
    pub(crate) is_first: bool,
    /// The task in it.
    pub(crate) task: String,
    /// What it knows.
    pub(crate) conversation: Conversation,
    /// Its place among those that it starts with.
    pub(crate) seat: Option<Seat>,
}

impl Start {
    /// A worker that begins with its directive.
    pub(crate) fn first(told: Message, task: String, conversation: Conversation) -> Self {
        Self { told: Some(told), is_first: true, task, conversation, seat: None }
    }

    /// A worker that goes on with what it knows.
    pub(crate) fn again(prompt: String, conversation: Conversation) -> Self {
        let told = Some(Message::user(prompt.clone()));
        Self { told, is_first: false, task: prompt, conversation, seat: None }
    }
}

impl Runtime {
    /// Runs a worker that nobody waits for, and whatever it is told to do next; then gives its lease back.
    pub(crate) async fn work_alone(&self, run: WorkerRun, options: &RunOptions) {
        let WorkerRun { mut lease, directive, start, mut entered, llm } = run;
        let mut next = Some(start);
        loop {
            while let Some(start) = next.take() {
                let once =
                    Once { lease: &lease, directive: &directive, entered: &entered, llm: &*llm };
                let worked = AssertUnwindSafe(self.work(once, start, options));
                if worked.catch_unwind().await.is_err() {
                    tracing::error!(agent = %lease.agent, "a worker panicked");
                    self.fail(&lease, &directive, &RuntimeError::Panicked(PANICKED)).await;
                }
                next = self.next_of(&lease, &directive, (&entered, options)).await;
            }
            // While the lease is held, so that nobody begins in it.
            self.leave(lease.agent).await;
            drop(self.give_back(&lease).await);
            // Who asked for something in the last moment was told that it waits.
            match self.taken_again(&lease, (&entered, options)).await {
                Some(again) => {
                    entered.under(&again);
                    lease = again;
                }
                None => break,
            }
            next = self.next_of(&lease, &directive, (&entered, options)).await;
            if next.is_none() {
                drop(self.give_back(&lease).await);
                break;
            }
        }
        drop(entered);
    }

    /// The lease on a worker that was just given back, where something is left for it to do.
    async fn taken_again(
        &self,
        lease: &Lease,
        (entered, options): (&Entered, &RunOptions),
    ) -> Option<Lease> {
        let stopped = entered.stop.asked().is_some() || options.cancel.is_cancelled();
        if stopped || !self.store().has_follow_up(lease.agent).await.ok()? {
            return None;
        }
        self.acquire(lease.agent).await.ok()
    }

    /// What an ended worker was told to do next: it waits in its mailbox, and its task is taken up again.
    pub(crate) async fn next_of(
        &self,
        lease: &Lease,
        directive: &str,
        (entered, options): (&Entered, &RunOptions),
    ) -> Option<Start> {
        if entered.stop.asked().is_some() || options.cancel.is_cancelled() {
            return None;
        }
        let agent = lease.agent;
        let resumed = self.store().resume_for_follow_up(agent, lease.fence, self.now_ms()).await;
        resumed.ok().filter(|resumed| *resumed)?;
        let begun = async {
            let task = self.store().unread_mail(agent).await?.pop().map(|mail| mail.body);
            Ok::<_, RuntimeError>((task, self.load(agent, options.caching).await?.conversation))
        };
        match begun.await {
            Ok((task, conversation)) => {
                let task = task.unwrap_or_else(|| directive.to_owned());
                Some(Start { told: None, is_first: false, task, conversation, seat: None })
            }
            Err(error) => {
                self.fail(lease, directive, &error).await;
                None
            }
        }
    }

    /// Ends a worker's task that could not go on. What it had used before stays.
    async fn fail(&self, lease: &Lease, directive: &str, error: &RuntimeError) {
        let mut task = failed(lease.agent, directive, error);
        if let Ok(Some(before)) = self.store().task(lease.agent).await {
            task = with_earlier(task, &before);
        }
        if let Err(error) = self.finish(lease, &task).await {
            tracing::error!(agent = %lease.agent, %error, "the end of a task could not be kept");
        }
    }

    /// Runs a worker once, to the end of its task, and tells of it.
    pub(crate) async fn work(&self, once: Once<'_>, start: Start, options: &RunOptions) -> FanTask {
        let (lease, teller) = (once.lease, &once.entered.teller);
        if let Ok(Some(task)) = self.store().task(lease.agent).await {
            teller.tell(EventKind::TaskBegan(Box::new(task)));
        }
        let mut task = self.run_once(once, start, options).await;
        if let Err(error) = self.finish(lease, &task).await {
            tracing::error!(agent = %lease.agent, %error, "the end of a task could not be kept");
            task.error.get_or_insert(error.to_string());
        }
        if let Ok(Some(task)) = self.store().task(lease.agent).await {
            teller.tell(EventKind::TaskEnded(Box::new(task)));
        }
        self.live().beat();
        task
    }

    /// One run of a worker. What it used in earlier ones counts too.
    async fn run_once(&self, once: Once<'_>, start: Start, options: &RunOptions) -> FanTask {
        let start_ms = self.now_ms();
        let (lease, directive, stop) = (once.lease, once.directive, Arc::clone(&once.entered.stop));
        let before = self.store().task(lease.agent).await;
        let mut task = match self.drive_worker(once, start, options).await {
            Ok((report, flags)) => {
                let task = stopped(ended(lease.agent, directive, &report), stop.asked());
                FanTask { flags, ..task }
            }
            Err(error) => failed(lease.agent, directive, &error),
        };
        if let Ok(Some(before)) = before {
            task = with_earlier(task, &before);
        }
        task.duration_ms = self.now_ms() - start_ms;
        task.worktree = self.worked_in(lease.agent).await;
        task
    }

    /// What a worker has done in its own worktree; held by a ref from now on, whatever becomes of the files.
    async fn worked_in(&self, agent: AgentId) -> Option<TaskWorktree> {
        self.keep(agent).await;
        self.store().task(agent).await.ok().flatten()?.worktree
    }

    /// Holds what an agent has done in its own worktree, whatever becomes of the files.
    pub(crate) async fn keep(&self, agent: AgentId) {
        if let Err(error) = self.keep_worktree(agent).await {
            tracing::warn!(%agent, %error, "the state of a worktree could not be kept; its files are where they were");
        }
    }

    /// Lets a worktree go in which nothing was done.
    pub(crate) async fn leave(&self, agent: AgentId) {
        if let Err(error) = self.leave_worktree(agent).await {
            tracing::warn!(%agent, %error, "an unchanged worktree is left; `tine worktree gc` removes it");
        }
    }

    async fn drive_worker(
        &self,
        once: Once<'_>,
        start: Start,
        options: &RunOptions,
    ) -> Result<(RunReport, Vec<String>), RuntimeError> {
        let Start { told, is_first, task, mut conversation, seat } = start;
        let agent = once.lease.agent;
        self.in_line(&once).await?;
        self.store().start_task(agent).await?;
        let began = Instant::now();
        let inherited = conversation.fork();
        let prepared = self.prepared(&once, (conversation, seat), is_first).await?;
        let report = self.drive(prepared, told, options).await?;
        let done = self.done_in_worktree(agent).await;
        let findings = examined(&report, &inherited, &task, done);
        let report = match self.nudged(&once, (&report, &findings), (began, options)).await {
            None => return Ok((report, words(&findings))),
            Some(second) => joined(report, second),
        };
        let done = self.done_in_worktree(agent).await;
        let findings = examined(&report, &inherited, &task, done);
        Ok((report, words(&findings)))
    }

    /// Waits for the worker's place among those of its tree. Until then it is queued; stopped while it waits, its run ends before
    /// its first request.
    async fn in_line(&self, once: &Once<'_>) -> Result<(), RuntimeError> {
        let stop = &once.entered.stop;
        let on_wait = |reached| once.entered.teller.on_event(RunEvent::Paused(reached));
        tokio::select! {
            taken = self.take_slot(once.lease, &on_wait, &stop.cancel) => taken.map(drop),
            // Never ends; dropping it loses nothing.
            never = self.heed(once.lease.agent, stop) => match never {},
        }
    }

    /// The second run of a worker whose end looks wrong: it is asked once to mend it. What goes wrong in it takes nothing from
    /// the first.
    async fn nudged(
        &self,
        once: &Once<'_>,
        (first, findings): (&RunReport, &[Finding]),
        (began, options): (Instant, &RunOptions),
    ) -> Option<RunReport> {
        let turns = options.limits.turns.saturating_sub(first.turns);
        let ended = first.outcome == Outcome::Completed && once.entered.stop.asked().is_none();
        if !ended || !options.crew.nudges || turns == 0 {
            return None;
        }
        let text = nudge(findings)?;
        let time = options.limits.time.map(|time| time.saturating_sub(began.elapsed()));
        let spent = first.usage.prompt() + first.usage.output;
        let tokens = options.limits.tokens.map(|tokens| tokens.saturating_sub(spent));
        let limits = RunLimits { turns, time, tokens };
        let options = RunOptions { limits, ..options.clone() };
        let second = async {
            self.in_line(once).await?;
            let conversation = self.load(once.lease.agent, options.caching).await?.conversation;
            let prepared = self.prepared(once, (conversation, None), false).await?;
            self.drive(prepared, Some(Message::user(text)), &options).await
        };
        match second.await {
            Ok(second) => Some(second),
            Err(error) => {
                tracing::warn!(agent = %once.lease.agent, %error, "a worker could not be asked to mend its report");
                None
            }
        }
    }

    async fn prepared<'a>(
        &self,
        once: &Once<'a>,
        (conversation, seat): (Conversation, Option<Seat>),
        prompt_first: bool,
    ) -> Result<Prepared<'a>, RuntimeError> {
        let agent = once.lease.agent;
        let record = self.store().agent(agent).await?;
        let description = self.store().task(agent).await?.and_then(|task| task.description);
        Ok(Prepared {
            loaded: Loaded { record, conversation },
            lease: once.lease.clone(),
            llm: once.llm,
            seat,
            label: Some(description.unwrap_or_else(|| once.directive.to_owned())),
            entered: once.entered,
            prompt_first,
            takes_follow_ups: false,
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
        (before, asked): (&TaskRecord, Option<StopKind>),
        result: Result<&RunReport, &RuntimeError>,
    ) -> Result<(), RuntimeError> {
        // What it has done in its worktree stands in the notice.
        self.keep(before.agent).await;
        let task = match result {
            Ok(report) => FanTask {
                flags: self.examined_again(before, report).await,
                ..stopped(self.ended_again(before, report), asked)
            },
            Err(error) => failed(before.agent, &before.directive, error),
        };
        self.finish(lease, &with_earlier(task, before)).await
    }

    /// The end of a run of a worker that had done something in earlier ones: what was refused is not all then.
    fn ended_again(&self, before: &TaskRecord, report: &RunReport) -> FanTask {
        match before.tool_uses {
            0 => ended(before.agent, &before.directive, report),
            _ => as_told(before.agent, &before.directive, report),
        }
    }

    /// What the checks see in all runs of a worker together: what it did in earlier ones is work, too.
    async fn examined_again(&self, before: &TaskRecord, report: &RunReport) -> Vec<String> {
        let agent = before.agent;
        let Ok(fold) = self.fold(agent, None).await else { return Vec::new() };
        let (own, inherited): (Vec<_>, Vec<_>) =
            fold.effective().partition(|(entry, _)| entry.agent == agent);
        let [own, inherited] =
            [&own, &inherited].map(|part| part.iter().map(|(_, item)| &*item.message));
        let evidence = Evidence::of_worker(own, &report.outcome, inherited, &before.directive);
        let done = self.done_in_worktree(agent).await;
        let denied = report.denials.of_all().map(str::to_owned);
        words(&examine(&Evidence { done, denied, ..evidence }))
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
        self.leave(lease.agent).await;
        drop(self.give_back(lease).await);
        error
    }

    /// Ends the task and tells the spawner, in one transaction. A worker that was killed has ended already.
    pub(crate) async fn finish(&self, lease: &Lease, task: &FanTask) -> Result<(), RuntimeError> {
        let now_ms = self.now_ms();
        let mut row = match self.store().task(task.agent).await? {
            Some(row) if !row.status.is_final() => row,
            _ => return Ok(()),
        };
        (row.status, row.ended_ms) = (task.status, Some(now_ms));
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
        // A task without an end would be waited for for ever: a store that is busy, or full, may not be so for long.
        let mut tries = FINISH_TRIES;
        loop {
            tries -= 1;
            match self.store().finish_task(end.clone()).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Busy { .. } | StoreError::Full { .. }) if tries > 0 => {
                    tokio::time::sleep(FINISH_WAIT).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
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
fn examined(
    report: &RunReport,
    inherited: &Conversation,
    task: &str,
    done: Option<Done>,
) -> Vec<Finding> {
    let inherited = inherited.history().iter().map(|item| &*item.message);
    let own = report.messages.iter().map(|message| &**message);
    let evidence = Evidence::of_worker(own, &report.outcome, inherited, task);
    let denied = report.denials.of_all().map(str::to_owned);
    examine(&Evidence { done, denied, ..evidence })
}

fn words(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| finding.check.as_str().to_owned()).collect()
}

/// A task's end, and what its worker had used and said before.
fn with_earlier(task: FanTask, before: &TaskRecord) -> FanTask {
    let mut usage = task.usage;
    usage += before.usage;
    let earlier = || before.report.as_deref().map(Report::parse);
    FanTask {
        usage,
        turns: task.turns + before.turns,
        tool_uses: task.tool_uses + before.tool_uses,
        report: task.report.or_else(earlier),
        ..task
    }
}

/// Two runs of a worker, one behind the other. The second was asked to mend the report of the first: where it did not come to its
/// end, the first one counts.
fn joined(first: RunReport, second: RunReport) -> RunReport {
    let counts = matches!(second.outcome, Outcome::Completed | Outcome::Aborted);
    let (outcome, error, reached) = if counts {
        (second.outcome, second.error, second.reached)
    } else {
        (first.outcome, first.error, first.reached)
    };
    let messages = first.messages.into_iter().chain(second.messages).collect();
    let requests = first.requests.into_iter().chain(second.requests).collect();
    let mut usage = first.usage;
    usage += second.usage;
    RunReport {
        outcome,
        messages,
        usage,
        requests,
        turns: first.turns + second.turns,
        tool_uses: first.tool_uses + second.tool_uses,
        denials: first.denials.and(second.denials),
        error,
        reached,
    }
}

/// How a task ended whose worker was asked to stop.
fn stopped(task: FanTask, asked: Option<StopKind>) -> FanTask {
    let Some(asked) = asked else { return task };
    let ended = (task.status, asked);
    let (status, error) = match ended {
        (TaskStatus::Interrupted, StopKind::Interrupt) => {
            (TaskStatus::Interrupted, "interrupted on request; the task can be resumed")
        }
        (TaskStatus::Completed, StopKind::Soft) => {
            (TaskStatus::Cancelled, "stopped on request, after it had reported")
        }
        (TaskStatus::Interrupted, StopKind::Soft | StopKind::Hard) => {
            (TaskStatus::Cancelled, "stopped on request")
        }
        (
            TaskStatus::Completed
            | TaskStatus::Failed
            | TaskStatus::TimedOut
            | TaskStatus::Cancelled
            | TaskStatus::Lost
            | TaskStatus::Queued
            | TaskStatus::Running,
            _,
        ) => return task,
    };
    FanTask { status, error: Some(error.to_owned()), ..task }
}
