//! A prefix that the provider holds for a fan's workers: Gemini's cached contents.

use tine_cache::Asked;
use tine_model::{AgentId, ModelSettings, TaskStatus, Usage};
use tine_runtime::{EventFilter, FanReport, FanSpec, NewRoot};

use crate::SCENARIO;
use crate::house::{House, options, until_command};

const MODEL: &str = "gemini/gemini-3.8-flash";

const HOUR_MS: i64 = 60 * 60 * 1000;

/// Workers look once before they report.
const TWO_TURNS: &str = r#"
[[turn]]
when = { user_contains = "Task number", tool_results = 0 }
tool_calls = [{ name = "Glob", input = { pattern = "*.ledger" } }]
"#;

/// Workers wait for a file before they report.
const BUSY: &str = r#"
[[turn]]
when = { user_contains = "Task number", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "while [ ! -e go ]; do sleep 0.01; done" } }]
"#;

fn scenario(first: &str) -> String {
    SCENARIO.replacen("[[turn]]", &format!("{first}\n[[turn]]"), 1)
}

/// A parent that has looked around, at a provider that plays this scenario.
async fn parent(scenario: &str) -> (House, AgentId) {
    let house = House::new(scenario).await;
    let root = house.root(MODEL).await;
    house.say(root, "Please look around.").await;
    (house, root)
}

fn spec(parent: AgentId, count: usize) -> FanSpec {
    let directives = (0..count).map(|index| format!("Task number {index:03}.")).collect();
    FanSpec { fork: tine_runtime::ForkSpec::of(parent), directives, plan: Asked::Auto }
}

/// What was asked of cached contents: path, and status of the answer. Creation has no name in its path.
fn resources(house: &House) -> Vec<(String, Option<u16>)> {
    let requests = house.sim.requests().into_iter();
    let named = requests.filter(|request| request.path.contains("cachedContents"));
    named.map(|request| (request.path, request.status)).collect()
}

/// One resource was made and deleted, and nothing costs storage any more.
fn assert_made_and_gone(house: &House) {
    let made = "/v1beta/cachedContents".to_owned();
    let gone = "/v1beta/cachedContents/sim-000001".to_owned();
    assert_eq!(resources(house), [(made, Some(200)), (gone, Some(200))]);
    let before = house.sim.cached_content_token_ms();
    house.clock.advance_ms(1_000);
    assert_eq!(house.sim.cached_content_token_ms(), before);
}

fn completed(report: &FanReport) -> usize {
    report.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count()
}

#[tokio::test]
async fn children_read_exactly_what_the_provider_holds_in_all_their_turns() {
    let (house, root) = parent(&scenario(TWO_TURNS)).await;
    let before = house.billed().len();
    let report = house.fan(root, 4, Asked::Auto).await;
    assert_eq!(completed(&report), 4);
    let held = report.cache.held.as_ref().unwrap();
    let tokens = held.tokens.unwrap();
    let bills = house.billed().split_off(before);
    assert_eq!(bills.len(), 8);
    assert!(tokens > 4_096 && bills.iter().all(|bill| bill.read == Some(tokens)), "{bills:?}");
    for task in &report.tasks {
        assert_eq!(house.verdicts(task.agent).await, ["ok", "ok"]);
        for request in house.runtime.explain_cache(task.agent).await.unwrap() {
            let note = request.note.unwrap();
            assert_eq!((note.expected, note.exact, note.read), (tokens, true, Some(tokens)));
        }
    }
    assert_made_and_gone(&house);
    // What is gone with the fan is not expected later.
    house.say(report.tasks[0].agent, "Good day.").await;
    let verdict = house.verdicts(report.tasks[0].agent).await.pop().unwrap();
    assert!(["ok", "cold"].contains(&verdict.as_str()), "{verdict}");
}

#[tokio::test]
async fn the_resource_is_paid_for_by_the_parent_and_told_in_the_report() {
    let (house, root) = parent(&scenario(BUSY)).await;
    let mut told = house.runtime.subscribe(EventFilter::All);
    let options = options();
    let fan = house.runtime.fan(spec(root, 3), &options);
    let half_an_hour_later = async {
        until_command(&mut told).await;
        house.clock.advance_ms(HOUR_MS / 2);
        std::fs::write(house.home.path().join("go"), "").unwrap();
    };
    let (report, ()) = tokio::join!(fan, half_an_hour_later);
    let report = report.unwrap();
    let held = report.cache.held.as_ref().unwrap();
    let tokens = held.tokens.unwrap();
    assert_eq!(held.held_ms, HOUR_MS / 2);
    let (creation, storage) = (tokens as f64 * 0.75 / 1e6, tokens as f64 * 0.5 / 1e6);
    assert!((held.creation.unwrap() - creation).abs() < 1e-12, "{held:?}");
    assert!((held.storage.unwrap() - storage).abs() < 1e-12, "{held:?}");
    let workers: f64 = report.cache.forks.iter().flatten().map(|cost| cost.actual).sum();
    let whole = report.cache.cost.unwrap().actual;
    assert!((whole - workers - creation - storage).abs() < 1e-12);
    let made = house.runtime.explain_cache(root).await.unwrap().pop().unwrap();
    let usage = Usage { uncached: tokens, read: Some(0), ..Usage::default() };
    assert_eq!((made.usage, made.verdict), (Some(usage), None));
    let why = made.note.unwrap().why;
    let start = "made cachedContents/sim-000001 for 3 workers; keeping it costs $0.00";
    assert!(why.starts_with(start), "{why}");
    let reason = &report.cache.plan.reason;
    assert!(reason.ends_with("; the provider holds them until the workers are done"), "{reason}");
    // It is no part of the conversation: the parent goes on from its own last request.
    house.say(root, "Good day.").await;
    assert_eq!(house.bodies().len(), 2 + 1 + 6 + 1 + 1);
}

