//! Running an agent under its lease.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tine_fork::run::{Compactor, Observer, Run, RunError, RunEvent, RunReport};
use tine_model::{
    AgentId, AgentRecord, AgentState, Block, Message, Outcome, Role, Standing, StopKind,
};
use tine_store::{Lease, MailId, SetState, StoreError};
use tine_tools::{AGENT_VARIABLE, Gap, Place};

use crate::attach::Prompt;
use crate::budget::{OnBudget, Purse};
use crate::confine::Confinement;
use crate::crew::definition::Definitions;
use crate::crew::role::WorkerRole;
use crate::crew::told::{told, worker_options};
use crate::crew_tools::CrewTools;
use crate::dispatch::GuardedTools;
use crate::error::RuntimeError;
use crate::guests::refuse_guest;
use crate::journal::StoreJournal;
use crate::live::{Entered, Stop};
use crate::load::Loaded;
use crate::permission::Permissions;
use crate::prepared::Prepared;
use crate::prompt::{environment_note, home_notice, moved_notice};
use crate::queue::Queue;
use crate::read_wall::ReadWalls;
use crate::rest::Resting;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::servers::{Server, Servers};
use crate::title;
use crate::worktrees::{Cause, Home};
use crate::writers::{Writers, Writing};

/// How often a run looks what other processes ask of it. Costs one small read of the store.
const HEED_POLL: Duration = Duration::from_millis(250);

/// A run that is over.
#[derive(Debug)]
pub struct RunOutcome {
    /// The agent.
    pub agent: AgentId,
    /// How it went.
    pub report: RunReport,
}

/// The result of saying something to an agent.
#[derive(Debug)]
pub enum Said {
    /// It ran with them.
    Ran(Box<RunOutcome>),
    /// It reads them at its next turn: another run has it.
    Mailed(MailId),
}

impl Runtime {
    /// Runs an agent: appends `prompt`, if there is one, and takes turns until the model is done or a limit is met.
    /// Without a prompt an interrupted run goes on. Every message is in the store before the next thing happens.
    pub async fn run(
        &self,
        agent: AgentId,
        prompt: Option<String>,
        options: &RunOptions,
    ) -> Result<RunOutcome, RuntimeError> {
        self.run_with(agent, prompt.map(Prompt::from), options).await
    }

    /// The same with what is handed over beside the words.
    pub async fn run_with(
        &self,
        agent: AgentId,
        prompt: Option<Prompt>,
        options: &RunOptions,
    ) -> Result<RunOutcome, RuntimeError> {
        let record = self.store().agent(agent).await?;
        refuse_guest(&record)?;
        let llm = self.client_of(&record, &record.settings.model).await?;
        // A removed worktree is made again before the run begins: then it is the command that makes it, with what a person's
        // command may reach.
        self.home(&record, Cause::Command).await?;
        let root = self.root_of(&record).await?;
        let lease = self.acquire_once_idle(agent).await?;
        let teller = self.teller(&record, root, Some(&lease));
        let entered = self.live().enter(teller, agent, &options.cancel);
        let leased = (&lease, &entered);
        let result = Box::pin(self.run_leased(leased, prompt, options, &*llm)).await;
        let cut =
            matches!(result.as_ref().map(|report| &report.outcome), Ok(Outcome::TimedOut) | Err(_));
        self.end_below(agent, cut || entered.stop.asked() == Some(StopKind::Hard)).await;
        self.keep(agent).await;
        if record.standing == Standing::Worker {
            self.leave(agent).await;
        }
        drop(entered);
        // Whatever happened, the lease goes back; an error of that would hide the more important one.
        let released = self.give_back(&lease).await;
        let report = result?;
        released?;
        Ok(RunOutcome { agent, report })
    }

    /// Says something to an agent: runs it with these words, or leaves them for its next turn where another run has it.
    pub async fn say(
        &self,
        agent: AgentId,
        prompt: Prompt,
        options: &RunOptions,
    ) -> Result<Said, RuntimeError> {
        let text = prompt.text.clone();
        match self.run_with(agent, Some(prompt), options).await {
            Err(RuntimeError::Store(StoreError::Held { .. })) => {
                Ok(Said::Mailed(self.send(agent, text).await?))
            }
            ran => Ok(Said::Ran(Box::new(ran?))),
        }
    }

