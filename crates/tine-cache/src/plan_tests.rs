use super::*;
use crate::models::Models;

fn situation(siblings: usize, gap_tokens: u64) -> Situation {
    Situation {
        siblings,
        prefix_tokens: 100_000,
        gap_tokens,
        directive_tokens: 500,
        value_per_second: 0.01,
        ..Situation::default()
    }
}

fn planned(model: &str, situation: &Situation) -> Plan {
    plan(situation, &Models::bundled().facts(model))
}

const OPUS: &str = "anthropic/claude-opus-5-5";

#[test]
fn a_cold_prefix_has_a_leader_and_a_warm_one_has_none() {
    let check = |siblings, gap, launch, warmth| {
        let plan = planned(OPUS, &situation(siblings, gap));
        assert_eq!((plan.launch, plan.warmth), (launch, warmth), "{siblings} {gap}");
    };
    check(8, 100_000, Launch::LeaderFirst, Warmth::Cold);
    check(8, 20_000, Launch::LeaderFirst, Warmth::Gap);
    check(8, 0, Launch::Together, Warmth::Warm);
    check(1, 100_000, Launch::Together, Warmth::Cold);
    check(0, 100_000, Launch::Together, Warmth::Cold);
    check(2, u64::MAX, Launch::LeaderFirst, Warmth::Cold);
}

/// Opus 5.5, eight siblings: 1,000 tokens save $0.03, 4,000 save $0.13, 20,000 $0.67, 100,000 $3.36.
#[test]
fn waiting_saves_what_the_formula_says() {
    let saved = |gap| format!("{:.2}", planned(OPUS, &situation(8, gap)).saved_by_waiting);
    assert_eq!([1_000, 4_000, 20_000, 100_000].map(saved), ["0.03", "0.13", "0.67", "3.36"]);
}

#[test]
fn siblings_wait_only_for_what_is_worth_it() {
    let launch = |value_per_second| {
        let situation = Situation { value_per_second, ..situation(8, 1_000) };
        planned(OPUS, &situation).launch
    };
    // The wait of two seconds saves 3.36 cents.
    assert_eq!(launch(0.016), Launch::LeaderFirst);
    assert_eq!(launch(0.017), Launch::Together);
    assert_eq!(launch(-1.0), Launch::LeaderFirst);
    let measured = Situation { first_event_ms: Some(10_000), ..situation(8, 1_000) };
    assert_eq!(planned(OPUS, &measured).price_of_waiting, 0.1);
    assert_eq!(planned(OPUS, &measured).launch, Launch::Together);
}

#[test]
fn without_a_price_any_gap_that_is_kept_is_waited_for() {
    let launch = |gap| planned("anthropic/unknown", &situation(8, gap)).launch;
    assert_eq!(launch(512), Launch::LeaderFirst);
    assert_eq!(launch(511), Launch::Together);
    assert_eq!(planned("anthropic/unknown", &situation(8, 512)).costs, None);
}

#[test]
fn what_is_asked_for_is_done() {
    let asked = |asked, gap| planned(OPUS, &Situation { asked, ..situation(8, gap) }).launch;
    assert_eq!(asked(Asked::Together, 100_000), Launch::Together);
    assert_eq!(asked(Asked::Leader, 0), Launch::LeaderFirst);
}

#[test]
fn where_only_whole_requests_are_kept_two_lead_or_nobody_does() {
    let hurry = Situation { value_per_second: 0.1, ..situation(8, 100_000) };
    let plan = planned("deepseek/deepseek-v4-pro", &hurry);
    assert_eq!((plan.launch, plan.leaders), (Launch::Together, 0), "{}", plan.reason);
    let hurry_not = Situation { value_per_second: 0.0, ..situation(8, 100_000) };
    let plan = planned("deepseek/deepseek-v4-pro", &hurry_not);
    assert_eq!((plan.launch, plan.leaders), (Launch::LeaderFirst, 2), "{}", plan.reason);
    // Two siblings would both be leaders.
    let pair = Situation { siblings: 2, ..hurry_not };
    assert_eq!(planned("deepseek/deepseek-v4-pro", &pair).launch, Launch::Together);
    assert_eq!(planned("deepseek/unknown", &pair).launch, Launch::Together);
}

#[test]
fn waves_keep_within_what_one_key_bears() {
    let waves = |model: &str, siblings| planned(model, &situation(siblings, 0)).waves;
    assert_eq!(waves("openai/gpt-6-sol", 33), [15, 15, 3]);
    assert_eq!(waves("openai/gpt-6-sol", 15), [15]);
    assert_eq!(waves(OPUS, 33), [33]);
    assert_eq!(waves(OPUS, 0), Vec::<usize>::new());
}

