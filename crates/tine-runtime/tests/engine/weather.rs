//! Providers in bad weather: streams that are cut, overload, outages. Nobody's work is lost.

use tine_cache::Asked;
use tine_model::{Outcome, TaskStatus};

use crate::house::{House, options};

const MODEL: &str = "anthropic/claude-opus-5-5";

/// Workers look once and report. So many of a hundred streams are cut, so many requests find the provider overloaded, and the first
/// requests meet an outage.
fn scenario(cut_percent: u32) -> String {
    format!(
        r#"
name = "weather"
seed = 7

[[turn]]
when = {{ any_contains = "Task number" }}
fault = {{ status = 503, times = 20 }}

[[turn]]
fault = {{ status = 529, percent = 2 }}

[[turn]]
when = {{ user_contains = "Task number", tool_results = 0 }}
text = "I look."
tool_calls = [{{ name = "Glob", input = {{ pattern = "*.ledger" }} }}]
fault = {{ cut_after_events = 4, percent = {cut_percent} }}

[[turn]]
text = "Scope: my task\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"
fault = {{ cut_after_events = 4, percent = {cut_percent} }}
"#
    )
}

#[tokio::test]
async fn a_fan_of_sixty_four_is_complete_whatever_the_weather() {
    for cut_percent in [10, 25] {
        let house = House::new(&scenario(cut_percent)).await;
        let root = house.root(MODEL).await;
        let begun = house.say(root, "All is quiet?").await;
        assert_eq!(begun.outcome, Outcome::Completed);
        let report = house.fan(root, 64, Asked::Auto).await;
        let done = report.tasks.iter().filter(|task| is_done(task)).count();
        assert_eq!((done, report.tasks.len()), (64, 64), "{cut_percent} % cut");
        // The weather was there: more requests went out than the work takes.
        let (asked, needed) = (house.sim.requests().len(), 1 + 2 * 64);
        assert!(asked > needed + 20 + 64 * cut_percent as usize / 100, "{asked} requests");
    }
}

fn is_done(task: &tine_runtime::FanTask) -> bool {
    task.status == TaskStatus::Completed && task.report.is_some()
}

/// A run that looks at every turn. One in a hundred streams is cut.
const LOOKING: &str = r#"
name = "looking"
seed = 3

[[turn]]
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.ledger" } }]
fault = { cut_after_events = 4, percent = 1 }
"#;

#[tokio::test]
async fn a_run_of_five_hundred_turns_outlives_its_cut_streams() {
    let house = House::new(LOOKING).await;
    let root = house.root_with(MODEL, "Look.".to_owned()).await;
    let mut options = options();
    options.limits.turns = 500;
    let run = house.runtime.run(root, Some("Look on.".into()), &options).await.unwrap();
    assert_eq!((run.report.outcome, run.report.turns), (Outcome::TurnLimit, 500));
    assert!(house.sim.requests().len() > 500, "some streams were cut");
}

/// The same, where one in twenty is cut: each of many runs of fifty turns comes to its end.
#[tokio::test]
async fn twenty_runs_of_fifty_turns_come_to_their_end_where_one_stream_in_twenty_is_cut() {
    let house = House::new(&LOOKING.replace("percent = 1", "percent = 5")).await;
    for _ in 0..20 {
        let root = house.root_with(MODEL, "Look.".to_owned()).await;
        let mut options = options();
        options.limits.turns = 50;
        let run = house.runtime.run(root, Some("Look on.".into()), &options).await.unwrap();
        assert_eq!((run.report.outcome, run.report.turns), (Outcome::TurnLimit, 50));
    }
    assert!(house.sim.requests().len() > 20 * 50 + 20, "some streams were cut");
}
