//! What a fork will cost, before it is made.

use std::collections::HashMap;

use tine_cache::{
    Asked, Estimate, EstimateParts, Expectation, ExpectedRun, Facts, Plan, REQUEST_MS, Situation,
    estimate,
};
use tine_fork::cache::child_places;
use tine_fork::worker::{Inherits, worker_directive};
use tine_model::{AgentId, AgentState, Block, EntryId, Message, Role, TaskStatus};
use tine_store::{RequestRow, StoreError, UsageScope};
use tine_wire::Lifetimes;

use crate::cache::{CachePolicy, LifetimeChoice};
use crate::cached_content::{held_cost, is_worth_holding, longest_held_ms, to_hold};
use crate::error::RuntimeError;
use crate::load::Loaded;
use crate::runtime::Runtime;

/// What is to be priced.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimateSpec {
    /// Whose fork or workers they would be.
    pub parent: AgentId,
    /// The last entry to inherit; `None` for the parent's head.
    pub at: Option<EntryId>,
    /// What each child would be told. A fork without a prompt has one empty text.
    pub directives: Vec<String>,
    /// Whether the children would be workers, whose directive has words of ours around it.
    pub workers: bool,
    /// How they would start.
    pub plan: Asked,
    /// Requests of each child; `None` for as many as are usual.
    pub turns: Option<u32>,
    /// Tokens that each child generates in each of them; `None` for as many as are usual.
    pub output_tokens: Option<u64>,
}

/// A child's usual run, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usual {
    /// The run.
    pub run: ExpectedRun,
    /// The source of these figures.
    pub known_by: KnownBy,
}

/// The source of a usual run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// So many workers of the same agent that have ended.
    Workers(usize),
    /// The parent's own runs.
    Parent,
    /// Nothing: a middling run.
    Nothing,
    /// Whoever asked has said it.
    Caller,
}

/// What a fork will cost.
#[derive(Debug, Clone)]
pub struct ForkEstimate {
    /// The model, as `provider/name`.
    pub model: String,
    /// The model whose prices stand in, where this one has none of its own.
    pub priced_as: Option<String>,
    /// The day on which the prices were read.
    pub prices_date: String,
    /// What the cache should serve.
    pub expectation: Expectation,
    /// How the children would start, and why.
    pub plan: Plan,
    /// The run of each child that the figures count on.
    pub usual: Usual,
    /// Money; `None` for a model without a known price.
    pub estimate: Option<Estimate>,
}

impl Runtime {
    /// Prices a fork by what is known of the cache now. Nothing is made and nothing is sent.
    pub async fn estimate(
        &self,
        spec: EstimateSpec,
        policy: CachePolicy,
    ) -> Result<ForkEstimate, RuntimeError> {
        let loaded = self.load_at(spec.parent, spec.at, policy).await?;
        if loaded.record.state == AgentState::Dead {
            return Err(StoreError::Dead { agent: spec.parent }.into());
        }
        let usual = self.usual(&loaded, spec.workers).await?;
        let usual = Usual {
            run: ExpectedRun {
                turns: spec.turns.unwrap_or(usual.run.turns),
                output_tokens: spec.output_tokens.unwrap_or(usual.run.output_tokens),
                ..usual.run
            },
            known_by: match (spec.turns, spec.output_tokens) {
                (None, None) => usual.known_by,
                _ => KnownBy::Caller,
            },
        };
        let model = loaded.record.settings.model.clone();
        let lane = self.lane_of_agent(&loaded.record, &model, policy).await?;
        let mut parent = loaded.conversation;
        let mut base = match policy.lifetime {
            LifetimeChoice::Fixed(_) => parent.fork(),
            // Its parent's pauses say nothing of a child that has made none.
            LifetimeChoice::Auto => parent.fork().living(Lifetimes::default()),
        };
        let directives: Vec<String> = if spec.workers {
            spec.directives
                .iter()
                .map(|text| worker_directive(text, &Inherits::default()))
                .collect()
        } else {
            spec.directives
        };
        let situation = lane.situation(&mut base, &directives, spec.plan, self.now_ms());
        let expectation = lane.expect(&child_places(&mut base, ""), self.now_ms());
        let holds = spec.workers
            && is_worth_holding(&situation, &lane.facts)
            && to_hold(&mut base).is_some();
        let situation = if holds { Situation { gap_tokens: 0, ..situation } } else { situation };
        let mut plan = lane.plan(situation);
        let mut estimate = estimate(&situation, &lane.facts, usual.run);
        if holds {
            plan.reason.push_str("; the provider would hold them until the workers are done");
            let run_ms = REQUEST_MS.saturating_mul(i64::from(usual.run.turns.max(1)));
            estimate =
                estimate.map(|estimate| with_held(estimate, &situation, run_ms, &lane.facts));
        }
        let facts = &self.ports().facts;
        let name = model.to_string();
        Ok(ForkEstimate {
            priced_as: facts.priced_as(&name).map(str::to_owned),
            prices_date: facts.date().to_owned(),
            model: name,
            expectation,
            plan,
            usual,
            estimate,
        })
    }
}

/// Workers of a parent that are looked at: the last ones tell most.
const LOOKED_AT_MAX: usize = 32;

/// Fewest turns of a worker: a look, and the report.
const WORKER_TURNS_MIN: u64 = 2;