const SOL: &str = "openai/gpt-6.1-sol";

#[test]
fn the_machine_of_the_parent_has_less_room() {
    let waves = |recent_requests, siblings| {
        planned(SOL, &Situation { recent_requests, ..situation(siblings, 0) }).waves
    };
    assert_eq!(waves(5, 33), [10, 15, 8]);
    assert_eq!(waves(20, 8), [8]);
    assert_eq!(waves(30, 16), [15, 1]);
}

/// A write of 100,000 tokens saves a reader of a cold machine $0.24; waiting for it, twice two seconds, is worth $0.04.
#[test]
fn one_goes_first_on_every_machine_when_that_is_worth_it() {
    let stages = |situation: Situation| planned(SOL, &situation).stages;
    assert_eq!(stages(situation(20, 100_000)), [1, 14, 1]);
    assert_eq!(stages(situation(20, 0)), [15, 1]);
    assert_eq!(stages(situation(33, 0)), [15, 1, 14, 1]);
    // Alone on its machine: there is nobody to go first for.
    assert_eq!(stages(situation(16, 0)), Vec::<usize>::new());
    let hurry = Situation { value_per_second: 0.25, ..situation(20, 0) };
    assert_eq!(stages(hurry), Vec::<usize>::new());
    assert_eq!(
        stages(Situation { asked: Asked::Together, ..situation(20, 0) }),
        Vec::<usize>::new()
    );
    assert_eq!(stages(Situation { prefix_tokens: 900, ..situation(20, 0) }), Vec::<usize>::new());
    assert_eq!(planned(OPUS, &situation(20, 100_000)).stages, [1]);
    let two = Situation { value_per_second: 0.0, ..situation(8, 100_000) };
    assert_eq!(planned("deepseek/deepseek-v4-pro", &two).stages, [1, 1]);
}

/// `swP + (N−s)rP + NwD`.
#[test]
fn every_further_machine_costs_one_write_more() {
    let facts = Models::bundled().facts(SOL);
    let price = facts.prices.at(0).unwrap();
    let bill =
        |situation: &Situation| plan(situation, &facts).bill(situation, &facts).dollars(&price);
    let expected = |s: f64| (s * 2.5 * 100_000.0 + (20.0 - s) * 0.1 * 100_000.0) / 1e6 + 0.025;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    near(bill(&situation(20, 100_000)), expected(2.0));
    near(bill(&situation(20, 0)), expected(1.0));
    // Nobody goes first: all five of the second machine write.
    let hurry = Situation { value_per_second: 0.25, ..situation(20, 0) };
    near(bill(&hurry), expected(5.0));
}

#[test]
fn a_tier_is_counted_in() {
    let below = Situation { prefix_tokens: 99_000, ..situation(8, 0) };
    let above = Situation { prefix_tokens: 101_000, ..situation(8, 0) };
    let warm = |situation| planned("anthropic/claude-haiku-5-5", situation).costs.unwrap().warm;
    assert!(warm(&above) > 4.9 * warm(&below));
}

