//! Following a run that was given away, to its end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tine_fork::run::{Observer as _, RunEvent, RunLimits, RunReport};
use tine_fork::tools::Denials;
use tine_model::{
    AgentId, AgentState, Block, Cap, CapReached, Message, Outcome, Role, Spent, StopKind, in_full,
};
use tine_nats::event::{Ended, Event, Happened, ToolState};
use tine_nats::{ClusterError, Events, Job, Order, Read, Record};
use tine_store::{Lease, RemoteRun, StoreError, TakeIn};
use tokio::time::Instant;

use super::Elsewhere;
use super::job::{EndText, EntryText, RequestText};
use super::making::failed;
use super::questions::Waiting;
use super::scratch::Scratch;
use crate::error::RuntimeError;
use crate::live::Stop;
use crate::prepared::Prepared;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::worktrees::{CameHome, Cause};

/// The pause between two looks at what is asked of the run here.
const LOOK: Duration = Duration::from_millis(100);

/// The time in which a worker should have obeyed a hard stop. After it the run is ended here, and whatever the worker writes is refused.
const OBEY: Duration = Duration::from_secs(5);

/// The time after which a job that nobody has begun is put into its queue again: servers may lose what they keep.
const SUBMIT_EVERY: Duration = Duration::from_secs(10);

/// The time in which the servers should have taken in that the run is ended here; longer than they take to find a new leader. After it
/// the run is ended without them.
const TAKE_IN: Duration = Duration::from_secs(30);

/// The time that a worker may have beyond that of the run, to end it and to send its work.
const TIME_OVER: Duration = Duration::from_secs(60);

/// The name of this machine in the records of runs that it ends itself.
const HOME: &str = "home";

impl Runtime {
    /// Has a run made elsewhere: gives it away, unless that was done before, and follows it to its end.
    pub(crate) async fn drive_remote(
        &self,
        prepared: Prepared<'_>,
        prompt: Option<Message>,
        (options, elsewhere): (&RunOptions, &Elsewhere),
    ) -> Result<RunReport, RuntimeError> {
        let Prepared { mut loaded, lease, label, entered, .. } = prepared;
        // What it works on has to be there, to go and to come back.
        self.home(&loaded.record, Cause::Run).await?;
        let options = &self.within_tree_time(lease.agent, options).await?;
        let run = match self.open_remote(lease.agent).await? {
            Some(run) => run,
            None => {
                self.settle_reach(&mut loaded.record, &lease, &options.confinement).await?;
                self.mark(&lease, AgentState::Running).await?;
                let told = (options, elsewhere);
                self.give_away((&mut loaded, &lease), prompt.as_ref(), told).await?
            }
        };
        let waiting = Waiting::new(self, (&lease, &entered.teller), label, &options.permissions);
        let following = Following {
            runtime: self,
            elsewhere,
            lease: &lease,
            job: serde_json::from_str(&run.detail).map_err(RuntimeError::RemoteForm)?,
            run,
            waiting,
            submitted: None,
            has_begun: false,
            told: Told::default(),
            time: options.limits.time,
            time_up: options.limits.time.map(|time| Instant::now() + time),
            caps: Vec::new(),
            seen: None,
            micro_usd: 0,
            outbox: VecDeque::new(),
            report: RunReport::empty(Outcome::Aborted),
        };
        let tell = |event| entered.teller.on_event(event);
        let report = tokio::select! {
            report = following.until_end(&entered.stop, &tell) => report?,
            // Never ends; dropping it loses nothing.
            never = self.heed(lease.agent, &entered.stop) => match never {},
        };
        self.store().withdraw_permissions(lease.agent, self.now_ms()).await?;
        match self.mark_after(&lease, &report.outcome).await {
            Ok(()) => Ok(report),
            Err(RuntimeError::Store(StoreError::Dead { .. })) => {
                Ok(RunReport { outcome: Outcome::Aborted, ..report })
            }
            Err(error) => Err(error),
        }
    }

    /// The options with what is left of the tree's time as a limit of the run: nobody there knows when the tree began.
    async fn within_tree_time(
        &self,
        agent: AgentId,
        options: &RunOptions,
    ) -> Result<RunOptions, RuntimeError> {
        let budget = self.store().budget(agent).await?;
        let left = budget.and_then(|budget| {
            let most = budget.caps.get(Cap::Time)?;
            let used = budget.used(Cap::Time, self.now_ms());
            Some(Duration::from_millis(most.saturating_sub(used)))
        });
        let time = options.limits.time.into_iter().chain(left).min();
        Ok(RunOptions { limits: RunLimits { time, ..options.limits }, ..options.clone() })
    }