    async fn run_leased(
        &self,
        (lease, entered): (&Lease, &Entered),
        prompt: Option<Prompt>,
        options: &RunOptions,
        llm: &dyn tine_llm::LlmClient,
    ) -> Result<RunReport, RuntimeError> {
        let loaded = self.load(lease.agent, options.caching).await?;
        let prompt = prompt.filter(|prompt| !prompt.text.trim().is_empty());
        if self.open_remote(lease.agent).await?.is_some() {
            return self.follow_on((lease, entered), (loaded, prompt), (options, llm)).await;
        }
        let prompt = match (self.untold(&loaded, options).await?, prompt) {
            // It was never told what it is: that comes first.
            (Some(task), prompt) => {
                let texts = prompt.into_iter().flat_map(Prompt::into_texts).map(Block::Text);
                let blocks = task.blocks().iter().cloned().chain(texts);
                Some(Message::new(Role::User, blocks.collect()))
            }
            (None, Some(prompt)) => {
                Some(self.first_prompt(&loaded, prompt, &options.crew.definitions).await?)
            }
            (None, None) => {
                self.require_something_to_send(&loaded).await?;
                None
            }
        };
        let label = loaded.record.name.clone();
        let lease = lease.clone();
        let of_worker = self.as_worker(&loaded.record, options).await?;
        let options = of_worker.as_ref().unwrap_or(options);
        if loaded.record.standing == Standing::Worker {
            let on_wait = |reached| entered.teller.on_event(RunEvent::Paused(reached));
            // Cancelled while it waits, its run ends before its first request.
            self.take_slot(&lease, &on_wait, &entered.stop.cancel).await?;
        }
        let task = self.reopened_task(&loaded.record).await?;
        let prepared = Prepared {
            loaded,
            lease: lease.clone(),
            llm,
            seat: None,
            label,
            entered,
            prompt_first: false,
            takes_follow_ups: true,
        };
        let result = self.drive(prepared, prompt, options).await;
        if let Some(task) = task {
            self.finish_again(&lease, (&task, entered.stop.asked()), result.as_ref()).await?;
        }
        result
    }

    /// The task of a worker that was made and never begun, as it is told; `None` for everybody else.
    async fn untold(
        &self,
        loaded: &Loaded,
        options: &RunOptions,
    ) -> Result<Option<Message>, RuntimeError> {
        let record = &loaded.record;
        let Some(task) = self.store().task(record.id).await? else { return Ok(None) };
        if self.has_begun(record.id).await? {
            return Ok(None);
        }
        let definition = task.definition.as_deref();
        let role = WorkerRole::of_task(definition, record.context, &options.crew.definitions)?;
        let place = self.told_place(record.id, &record.directory, &role).await?;
        let how = (self.facts(&record.settings.model).strips_reasoning, &options.crew.inherits);
        Ok(Some(told((&role, &task.directive), (&loaded.conversation, &place), how)))
    }

    /// The options of a run of a worker that was started as a defined agent: whoever runs it, it has that agent's tools and
    /// permissions and no others.
    async fn as_worker(
        &self,
        record: &AgentRecord,
        options: &RunOptions,
    ) -> Result<Option<RunOptions>, RuntimeError> {
        let Some(task) = self.store().task(record.id).await? else { return Ok(None) };
        let definition = task.definition.as_deref();
        let role = WorkerRole::of_task(definition, record.context, &options.crew.definitions)?;
        let confinement = options.confinement.clone();
        Ok(Some(RunOptions { confinement, ..worker_options(options, &role, options.limits) }))
    }

