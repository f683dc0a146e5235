//! Fan-out: several workers over one prefix.
//!
//! All workers are made in one transaction. The conversation of the first is loaded, and the others fork it in memory.
//! `tine-cache` chooses how they start: together, behind a leader that writes the shared prefix, or one after the other where a
//! server has slots. The worker with the shortest directive leads; if it fails, another takes its place, and the wait has a
//! limit.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::join_all;
use tine_cache::{Asked, Plan, Situation};
use tine_fork::cache::{CacheLane, Flight, SlotWait};
use tine_fork::run::Conversation;
use tine_llm::LlmClient;
use tine_model::{AgentId, AgentRecord, Block, Message, Standing};
use tine_store::{Forked, Lease, NewTask};
use tokio_util::sync::CancellationToken;

use crate::cache::CachePolicy;
use crate::cached_content::{Holding, Resource};
use crate::children::Births;
use crate::crew::{WorkerRole, told, worker_options};
use crate::error::RuntimeError;
use crate::events::EventKind;
use crate::fan_report::{FanReport, FanTask, failed};
use crate::fork_guard::ForkGuard;
use crate::fork_spec::ForkSpec;
use crate::live::Entered;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::warm::KeepWarm;
use crate::worker::{Once, Start};
use crate::worktrees::Cause;

/// Most workers of one fan. More would overrun every provider's rate limits, and the machine's.
pub const FAN_MAX: usize = 256;

/// What a fan is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct FanSpec {
    /// Whose workers they are, and what each is made of: they have no name, and begin at the next entry at which a conversation may be
    /// cut.
    pub fork: ForkSpec,
    /// One worker each.
    pub directives: Vec<String>,
    /// How they start.
    pub plan: Asked,
}

impl Runtime {
    /// Forks one worker per directive from the parent's head, runs them at the same time, and returns when all have
    /// ended. Each has a task row; its end and the notice to the parent are one transaction.
    pub async fn fan(
        &self,
        spec: FanSpec,
        options: &RunOptions,
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
        let guard = ForkGuard::take(&self.forking, spec.fork.parent)?;
        let parent = self.store().agent(spec.fork.parent).await?;
        let root = self.root_of(&parent).await?;
        let reach = options.confinement.reach.clone();
        let fork = ForkSpec { name: None, reach, ..spec.fork.clone() };
        let (fork, _) = self.at_boundary(fork).await?;
        let births = Births {
            parent: &parent,
            spec: &fork,
            standing: Standing::Worker,
            cause: Cause::Command,
            held: true,
        };
        let definition = fork.agent.as_ref().map(|definition| definition.name.clone());
        let task = |directive: &String| NewTask {
            directive: directive.clone(),
            description: None,
            definition: definition.clone(),
        };
        let tasks = spec.directives.iter().map(|directive| Some(task(directive))).collect();
        let workers = self.unborn(&births, tasks).await?;
        // Their model's cache and prices are those that count from here on.
        let settings = workers.first().map(|worker| worker.agent.settings.clone());
        let settings = settings.unwrap_or_else(|| parent.settings.clone());
        let llm = self.client_of(&parent, &settings.model).await?;
        let forked = self.bear(&births, workers).await?.forked;
        drop(guard);
        let parent = AgentRecord { settings, ..parent };
        let role = WorkerRole::of(&spec.fork);
        // The same workers that a model would start, but for how they are confined.
        let confinement = options.confinement.clone();
        let options = &RunOptions { confinement, ..worker_options(options, &role, options.limits) };
        let ran = async {
            self.enter_worktree(&forked).await?;
            self.run_workers((&parent, root), &spec, &forked, &llm, options).await
        };
        let result = ran.await;
        if let Err(error) = &result {
            // The workers exist, and nobody will run them: they must not look as if somebody did.
            for (made, directive) in forked.iter().zip(&spec.directives) {
                if let Some(lease) = &made.lease {
                    let task = failed(made.child, directive, error);
                    self.finish(lease, &task).await?;
                    self.leave(lease.agent).await;
                    self.give_back(lease).await?;
                }
            }
        }
        result
    }

    /// Makes a removed worktree again that the workers share, before their runs begin: then it is the command that makes it, with
    /// what a person's command may reach.
    async fn enter_worktree(&self, forked: &[Forked]) -> Result<(), RuntimeError> {
        // All are in the directory of their parent, or each in a worktree that was made just now.
        let Some(first) = forked.first() else { return Ok(()) };
        self.home(&first.record, Cause::Command).await?;
        Ok(())
    }

