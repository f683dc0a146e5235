//! Workers start no workers, by whatever door.

use serde_json::json;
use tine_model::TaskStatus;
use tine_runtime::RunOptions;
use tine_testkit::Answer;

use super::{call, model, report, say, say_with, statuses, tasks, texts};
use crate::fixture::{House, options};

const DOORS: [&str; 6] = [
    "Agent",
    "TaskStart",
    "delegate",
    "mcp__tine__fork",
    "mcp__tine__task_start",
    "mcp__other__spawn_agent",
];

#[tokio::test]
async fn a_worker_that_tries_every_door_is_refused_at_each() {
    for subagent_type in ["fork", "fresh"] {
        let root = [
            match subagent_type {
                "fork" => call("Agent", json!({"prompt": "try", "subagent_type": "fork"})),
                _ => call("Agent", json!({"prompt": "try"})),
            },
            Answer::text("Waiting."),
            Answer::text("Done."),
        ];
        let tries = std::sync::atomic::AtomicUsize::new(0);
        let house = House::new(model(root, move |_, task| {
            let number = tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            match DOORS.get(number) {
                Some(tool) => call(tool, json!({"prompt": "do my task", "subagent_type": "fork"})),
                None => report(task),
            }
        }))
        .await;
        let agent = house.root().await;
        say(&house, agent, "go").await;
        let found = tasks(&house, agent).await;
        assert_eq!(statuses(&found), [TaskStatus::Completed]);
        let said = texts(&house, found[0].agent).await.join("\n");
        assert_eq!(
            said.matches("You are a worker, so you cannot start workers").count(),
            DOORS.len()
        );
        assert!(tasks(&house, found[0].agent).await.is_empty());
        let all = house.runtime.store().agents(tine_store::AgentFilter::All).await.unwrap();
        assert_eq!(all.len(), 2);
    }
}

#[cfg(feature = "repl")]
#[tokio::test]
async fn a_script_of_a_worker_is_refused_too() {
    let root = [
        call("Agent", json!({"prompt": "try", "subagent_type": "fork"})),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let house = House::new(model(root, |request, task| {
        match request.text().contains("cannot start workers") {
            false => call("REPL", json!({"code": "Agent(#{prompt: \"do it\"})"})),
            true => report(task),
        }
    }))
    .await;
    let agent = house.root().await;
    say(&house, agent, "go").await;
    assert_eq!(tasks(&house, agent).await.len(), 1);
}

#[tokio::test]
async fn a_deeper_tree_is_allowed_where_it_is_asked_for_and_a_parent_waits_for_its_own() {
    let mut options: RunOptions = options();
    options.crew.policy.depth_max = 2;
    let root = [
        call("Agent", json!({"prompt": "middle", "subagent_type": "fork"})),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let house = House::new(model(root, |request, task| {
        let text = request.text();
        match task {
            "middle" if text.contains("done with leaf") => report("middle and leaf"),
            "middle" if text.contains("Started worker") => Answer::text("Now I wait."),
            "middle" => call("Agent", json!({"prompt": "leaf"})),
            leaf => report(leaf),
        }
    }))
    .await;
    let agent = house.root().await;
    say_with(&house, agent, "go", &options).await;
    let middle = tasks(&house, agent).await.remove(0);
    assert_eq!(middle.report.as_deref().unwrap().lines().next(), Some("Scope: middle and leaf"));
    assert_eq!(statuses(&tasks(&house, middle.agent).await), [TaskStatus::Completed]);
}

#[tokio::test]
async fn an_imported_workers_history_is_known_by_its_frame_and_a_quotation_is_not() {
    let directive =
        tine_fork::worker::worker_directive("Count.", &tine_fork::worker::Inherits::default());
    let quotation = format!("What does this mean: {directive}");
    for (first, refused) in [(directive, true), (quotation, false)] {
        let house = House::new(tine_testkit::ScriptedModel::answering(move |request| {
            let text = request.text();
            match text.contains("Started worker") || text.contains("forked elsewhere") {
                true => Answer::text("I see."),
                false => call("Agent", json!({"prompt": "leaf"})),
            }
        }))
        .await;
        let root = house.new_root(house.home.path().to_owned());
        let text =
            json!([{"role": "user", "content": first}, {"role": "assistant", "content": "Yes."}]);
        let imported = house.runtime.import_messages(root, &text.to_string()).await.unwrap();
        let run = house.runtime.run(imported.agent, Some("go".into()), &options()).await.unwrap();
        let said = texts(&house, imported.agent).await.join("\n");
        assert_eq!(said.contains("forked elsewhere"), refused, "{:?} {said}", run.report.outcome);
        assert_eq!(tasks(&house, imported.agent).await.is_empty(), refused);
    }
}

#[tokio::test]
async fn an_imported_worker_stays_one_as_a_digest() {
    let directive =
        tine_fork::worker::worker_directive("Count.", &tine_fork::worker::Inherits::default());
    let house = House::new(tine_testkit::ScriptedModel::answering(move |request| {
        match request.text().contains("forked elsewhere") {
            true => Answer::text("I see."),
            false => call("Agent", json!({"prompt": "leaf"})),
        }
    }))
    .await;
    let text =
        json!([{"role": "user", "content": directive}, {"role": "assistant", "content": "Yes."}]);
    let root = house.new_root(house.home.path().to_owned());
    let context = Some(tine_runtime::ImportContext::Digest);
    let spec = tine_runtime::ImportSpec { context, ..Default::default() };
    let imported = house.runtime.import(root, &text.to_string(), spec).await.unwrap();
    house.runtime.run(imported.agent, Some("go".into()), &options()).await.unwrap();
    assert!(texts(&house, imported.agent).await.join("\n").contains("forked elsewhere"));
    assert!(tasks(&house, imported.agent).await.is_empty());
}