    /// Marks the agent as running, runs it, and marks it as what it is then.
    pub(crate) async fn drive(
        &self,
        prepared: Prepared<'_>,
        prompt: Option<Message>,
        options: &RunOptions,
    ) -> Result<RunReport, RuntimeError> {
        if let Some(elsewhere) = &options.elsewhere {
            return Box::pin(self.drive_remote(prepared, prompt, (options, elsewhere))).await;
        }
        let Prepared { mut loaded, lease, llm, seat, label, entered, .. } = prepared;
        let (agent, teller) = (lease.agent, &entered.teller);
        let home = self.home(&loaded.record, Cause::Run).await?;
        let variables = home.iter().flat_map(Home::variables);
        let place = Place::new(loaded.record.directory.as_ref())?
            .with_withheld(Arc::new(tine_guard::is_secret))
            .with_variables(variables.chain([(AGENT_VARIABLE.to_owned(), agent.to_string())]));
        let settled = self.settle_reach(&mut loaded.record, &lease, &options.confinement).await?;
        let notes_shown = self.memory_of(&loaded.record.directory);
        let denied = options.permissions.rules.deny.clone();
        let settled = Confinement { notes_shown, denied, ..settled };
        let options = &within(options, &settled);
        let confinement = match &home {
            Some(home) => home.walled(&settled),
            None => settled,
        };
        let history = loaded.conversation.history();
        let place = place.with_seen(history.iter().flat_map(|item| item.message.seen()));
        let place = place.with_background(self.background_of(&loaded.record).await?);
        let place = confinement.raise(place).await?;
        // What the kernel cannot keep is known before a run, and told by whoever starts it.
        if place.enclosure().is_some_and(|wall| wall.gaps().contains(&Gap::Unsearched)) {
            teller.on_event(RunEvent::Unkept(Gap::Unsearched.words()));
        }
        let lane = self
            .lane_of_agent(&loaded.record, &loaded.record.settings.model, options.caching)
            .await?;
        let dialect = self.host_dialect(agent).await?;
        let cut_off = self.end_leftovers(&loaded.record, &**teller).await?;
        self.mark(&lease, AgentState::Running).await?;
        let waiting = Arc::clone(teller);
        let _listening =
            self.store_waits().listen(Arc::new(move || waiting.on_event(RunEvent::StoreWaits)));
        let stop = &entered.stop;
        // What was asked of it while it waited for its place.
        loaded.record.stop.into_iter().for_each(|how| stop.ask(how));
        let journal = StoreJournal::new(
            Arc::clone(self.store()),
            self.ports(),
            (agent, lease.fence),
            loaded.record.settings.model.to_string(),
        )
        .spending(self.purse(&loaded.record, &lease, options.on_budget))
        .answered_by(self.served(&loaded).await?)
        .mirrored(self.mirror());
        let journal = if prepared.prompt_first { journal.behind_the_prompt() } else { journal };
        let journal = Arc::new(journal.at_rest(Resting {
            runtime: self.clone(),
            stop: Arc::clone(stop),
            wakes: options.crew.policy.wakes,
            place: (loaded.record.standing == Standing::Worker).then(|| lease.clone()),
            takes_follow_ups: prepared.takes_follow_ups,
        }));
        let writing = Writing {
            agent,
            fence: lease.fence,
            directory: place.real_directory().to_owned(),
            teller: Arc::clone(teller),
        };
        let own = confinement.kept(place.directory());
        let permissions = Permissions {
            notes_shown: confinement.notes_shown.clone(),
            ..options.permissions.clone().with_own(own)
        };
        let permissions = match &home {
            Some(_) => permissions.in_worktree(),
            None => permissions,
        };
        let tools = GuardedTools {
            dialect,
            reads: ReadWalls::new(confinement.hidden(place.directory())),
            writers: Writers::new(self.store(), self.ports(), self.owners(), writing),
            toolbox: Arc::clone(self.toolbox()),
            place,
            permissions,
            queue: Queue {
                store: Arc::clone(self.store()),
                ports: self.ports().clone(),
                agent,
                label,
                teller: Arc::clone(teller),
                owner: lease.owner.clone(),
                live: Arc::clone(self.live()),
            },
            crew: CrewTools {
                runtime: self.clone(),
                record: loaded.record.clone(),
                lease: lease.clone(),
                options: options.clone(),
                top: entered.top(),
                journal: Arc::clone(&journal),
            },
            stop: Arc::clone(stop),
            cut_off,
        };
        let filter = match &home {
            Some(home) => home.confined(&options.filter)?,
            None => Arc::clone(&options.filter),
        };
        let compactor = self.auto_compactor((&loaded, &lease), llm, options.caching).await?;
        let run = Run {
            conversation: &mut loaded.conversation,
            llm,
            tools: &tools,
            agent: &agent.to_string(),
            filter: &*filter,
            journal: &*journal,
            observer: &**teller,
            limits: options.limits,
            reminder: None,
            seat,
            cache: Some(lane),
            compactor: compactor.as_ref().map(|compactor| compactor as &dyn Compactor),
            cancel: stop.cancel.clone(),
        };
        let report = tokio::select! {
            report = run.go(prompt) => report,
            // Never ends; dropping it loses nothing.
            never = self.heed(agent, stop) => match never {},
        };
        if let Some(RunError::Llm(error)) = &report.error {
            self.learn_from(&loaded.record.settings.model, error).await?;
        }
        // Whoever looks at the queue should not be asked for a run that is over.
        self.store().withdraw_permissions(agent, self.now_ms()).await?;
        // The place and its wall are gone by now, and with them what the commands had left.
        drop(tools);
        if loaded.record.standing == Standing::Worker {
            self.end_background(&[agent]).await;
        }
        match self.mark_after(&lease, &report.outcome).await {
            Ok(()) => Ok(report),
            // Killed meanwhile: it stays dead, and the report says what it had done.
            Err(RuntimeError::Store(StoreError::Dead { .. })) => {
                Ok(RunReport { outcome: Outcome::Aborted, ..report })
            }
            Err(error) => Err(error),
        }
    }