    async fn run_workers(
        &self,
        (parent, root): (&AgentRecord, AgentId),
        spec: &FanSpec,
        forked: &[Forked],
        llm: &Arc<dyn LlmClient>,
        options: &RunOptions,
    ) -> Result<FanReport, RuntimeError> {
        let workers: Vec<AgentId> = forked.iter().map(|forked| forked.child).collect();
        let Some(first) = workers.first() else { return Err(RuntimeError::NoDirective) };
        // Loaded once, as the first child sees it; the others fork it in memory.
        let mut base = self.load(*first, options.caching).await?.conversation;
        let lane = self.lane_of_agent(parent, &parent.settings.model, options.caching).await?;
        // Whoever is to go first must not wait behind those that wait for it.
        let leader = shortest(&spec.directives);
        let mut line = workers.clone();
        line[..=leader].rotate_right(1);
        self.line_up(line, self.owner()?.name()).await?;
        let told = self.told_in_fan(spec, forked, &base, options).await?;
        let texts: Vec<String> = told.iter().map(text_of).collect();
        let (plan, held) =
            self.planned(parent, &mut base, (&lane, spec.plan, &texts), llm, &options.cancel).await;
        let made = EventKind::Fanned { workers, plan: Box::new(plan.clone()) };
        self.teller(parent, root, None).tell(made);
        let facts = lane.facts.clone();
        let caching = CachePolicy { slot_wait: SlotWait::of(&plan), ..options.caching };
        let options = &RunOptions { caching, ..options.clone() };
        let (stages, wait_max) = (plan.stages.clone(), lane.leader_wait_max);
        let flight = Flight::staged(leader, stages, facts.shares_at, wait_max);
        let warm = KeepWarm {
            agent: parent.id,
            model: parent.settings.model.to_string(),
            conversation: base.fork(),
            lane,
            llm: &**llm,
        };
        let runs = forked.iter().zip(spec.directives.iter().zip(told)).enumerate().filter_map(
            |(index, (made, (directive, told)))| {
                let lease = made.lease.as_ref()?;
                let start = Start {
                    seat: Some(flight.seat(index)),
                    ..Start::first(told, directive.clone(), base.fork())
                };
                let teller = self.teller(&made.record, root, Some(lease));
                let entered = self.live().enter(teller, lease.agent, &options.cancel);
                let worker = (lease, directive.as_str(), entered);
                Some(self.work_in_fan(worker, (start, &**llm), options))
            },
        );
        let runs: Vec<_> = runs.collect();
        let tasks = tokio::select! {
            tasks = join_all(runs) => tasks,
            // Never ends; dropping it loses one ping at most.
            never = self.keep_warm(warm, options) => match never {},
        };
        let held = match held {
            Some(resource) => Some(self.release(resource, &facts).await),
            None => None,
        };
        let cache = self.cache_report(parent, plan, &tasks, held);
        let fork_point = forked.first().and_then(|forked| forked.fork_point);
        Ok(FanReport { parent: parent.id, fork_point, tasks, cache })
    }

    /// What each worker is told first.
    async fn told_in_fan(
        &self,
        spec: &FanSpec,
        forked: &[Forked],
        base: &Conversation,
        options: &RunOptions,
    ) -> Result<Vec<Message>, RuntimeError> {
        let role = WorkerRole::of(&spec.fork);
        let mut all = Vec::with_capacity(forked.len());
        for (Forked { record, .. }, directive) in forked.iter().zip(&spec.directives) {
            let place = self.told_place(record.id, &record.directory, &role).await?;
            let strips = self.facts(&record.settings.model).strips_reasoning;
            let how = (strips, &options.crew.inherits);
            all.push(told((&role, directive), (base, &place), how));
        }
        Ok(all)
    }

    /// How the workers start, and what the provider holds for them.
    async fn planned(
        &self,
        parent: &AgentRecord,
        base: &mut Conversation,
        (lane, asked, told): (&CacheLane, Asked, &[String]),
        llm: &Arc<dyn LlmClient>,
        cancel: &CancellationToken,
    ) -> (Plan, Option<Resource>) {
        let situation = lane.situation(base, told, asked, self.now_ms());
        match self.hold(parent, base, (&situation, &lane.facts), llm, cancel).await {
            Holding::None => (lane.plan(situation), None),
            Holding::Refused(why) => {
                let mut plan = lane.plan(situation);
                let _ = write!(plan.reason, "; the provider was asked to hold the prefix: {why}");
                (plan, None)
            }
            Holding::Made(resource) => {
                let tokens = resource.tokens().unwrap_or(situation.prefix_tokens);
                let held = Situation { prefix_tokens: tokens, gap_tokens: 0, ..situation };
                let mut plan = lane.plan(held);
                plan.reason.push_str("; the provider holds them until the workers are done");
                (plan, Some(resource))
            }
        }
    }

    /// One worker of a fan. Whatever goes wrong is its own failure: its siblings go on.
    async fn work_in_fan(
        &self,
        (lease, directive, entered): (&Lease, &str, Entered),
        (start, llm): (Start, &dyn LlmClient),
        options: &RunOptions,
    ) -> FanTask {
        let mut next = Some(start);
        let mut task = failed(lease.agent, directive, &RuntimeError::NoTask(lease.agent));
        while let Some(start) = next.take() {
            let once = Once { lease, directive, entered: &entered, llm };
            task = self.work(once, start, options).await;
            next = self.next_of(lease, directive, (&entered, options)).await;
        }
        self.end_below(lease.agent, entered.stop.asked().is_some()).await;
        self.leave(lease.agent).await;
        // One in which nothing was done is gone by now.
        task.worktree =
            self.store().task(lease.agent).await.ok().flatten().and_then(|row| row.worktree);
        if let Err(error) = self.give_back(lease).await {
            task.error.get_or_insert(error.to_string());
        }
        task
    }
}

/// The texts of a message, as far as their length counts.
fn text_of(message: &Message) -> String {
    message.blocks().iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
}

/// The member that starts fastest leads: the one with the least to read.
fn shortest(directives: &[String]) -> usize {
    let lengths = directives.iter().map(String::len).enumerate();
    lengths.min_by_key(|(_, length)| *length).map_or(0, |(index, _)| index)
}
