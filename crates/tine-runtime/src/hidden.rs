//! Hidden runs: forks that nobody typed and nobody waits for, such as the consolidation of a memory.
//!
//! A hidden run is an agent like all others: it has a row, a log, requests with their costs, and the budget of its tree. It is
//! listed where everybody is, and can be watched and stopped while it runs. The conversation that it was forked from does not
//! know of it: no event of it stands there, and no notice.
//!
//! It is made by the fork transaction and holds a lease from its first moment. It asks nobody: its filter and its reach
//! (`Reach::notes`) decide what it may do.

use std::path::PathBuf;
use std::sync::Arc;

use tine_guard::{PermissionMode, Rules};
use tine_model::{
    AgentId, AgentRecord, Block, ContextMode, Message, Role, Standing, StopKind, WireFormat,
};
use tine_store::{Head as StoredHead, Lease, NewChild, StoreError};
use tine_wire::{Head, HeadParts};

use crate::budget::OnBudget;
use crate::confine::{Confinement, ReachWish};
use crate::crew::WorkerProfile;
use crate::error::RuntimeError;
use crate::fork::ForkGuard;
use crate::inherit::{Inherit, Inherited};
use crate::model_words::ModelWords;
use crate::permission::{DenyAll, Permissions};
use crate::registry::check_name;
use crate::run::{Prepared, RunOptions, RunOutcome};
use crate::runtime::Runtime;

/// What a hidden run is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenSpec {
    /// The agent that it is forked from, and whose tree pays.
    pub parent: AgentId,
    /// A name that no living agent has.
    pub name: Option<String>,
    /// How much of the parent it has, and in which form.
    pub inherit: Inherit,
    /// Its model; `None` for the parent's. Refused with a native history, because no cache serves it then.
    pub model: Option<ModelWords>,
    /// Where it works; `None` for the parent's directory. Absolute.
    pub directory: Option<PathBuf>,
    /// Whether its model is asked to answer as evenly as it can (temperature 0): with a head of its own alone, and where the provider
    /// takes a temperature.
    pub steady: bool,
    /// What it may touch. A person's word may name a place that the parent does not write in, such as a directory of notes.
    pub reach: ReachWish,
}

impl HiddenSpec {
    /// A hidden run that knows everything its parent knows, works in its directory, and writes nothing.
    pub fn of(parent: AgentId) -> Self {
        Self {
            parent,
            name: None,
            inherit: Inherit::Full,
            model: None,
            directory: None,
            steady: false,
            reach: ReachWish::Narrow(tine_model::Reach::read_only()),
        }
    }
}

/// A hidden run that was made and has not begun. This process holds it: where it ends, the run is interrupted.
#[derive(Debug)]
#[must_use = "a hidden run that is dropped stays held until its process ends"]
pub struct Hidden {
    /// Its row as it was made.
    pub record: AgentRecord,
    lease: Lease,
}

impl Runtime {
    /// Makes a hidden run, in one transaction that leaves the parent's log as it is. Nothing is sent yet.
    pub async fn hidden(&self, spec: HiddenSpec) -> Result<Hidden, RuntimeError> {
        check_name(spec.name.as_deref())?;
        let guard = ForkGuard::take(&self.forking, spec.parent)?;
        let parent = self.store().agent(spec.parent).await?;
        let Inherited { from, context, entries, .. } =
            self.inherited(&parent, None, spec.inherit).await?;
        let mut agent = self.child_of(&parent, Standing::Hidden, spec.name);
        agent.context = context;
        let profile =
            WorkerProfile { model: spec.model, ..WorkerProfile::inheriting(spec.inherit) };
        (agent.settings, agent.head) =
            self.worker_head(&parent, (agent.id, None), &profile).await?;
        let takes_temperature = agent.settings.model.format() != WireFormat::Anthropic
            && agent.settings.thinking.is_none();
        if spec.steady && spec.inherit == Inherit::Fresh && takes_temperature {
            let parts = self.frozen_head(&parent).await?.restated(agent.settings.clone())?;
            let head = Head::render(HeadParts {
                scheme: self.facts(&agent.settings.model).scheme,
                cache_key: Some(format!("tine-{}", agent.id)),
                temperature: Some(0.0),
                ..parts
            });
            agent.head = StoredHead { hash: head.hash(), body: Some(head.to_stored()) };
        }
        agent.reach = spec.reach.within(&parent.reach);
        if let Some(directory) = spec.directory {
            agent.directory = directory.to_string_lossy().into_owned();
        }
        let id = agent.id;
        let by_person = matches!(spec.reach, ReachWish::Person(_));
        let children = vec![NewChild { agent, task: None, entries, worktree: None, by_person }];
        let owner = self.owner()?.name().to_owned();
        let made = self.commit(&parent, from, children, Some(owner)).await?;
        drop(guard);
        let lease = made.into_iter().find_map(|made| made.lease);
        let lease = lease.ok_or(StoreError::Fenced { agent: id })?;
        let record = self.store().agent(id).await?;
        Ok(Hidden { record, lease })
    }

    /// Runs it to its end: `prompt` is the user's, and is told behind what it inherits. It asks nobody: [`RunOptions::filter`] and its reach say what it may do, and what these let through
    /// runs; where the budget of its tree is used up, it ends. Follow `options.cancel` to stop it for somebody who waits.
    pub async fn run_hidden(
        &self,
        hidden: Hidden,
        prompt: Message,
        options: &RunOptions,
    ) -> Result<RunOutcome, RuntimeError> {
        let is_native = hidden.is_native();
        let Hidden { record, lease } = hidden;
        let agent = record.id;
        let entered = self.live().enter(agent, agent, &options.cancel);
        let options = RunOptions {
            permissions: Permissions::new(
                PermissionMode::Bypass,
                Rules::default(),
                Arc::new(DenyAll),
            ),
            // What it may touch stands in its row; no option of the run that began it widens that.
            confinement: Confinement {
                reach: ReachWish::Run(record.reach.clone()),
                ..options.confinement.clone()
            },
            on_budget: OnBudget::End,
            ..options.clone()
        };
        let run = async {
            let llm = self.ports().models.connect(&record.settings.model).await?;
            let loaded = self.load(agent, options.caching).await?;
            let prepared = Prepared {
                loaded,
                lease: lease.clone(),
                llm: &*llm,
                seat: None,
                label: record.name.clone(),
                entered: &entered,
                prompt_first: true,
                takes_follow_ups: false,
            };
            let moved = match is_native {
                true => self.moved(&record).await?,
                false => None,
            };
            let blocks = moved.into_iter().map(Block::Text).chain(prompt.blocks().iter().cloned());
            let prompt = Message::new(Role::User, blocks.collect());
            self.drive(prepared, Some(prompt), &options).await
        };
        let result = Box::pin(run).await;
        let hard = result.is_err() || entered.stop.asked() == Some(StopKind::Hard);
        self.end_below(agent, hard).await;
        drop(entered);
        // Whatever happened, the lease goes back; an error of that would hide the more important one.
        let released = self.give_back(&lease).await;
        let report = result?;
        released?;
        Ok(RunOutcome { agent, report })
    }
}

impl Hidden {
    /// Which agent it is.
    pub fn agent(&self) -> AgentId {
        self.record.id
    }

    /// Whether it goes on from its parent's own words, so that a cache may serve them.
    pub fn is_native(&self) -> bool {
        self.record.context == ContextMode::Full
    }
}
