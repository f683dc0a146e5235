//! Servers of one's own: each kind is known by its own words, and a fan goes by how it keeps its cache. The simulator's accounting
//! is exact, so what a child read is known to the token.

use tine_cache::{Asked, Launch};
use tine_fork::run::RunEvent;
use tine_model::{AgentId, TaskStatus, Usage};
use tine_runtime::{CachePolicy, EstimateSpec, FanReport, FanSpec};

use crate::house::{House, options, seeing};

const MODEL: &str = "openai-compat/m";

/// Workers take three turns, of which two call a tool.
const THREE_TURNS: &str = r#"
[[turn]]
when = { user_contains = "Task number", tool_results = 0 }
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.ledger" } }]

[[turn]]
when = { user_contains = "Task number", tool_results = 1 }
text = "I look again."
tool_calls = [{ name = "Glob", input = { pattern = "*.rope" } }]

[[turn]]
when = { user_contains = "Task number" }
text = "Scope: my task\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"

[[turn]]
text = "All is well."
"#;

fn scenario(profile: &str, turns: &str) -> String {
    format!("name = \"own\"\nprofile = \"{profile}\"\nreport_cached_tokens = true\n{turns}")
}

const ONE_TURN: &str = r#"
[[turn]]
when = { user_contains = "Task number" }
text = "Scope: my task\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"
fault = { first_byte_ms = 20 }

[[turn]]
text = "All is well."
"#;

/// A house whose parent is warm, and the tokens that the server holds of it.
async fn warm(scenario: &str) -> (House, AgentId, u64) {
    let house = House::new(scenario).await;
    let root = house.root(MODEL).await;
    let report = house.say(root, "Please look around.").await;
    let last = report.requests.last().unwrap().usage;
    (house, root, last.prompt() + last.output)
}

fn read(usage: &Usage) -> u64 {
    usage.read.unwrap_or(0)
}

/// The tokens that each worker read with its first request, in order of size.
async fn first_reads(house: &House, report: &FanReport) -> Vec<u64> {
    let mut reads = Vec::new();
    for task in &report.tasks {
        assert_eq!(task.status, TaskStatus::Completed);
        let explained = house.runtime.explain_cache(task.agent).await.unwrap();
        reads.push(read(&explained[0].usage.unwrap()));
    }
    reads.sort_unstable();
    reads
}

#[tokio::test]
async fn four_children_of_a_warm_parent_read_all_of_it_from_a_llama_server() {
    let (house, root, held) = warm(&scenario("llamacpp", ONE_TURN)).await;
    let report = house.fan(root, 4, Asked::Auto).await;
    assert_eq!((report.cache.plan.launch, report.cache.plan.at_once), (Launch::InTurn, Some(1)));
    let reads = first_reads(&house, &report).await;
    assert!(reads[0] >= held, "{reads:?} of {held}");
    for task in &report.tasks {
        assert_eq!(house.verdicts(task.agent).await, ["ok"]);
    }
    let reason = report.cache.plan.reason;
    assert!(reason.contains("each of the server's 4 slots has a cache of its own"), "{reason}");
    assert!(reason.contains("one holds them: in turn, each reads them"), "{reason}");
}

#[tokio::test]
async fn a_cold_prefix_is_computed_once_whatever_slot_it_lands_in() {
    let house = House::new(&scenario("llamacpp", ONE_TURN)).await;
    let root = house.root(MODEL).await;
    let report = house.fan(root, 4, Asked::Auto).await;
    assert_eq!(report.cache.plan.launch, Launch::InTurn);
    let reads = first_reads(&house, &report).await;
    assert_eq!(reads[0], 0);
    assert!(reads[1] > 4_000, "{reads:?}");
}

#[tokio::test]
async fn together_they_compute_it_again_and_are_told_why() {
    // Long enough for all to be there before the first is answered.
    let slow = ONE_TURN.replace("first_byte_ms = 20", "first_byte_ms = 1000");
    let (house, root, held) = warm(&scenario("llamacpp", &slow)).await;
    let report = house.fan(root, 4, Asked::Together).await;
    assert_eq!(report.cache.plan.launch, Launch::Together);
    let reads = first_reads(&house, &report).await;
    assert_eq!(reads[..3], [0, 0, 0]);
    assert!(reads[3] >= held, "{reads:?} of {held}");
    let mut verdicts = Vec::new();
    let mut words = String::new();
    for task in &report.tasks {
        let explained = house.runtime.explain_cache(task.agent).await.unwrap();
        verdicts.push(explained[0].verdict.clone().unwrap());
        if verdicts.last().is_some_and(|verdict| verdict == "race") {
            words = explained[0].note.as_ref().unwrap().why.clone();
        }
    }
    verdicts.sort_unstable();
    // Whom the server takes first is its own affair: the one that was to have the slot may have come second.
    let last = verdicts.pop().unwrap_or_default();
    assert_eq!(verdicts, ["ok", "race", "race"]);
    assert!(["race", "unreliable"].contains(&last.as_str()), "{last}");
    insta::assert_snapshot!(words, @"the prefix is held by one of 4 slots, which was at work for another request, and slots share nothing");
    // Four slots hold it from now on.
    let again = house.fan(root, 4, Asked::Auto).await;
    assert_eq!(again.cache.plan.launch, Launch::Together, "{}", again.cache.plan.reason);
    let reads = first_reads(&house, &again).await;
    assert!(reads[0] >= held, "{reads:?} of {held}");
}