impl Runtime {
    /// The run that a child of this parent usually makes: as earlier workers of its, else as the parent's own runs. A worker that nothing
    /// is known of is asked for a part of what its parent was asked for, and knows what that has read: it is expected to make half of the
    /// turns, with results that are no longer than middling ones.
    async fn usual(&self, parent: &Loaded, workers: bool) -> Result<Usual, RuntimeError> {
        let agent = parent.record.id;
        let requests = self.store().requests(agent, UsageScope::Subtree).await?;
        if workers {
            let tasks = self.store().tasks(agent).await?;
            let ended = tasks.iter().rev().filter(|task| task.status == TaskStatus::Completed);
            let ended: Vec<AgentId> = ended.take(LOOKED_AT_MAX).map(|task| task.agent).collect();
            let of_workers = requests.iter().filter(|request| ended.contains(&request.agent));
            if let Some(habits) = Habits::of(of_workers) {
                let turns = habits.requests.div_ceil(ended.len().max(1) as u64);
                let known_by = KnownBy::Workers(ended.len());
                return Ok(Usual { run: habits.run(turns), known_by });
            }
        }
        let messages = || parent.conversation.history().iter().map(|item| &item.message);
        let replies = messages().filter(|message| message.role() == Role::Assistant).count() as u64;
        let prompts = messages().filter(|message| is_prompt(message)).count() as u64;
        let own = Habits::of(requests.iter().filter(|request| request.agent == agent));
        let (Some(habits), 1..) = (own, prompts) else {
            return Ok(Usual { run: ExpectedRun::MIDDLING, known_by: KnownBy::Nothing });
        };
        let turns = replies.div_ceil(prompts);
        let run = if workers {
            let run = habits.run(turns.div_ceil(2).max(WORKER_TURNS_MIN));
            let most = ExpectedRun::MIDDLING.result_tokens;
            ExpectedRun { result_tokens: run.result_tokens.min(most), ..run }
        } else {
            habits.run(turns)
        };
        Ok(Usual { run, known_by: KnownBy::Parent })
    }
}

/// The habits that requests show.
struct Habits {
    requests: u64,
    /// The mean of the tokens generated.
    output: u64,
    /// The median of what a turn has added to the next prompt of the same agent, `None` where no turn followed another.
    added: Option<u64>,
}

impl Habits {
    /// `None` without requests whose tokens are known.
    fn of<'a>(requests: impl Iterator<Item = &'a RequestRow>) -> Option<Self> {
        let mut last: HashMap<AgentId, u64> = HashMap::new();
        let (mut count, mut output, mut added) = (0, 0_u64, Vec::new());
        for request in requests {
            let Some(usage) = request.usage else { continue };
            count += 1;
            output = output.saturating_add(usage.output);
            let before = last.insert(request.agent, usage.prompt());
            added.extend(before.and_then(|before| usage.prompt().checked_sub(before)));
        }
        added.sort_unstable();
        let added = added.get(added.len() / 2).copied();
        Some(Self { requests: count, output: output.checked_div(count)?, added })
    }

    fn run(&self, turns: u64) -> ExpectedRun {
        let results = self.added.map(|added| added.saturating_sub(self.output));
        ExpectedRun {
            turns: u32::try_from(turns.max(1)).unwrap_or(u32::MAX),
            output_tokens: self.output,
            result_tokens: results.unwrap_or(ExpectedRun::MIDDLING.result_tokens),
        }
    }
}

/// Returns true for words of a person, with which a run began.
fn is_prompt(message: &Message) -> bool {
    let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
    message.role() == Role::User && !message.blocks().iter().any(is_result)
}

impl Runtime {
    /// The price of workers that a model wants to make, where it is expected to be above `threshold`, in USD; `None` where it
    /// is not, or no price is known. To be asked before they are made, so that a person can be.
    pub async fn too_dear(
        &self,
        parent: AgentId,
        directives: &[String],
        threshold: f64,
        policy: CachePolicy,
    ) -> Result<Option<ForkEstimate>, RuntimeError> {
        let spec = EstimateSpec {
            parent,
            at: None,
            directives: directives.to_vec(),
            workers: true,
            plan: Asked::Auto,
            turns: None,
            output_tokens: None,
        };
        let priced = self.estimate(spec, policy).await?;
        let is_dear = priced.estimate.as_ref().is_some_and(|price| price.expected > threshold);
        Ok(is_dear.then_some(priced))
    }
}

/// An estimate with a resource that holds the prefix: made once, and kept for `run_ms`, or by mischance until it expires.
fn with_held(estimate: Estimate, situation: &Situation, run_ms: i64, facts: &Facts) -> Estimate {
    let (tokens, now_ms) = (situation.prefix_tokens, situation.now_ms);
    let cost = |held_ms: i64| {
        let (creation, storage) = held_cost(tokens, (now_ms, held_ms), facts);
        creation.unwrap_or(0.0) + storage.unwrap_or(0.0)
    };
    let longest_ms = longest_held_ms();
    let expected = cost(run_ms.min(longest_ms));
    let forking = estimate.parts.forking + expected;
    Estimate {
        low: estimate.low + cost(0),
        expected: estimate.expected + expected,
        high: estimate.high + cost(longest_ms),
        parts: EstimateParts { forking, ..estimate.parts },
    }
}
