//! Stops: the turn, softly, at once; with a receipt, and never for good.

use std::time::Duration;

use serde_json::json;
use tine_model::{AgentState, Outcome, StopKind, TaskStatus};
use tine_runtime::{KillSpec, StopSpec};
use tine_testkit::{Answer, Gate, until_some_async};
use tokio_util::sync::CancellationToken;

use super::{agent_call, call, calls, model, report, say, statuses, tasks, texts};
use crate::fixture::{House, options};

const PATIENCE: Duration = Duration::from_secs(30);

fn started() -> [Answer; 3] {
    [
        call("Agent", json!({"prompt": "long work", "subagent_type": "fork"})),
        Answer::text("I wait."),
        Answer::text("It was stopped."),
    ]
}

#[tokio::test]
async fn a_hard_stop_ends_the_worker_now_and_its_spawner_is_told() {
    let house = House::new(model(started(), |_, _| Answer::text_then_hang("half a report"))).await;
    let agent = house.root().await;
    let run = say(&house, agent, "go");
    let stopping = async {
        house.model.requested(3).await;
        let worker = tasks(&house, agent).await[0].agent;
        let spec = StopSpec { agent: worker, how: StopKind::Hard, cascade: true };
        house.runtime.stop(spec, PATIENCE, &CancellationToken::new()).await.unwrap()
    };
    let (run, receipts) = tokio::join!(run, stopping);
    assert_eq!(run.report.final_text().as_deref(), Some("It was stopped."));
    assert_eq!(receipts.len(), 1);
    assert!(receipts[0].over);
    assert_eq!(receipts[0].task, Some(TaskStatus::Cancelled));
    let told = texts(&house, agent).await[4].clone();
    assert!(
        told.contains("<status>killed</status>") && told.contains("stopped on request"),
        "{told}"
    );
    // What is stopped can be resumed.
    let worker = receipts[0].agent;
    let options = options();
    let resumed = house.runtime.resume_task(worker, "go on".into(), (&options, agent)).await;
    assert!(resumed.is_ok());
    let spec = StopSpec { agent: worker, how: StopKind::Hard, cascade: true };
    house.runtime.stop(spec, PATIENCE, &CancellationToken::new()).await.unwrap();
    assert_eq!(house.runtime.store().agent(worker).await.unwrap().state, AgentState::Interrupted);
}