    /// The run of an agent that is under way elsewhere.
    pub(crate) async fn open_remote(
        &self,
        agent: AgentId,
    ) -> Result<Option<RemoteRun>, RuntimeError> {
        let run = self.store().remote_run(agent).await?;
        Ok(run.filter(|run| run.ended_ms.is_none()))
    }
}

/// The stop that the worker was told of.
#[derive(Default)]
struct Told {
    stop: Option<StopKind>,
    /// When the run is ended here.
    until: Option<Instant>,
}

struct Following<'a> {
    runtime: &'a Runtime,
    elsewhere: &'a Elsewhere,
    lease: &'a Lease,
    job: Job,
    run: RemoteRun,
    waiting: Waiting<'a>,
    /// When the job was last put into its queue.
    submitted: Option<Instant>,
    /// Whether anything was heard of the run.
    has_begun: bool,
    told: Told,
    /// The longest time that it may take.
    time: Option<Duration>,
    /// When it is ended here, because it has taken too long.
    time_up: Option<Instant>,
    /// The most that the run may use, as the worker knows it.
    caps: Vec<(String, u64)>,
    /// The version of the store at which the caps were looked at.
    seen: Option<i64>,
    /// The cost of its requests, in millionths of a USD, as far as prices are known.
    micro_usd: u64,
    /// Orders that are still to be given.
    outbox: VecDeque<Order>,
    report: RunReport,
}

