//! Fan-outs: the provider's bill equals the closed forms to the token.

use tine_cache::{Asked, Models, Shape, closed_forms};
use tine_model::{Lifetime, TaskStatus, Usage};

use crate::house::House;
use crate::{LONG_AGO_MS, SCENARIO};

const OPUS: &str = "anthropic/claude-opus-5-5";

/// A scenario in which the first worker meets a fault.
fn with_leader_fault(fault: &str) -> String {
    let rule = format!(
        "[[turn]]\nwhen = {{ user_contains = \"Task number 000\" }}\n\
         text = \"Scope: my task\\nResult: late\"\nfault = {{ times = 1, {fault} }}\n"
    );
    SCENARIO.replacen("[[turn]]", &format!("{rule}\n[[turn]]"), 1)
}

/// Bills of the workers' requests, when a fan of `count` starts on a cold prefix.
async fn cold_fan(scenario: &str, count: usize, plan: Asked) -> (Vec<Usage>, usize) {
    let house = House::new(scenario).await;
    let root = house.root(OPUS).await;
    house.say(root, "Please look around.").await;
    let before = house.billed().len();
    house.clock.advance_ms(LONG_AGO_MS);
    let report = house.fan(root, count, plan).await;
    let completed = report.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
    (house.billed().split_off(before), completed)
}

/// The prefix is written once and read by everybody else, to the token.
fn assert_led(bills: &[Usage]) {
    let leaders: Vec<&Usage> = bills.iter().filter(|bill| bill.read == Some(0)).collect();
    assert_eq!(leaders.len(), 1, "{bills:?}");
    let prefix_tokens = bills.iter().filter_map(|bill| bill.read).max().unwrap();
    let directive_tokens = leaders[0].prompt() - prefix_tokens;
    assert!(prefix_tokens > 4_000 && directive_tokens > 0);
    let shape = Shape {
        siblings: bills.len() as u64,
        prefix_tokens,
        gap_tokens: prefix_tokens,
        directive_tokens,
        lifetime: Lifetime::Short,
        marks_tail: true,
    };
    let expected = closed_forms(&shape, &Models::bundled().facts(OPUS)).leader_first.tokens();
    let sum = |part: fn(&Usage) -> u64| bills.iter().map(part).sum::<u64>();
    assert_eq!(sum(|bill| bill.uncached), expected.uncached);
    assert_eq!(sum(Usage::written), expected.written());
    assert_eq!(Some(sum(|bill| bill.read.unwrap_or(0))), expected.read);
}

#[tokio::test]
async fn a_led_cold_fan_writes_the_prefix_once_whatever_its_size() {
    for count in [2, 3, 8, 64] {
        let (bills, completed) = cold_fan(SCENARIO, count, Asked::Leader).await;
        assert_eq!((bills.len(), completed), (count, count));
        assert_led(&bills);
    }
}

#[tokio::test]
async fn a_cold_fan_that_starts_together_pays_for_every_copy() {
    let scenario = SCENARIO.replacen("[[turn]]", "first_byte_ms = 1000\n\n[[turn]]", 1);
    let (bills, completed) = cold_fan(&scenario, 8, Asked::Together).await;
    assert_eq!(completed, 8);
    let each = bills[0].prompt();
    assert!(bills.iter().all(|bill| (bill.read, bill.written()) == (Some(0), each)), "{bills:?}");
}

#[tokio::test]
async fn a_slow_leader_is_worth_waiting_for() {
    let (bills, completed) =
        cold_fan(&with_leader_fault("first_byte_ms = 300"), 8, Asked::Leader).await;
    assert_eq!(completed, 8);
    assert_led(&bills);
}

#[tokio::test]
async fn a_leader_that_fails_for_good_is_replaced() {
    let (bills, completed) = cold_fan(&with_leader_fault("status = 400"), 8, Asked::Leader).await;
    assert_eq!(completed, 7);
    assert_led(&bills);
}

#[tokio::test]
async fn a_leader_that_is_overloaded_or_limited_leads_when_it_is_let() {
    for fault in ["status = 529", "status = 429, retry_after = 1"] {
        let (bills, completed) = cold_fan(&with_leader_fault(fault), 8, Asked::Leader).await;
        assert_eq!(completed, 8, "{fault}");
        assert_led(&bills);
    }
}

#[tokio::test]
async fn a_warm_fan_writes_only_what_is_new() {
    let house = House::new(SCENARIO).await;
    let root = house.root(OPUS).await;
    house.say(root, "Please look around.").await;
    let parent = *house.billed().last().unwrap();
    let before = house.billed().len();
    let report = house.fan(root, 8, Asked::Auto).await;
    assert!(report.cache.cost.unwrap().efficiency() > 0.5, "{:?}", report.cache.cost);
    for bill in house.billed().split_off(before) {
        assert!(bill.read.unwrap() >= parent.prompt(), "{bill:?}");
    }
}

#[tokio::test]
async fn two_forks_that_meet_on_a_cold_prefix_share_one_writer() {
    let scenario = SCENARIO.replacen("[[turn]]", "first_byte_ms = 200\n\n[[turn]]", 1);
    let house = House::new(&scenario).await;
    let root = house.root(OPUS).await;
    house.say(root, "Please look around.").await;
    let fork = |name: &str| tine_runtime::ForkSpec {
        name: Some(name.to_owned()),
        ..tine_runtime::ForkSpec::of(root)
    };
    let one = house.runtime.fork(fork("one")).await.unwrap().child;
    let two = house.runtime.fork(fork("two")).await.unwrap().child;
    house.clock.advance_ms(LONG_AGO_MS);
    let before = house.billed().len();
    // The parent's own next turn shares their prefix too.
    let (a, b, c) = tokio::join!(
        house.say(one, "Good day."),
        house.say(two, "Good day."),
        house.say(root, "Good day.")
    );
    assert_eq!([a.turns, b.turns, c.turns], [1; 3]);
    let bills = house.billed().split_off(before);
    let writers = bills.iter().filter(|bill| bill.read == Some(0)).count();
    assert_eq!((bills.len(), writers), (3, 1), "{bills:?}");
}

#[tokio::test]
async fn a_fan_waits_for_its_parents_own_turn() {
    let scenario = SCENARIO.replacen("[[turn]]", "first_byte_ms = 200\n\n[[turn]]", 1);
    let house = House::new(&scenario).await;
    let root = house.root("anthropic/claude-opus-5-5").await;
    house.say(root, "Please look around.").await;
    let spec = tine_runtime::ForkSpec::of(root);
    let child = house.runtime.fork(spec).await.unwrap().child;
    house.clock.advance_ms(LONG_AGO_MS);
    let before = house.billed().len();
    let (said, fan) =
        tokio::join!(house.say(child, "Good day."), house.fan(root, 3, Asked::Leader));
    assert_eq!((said.turns, fan.tasks.len()), (1, 3));
    let bills = house.billed().split_off(before);
    let writers = bills.iter().filter(|bill| bill.read == Some(0)).count();
    assert_eq!((bills.len(), writers), (4, 1), "{bills:?}");
}