#[test]
fn the_reason_reads_well() {
    let reason = |model: &str, situation: Situation| planned(model, &situation).reason;
    let small = Situation { value_per_second: 1.0, ..situation(8, 1_000) };
    let short = Situation { prefix_tokens: 300, ..situation(8, 300) };
    let asked = Situation { asked: Asked::Leader, ..situation(8, 0) };
    let reasons = [
        reason(OPUS, situation(8, 100_000)),
        reason(OPUS, situation(8, 0)),
        reason(OPUS, small),
        reason(OPUS, short),
        reason(OPUS, situation(1, 0)),
        reason(OPUS, asked),
        reason("anthropic/unknown", situation(8, 20_000)),
        reason("anthropic/unknown", situation(8, 20)),
        reason(SOL, situation(20, 100_000)),
        reason(SOL, Situation { value_per_second: 0.25, ..situation(20, 0) }),
        reason("openai/unknown", situation(20, 0)),
    ];
    insta::assert_snapshot!(reasons.join("\n"), @r"
    100,000 of 100,000 tokens are not in the cache: a wait of 2.0 s, worth $0.0200, saves $3.36
    all 100,000 tokens of the prefix are in the cache
    1,000 of 100,000 tokens are not in the cache, but a wait of 2.0 s, worth $2.00, saves only $0.0336
    the prefix of 300 tokens is shorter than the 512 that are cached
    there is nobody to share the prefix with
    one goes first, as asked
    20,000 tokens are not in the cache, and no price says that a wait is not worth it
    only 20 tokens are not in the cache
    100,000 of 100,000 tokens are not in the cache: a wait of 2.0 s, worth $0.0200, saves $3.36; 15 requests a minute are what one machine takes, so 2 hold the prefix: one goes first on each, which saves $0.9600
    all 100,000 tokens of the prefix are in the cache; 15 requests a minute are what one machine takes, so 2 hold the prefix: leaders there would save $0.9600 and take time worth $1.00
    all 100,000 tokens of the prefix are in the cache; 15 requests a minute are what one machine takes, so 2 hold the prefix: one goes first on each
    ");
}

/// llama-server as it was measured: 4 slots, of which one holds the prefix of a warm parent.
fn in_slots(slots: u32, situation: &Situation) -> Plan {
    let facts = Models::bundled().facts("llama-server/any");
    plan(situation, &Facts { slots: Some(slots), ..facts })
}

#[test]
fn where_slots_share_nothing_siblings_go_in_turn() {
    let check = |slots, slots_holding, siblings, gap, launch, at_once| {
        let plan = in_slots(slots, &Situation { slots_holding, ..situation(siblings, gap) });
        assert_eq!((plan.launch, plan.at_once), (launch, at_once), "{}", plan.reason);
        assert_eq!(plan.stages, Vec::<usize>::new());
    };
    check(4, 1, 4, 0, Launch::InTurn, Some(1));
    check(4, 0, 4, 100_000, Launch::InTurn, Some(1));
    check(4, 2, 4, 0, Launch::InTurn, Some(2));
    check(4, 4, 4, 0, Launch::Together, None);
    check(4, 9, 5, 0, Launch::InTurn, Some(4));
    check(4, 1, 1, 0, Launch::Together, None);
    check(1, 1, 4, 0, Launch::InTurn, Some(1));
    let together = Situation { asked: Asked::Together, ..situation(4, 0) };
    assert_eq!(in_slots(4, &together).launch, Launch::Together);
    let leader = Situation { asked: Asked::Leader, ..situation(4, 0) };
    assert_eq!(in_slots(4, &leader).launch, Launch::InTurn);
}

/// Each sibling that starts at once in a slot of its own pays for the whole prefix.
#[test]
fn what_slots_cost_counts_the_prefix_once_a_slot() {
    let priced = Models::bundled().facts("openai/gpt-5.4");
    let facts = Facts { slots: Some(4), min_tokens: 1, step_tokens: 1, ..priced };
    let price = facts.prices.at(0).unwrap();
    let warm = Situation { slots_holding: 1, ..situation(4, 0) };
    let dollars =
        |situation: &Situation| plan(situation, &facts).bill(situation, &facts).dollars(&price);
    let (whole, read) = (100_000.0 * price.base.input / 1e6, 100_000.0 * price.base.read / 1e6);
    let own = 4.0 * 500.0 * price.base.input / 1e6;
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    near(dollars(&warm), 4.0 * read + own);
    near(dollars(&Situation { asked: Asked::Together, ..warm }), read + 3.0 * whole + own);
    let cold = Situation { slots_holding: 0, ..situation(4, 100_000) };
    near(dollars(&cold), whole + 3.0 * read + own);
    assert!(plan(&warm, &facts).saved_by_waiting > 0.0);
}

#[test]
fn the_reason_of_slots_reads_well() {
    let reason = |slots, slots_holding, siblings, gap| {
        in_slots(slots, &Situation { slots_holding, ..situation(siblings, gap) }).reason
    };
    let together = Situation { asked: Asked::Together, ..situation(4, 0) };
    let reasons = [
        reason(4, 1, 4, 0),
        reason(4, 2, 4, 0),
        reason(4, 4, 4, 0),
        reason(4, 0, 4, 100_000),
        reason(1, 1, 4, 0),
        reason(1, 0, 4, 20_000),
        reason(4, 1, 1, 0),
        in_slots(4, &together).reason,
    ];
    insta::assert_snapshot!(reasons.join("\n"), @r"
    all 100,000 tokens of the prefix are in the cache, but each of the server's 4 slots has a cache of its own, and one holds them: in turn, each reads them
    all 100,000 tokens of the prefix are in the cache, but each of the server's 4 slots has a cache of its own, and 2 hold them: 2 at a time, each reads them
    all 100,000 tokens of the prefix are in the cache, in a slot for each
    100,000 of 100,000 tokens are not in the cache, and each of the server's 4 slots has a cache of its own: in turn, only the first computes them
    all 100,000 tokens of the prefix are in the cache, and the server computes one request at a time: in turn, each reads them
    20,000 of 100,000 tokens are not in the cache, and the server computes one request at a time: in turn, only the first computes them
    there is nobody to share the prefix with
    all start together, as asked, though each of the server's 4 slots has a cache of its own
    ");
}