impl Following<'_> {
    async fn until_end(
        mut self,
        stop: &Stop,
        tell: &(dyn Fn(RunEvent) + Sync),
    ) -> Result<RunReport, RuntimeError> {
        let cluster = &self.elsewhere.cluster;
        let mut events = Events::new(cluster, self.job.run, 0);
        let mut looks = tokio::time::interval(LOOK);
        let ended = loop {
            // All branches are cancel-safe.
            let read = tokio::select! {
                read = events.next() => match read {
                    Err(error @ ClusterError::Forgotten) => break failed(in_full(&error)),
                    read => read?,
                },
                _ = looks.tick() => match self.look(stop).await? {
                    Some(ended) => break ended,
                    None => continue,
                },
            };
            match read {
                Read::Missed { from, to } => {
                    let text = format!(
                        "The servers no longer have events {from} to {to} of this run: they are missing here."
                    );
                    self.take_in(to, &[crate::codec::notice_row(&text, self.runtime.now_ms())])
                        .await?;
                }
                Read::Event(event) => {
                    if let Some(ended) = self.event(&event, tell).await? {
                        break ended;
                    }
                }
            }
        };
        self.ended(ended).await
    }

    /// Does what is asked of the run here. Returns its end, where the servers cannot be told of it.
    async fn look(&mut self, stop: &Stop) -> Result<Option<Ended>, RuntimeError> {
        let asked = match stop.cancel.is_cancelled() {
            true => Some(stop.asked().unwrap_or(StopKind::Hard)),
            false => stop.asked(),
        };
        if asked != self.told.stop
            && let Some(how) = asked
        {
            self.outbox.push_back(Order::Stop { kind: how.as_str().to_owned() });
            self.told.stop = asked;
            if how != StopKind::Soft {
                self.told.until = Some(Instant::now() + OBEY);
            }
        }
        self.outbox.extend(self.waiting.answered().await?);
        self.tell_caps().await?;
        // While the servers are away, the run goes on; they are told later.
        if let Err(error) = self.give_orders().await {
            tracing::warn!(%error, "a run elsewhere cannot be told of an order");
            return self.ended_alone().await;
        }
        Ok(None)
    }

    /// The end of a run that should have ended long ago, while the servers are away.
    async fn ended_alone(&self) -> Result<Option<Ended>, RuntimeError> {
        let is_over =
            |until: Option<Instant>| until.is_some_and(|until| until.elapsed() >= TAKE_IN);
        let outcome = match (is_over(self.told.until), is_over(self.time_up)) {
            (true, _) => Outcome::Aborted,
            (false, true) => Outcome::TimedOut,
            (false, false) => return Ok(None),
        };
        let text = "The servers could not be told of the end of this run: its worker may go on for a while, and nothing more of it comes here.";
        let notice = crate::codec::notice_row(text, self.runtime.now_ms());
        self.runtime.store().append(self.lease.agent, self.lease.fence, &[notice]).await?;
        let outcome = outcome.as_str().to_owned();
        Ok(Some(Ended { outcome, error: None, detail: serde_json::Value::Null }))
    }

    /// Gives what the servers do not have yet: the job at first, which they take in once, and then orders.
    async fn give_orders(&mut self) -> Result<(), ClusterError> {
        let is_due = self.submitted.is_none_or(|last| last.elapsed() >= SUBMIT_EVERY);
        if is_due && !self.has_begun {
            self.elsewhere.cluster.submit(&self.job).await?;
            self.submitted = Some(Instant::now());
        }
        while let Some(order) = self.outbox.front() {
            self.elsewhere.cluster.order(self.job.run, order).await?;
            self.outbox.pop_front();
        }
        if self.told.until.is_some_and(|until| Instant::now() >= until) {
            self.end_here(&Outcome::Aborted).await?;
            self.told.until = None;
        }
        // From its beginning on, the worker keeps the time, if it lives.
        if self.time_up.is_some_and(|time_up| Instant::now() >= time_up) {
            self.end_here(&Outcome::TimedOut).await?;
            self.time_up = None;
        }
        Ok(())
    }

    /// Ends the run here, because its worker does not answer, or none has it.
    async fn end_here(&self, outcome: &Outcome) -> Result<(), ClusterError> {
        let (cluster, now_ms) = (&self.elsewhere.cluster, self.runtime.now_ms());
        let claimed = Record::claim(cluster, (self.job.run, HOME), None, now_ms).await;
        let mut record = match claimed {
            Ok((record, _)) => record,
            // Its own end comes.
            Err(ClusterError::Ended) => return Ok(()),
            Err(error) => return Err(error),
        };
        let outcome = outcome.as_str().to_owned();
        let ended = Ended { outcome, error: None, detail: serde_json::Value::Null };
        record.write(&Happened::Ended(ended), now_ms).await?;
        // Its end stands in the record: a worker that finds the job begins nothing.
        if let Err(error) = cluster.withdraw(&self.job).await {
            tracing::debug!(%error, "a job that has ended stays in its queue");
        }
        Ok(())
    }

    /// Tells the worker what is left of the caps of the tree, where others have used of them.
    async fn tell_caps(&mut self) -> Result<(), RuntimeError> {
        let version = self.runtime.store().data_version().await?;
        if self.seen == Some(version) {
            return Ok(());
        }
        self.seen = Some(version);
        let left = self.runtime.caps_left(self.lease.agent).await?;
        let most: Vec<(String, u64)> =
            left.into_iter().map(|(cap, left)| (cap.clone(), left + self.used(&cap))).collect();
        if most != self.caps && !most.is_empty() {
            self.outbox.retain(|order| !matches!(order, Order::Caps { .. }));
            self.outbox.push_back(Order::Caps { most: most.clone() });
        }
        self.caps = most;
        Ok(())
    }

    /// The part of a cap that the run has used, as far as it is known here.
    fn used(&self, cap: &str) -> u64 {
        match Cap::from_name(cap) {
            Some(Cap::Tokens) => self.report.usage.prompt() + self.report.usage.output,
            _ => self.micro_usd,
        }
    }

    async fn take_in(
        &self,
        position: u64,
        entries: &[tine_store::NewEntry],
    ) -> Result<bool, RuntimeError> {
        let (agent, fence) = (self.lease.agent, self.lease.fence);
        let take = TakeIn { agent, fence, run: &self.run.run, position, entries };
        Ok(self.runtime.store().take_in(take).await?)
    }

    /// Takes an event in. Returns the end of the run, where it is that.
    async fn event(
        &mut self,
        event: &Event,
        tell: &(dyn Fn(RunEvent) + Sync),
    ) -> Result<Option<Ended>, RuntimeError> {
        // What was taken in before a restart of this process is counted again, and told to nobody.
        let is_new = event.sequence > self.run.position;
        self.has_begun = true;
        let tell = |event: RunEvent| {
            if is_new {
                tell(event)
            }
        };
        match event.happened()? {
            Happened::Request(request) => tell(RunEvent::Request { turn: request.turn }),
            Happened::Text(text) => {
                tell(RunEvent::Stream(tine_wire::Event::Text { delta: text.text }));
            }
            Happened::Entry(entry) => {
                let text: EntryText =
                    serde_json::from_value(entry.entry).map_err(RuntimeError::RemoteForm)?;
                let message = text.message().map(Arc::new);
                if let Some(row) = text.entry() {
                    self.take_in(event.sequence, &[row]).await?;
                }
                if let Some(message) = message {
                    self.report.messages.push(Arc::clone(&message));
                    tell(RunEvent::Message(message));
                }
            }
            Happened::Tool(tool) => {
                self.report.tool_uses += u32::from(tool.state == ToolState::Started);
                if let (ToolState::Started, Some(call)) = (tool.state, self.call(&tool.call)) {
                    tell(RunEvent::ToolStarted { call });
                }
            }
            Happened::Question(question) => self.waiting.ask(&question).await?,
            Happened::Answer(answer) => self.waiting.forget(&answer),
            Happened::Cost(cost) => {
                let text: RequestText =
                    serde_json::from_value(cost.detail).map_err(RuntimeError::RemoteForm)?;
                if let Ok(id) = cost.request.parse() {
                    let (row, cache) = text.rows((id, self.lease.agent), cost.tokens);
                    let usage = row.usage.unwrap_or_default();
                    self.report.usage += usage;
                    self.micro_usd += row.micro_usd.unwrap_or(0);
                    self.report.requests.push(Spent { started_ms: row.started_ms, usage });
                    self.runtime.store().record_request(row, &cache).await?;
                }
            }
            Happened::Ended(ended) => return Ok(Some(ended)),
            Happened::Started(_) => {
                self.time_up = self.time.map(|time| Instant::now() + time + TIME_OVER);
                if is_new && event.attempt > 1 {
                    // Whoever asked is gone; the one that goes on asks again.
                    self.waiting.clear();
                    let store = self.runtime.store();
                    store.withdraw_permissions(self.lease.agent, self.runtime.now_ms()).await?;
                }
            }
            Happened::Report(_) | Happened::Unknown => {}
        }
        Ok(None)
    }

    /// The call with this id in the last reply.
    fn call(&self, id: &str) -> Option<tine_fork::tools::ToolCall> {
        let mut replies = self.report.messages.iter().rev();
        let reply = replies.find(|message| message.role() == Role::Assistant)?;
        reply.blocks().iter().find_map(|block| match block {
            Block::ToolUse { id: own, name, input: tine_model::ToolInput::Valid(input) }
                if own.0 == id =>
            {
                let (id, name, input) = (own.clone(), name.clone(), input.clone());
                Some(tine_fork::tools::ToolCall { id, name, input })
            }
            _ => None,
        })
    }

    async fn ended(mut self, ended: Ended) -> Result<RunReport, RuntimeError> {
        let mut end: EndText = serde_json::from_value(ended.detail).unwrap_or_default();
        self.report.outcome = Outcome::from_word(&ended.outcome, ended.error);
        self.report.turns = end.turns.max(self.report.requests.len() as u32);
        self.report.tool_uses = self.report.tool_uses.max(end.tool_uses);
        self.report.denials = end.denied.map(Denials::of_all_calls).unwrap_or_default();
        if let Some(cap) = end.reached.as_deref().and_then(Cap::from_name) {
            self.report.reached = self.reached(cap).await?;
        }
        // The time of the tree is a limit of the run there.
        if self.report.outcome == Outcome::TimedOut
            && let Some(reached) = self.reached(Cap::Time).await?
            && reached.used >= reached.most
        {
            self.report.outcome = Outcome::BudgetExhausted;
            self.report.reached = Some(reached);
        }
        if let Some(files) = end.files.take() {
            let folder = Scratch::new()?;
            let bundle = folder.download("work.bundle", &self.elsewhere.cluster, files.bundle);
            let bundle = bundle.await?;
            let agent = self.lease.agent;
            match self.runtime.unpack_work(agent, &bundle, &files.state).await {
                // Both are kept; nothing that the run did is lost by that.
                Err(RuntimeError::Travel(refusal)) => {
                    let text = format!("{refusal}; {}", refusal.hint());
                    let notice = crate::codec::notice_row(&text, self.runtime.now_ms());
                    self.runtime.store().append(agent, self.lease.fence, &[notice]).await?;
                }
                taken => {
                    let CameHome { files, commits } = taken?;
                    if (files, commits) != (0, 0) {
                        self.show_work().await?;
                    }
                }
            }
        }
        let now_ms = self.runtime.now_ms();
        self.runtime.store().end_remote(self.lease.agent, &self.run.run, now_ms).await?;
        Ok(self.report)
    }
}

impl Following<'_> {
    /// The cap that the run has reached, in numbers of the whole tree; the worker knows only what was left of it.
    async fn reached(&self, cap: Cap) -> Result<Option<CapReached>, RuntimeError> {
        let Some(budget) = self.runtime.store().budget(self.lease.agent).await? else {
            return Ok(None);
        };
        let used = budget.used(cap, self.runtime.now_ms());
        Ok(budget.caps.get(cap).map(|most| CapReached { cap, used, most }))
    }

    /// Makes the worktree again in which the work is that has come back, as it stands for every other fork. Where that fails, the work is
    /// kept all the same.
    async fn show_work(&self) -> Result<(), RuntimeError> {
        let record = self.runtime.store().agent(self.lease.agent).await?;
        if let Err(error) = self.runtime.home(&record, Cause::Run).await {
            let text = format!("The worktree of this run could not be made again: {error}");
            let notice = crate::codec::notice_row(&text, self.runtime.now_ms());
            self.runtime.store().append(record.id, self.lease.fence, &[notice]).await?;
        }
        Ok(())
    }
}
