//! Fans whose workers go in more than two stages: where two must go before the rest, and where one machine is not enough.

use tine_cache::{Asked, Models, Shape, closed_forms};
use tine_fork::run::RunLimits;
use tine_model::{Lifetime, Outcome, TaskStatus, Usage};
use tine_runtime::RunOptions;

use crate::SCENARIO;
use crate::house::{House, options};

/// Long enough for every entry to be gone.
const LONG_AGO_MS: i64 = 13 * 60 * 60 * 1000;

const DEEPSEEK: &str = "deepseek/deepseek-v4-flash";

const OPENAI: &str = "openai/gpt-6.1-sol";

/// A long result that no request has carried yet when the fan begins.
const COUNTING: &str = r#"
[[turn]]
when = { user_contains = "count", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "seq 1 2000" } }]
"#;

/// Sum of tokens: uncached, written, read.
fn sum(bills: &[Usage]) -> (u64, u64, u64) {
    bills.iter().fold((0, 0, 0), |sum, bill| {
        (sum.0 + bill.uncached, sum.1 + bill.written(), sum.2 + bill.read.unwrap())
    })
}

/// Bills of eight workers that begin in the middle of a turn: the results of the parent's calls were not sent yet.
async fn mid_turn_fan(is_cold: bool) -> Vec<Usage> {
    let scenario = SCENARIO.replacen("[[turn]]", &format!("{COUNTING}\n[[turn]]"), 1);
    let house = House::new(&scenario).await;
    let root = house.root(DEEPSEEK).await;
    let one = RunOptions { limits: RunLimits { turns: 1, ..RunLimits::default() }, ..options() };
    let run = house.runtime.run(root, Some("Please count.".into()), &one).await.unwrap();
    assert_eq!(run.report.outcome, Outcome::TurnLimit);
    if is_cold {
        house.clock.advance_ms(LONG_AGO_MS);
    }
    let before = house.billed().len();
    let report = house.fan(root, 8, Asked::Leader).await;
    assert!(report.tasks.iter().all(|task| task.status == TaskStatus::Completed));
    assert_eq!(report.cache.plan.stages, [1, 1]);
    house.billed().split_off(before)
}

/// `2(P+D) + 6(rP + D)`, where the first two read what the parent's last exchange left.
#[tokio::test]
async fn where_only_whole_requests_are_kept_exactly_two_miss() {
    for is_cold in [true, false] {
        let bills = mid_turn_fan(is_cold).await;
        let prefix = bills[7].read.unwrap();
        let covered = bills[0].read.unwrap();
        assert_eq!(covered == 0, is_cold);
        assert!(prefix > covered + 1_000, "{bills:?}");
        let reads: Vec<u64> = bills.iter().map(|bill| bill.read.unwrap()).collect();
        let expected = [vec![covered; 2], vec![prefix; 6]].concat();
        assert_eq!(reads, expected);
        let shape = Shape {
            siblings: 8,
            prefix_tokens: prefix,
            gap_tokens: prefix - covered,
            directive_tokens: bills[0].prompt() - prefix,
            lifetime: Lifetime::Short,
            marks_tail: true,
        };
        let form = closed_forms(&shape, &Models::bundled().facts(DEEPSEEK)).leader_first.tokens();
        assert_eq!(sum(&bills), sum(&[form]));
    }
}

/// `swP + (N−s)rP`: one write for each machine, whatever the number of those who land there.
#[tokio::test]
async fn every_machine_is_written_once() {
    for (count, stages, machines) in [(20, vec![1, 14, 1], 2), (33, vec![1, 14, 1, 14, 1], 3)] {
        let house = House::new(SCENARIO).await;
        let root = house.root(OPENAI).await;
        house.say(root, "Please look around.").await;
        house.clock.advance_ms(LONG_AGO_MS);
        let before = house.billed().len();
        let report = house.fan(root, count, Asked::Auto).await;
        let plan = &report.cache.plan;
        assert_eq!(plan.stages, stages, "{}", plan.reason);
        let bills = house.billed().split_off(before);
        let cold = bills.iter().filter(|bill| bill.read == Some(0)).count();
        assert_eq!((bills.len(), cold), (count, machines), "{bills:?}");
        let prefix = bills.iter().filter_map(|bill| bill.read).max().unwrap();
        let own = bills[0].prompt() - prefix;
        let (n, s) = (count as u64, machines as u64);
        let (uncached, written, read) = sum(&bills);
        assert_eq!((uncached + written, read), (s * prefix + n * own, (n - s) * prefix));
    }
}

/// The first machine has served requests of this minute already, and knows the prefix; the second one does not.
#[tokio::test]
async fn a_warm_fan_fills_its_machine_before_it_writes_to_another() {
    let house = House::new(SCENARIO).await;
    let root = house.root(OPENAI).await;
    house.say(root, "Please look around.").await;
    let before = house.billed().len();
    assert_eq!(before, 2);
    let report = house.fan(root, 20, Asked::Auto).await;
    let plan = &report.cache.plan;
    assert_eq!(
        (&plan.waves[..], &plan.stages[..]),
        (&[13, 7][..], &[13, 1][..]),
        "{}",
        plan.reason
    );
    let bills = house.billed().split_off(before);
    let cold = bills.iter().filter(|bill| bill.read == Some(0)).count();
    assert_eq!((bills.len(), cold), (20, 1), "{bills:?}");
}
