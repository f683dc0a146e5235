//! How workers report: once, to who started them, at a turn boundary, many at a time.

use serde_json::json;
use tine_model::TaskStatus;
use tine_runtime::RunOptions;
use tine_testkit::{Answer, Gate};

use super::{agent_call, call, calls, model, report, say, say_with, statuses, tasks, texts};
use crate::fixture::{House, options};

#[tokio::test]
async fn a_report_wakes_the_agent_whose_model_was_done() {
    let root = [
        call("Agent", json!({"prompt": "think about birds", "subagent_type": "fork"})),
        Answer::text("I wait."),
        Answer::text("It says so."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    let run = say(&house, agent, "go").await;
    assert_eq!(run.report.final_text().as_deref(), Some("It says so."));
    let worker = tasks(&house, agent).await[0].agent;
    let told = texts(&house, agent).await;
    let notice = told[4].replace(&worker.to_string(), "ID");
    insta::assert_snapshot!(notice, @"
    <task-notification>
    <task-id>ID</task-id>
    <status>completed</status>
    <summary>done with think about birds</summary>
    <result>Scope: think about birds
    Result: done with think about birds
    Key files: none
    Files changed: none
    Issues: none</result>
    <usage><total_tokens>10</total_tokens><tool_uses>0</tool_uses><duration_ms>0</duration_ms></usage>
    </task-notification>
    ");
    assert!(house.runtime.store().unread_mail(agent).await.unwrap().is_empty());
}

#[tokio::test]
async fn without_waking_the_report_waits_for_the_next_turn() {
    let mut options: RunOptions = options();
    options.crew.policy.wakes = false;
    let root = [
        call("Agent", json!({"prompt": "count", "subagent_type": "fork"})),
        Answer::text("I leave it."),
        Answer::text("I see it."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    let run = say_with(&house, agent, "go", &options).await;
    assert_eq!(run.report.final_text().as_deref(), Some("I leave it."));
    assert_eq!(statuses(&tasks(&house, agent).await), [TaskStatus::Completed]);
    assert_eq!(house.runtime.store().unread_mail(agent).await.unwrap().len(), 1);
    say_with(&house, agent, "and?", &options).await;
    assert!(texts(&house, agent).await[4].starts_with("<task-notification>"));
}

#[tokio::test]
async fn two_hundred_reports_at_once_take_few_turns() {
    const WORKERS: usize = 200;
    let started = calls(
        &(0..WORKERS)
            .map(|n| agent_call(&format!("c{n}"), json!({ "prompt": format!("part {n}") })))
            .collect::<Vec<_>>(),
    );
    let all = Gate::new();
    let behind = all.clone();
    let root = [started, Answer::text("I wait.")];
    let house = House::new(model(root, move |_, task| report(task).behind(&behind))).await;
    let agent = house.root().await;
    let run = say(&house, agent, "go");
    let opened = async {
        // All of them are asked before the first is answered.
        house.model.requested(WORKERS + 2).await;
        all.open();
    };
    let (run, ()) = tokio::join!(run, opened);
    let found = tasks(&house, agent).await;
    assert!(found.iter().all(|task| task.status == TaskStatus::Completed));
    let told = texts(&house, agent).await.join("\n");
    assert_eq!(told.matches("<task-id>").count(), WORKERS);
    let turns = run.report.turns;
    // A quiet machine takes three. On a busy one fewer reports come together.
    assert!(turns <= WORKERS as u32 / 4, "{turns} turns for {WORKERS} reports");
    println!("{WORKERS} reports in {turns} turns");
}

#[tokio::test]
async fn a_word_of_the_user_comes_before_the_reports_that_are_missing() {
    let hold = Gate::new();
    let behind = hold.clone();
    let root = [
        call("Agent", json!({"prompt": "count", "subagent_type": "fork"})),
        Answer::text("I wait."),
        Answer::text("You said something."),
        Answer::text("And now the report."),
    ];
    let house = House::new(model(root, move |_, task| report(task).behind(&behind))).await;
    let agent = house.root().await;
    let run = say(&house, agent, "go");
    let steering = async {
        house.model.requested(3).await;
        house.runtime.send(agent, "Hurry up.".into()).await.unwrap();
        house.model.requested(4).await;
        hold.open();
    };
    let (run, ()) = tokio::join!(run, steering);
    assert_eq!(run.report.final_text().as_deref(), Some("And now the report."));
    let told = texts(&house, agent).await;
    assert_eq!(told[4], "Hurry up.");
    assert!(told[6].starts_with("<task-notification>"), "{told:?}");
}

#[tokio::test]
async fn a_worker_that_reports_without_its_form_is_asked_once_and_flagged_where_it_stays_so() {
    for (second, flags) in [(true, vec![]), (false, vec!["missing_scope".to_owned()])] {
        let root = [
            call("Agent", json!({"prompt": "think about birds", "subagent_type": "fork"})),
            Answer::text("I wait."),
            Answer::text("I have read it."),
        ];
        let house = House::new(model(root, move |request, _| {
            match request.text().contains("does not count as your report yet") && second {
                true => report("think about birds"),
                false => Answer::text("Birds fly."),
            }
        }))
        .await;
        let agent = house.root().await;
        say(&house, agent, "go").await;
        let task = tasks(&house, agent).await.remove(0);
        assert_eq!((task.flags, task.turns), (flags, 2));
        assert_eq!(house.runtime.store().tasks(agent).await.unwrap().len(), 1);
        let told = texts(&house, agent).await;
        assert_eq!(told.len(), 6, "it reports once: {told:?}");
    }
}