    /// The server that answers an agent, with what is known of it.
    async fn served(&self, loaded: &Loaded) -> Result<(Arc<Servers>, Server), RuntimeError> {
        let model = &loaded.record.settings.model;
        let server = Server::of(model, self.ports().models.host(model));
        let format = loaded.conversation.head().format();
        self.servers().look_up(&**self.store(), &server, format).await?;
        Ok((Arc::clone(self.servers()), server))
    }

    /// What the journal of an agent's run asks for the right to spend.
    pub(crate) fn purse(&self, record: &AgentRecord, lease: &Lease, on_budget: OnBudget) -> Purse {
        self.purse_of(record, &lease.owner, on_budget)
    }

    /// The same for whoever asks on an agent's account without its lease: the dead have none.
    pub(crate) fn purse_of(&self, record: &AgentRecord, owner: &str, on_budget: OnBudget) -> Purse {
        Purse {
            runtime: self.clone(),
            agent: record.id,
            owner: owner.to_owned(),
            model: record.settings.model.to_string(),
            output_tokens: u64::from(record.settings.max_tokens),
            on_budget,
            pending: Mutex::default(),
        }
    }

    pub(crate) async fn mark(&self, lease: &Lease, state: AgentState) -> Result<(), RuntimeError> {
        self.mark_with(lease, state, None).await
    }

    /// Marks the agent as what it is after a run with this outcome.
    pub(crate) async fn mark_after(
        &self,
        lease: &Lease,
        outcome: &Outcome,
    ) -> Result<(), RuntimeError> {
        let failure = match outcome {
            Outcome::Failed(cause) => Some(title::in_a_line(cause, CAUSE_CHARACTERS_MAX)),
            _ => None,
        };
        self.mark_with(lease, state_after(outcome), failure).await
    }

    async fn mark_with(
        &self,
        lease: &Lease,
        state: AgentState,
        failure: Option<String>,
    ) -> Result<(), RuntimeError> {
        let (agent, fence, now_ms) = (lease.agent, Some(lease.fence), self.now_ms());
        let change = SetState { agent, state, failure, fence, now_ms };
        Ok(self.store().set_state(change).await?)
    }

    /// Does what other processes ask of the run: stops it when its agent was killed, or when somebody wants it stopped.
    pub(crate) async fn heed(&self, agent: AgentId, stop: &Stop) -> std::convert::Infallible {
        let mut seen = None;
        loop {
            let version = self.store().data_version().await.ok();
            if version.is_none() || version != seen {
                match self.store().agent(agent).await {
                    Ok(record) => {
                        seen = version;
                        let dead = record.state == AgentState::Dead;
                        let how = if dead { Some(StopKind::Hard) } else { record.stop };
                        how.into_iter().for_each(|how| stop.ask(how));
                    }
                    Err(error) => tracing::warn!(%agent, %error, "cannot see whether to stop"),
                }
            }
            tokio::time::sleep(HEED_POLL).await;
        }
    }