#[tokio::test]
async fn a_worker_keeps_its_slot_from_turn_to_turn() {
    let (house, root, held) = warm(&scenario("llamacpp", THREE_TURNS)).await;
    let report = house.fan(root, 4, Asked::Auto).await;
    for task in &report.tasks {
        let requests = house.runtime.explain_cache(task.agent).await.unwrap();
        let usages: Vec<Usage> = requests.iter().map(|request| request.usage.unwrap()).collect();
        assert_eq!(usages.len(), 3);
        assert!(read(&usages[0]) >= held, "{usages:?} of {held}");
        for pair in usages.windows(2) {
            assert!(read(&pair[1]) >= pair[0].prompt() + pair[0].output, "{usages:?}");
        }
        assert_eq!(house.verdicts(task.agent).await, ["ok", "ok", "ok"]);
    }
}

#[tokio::test]
async fn what_a_later_worker_left_in_the_slot_is_known_to_a_later_process() {
    let (house, root, held) = warm(&scenario("llamacpp", ONE_TURN)).await;
    let directives = vec!["Task number 000.".to_owned(), "Task number 001.".to_owned()];
    let spec = FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Auto };
    house.clock.advance_ms(1_000);
    let a_second_passes_with_each_answer = |step: &RunEvent| {
        if matches!(step, RunEvent::Answered(_)) {
            house.clock.advance_ms(1_000);
        }
    };
    let options = options();
    let fan = house.runtime.fan(spec, &options);
    let first = seeing(&house.runtime, fan, a_second_passes_with_each_answer).await.unwrap();
    let house = house.reopened().await;
    house.clock.advance_ms(1_000);
    let report = house.fan(root, 3, Asked::Auto).await;
    let plan = &report.cache.plan;
    assert_eq!((plan.launch, plan.at_once), (Launch::InTurn, Some(1)), "{}", plan.reason);
    assert!(first_reads(&house, &report).await[0] >= held);
    for task in &report.tasks {
        assert_eq!(house.verdicts(task.agent).await, ["ok"]);
    }
    // The slot of the first worker has gone to its siblings: no more than what they share is expected of it.
    let again = house.say(first.tasks[0].agent, "Please go on.").await;
    assert!(read(&again.requests[0].usage) >= held);
    assert_eq!(house.verdicts(first.tasks[0].agent).await.last().unwrap(), "ok");
}

#[tokio::test]
async fn an_estimate_says_how_a_servers_slots_make_workers_wait() {
    let (house, root, _) = warm(&scenario("llamacpp", ONE_TURN)).await;
    let spec = EstimateSpec {
        parent: root,
        at: None,
        directives: vec!["One.".to_owned(), "Two.".to_owned()],
        workers: true,
        plan: Asked::Auto,
        turns: Some(1),
        output_tokens: Some(10),
    };
    let estimate = house.runtime.estimate(spec, CachePolicy::default()).await.unwrap();
    assert_eq!(estimate.plan.launch, Launch::InTurn);
    assert_eq!(estimate.expectation.gap, 0);
}

#[tokio::test]
async fn where_all_share_blocks_one_goes_first_and_a_warm_prefix_holds_nobody_back() {
    for profile in ["vllm", "sglang"] {
        let house = House::new(&scenario(profile, ONE_TURN)).await;
        let root = house.root(MODEL).await;
        let report = house.fan(root, 4, Asked::Auto).await;
        assert_eq!(report.cache.plan.launch, Launch::LeaderFirst, "{profile}");
        let reads = first_reads(&house, &report).await;
        assert_eq!(reads[0], 0, "{profile}");
        assert!(reads[1] > 4_000, "{profile}: {reads:?}");
        house.say(root, "Please look around.").await;
        let report = house.fan(root, 4, Asked::Auto).await;
        assert_eq!(report.cache.plan.launch, Launch::Together, "{profile}");
        assert!(first_reads(&house, &report).await[0] > 4_000, "{profile}");
    }
}

#[tokio::test]
async fn ollama_computes_one_request_at_a_time_and_says_nothing_of_its_cache() {
    let (house, root, _) = warm(&scenario("ollama", ONE_TURN)).await;
    let report = house.fan(root, 3, Asked::Auto).await;
    assert_eq!((report.cache.plan.launch, report.cache.plan.at_once), (Launch::InTurn, Some(1)));
    assert!(report.cache.plan.reason.contains("one request at a time"));
    for task in &report.tasks {
        assert_eq!(task.status, TaskStatus::Completed);
        assert_eq!(house.verdicts(task.agent).await, ["unknown"]);
    }
}
