//! Hidden runs: forks that nobody typed and nobody waits for, such as the consolidation of a memory.
//!
//! A hidden run is an agent like all others: it has a row, a log, requests with their costs, and the budget of its tree. It is
//! listed where everybody is, and can be watched and stopped while it runs. The conversation that it was forked from does not
//! know of it: no event of it stands there, and no notice.
//!
//! It is made by the fork transaction and holds a lease from its first moment. It asks nobody: its filter and its reach
//! (`Reach::notes`) decide what it may do.

use tine_guard::{PermissionMode, Rules};
use tine_model::{
    AgentId, AgentRecord, Block, ContextMode, Message, Role, Standing, StopKind, WireFormat,
};
use tine_store::{Forked, Head as StoredHead, Lease, NewAgent, StoreError};
use tine_wire::{Head, HeadParts};

use crate::budget::OnBudget;
use crate::children::Births;
use crate::confine::{Confinement, ReachWish};
use crate::error::RuntimeError;
use crate::fork_guard::ForkGuard;
use crate::fork_spec::ForkSpec;
use crate::inherit::Inherit;
use crate::names::check_name;
use crate::permission::Permissions;
use crate::prepared::Prepared;
use crate::run::RunOutcome;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::worktrees::Cause;

/// What a hidden run is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenSpec {
    /// The agent that it is forked from, and whose tree pays; what it has of it, and what it may touch. A person's word may name a
    /// place that the parent does not write in, such as a directory of notes.
    pub fork: ForkSpec,
    /// Whether its model is asked to answer as evenly as it can (temperature 0): with a head of its own alone, and where the provider
    /// takes a temperature.
    pub steady: bool,
}

impl HiddenSpec {
    /// A hidden run that knows everything its parent knows, works in its directory, and writes nothing.
    pub fn of(parent: AgentId) -> Self {
        let reach = ReachWish::Narrow(tine_model::Reach::read_only());
        Self { fork: ForkSpec { reach, ..ForkSpec::of(parent) }, steady: false }
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
        let HiddenSpec { fork, steady } = spec;
        check_name(fork.name.as_deref())?;
        let guard = ForkGuard::take(&self.forking, fork.parent)?;
        let parent = self.store().agent(fork.parent).await?;
        let births = Births {
            parent: &parent,
            spec: &fork,
            standing: Standing::Hidden,
            cause: Cause::Run,
            held: true,
        };
        let mut unborn = self.unborn(&births, vec![None]).await?;
        for NewAgent { id, settings, head, .. } in unborn.iter_mut().map(|child| &mut child.agent) {
            let takes_temperature =
                settings.model.format() != WireFormat::Anthropic && settings.thinking.is_none();
            if steady && fork.inherit == Inherit::Fresh && takes_temperature {
                let parts = self.frozen_head(&parent).await?.restated(settings.clone())?;
                let rendered = Head::render(HeadParts {
                    scheme: self.facts(&settings.model).scheme,
                    cache_key: Some(format!("tine-{id}")),
                    temperature: Some(0.0),
                    ..parts
                });
                *head = StoredHead { hash: rendered.hash(), body: Some(rendered.to_stored()) };
            }
        }
        let made = self.bear(&births, unborn).await?.forked.into_iter().next();
        drop(guard);
        let (lease, record) = match made {
            Some(Forked { lease: Some(lease), record, .. }) => (lease, record),
            Some(_) | None => return Err(StoreError::no_agent(parent.id).into()),
        };
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
        let root = self.root_of(&record).await?;
        let teller = self.teller(&record, root, Some(&lease));
        let entered = self.live().enter(teller, agent, &options.cancel);
        let options = RunOptions {
            permissions: Permissions::new(PermissionMode::Bypass, Rules::default()),
            // What it may touch stands in its row; no option of the run that began it widens that.
            confinement: Confinement {
                reach: ReachWish::Run(record.reach.clone()),
                ..options.confinement.clone()
            },
            on_budget: OnBudget::End,
            elsewhere: None,
            ..options.clone()
        };
        let run = async {
            let llm = self.client_of(&record, &record.settings.model).await?;
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
            let moved = if is_native { self.moved(&record).await? } else { None };
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
