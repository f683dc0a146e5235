//! What is said of a fan's cost before and after.

use tine_cache::Asked;
use tine_model::{AgentId, Usage};
use tine_runtime::{CachePolicy, EstimateSpec, FanReport, FanSpec, ForkEstimate};
use tine_store::AgentFilter;

use crate::SCENARIO;
use crate::house::{House, options};

const MODEL: &str = "anthropic/claude-opus-5-5";

/// Long enough for every entry to be gone.
const LONG_AGO_MS: i64 = 3 * 60 * 60 * 1000;

/// How many tokens a directive may be off: its own are estimated by the bytes of its message. The prefix is exact.
const DIRECTIVE_SLACK: f64 = 40.0;

/// No round has a directive of another: it would read all of it.
fn directives(round: usize, count: usize) -> Vec<String> {
    (0..count).map(|index| format!("Task number {round}{index:02}.")).collect()
}

async fn fan(house: &House, parent: AgentId, round: usize) -> FanReport {
    let spec = FanSpec {
        fork: tine_runtime::ForkSpec::of(parent),
        directives: directives(round, 4),
        plan: Asked::Auto,
    };
    house.runtime.fan(spec, &options()).await.unwrap()
}

async fn estimate(house: &House, parent: AgentId, count: usize) -> ForkEstimate {
    let spec = EstimateSpec {
        at: None,
        parent,
        directives: directives(0, count),
        workers: true,
        plan: Asked::Auto,
        turns: Some(1),
        output_tokens: Some(0),
    };
    house.runtime.estimate(spec, CachePolicy::default()).await.unwrap()
}

async fn agents(house: &House) -> usize {
    house.runtime.store().agents(AgentFilter::All).await.unwrap().len()
}

/// What the first requests cost, input side, in USD.
fn forking(house: &House, model: &str, report: &FanReport) -> f64 {
    let price = house.runtime.facts(&model.parse().unwrap()).prices.at(0).unwrap();
    let first = report.tasks.iter().map(|task| Usage { output: 0, ..task.requests[0].usage });
    first.map(|usage| price.cost(&usage)).sum()
}

#[tokio::test]
async fn an_estimate_is_what_the_fan_then_costs() {
    for model in [MODEL, "openai/gpt-6.1-sol"] {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        house.say(root, "Please look around.").await;
        // From here on the size of the prefix is known from the provider.
        fan(&house, root, 1).await;
        for (round, gone_ms) in [(2, 60_001), (3, LONG_AGO_MS)] {
            house.clock.advance_ms(gone_ms);
            let before = estimate(&house, root, 4).await;
            let report = fan(&house, root, round).await;
            let prefix = before.expectation.prefix;
            let is_cold = gone_ms == LONG_AGO_MS;
            assert_eq!(before.expectation.gap, if is_cold { prefix } else { 0 }, "{model}");
            let reads: Vec<u64> =
                report.tasks.iter().map(|task| task.requests[0].usage.read.unwrap()).collect();
            let leader = if is_cold { 0 } else { prefix };
            assert_eq!(reads, [leader, prefix, prefix, prefix], "{model}");
            assert_eq!(before.plan.launch, report.cache.plan.launch);
            let estimated = before.estimate.unwrap();
            let actual = forking(&house, model, &report);
            let dearest = house.runtime.facts(&model.parse().unwrap()).prices.at(0).unwrap().base;
            let slack = 4.0 * DIRECTIVE_SLACK * dearest.write_short / 1e6;
            let off = (estimated.parts.forking - actual).abs();
            assert!(off <= slack, "{model}: {} for {actual}", estimated.parts.forking);
            assert_eq!(estimated.expected, estimated.parts.forking);
        }
    }
}

#[tokio::test]
async fn an_estimate_counts_in_what_the_provider_holds() {
    let model = "gemini/gemini-3.8-flash";
    let house = House::new(SCENARIO).await;
    let root = house.root(model).await;
    house.say(root, "Please look around.").await;
    let estimated = estimate(&house, root, 4).await;
    let reason = &estimated.plan.reason;
    assert!(
        reason.ends_with("the provider would hold them until the workers are done"),
        "{reason}"
    );
    let estimated = estimated.estimate.unwrap();
    let report = house.fan(root, 4, Asked::Auto).await;
    let held = report.cache.held.as_ref().unwrap();
    let actual = forking(&house, model, &report) + held.dollars();
    let off = (estimated.expected - actual).abs() / actual;
    assert!(off < 0.05, "{estimated:?} for {actual}");
    assert!(estimated.low <= estimated.expected && estimated.expected <= estimated.high);
}

#[tokio::test]
async fn an_estimate_makes_nothing_and_sends_nothing() {
    let house = House::new(SCENARIO).await;
    for model in [MODEL, "gemini/gemini-3.8-flash"] {
        let root = house.root(model).await;
        house.say(root, "Please look around.").await;
        let (sent, agents) = (house.bodies().len(), agents(&house).await);
        estimate(&house, root, 8).await;
        assert_eq!(house.bodies().len(), sent);
        assert_eq!(self::agents(&house).await, agents);
    }
}

#[tokio::test]
async fn a_price_that_is_not_known_is_not_guessed() {
    let house = House::new(SCENARIO).await;
    let root = house.root("anthropic/nobody-knows").await;
    house.say(root, "Please look around.").await;
    let estimated = estimate(&house, root, 8).await;
    assert!(estimated.estimate.is_none() && estimated.expectation.prefix > 4_000);
}

#[tokio::test]
async fn a_lost_cache_shows_in_the_efficiency_of_each_fork() {
    let scenario = SCENARIO.replacen("[[turn]]", "first_byte_ms = 300\n\n[[turn]]", 1);
    let house = House::new(&scenario).await;
    let root = house.root(MODEL).await;
    house.say(root, "Please look around.").await;
    let efficiencies = |report: &FanReport| -> Vec<f64> {
        report.cache.forks.iter().map(|cost| cost.unwrap().efficiency()).collect()
    };
    let warm = efficiencies(&house.fan(root, 4, Asked::Auto).await);
    assert!(warm.iter().all(|efficiency| *efficiency > 0.5), "{warm:?}");
    house.clock.advance_ms(LONG_AGO_MS);
    let led = efficiencies(&house.fan(root, 4, Asked::Leader).await);
    assert!(led[0] < 0.2 && led[1..].iter().all(|efficiency| *efficiency > 0.5), "{led:?}");
    house.clock.advance_ms(LONG_AGO_MS);
    let lost = efficiencies(&house.fan(root, 4, Asked::Together).await);
    assert!(lost.iter().all(|efficiency| *efficiency < 0.2), "{lost:?}");
}

#[tokio::test]
async fn workers_that_a_model_wants_are_priced_before_they_are_made() {
    let house = House::new(SCENARIO).await;
    let root = house.root(MODEL).await;
    house.say(root, "Please look around.").await;
    let asked = directives(0, 3);
    let dear = |threshold| house.runtime.too_dear(root, &asked, threshold, CachePolicy::default());
    let expected = dear(0.0).await.unwrap().unwrap().estimate.unwrap().expected;
    assert!(expected > 0.0);
    assert!(dear(expected).await.unwrap().is_none());
    assert_eq!(agents(&house).await, 1);
}
