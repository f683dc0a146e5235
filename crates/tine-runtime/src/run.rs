//! Running an agent under its lease.

use std::sync::Arc;
use std::time::Duration;

use tine_fork::{Observer, Run, RunLimits, RunReport, Seat, ToolFilter};
use tine_model::{AgentId, AgentState, Block, Message, Outcome, Role};
use tine_store::{Lease, SetState, StoreError};
use tine_tools::Place;
use tokio_util::sync::CancellationToken;

use crate::cache::CachePolicy;
use crate::confine::{Audit, AuditReport, Confinement};
use crate::dispatch::GuardedTools;
use crate::error::RuntimeError;
use crate::journal::StoreJournal;
use crate::load::Loaded;
use crate::permission::Permissions;
use crate::prompt::environment_note;
use crate::queue::Queue;
use crate::runtime::Runtime;

/// How often a run looks whether another process has killed its agent. Costs one small read of the store.
const KILL_POLL: Duration = Duration::from_millis(250);

/// How a run is to go.
#[derive(Clone)]
pub struct RunOptions {
    /// Where it stops by itself.
    pub limits: RunLimits,
    /// What it may do.
    pub permissions: Permissions,
    /// Sees it.
    pub observer: Arc<dyn Observer>,
    /// Stops it.
    pub cancel: CancellationToken,
    /// How the cache is used.
    pub caching: CachePolicy,
    /// What it may call at all, whatever is allowed.
    pub filter: Arc<dyn ToolFilter>,
    /// How its tools are confined.
    pub confinement: Confinement,
}

/// A run that is over.
#[derive(Debug)]
pub struct RunOutcome {
    /// The agent.
    pub agent: AgentId,
    /// How it went.
    pub report: RunReport,
    /// What changed outside meanwhile; `None` where commands were not confined.
    pub audit: Option<AuditReport>,
}

/// One agent's run, prepared: the lease is held.
pub(crate) struct Prepared<'a> {
    pub(crate) loaded: Loaded,
    pub(crate) lease: Lease,
    pub(crate) llm: &'a dyn tine_llm::LlmClient,
    pub(crate) seat: Option<Seat>,
    pub(crate) label: Option<String>,
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
        let record = self.store().agent(agent).await?;
        let llm = self.ports().models.connect(&record.settings.model).await?;
        let audit = Audit::begin(&options.confinement, &record.directory).await?;
        let lease = self.acquire(agent).await?;
        let result = Box::pin(self.run_leased(&lease, prompt, options, &*llm)).await;
        // Whatever happened, the lease goes back; an error of that would hide the more important one.
        let released = self.store().release(&lease).await;
        let report = result?;
        released?;
        let audit = match audit {
            Some(audit) => Some(audit.end().await),
            None => None,
        };
        Ok(RunOutcome { agent, report, audit })
    }

    async fn run_leased(
        &self,
        lease: &Lease,
        prompt: Option<String>,
        options: &RunOptions,
        llm: &dyn tine_llm::LlmClient,
    ) -> Result<RunReport, RuntimeError> {
        let loaded = self.load(lease.agent, options.caching).await?;
        let prompt = match prompt.filter(|text| !text.trim().is_empty()) {
            Some(text) => Some(first_prompt(&loaded, text)),
            None => {
                self.require_something_to_send(&loaded).await?;
                None
            }
        };
        let label = loaded.record.name.clone();
        let task = self.reopened_task(&loaded.record).await?;
        let prepared = Prepared { loaded, lease: lease.clone(), llm, seat: None, label };
        let result = self.drive(prepared, prompt, options).await;
        if let Some(task) = task {
            self.finish_again(lease, &task, result.as_ref()).await?;
        }
        result
    }

    /// Marks the agent as running, runs it, and marks it as what it is then.
    pub(crate) async fn drive(
        &self,
        prepared: Prepared<'_>,
        prompt: Option<Message>,
        options: &RunOptions,
    ) -> Result<RunReport, RuntimeError> {
        let Prepared { mut loaded, lease, llm, seat, label } = prepared;
        let agent = lease.agent;
        let place = Place::new(loaded.record.directory.as_ref())?
            .with_withheld(Arc::new(tine_guard::is_secret));
        let place = options.confinement.raise(place).await?;
        let lane = self.lane(&loaded.record.settings.model, options.caching).await?;
        self.mark(&lease, AgentState::Running).await?;
        let journal = StoreJournal::new(
            Arc::clone(self.store()),
            self.ports(),
            (agent, lease.fence),
            loaded.record.settings.model.to_string(),
        );
        let tools = GuardedTools {
            toolbox: Arc::clone(self.toolbox()),
            place,
            permissions: options.permissions.clone(),
            queue: Queue {
                store: Arc::clone(self.store()),
                ports: self.ports().clone(),
                agent,
                label,
                owner: lease.owner.clone(),
            },
        };
        let cancel = options.cancel.child_token();
        let run = Run {
            conversation: &mut loaded.conversation,
            llm,
            tools: &tools,
            agent: &agent.to_string(),
            filter: &*options.filter,
            journal: &journal,
            observer: &*options.observer,
            limits: options.limits,
            reminder: None,
            seat,
            cache: Some(lane),
            cancel: cancel.clone(),
        };
        let report = tokio::select! {
            report = run.go(prompt) => report,
            // Never ends; dropping it loses nothing.
            never = self.cancel_when_killed(agent, &cancel) => match never {},
        };
        // Whoever looks at the queue should not be asked for a run that is over.
        self.store().withdraw_permissions(agent, self.now_ms()).await?;
        // The place and its wall are gone by now, and with them what the commands had left.
        drop(tools);
        match self.mark(&lease, state_after(&report.outcome)).await {
            Ok(()) => Ok(report),
            // Killed meanwhile: it stays dead, and the report says what it had done.
            Err(RuntimeError::Store(StoreError::Dead { .. })) => {
                Ok(RunReport { outcome: Outcome::Aborted, ..report })
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn mark(&self, lease: &Lease, state: AgentState) -> Result<(), RuntimeError> {
        let (agent, fence, now_ms) = (lease.agent, Some(lease.fence), self.now_ms());
        Ok(self.store().set_state(SetState { agent, state, fence, now_ms }).await?)
    }

    /// Cancels the run when another process has killed its agent.
    async fn cancel_when_killed(
        &self,
        agent: AgentId,
        cancel: &CancellationToken,
    ) -> std::convert::Infallible {
        let mut seen = None;
        loop {
            tokio::time::sleep(KILL_POLL).await;
            let version = self.store().data_version().await.ok();
            if version == seen {
                continue;
            }
            seen = version;
            let record = self.store().agent(agent).await;
            if record.is_ok_and(|record| record.state == AgentState::Dead) {
                cancel.cancel();
            }
        }
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

/// What an agent is when a run of it has ended.
pub(crate) fn state_after(outcome: &Outcome) -> AgentState {
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

/// The first prompt of a lineage says where it is.
fn first_prompt(loaded: &Loaded, text: String) -> Message {
    if !loaded.conversation.history().is_empty() {
        return Message::user(text);
    }
    let note = environment_note(loaded.record.directory.as_ref());
    Message::new(Role::User, vec![Block::Text(note), Block::Text(text)])
}
