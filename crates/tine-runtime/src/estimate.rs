//! What a fork will cost, before it is made.

use tine_cache::{
    Asked, Estimate, EstimateParts, Expectation, Facts, Plan, REQUEST_MS, Situation, estimate,
};
use tine_fork::cache::child_places;
use tine_fork::worker::{Inherits, worker_directive};
use tine_model::{AgentId, AgentState, EntryId};
use tine_store::StoreError;
use tine_wire::Lifetimes;

use crate::cache::{CachePolicy, LifetimeChoice};
use crate::cached_content::{held_cost, is_worth_holding, longest_held_ms, to_hold};
use crate::error::RuntimeError;
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
    /// Requests of each child.
    pub turns: u32,
    /// Tokens that each child generates in each of them.
    pub output_tokens: u64,
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
        let model = loaded.record.settings.model;
        let lane = self.lane(&model, policy).await?;
        let mut parent = loaded.conversation;
        let mut base = match policy.lifetime {
            LifetimeChoice::Fixed(_) => parent.fork(),
            // Its parent's pauses say nothing of a child that has made none.
            LifetimeChoice::Auto => parent.fork().living(Lifetimes::default()),
        };
        let directives: Vec<String> = match spec.workers {
            true => spec
                .directives
                .iter()
                .map(|text| worker_directive(text, &Inherits::default()))
                .collect(),
            false => spec.directives,
        };
        let situation = lane.situation(&mut base, &directives, spec.plan, self.now_ms());
        let expectation = lane.expect(&child_places(&mut base, ""), self.now_ms());
        let holds = spec.workers
            && is_worth_holding(&situation, &lane.facts)
            && to_hold(&mut base).is_some();
        let situation = match holds {
            true => Situation { gap_tokens: 0, ..situation },
            false => situation,
        };
        let mut plan = lane.plan(situation);
        let mut estimate = estimate(&situation, &lane.facts, spec.turns, spec.output_tokens);
        if holds {
            plan.reason.push_str("; the provider would hold them until the workers are done");
            let run_ms = REQUEST_MS.saturating_mul(i64::from(spec.turns.max(1)));
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
            estimate,
        })
    }
}

/// What an estimate counts on for a worker of a model's own, where nothing is known of it: the same as the command line does.
const EXPECTED_TURNS: u32 = 5;
const EXPECTED_OUTPUT: u64 = 500;

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
            turns: EXPECTED_TURNS,
            output_tokens: EXPECTED_OUTPUT,
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