#[tokio::test]
async fn a_fan_does_without_a_resource_that_the_provider_refuses() {
    let refusing =
        SCENARIO.replacen("name = \"harbour\"", "name = \"h\"\ncache_min_tokens = 1000000", 1);
    let (house, root) = parent(&refusing).await;
    let report = house.fan(root, 4, Asked::Auto).await;
    assert_eq!(completed(&report), 4);
    assert_eq!(report.cache.held, None);
    assert_eq!(resources(&house).len(), 1);
    let reason = &report.cache.plan.reason;
    assert!(reason.contains("; the provider was asked to hold the prefix: "), "{reason}");
    assert!(reason.contains("Cached content is too small"), "{reason}");
}

#[tokio::test]
async fn nothing_is_held_below_the_minimum_and_for_other_providers() {
    let (house, root) = parent(SCENARIO).await;
    let settings = ModelSettings {
        model: MODEL.parse().unwrap(),
        max_tokens: 1_000,
        thinking: None,
        effort: None,
    };
    let small = NewRoot {
        name: None,
        settings,
        system: "You keep the books.".to_owned(),
        stream: true,
        directory: house.home.path().to_owned(),
        reach: tine_model::Reach::open(),
    };
    let small = house.runtime.create_root(small).await.unwrap();
    house.say(small, "Good day.").await;
    assert_eq!(house.fan(small, 4, Asked::Auto).await.cache.held, None);
    assert_eq!(resources(&house), []);
    // A single worker of a dear model does not pay for it.
    let pro = house.root("gemini/gemini-3.1-pro-preview").await;
    for other in [pro, house.root("deepseek/deepseek-v4-flash").await] {
        house.say(other, "Good day.").await;
        assert_eq!(house.fan(other, 1, Asked::Auto).await.cache.held, None);
    }
    assert_eq!(resources(&house), []);
    assert!(house.fan(root, 1, Asked::Auto).await.cache.held.is_some());
}

#[tokio::test]
async fn the_resource_is_gone_when_all_workers_fail() {
    let failing = "[[turn]]\nwhen = { user_contains = \"Task number\" }\n\
        text = \"no\"\nfault = { status = 400 }\n";
    let (house, root) = parent(&scenario(failing)).await;
    let report = house.fan(root, 3, Asked::Auto).await;
    assert_eq!(completed(&report), 0);
    assert_made_and_gone(&house);
}

#[tokio::test]
async fn the_resource_is_gone_when_the_fan_is_cancelled() {
    let (house, root) = parent(&scenario(BUSY)).await;
    let mut told = house.runtime.subscribe(EventFilter::All);
    let options = options();
    let fan = house.runtime.fan(spec(root, 3), &options);
    let stop = async {
        until_command(&mut told).await;
        options.cancel.cancel();
    };
    let (report, ()) = tokio::join!(fan, stop);
    assert_eq!(completed(&report.unwrap()), 0);
    assert_made_and_gone(&house);
}

#[tokio::test]
async fn the_resource_is_gone_when_the_fan_is_dropped() {
    let (house, root) = parent(&scenario(BUSY)).await;
    let mut told = house.runtime.subscribe(EventFilter::All);
    let options = options();
    let fan = house.runtime.fan(spec(root, 3), &options);
    tokio::select! {
        _ = fan => panic!("its workers wait for a file"),
        () = until_command(&mut told) => {}
    }
    house.runtime.settle().await;
    assert_made_and_gone(&house);
}

#[tokio::test]
async fn workers_that_outlive_the_resource_send_everything() {
    let (house, root) = parent(&scenario(BUSY)).await;
    let mut told = house.runtime.subscribe(EventFilter::All);
    let options = options();
    let fan = house.runtime.fan(spec(root, 2), &options);
    let too_late = async {
        for _ in 0..2 {
            until_command(&mut told).await;
        }
        house.clock.advance_ms(HOUR_MS + 1);
        std::fs::write(house.home.path().join("go"), "").unwrap();
    };
    let (report, ()) = tokio::join!(fan, too_late);
    let report = report.unwrap();
    assert_eq!(completed(&report), 2, "{:?}", report.tasks);
    assert!(report.tasks.iter().all(|task| task.turns == 2));
    let held = report.cache.held.unwrap();
    assert_eq!(held.held_ms, HOUR_MS);
    // Deleting what has expired fails, and harms nobody.
    assert_eq!(resources(&house).pop().unwrap().1, Some(403));
}
