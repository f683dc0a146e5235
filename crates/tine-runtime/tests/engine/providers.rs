//! Every provider: tools, thinking, a fork in the middle of a turn, a fan-out, a restart.

use tine_cache::Asked;
use tine_model::{Outcome, TaskStatus};
use tine_runtime::{EventFilter, ForkSpec};

use crate::house::{House, options, until_command};
use crate::{MODELS, SCENARIO};

#[tokio::test]
async fn every_provider_runs_tools_and_a_fan_of_eight() {
    for model in MODELS {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        let report = house.say(root, "Please look around.").await;
        assert_eq!((report.outcome, report.turns), (Outcome::Completed, 2), "{model}");
        assert_eq!(report.tool_uses, 1, "{model}");
        let before = house.billed().len();
        let fan = house.fan(root, 8, Asked::Leader).await;
        let completed = fan.tasks.iter().filter(|task| task.status == TaskStatus::Completed);
        assert_eq!(completed.count(), 8, "{model}");
        let bills = house.billed().split_off(before);
        assert_eq!(bills.len(), 8, "{model}");
        // What we count is what was billed.
        let billed: u64 = bills.iter().map(|bill| bill.prompt()).sum();
        assert_eq!(fan.cache.first.prompt(), billed, "{model}");
        let read: u64 = bills.iter().map(|bill| bill.read.unwrap_or(0)).sum();
        assert_eq!(fan.cache.first.read, Some(read), "{model}");
        let share = read as f64 / billed as f64;
        assert!(share > 0.8, "{model}: {share}");
        for verdict in house.verdicts(fan.tasks[7].agent).await {
            assert!(["ok", "cold"].contains(&verdict.as_str()), "{model}: {verdict}");
        }
    }
}

#[tokio::test]
async fn every_provider_takes_a_fork_in_the_middle_of_a_turn() {
    for model in MODELS {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        let (mut told, options) = (house.runtime.subscribe(EventFilter::All), options());
        let parent = house.runtime.run(root, Some("Please wait.".into()), &options);
        let fork_meanwhile = async {
            until_command(&mut told).await;
            let spec = ForkSpec::of(root);
            let child = house.runtime.fork(spec).await.unwrap().child;
            let report = house.say(child, "Good day.").await;
            assert_eq!(report.outcome, Outcome::Completed, "{model}: {:?}", report.error);
            std::fs::write(house.home.path().join("go"), "").unwrap();
        };
        let (parent, ()) = tokio::join!(parent, fork_meanwhile);
        assert_eq!(parent.unwrap().report.outcome, Outcome::Completed, "{model}");
    }
}

/// The bytes before the first new message, and so the cache, are those of the process before.
#[tokio::test]
async fn a_fork_after_a_restart_sends_the_bytes_from_before() {
    for model in MODELS {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        house.say(root, "Please look around.").await;
        let before = house.bodies().pop().unwrap();
        let house = house.reopened().await;
        let spec = ForkSpec::of(root);
        let child = house.runtime.fork(spec).await.unwrap().child;
        house.say(child, "And now?").await;
        let after = house.bodies().pop().unwrap();
        let (before, after) = (plain(&before), plain(&after));
        // Without its end, the earlier request is the beginning of the later one.
        let shared = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let list_end = before.iter().rposition(|byte| *byte == b']').unwrap();
        assert!(shared + 3 >= list_end.min(before.len()), "{model}: {shared} of {}", before.len());
        assert_eq!(house.verdicts(child).await, ["ok"], "{model}");
    }
}

/// A body without its cache marks, as far as its list of messages goes.
fn plain(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let marks = [
        r#","cache_control":{"type":"ephemeral"}"#,
        r#","prompt_cache_breakpoint":{"mode":"explicit"}"#,
    ];
    let text = marks.iter().fold(text, |text, mark| text.replace(mark, ""));
    let end = ["],\"prompt_cache_options\"", "],\"diagnostics\""]
        .iter()
        .filter_map(|end| text.rfind(end))
        .min()
        .unwrap_or(text.len());
    text.as_bytes()[..end].to_vec()
}
