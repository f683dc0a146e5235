//! What a fan-out is going to cost, before it runs.

use tine_model::{Lifetime, Usage};

use crate::facts::Facts;
use crate::forms::{Bill, Forms, closed_forms};
use crate::plan::{Situation, plan};
use crate::price::Price;

/// Most turns that are reckoned with: no agent makes as many.
const TURNS_MAX: u32 = 10_000;

/// The run that each sibling is expected to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedRun {
    /// Requests.
    pub turns: u32,
    /// Tokens generated in each of them.
    pub output_tokens: u64,
    /// Tokens that a turn adds besides those: the results of its tools.
    pub result_tokens: u64,
}

impl ExpectedRun {
    /// A middling run. One that reads whole files has longer results.
    pub const MIDDLING: Self = Self { turns: 5, output_tokens: 500, result_tokens: 1_000 };
}

/// USD, by part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EstimateParts {
    /// The first requests: the shared prefix and the directives.
    pub forking: f64,
    /// Reading the prefix again in every later request, and what each sibling adds.
    pub later_turns: f64,
    /// Generated tokens.
    pub output: f64,
}

impl EstimateParts {
    /// All parts together.
    pub fn total(&self) -> f64 {
        self.forking + self.later_turns + self.output
    }
}

/// What a fan-out is going to cost, in USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// With the whole prefix warm and every sibling done after one turn.
    pub low: f64,
    /// As planned.
    pub expected: f64,
    /// When no sibling finds the prefix in the cache on its first request.
    pub high: f64,
    /// The parts of [`Self::expected`].
    pub parts: EstimateParts,
}

/// Prices a fan-out before it runs: each sibling makes such a run, and the launch is the one that [`plan`] chooses. `None` without a
/// price.
pub fn estimate(situation: &Situation, facts: &Facts, run: ExpectedRun) -> Option<Estimate> {
    let price = &facts.prices.at(situation.now_ms)?;
    let output_tokens = run.output_tokens;
    let Forms { naive, warm, .. } = closed_forms(&situation.shape(), facts);
    let planned = plan(situation, facts).bill(situation, facts);
    let later = later_turns(situation, facts, price, run);
    let parts = |first: &Bill| first_requests(first, price, output_tokens);
    let with_later = |first: EstimateParts| EstimateParts {
        later_turns: later.later_turns,
        output: first.output + later.output,
        ..first
    };
    let (expected, high) = (with_later(parts(&planned)), with_later(parts(&naive)));
    Some(Estimate {
        low: parts(&warm).total(),
        expected: expected.total(),
        high: high.total().max(expected.total()),
        parts: expected,
    })
}

fn first_requests(first: &Bill, price: &Price, output: u64) -> EstimateParts {
    let mut parts = EstimateParts::default();
    for (count, usage) in first.requests() {
        let input = price.cost(usage);
        let whole = price.cost(&Usage { output, ..*usage });
        parts.forking += *count as f64 * input;
        parts.output += *count as f64 * (whole - input);
    }
    parts
}

/// All requests after the first of all siblings: each reads what the one before held, and adds a turn.
fn later_turns(
    situation: &Situation,
    facts: &Facts,
    price: &Price,
    run: ExpectedRun,
) -> EstimateParts {
    let turns = u64::from(run.turns.clamp(1, TURNS_MAX));
    let output = run.output_tokens;
    let siblings = situation.siblings as f64;
    let added = output.saturating_add(run.result_tokens);
    let start = situation.prefix_tokens.saturating_add(situation.directive_tokens);
    let mut parts = EstimateParts::default();
    for turn in 1..turns {
        let held = start.saturating_add(added.saturating_mul(turn - 1));
        let read = if held < facts.min_tokens { 0 } else { facts.readable(held) };
        let new = held.saturating_add(added) - read;
        let usage = if facts.reports_writes() {
            let (short, long) = match situation.lifetime {
                Lifetime::Short => (new, 0),
                Lifetime::Long => (0, new),
            };
            let (write_short, write_long) = (Some(short), Some(long));
            Usage { write_short, write_long, read: Some(read), ..Usage::default() }
        } else {
            Usage { uncached: new, read: Some(read), ..Usage::default() }
        };
        let input = price.cost(&usage);
        parts.later_turns += siblings * input;
        parts.output += siblings * (price.cost(&Usage { output, ..usage }) - input);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Models;

    fn run(turns: u32, output_tokens: u64) -> ExpectedRun {
        ExpectedRun { turns, output_tokens, ..ExpectedRun::MIDDLING }
    }

    fn situation(gap_tokens: u64) -> Situation {
        Situation {
            siblings: 8,
            prefix_tokens: 100_000,
            gap_tokens,
            directive_tokens: 500,
            ..Situation::default()
        }
    }

    #[test]
    fn a_single_turn_costs_its_first_requests_and_its_output() {
        let facts = Models::bundled().facts("anthropic/claude-opus-5-5");
        let estimate = estimate(&situation(100_000), &facts, run(1, 1_000)).unwrap();
        let shown = |dollars: f64| format!("{dollars:.3}");
        assert_eq!(shown(estimate.parts.forking), "0.660");
        assert_eq!(shown(estimate.parts.output), "0.160");
        assert_eq!(estimate.parts.later_turns, 0.0);
        assert_eq!(
            [estimate.low, estimate.expected, estimate.high].map(shown),
            ["0.340", "0.820", "4.180"]
        );
    }

    /// `T·r·P` dominates: ten turns over 100,000 tokens cost $0.20 a child for the prefix alone.
    #[test]
    fn later_turns_read_the_prefix_again() {
        let facts = Models::bundled().facts("anthropic/claude-opus-5-5");
        let one = Situation { siblings: 1, ..situation(0) };
        let estimate = estimate(&one, &facts, run(10, 0)).unwrap();
        let prefix = 10.0 * 100_000.0 * 0.2 / 1e6;
        let total = estimate.parts.forking + estimate.parts.later_turns;
        assert!(total > prefix && total < 1.5 * prefix, "{total}");
    }

    #[test]
    fn bounds_are_in_order_and_an_unknown_price_is_not_guessed() {
        let models = Models::bundled();
        for model in
            ["openai/gpt-5.4", "deepseek/deepseek-v4-pro", "gemini/gemini-3.1-pro", "sim/x"]
        {
            let facts = models.facts(model);
            for gap in [0, 10_000, 100_000] {
                let estimate = estimate(&situation(gap), &facts, run(12, 700)).unwrap();
                assert!(estimate.low <= estimate.expected, "{model} {gap}");
                assert!(estimate.expected <= estimate.high, "{model} {gap}");
            }
        }
        assert_eq!(estimate(&situation(0), &models.facts("openai-compat/llama"), run(1, 1)), None);
        let endless = estimate(&situation(0), &models.facts("sim/x"), run(u32::MAX, u64::MAX));
        assert!(endless.unwrap().expected.is_finite());
    }
}
