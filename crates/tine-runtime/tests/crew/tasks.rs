//! The task tools: looking, resuming, telling, waiting.

use serde_json::json;
use tine_model::TaskStatus;
use tine_runtime::{ForkSpec, KillSpec, Resumed, Spawn, TaskFilter};
use tine_testkit::{Answer, Gate};

use super::{agent_call, call, calls, model, report, say, statuses, tasks, texts};
use crate::fixture::{House, options};

#[tokio::test]
async fn fork_with_resume_is_refused_and_nothing_is_made() {
    let root = [
        call("TaskStart", json!({"prompt": "x", "fork": true, "resume": "abcd"})),
        call("TaskStart", json!({"prompt": "x", "resume": "abcd"})),
        Answer::text("I see."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    say(&house, agent, "go").await;
    let told = texts(&house, agent).await;
    assert!(told[2].contains("`fork` and `resume` exclude each other"), "{told:?}");
    assert!(told[4].contains("You have started no task `abcd`"), "{told:?}");
    assert!(tasks(&house, agent).await.is_empty());
}

#[tokio::test]
async fn a_completed_task_goes_on_with_what_its_worker_knows() {
    let root = [
        call("TaskStart", json!({"prompt": "first", "fork": true, "description": "the first"})),
        Answer::text("I wait."),
        Answer::text("That is that."),
    ];
    let house =
        House::new(model(root, |request, task| match request.text().contains("and then this") {
            true => Answer::text("Scope: this\nResult: more"),
            false => report(task),
        }))
        .await;
    let agent = house.root().await;
    say(&house, agent, "go").await;
    let worker = tasks(&house, agent).await[0].agent;
    let options = options();
    let asked = (&options, agent);
    let resumed = house.runtime.resume_task(worker, "and then this".into(), asked).await.unwrap();
    assert_eq!(resumed, Resumed::Started);
    let spec = tine_runtime::OutputSpec {
        wait: Some(tine_runtime::OUTPUT_WAIT_MAX),
        ..tine_runtime::OutputSpec::default()
    };
    let output = house.runtime.task_output(worker, spec, &options.cancel).await.unwrap();
    assert_eq!(output.view.task.report.as_deref(), Some("Scope: this\nResult: more"));
    assert_eq!((output.view.task.resumes, output.view.task.turns), (1, 2));
    assert_eq!(output.view.marks(), " (forked) (resumed)");
    // Each end is told, once.
    assert_eq!(house.runtime.store().unread_mail(agent).await.unwrap().len(), 1);
}

#[tokio::test]
async fn one_thing_can_wait_for_the_end_of_a_task() {
    let hold = Gate::new();
    let behind = hold.clone();
    let root = [
        call("Agent", json!({"prompt": "first", "subagent_type": "fork"})),
        Answer::text("I wait."),
        Answer::text("One."),
        Answer::text("Two."),
    ];
    let house = House::new(model(root, move |request, task| {
        match request.text().contains("second thing") {
            true => Answer::text("Scope: second thing\nResult: ok"),
            false => report(task).behind(&behind),
        }
    }))
    .await;
    let agent = house.root().await;
    let run = say(&house, agent, "go");
    let asking = async {
        house.model.requested(3).await;
        let worker = tasks(&house, agent).await[0].agent;
        let options = options();
        let asked = (&options, agent);
        let second = house.runtime.resume_task(worker, "second thing".into(), asked).await;
        assert_eq!(second.unwrap(), Resumed::Queued);
        let third = house.runtime.resume_task(worker, "third thing".into(), asked).await;
        assert!(third.unwrap_err().to_string().contains("something else already"));
        hold.open();
        worker
    };
    let (_, worker) = tokio::join!(run, asking);
    let task = house.runtime.task_view(worker).await.unwrap().task;
    assert_eq!((task.status, task.resumes), (TaskStatus::Completed, 1));
    assert_eq!(task.report.as_deref(), Some("Scope: second thing\nResult: ok"));
    let told = texts(&house, agent).await.join("\n");
    assert_eq!(told.matches("<task-id>").count(), 2, "{told}");
}

#[tokio::test]
async fn the_list_the_output_and_the_wait_say_what_there_is() {
    let root = [
        calls(&[
            agent_call(
                "a",
                json!({"prompt": "one", "subagent_type": "fork", "name": "one", "description": "the one"}),
            ),
            agent_call("b", json!({"prompt": "two", "name": "two", "description": "the two"})),
        ]),
        call("TaskWait", json!({"task_ids": ["one", "two"], "timeout": 60})),
        call("TaskList", json!({})),
        call("TaskOutput", json!({"task_id": "one"})),
        call("TaskClear", json!({})),
        call("TaskList", json!({})),
        Answer::text("I see."),
    ];
    let house = House::new(model(root, |request, task| {
        match request.text().contains("[]") || task == "two" {
            true => report(task),
            false => report(task),
        }
    }))
    .await;
    let agent = house.root().await;
    say(&house, agent, "go").await;
    let (mut told, found) =
        (texts(&house, agent).await.join("\n----\n"), tasks(&house, agent).await);
    for task in &found {
        let name = house.runtime.store().agent(task.agent).await.unwrap().name.unwrap();
        told = told.replace(&task.agent.to_string(), &format!("ID-{name}"));
        told = told.replace(&task.agent.short().to_string(), &format!("short-{name}"));
    }
    assert!(told.matches("<task-id>").count() == 2, "each is told once: {told}");
    let list = told.split("----").nth(6).unwrap().trim();
    let mut lines: Vec<&str> = list.lines().collect();
    lines[..2].sort_unstable();
    insta::assert_snapshot!(lines.join("\n"), @"
    short-one (forked) completed · 0 s · 0 tool calls · one · the one
    short-two completed · 0 s · 0 tool calls · two · the two
    2 completed
    ");
    assert!(told.contains("2 tasks are off the list") && told.contains("There are no such tasks."));
    assert_eq!(statuses(&found), [TaskStatus::Completed; 2]);
    let all = TaskFilter { cleared: true, ..TaskFilter::default() };
    assert_eq!(house.runtime.task_list(agent, all).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_worker_that_was_never_told_its_task_is_told_when_it_is_resumed() {
    let root = [
        call("Agent", json!({"prompt": "think about birds", "subagent_type": "fork"})),
        Answer::text("I wait."),
        Answer::text("It was lost."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    let caps = vec![(tine_model::Cap::Running, Some(0))];
    house.runtime.set_budget(agent, caps).await.unwrap();
    let cut = options();
    let run = house.runtime.run(agent, Some("go".into()), &cut);
    let stopping = async {
        house.model.requested(2).await;
        cut.cancel.cancel();
    };
    let (run, ()) = tokio::join!(run, stopping);
    run.unwrap();
    let options = options();
    let worker = tasks(&house, agent).await.remove(0);
    assert_eq!((worker.status, worker.turns), (TaskStatus::Interrupted, 0));
    house.runtime.set_budget(agent, vec![(tine_model::Cap::Running, None)]).await.unwrap();
    let asked = (&options, agent);
    house.runtime.resume_task(worker.agent, "go on, please".into(), asked).await.unwrap();
    let spec = tine_runtime::OutputSpec {
        wait: Some(tine_runtime::OUTPUT_WAIT_MAX),
        ..tine_runtime::OutputSpec::default()
    };
    let output = house.runtime.task_output(worker.agent, spec, &options.cancel).await.unwrap();
    assert_eq!(output.view.task.status, TaskStatus::Completed, "{:?}", output.view.task.error);
    let said = texts(&house, worker.agent).await.join("\n");
    assert!(said.contains("<fork-boilerplate>") && said.contains("go on, please"), "{said}");
}

#[cfg(feature = "repl")]
#[tokio::test]
async fn what_waits_in_a_mailbox_is_read_once_a_turn_and_scripts_leave_it_for_the_model() {
    let root = [
        call("Agent", json!({"prompt": "think about birds", "name": "bird"})),
        calls(&[
            (
                "w1".into(),
                "TaskWait".into(),
                json!({"task_ids": ["bird"], "timeout": 60}).to_string(),
            ),
            ("w2".into(), "TaskWait".into(), json!({"timeout": 0}).to_string()),
        ]),
        call("TaskStart", json!({"prompt": "think about fish"})),
        call("REPL", json!({"code": "TaskWait(#{timeout: 60}).len() > 0"})),
        Answer::text("I have it from a script."),
        Answer::text("And from the mail."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    say(&house, agent, "go").await;
    let told = texts(&house, agent).await;
    let both = &told[4];
    assert_eq!(both.matches("<task-id>").count(), 1, "{both}");
    assert!(both.contains("The time is up."), "{both}");
    let all = told.join("\n");
    assert_eq!(all.matches("<task-id>").count(), 2, "{all}");
}

#[tokio::test]
async fn a_person_starts_a_worker_of_an_agent_that_nobody_runs() {
    let house = House::new(model([], |_, task| report(task))).await;
    let agent = house.root().await;
    let mut options = options();
    // What models may start does not bind a person.
    options.crew.policy.depth_max = 0;
    let spawn = Spawn {
        fork: ForkSpec::of(agent),
        prompt: "count".into(),
        description: None,
        limits: options.crew.limits,
    };
    let worker = house.runtime.start_task(spawn, &options).await.unwrap();
    house.runtime.settled(worker).await;
    let task = house.runtime.task_view(worker).await.unwrap().task;
    assert_eq!((task.status, task.spawner), (TaskStatus::Completed, agent));
    assert_eq!(house.runtime.store().unread_mail(agent).await.unwrap().len(), 1);
    assert!(house.runtime.receipt(worker).await.unwrap().over);
    let late = house.runtime.send_next(None, worker, "more".into()).await.unwrap_err();
    assert_eq!(late.to_string(), format!("the task of agent {worker} has ended"));
}

#[tokio::test]
async fn an_agent_without_a_task_is_told_one_thing_when_it_is_done() {
    let house =
        House::new(model([Answer::text("Done."), Answer::text("That too.")], |_, _| report("")))
            .await;
    let agent = house.root().await;
    house.runtime.send_next(None, agent, "and then that".into()).await.unwrap();
    let second = house.runtime.send_next(None, agent, "and more".into()).await.unwrap_err();
    assert!(second.to_string().contains("something else already"));
    let run = say(&house, agent, "this").await;
    assert_eq!(run.report.final_text().as_deref(), Some("That too."));
    assert!(texts(&house, agent).await[2].contains("and then that"));
}

#[tokio::test]
async fn a_wait_that_is_cut_short_says_who_has_written_who_works_and_who_cannot() {
    let (hold, killed) = (Gate::new(), Gate::new());
    let behind = hold.clone();
    let agents = ["done", "busy", "gone"]
        .map(|name| agent_call(name, json!({ "prompt": format!("think {name}"), "name": name })));
    let wait = json!({"task_ids": ["done", "busy", "gone"], "timeout": 1});
    let root = [
        calls(&agents),
        call("TaskWait", json!({"task_ids": ["done"], "timeout": 60})),
        call("TaskWait", wait).behind(&killed),
        Answer::text("I wait."),
        Answer::text("That is all."),
    ];
    let house = House::new(model(root, move |_, task| match task {
        "think done" => report(task),
        _ => report(task).behind(&behind),
    }))
    .await;
    let agent = house.root().await;
    let run = say(&house, agent, "go");
    let killing = async {
        // Three workers, and three turns of the root.
        house.model.requested(6).await;
        let gone = house.runtime.store().resolve("gone").await.unwrap();
        house.runtime.kill(KillSpec { agent: gone, roots: true }).await.unwrap();
        killed.open();
        house.model.requested(7).await;
        hold.open();
    };
    tokio::join!(run, killing);
    let told = texts(&house, agent).await;
    assert!(told[4].contains(": received") && !told[4].contains("The time is up."), "{}", told[4]);
    // The report was read before, so who reported is idle. Who was killed is dead once the notice of it was read, as mail or here.
    let partial = told.iter().find(|text| text.contains("The time is up.")).unwrap();
    assert_eq!(partial.matches(": idle").count(), 1, "{partial}");
    assert_eq!(partial.matches(": running").count(), 1, "{partial}");
    assert!(partial.contains(": dead") || partial.contains("<status>killed</status>"), "{partial}");
    assert_eq!(told.join("\n").matches("<status>killed</status>").count(), 1);
}