    /// Waits for the workers that are left below a run that is over. Where the run was cut short in a way that leaves nobody to
    /// hear of them, they are stopped.
    pub(crate) async fn end_below(&self, top: AgentId, stops: bool) {
        let mut watch = self.live().watch();
        loop {
            let below = self.live().below(top);
            if below.is_empty() {
                return;
            }
            if stops {
                for agent in &below {
                    self.live().stop(*agent, StopKind::Hard);
                }
            }
            // Every end of a run beats.
            if watch.changed().await.is_err() {
                return;
            }
        }
    }

    /// The first prompt of a lineage says where it is, and whom it can start; the first one in a worktree, what that is.
    async fn first_prompt(
        &self,
        loaded: &Loaded,
        prompt: Prompt,
        definitions: &Definitions,
    ) -> Result<Message, RuntimeError> {
        let record = &loaded.record;
        let history = loaded.conversation.history();
        let mut texts = Vec::new();
        if history.is_empty() {
            texts.push(environment_note(record.directory.as_ref(), definitions));
            texts.extend(self.remembered(&record.directory));
        }
        if !self.has_begun(record.id).await? {
            let whose = (record.id, record.directory.as_str());
            match self.worktree_notice(whose, !history.is_empty()).await? {
                Some(notice) => texts.push(notice),
                None if history.is_empty() => {}
                None => texts.extend(self.moved(record).await?),
            }
        } else if self.is_home_again(record.id).await? {
            texts.push(home_notice(&record.directory));
        }
        // The words come last, as a directive does.
        texts.extend(prompt.into_texts());
        Ok(Message::new(Role::User, texts.into_iter().map(Block::Text).collect()))
    }

    /// What a fork is told that works in another directory than its parent; `None` for others.
    pub(crate) async fn moved(&self, record: &AgentRecord) -> Result<Option<String>, RuntimeError> {
        let Some(parent) = record.parent else { return Ok(None) };
        let before = self.store().agent(parent).await?.directory;
        Ok((before != record.directory).then(|| moved_notice(&record.directory, &before)))
    }

    /// Returns true where the last request of an agent was sent from another machine.
    async fn is_home_again(&self, agent: AgentId) -> Result<bool, RuntimeError> {
        let run = self.store().remote_run(agent).await?;
        let Some(ended_ms) = run.and_then(|run| run.ended_ms) else { return Ok(false) };
        let last = self.store().recent_requests(agent, i64::MAX, 1).await?;
        Ok(last.first().is_some_and(|request| request.started_ms <= ended_ms))
    }

    async fn require_something_to_send(&self, loaded: &Loaded) -> Result<(), RuntimeError> {
        let history = loaded.conversation.history();
        let pending = match history.last() {
            None => false,
            Some(last) => last.message.role() == Role::User || history.has_open_calls(),
        };
        let agent = loaded.record.id;
        if pending || !self.store().unread_mail(agent).await?.is_empty() {
            return Ok(());
        }
        Err(RuntimeError::NothingToSend(agent))
    }
}

/// The options of a run whose reach is settled. Nothing that it starts widens it, or its own.
fn within(options: &RunOptions, settled: &Confinement) -> RunOptions {
    let mut options = RunOptions { confinement: settled.clone(), ..options.clone() };
    options.crew.confinement.reach = options.crew.confinement.reach.for_a_run();
    options
}

/// The state of an agent when a run of it has ended.
/// Characters of a failure's cause that are kept: some lines of a screen.
const CAUSE_CHARACTERS_MAX: usize = 300;

fn state_after(outcome: &Outcome) -> AgentState {
    match outcome {
        Outcome::Aborted | Outcome::Failed(_) => AgentState::Interrupted,
        Outcome::Completed
        | Outcome::TurnLimit
        | Outcome::LengthCut
        | Outcome::Refused
        | Outcome::TimedOut
        | Outcome::BudgetExhausted => AgentState::Idle,
    }
}