#[tokio::test]
async fn a_soft_stop_lets_the_turn_end_and_the_worker_report() {
    let hold = Gate::new();
    let behind = hold.clone();
    let house = House::new(model(started(), move |request, task| {
        let text = request.text();
        match text.contains("You are asked to stop") {
            true => report("half of it"),
            false if text.contains("tool_result") && text.contains("c2") => report(task),
            false => call("Glob", json!({"pattern": "*"})).behind(&behind),
        }
    }))
    .await;
    let agent = house.root().await;
    let run = say(&house, agent, "go");
    let stopping = async {
        house.model.requested(3).await;
        let worker = tasks(&house, agent).await[0].agent;
        let spec = StopSpec { agent: worker, how: StopKind::Soft, cascade: true };
        let cancel = CancellationToken::new();
        let stop = house.runtime.stop(spec, PATIENCE, &cancel);
        let opened = async {
            let asked = async || house.runtime.store().agent(worker).await.unwrap().stop;
            until_some_async("the request to stop", asked).await;
            // Writes are answered in their order: once this one is, whoever asked knows that it is written.
            house.runtime.note_seen(agent, 0).await.unwrap();
            hold.open();
        };
        // And has told the run, before the worker goes on.
        tokio::join!(biased; stop, opened).0.unwrap()
    };
    let (_, receipts) = tokio::join!(run, stopping);
    assert!(receipts[0].over, "{receipts:?}");
    let task = tasks(&house, agent).await.remove(0);
    assert_eq!(task.status, TaskStatus::Cancelled);
    assert_eq!(task.report.as_deref().unwrap().lines().next(), Some("Scope: half of it"));
    assert_eq!(task.error.as_deref(), Some("stopped on request, after it had reported"));
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_of_one_agent_and_leaves_its_workers_alone() {
    let hold = Gate::new();
    let behind = hold.clone();
    let root = [
        call("Agent", json!({"prompt": "long work", "subagent_type": "fork"})),
        Answer::text_then_hang("I think"),
    ];
    let house = House::new(model(root, move |_, task| report(task).behind(&behind))).await;
    let agent = house.root().await;
    let options = options();
    let run = house.runtime.run(agent, Some("go".into()), &options);
    let stopping = async {
        house.model.requested(3).await;
        let spec = StopSpec { agent, how: StopKind::Interrupt, cascade: false };
        let cancel = CancellationToken::new();
        let stop = house.runtime.stop(spec, PATIENCE, &cancel);
        let opened = async {
            tokio::task::yield_now().await;
            hold.open();
        };
        tokio::join!(stop, opened).0.unwrap()
    };
    let (run, receipts) = tokio::join!(run, stopping);
    assert_eq!(run.unwrap().report.outcome, Outcome::Aborted);
    assert_eq!(receipts.iter().map(|one| one.agent).collect::<Vec<_>>(), [agent]);
    assert_eq!(statuses(&tasks(&house, agent).await), [TaskStatus::Completed]);
    assert_eq!(house.runtime.store().unread_mail(agent).await.unwrap().len(), 1);
}

#[tokio::test]
async fn cancelling_the_caller_stops_all_below_and_every_task_has_an_end() {
    let house = House::new(model(started(), |_, _| Answer::hang())).await;
    let agent = house.root().await;
    let options = options();
    let run = house.runtime.run(agent, Some("go".into()), &options);
    let cancelling = async {
        house.model.requested(3).await;
        options.cancel.cancel();
    };
    let (run, ()) = tokio::join!(run, cancelling);
    assert_eq!(run.unwrap().report.outcome, Outcome::Aborted);
    assert_eq!(statuses(&tasks(&house, agent).await), [TaskStatus::Interrupted]);
    assert_eq!(house.runtime.store().unread_mail(agent).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_worker_that_waits_in_line_is_stopped_by_another_process_and_told_once() {
    let hold = Gate::new();
    let behind = hold.clone();
    let root = [
        calls(&[
            agent_call("a", json!({"prompt": "think first", "subagent_type": "fork"})),
            agent_call("b", json!({"prompt": "think second", "subagent_type": "fork"})),
        ]),
        Answer::text("I wait."),
        Answer::text("One was stopped."),
        Answer::text("The other is done."),
    ];
    let house = House::new(model(root, move |_, task| report(task).behind(&behind))).await;
    let agent = house.root().await;
    let caps = vec![(tine_model::Cap::Running, Some(1))];
    house.runtime.set_budget(agent, caps).await.unwrap();
    let run = say(&house, agent, "go");
    let stopping = async {
        house.model.requested(3).await;
        let waiting = tasks(&house, agent).await;
        let queued = waiting.iter().find(|task| task.status == TaskStatus::Queued).unwrap().agent;
        // As another process does it: through the store alone.
        let how = StopKind::Hard;
        let request = tine_store::RequestStop { agent: queued, how, cascade: true };
        assert_eq!(house.runtime.store().request_stop(request).await.unwrap(), [queued]);
        house.model.requested(4).await;
        hold.open();
        queued
    };
    let (_, queued) = tokio::join!(run, stopping);
    let found = tasks(&house, agent).await;
    let stopped = found.iter().find(|task| task.agent == queued).unwrap();
    assert_eq!((stopped.status, stopped.turns), (TaskStatus::Cancelled, 0));
    let told = texts(&house, agent).await.join("\n");
    assert_eq!(told.matches("<task-id>").count(), 2, "{told}");
}

#[tokio::test]
async fn a_killed_worker_stays_dead_and_is_told_of_once() {
    let house = House::new(model(started(), |_, _| Answer::hang())).await;
    let agent = house.root().await;
    let run = say(&house, agent, "go");
    let killing = async {
        house.model.requested(3).await;
        let worker = tasks(&house, agent).await[0].agent;
        assert!(house.runtime.store().keep_follow_up(worker, "and then?").await.unwrap());
        house.runtime.kill(KillSpec { agent: worker, roots: true }).await.unwrap();
        worker
    };
    let (_, worker) = tokio::join!(run, killing);
    assert_eq!(house.runtime.store().agent(worker).await.unwrap().state, AgentState::Dead);
    assert_eq!(statuses(&tasks(&house, agent).await), [TaskStatus::Cancelled]);
    let told = texts(&house, agent).await.join("\n");
    assert_eq!(told.matches("<task-id>").count(), 1, "{told}");
    let options = options();
    let again = house.runtime.resume_task(worker, "go on".into(), (&options, agent)).await;
    assert!(again.is_err());
}
