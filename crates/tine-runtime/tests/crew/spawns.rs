//! What workers start from.

use serde_json::json;
use tine_model::{ContextMode, TaskStatus};
use tine_runtime::{AgentDefinition, Definitions, RunOptions};
use tine_testkit::Answer;

use super::{
    agent_call, call, calls, model, report, say, say_with, statuses, task_of, tasks, texts,
};
use crate::fixture::{House, options};

#[tokio::test]
async fn eight_forks_of_one_turn_send_the_same_bytes_up_to_their_directive() {
    let started = calls(
        &(0..8)
            .map(|n| {
                let input = json!({ "prompt": format!("part {n}"), "subagent_type": "fork" });
                agent_call(&format!("c{n}"), input)
            })
            .collect::<Vec<_>>(),
    );
    let root =
        [Answer::text("Ready."), started, Answer::text("Waiting."), Answer::text("All done.")];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    say(&house, agent, &"know this ".repeat(3000)).await;
    say(&house, agent, "split the work").await;
    let requests = house.model.requests();
    let bodies: Vec<String> = requests
        .iter()
        .map(|request| request.text())
        .filter(|text| task_of(text).is_some())
        .collect();
    assert_eq!(bodies.len(), 8);
    let shared = |text: &String| text.rsplit_once("Task: part ").unwrap().0.to_owned();
    let first = shared(&bodies[0]);
    assert!(bodies.iter().all(|body| shared(body) == first));
    // The parent's message stands in it as it was said, with one placeholder for each of its calls.
    assert_eq!(first.matches("This call was still open").count(), 8);
    let mut tasks_found: Vec<String> = bodies.iter().filter_map(|body| task_of(body)).collect();
    tasks_found.sort();
    assert_eq!(tasks_found, (0..8).map(|n| format!("part {n}")).collect::<Vec<_>>());
    assert_eq!(statuses(&tasks(&house, agent).await), [TaskStatus::Completed; 8]);
}

#[tokio::test]
async fn a_fork_knows_the_conversation_and_a_fresh_worker_only_its_prompt() {
    let root = [
        calls(&[
            agent_call(
                "a",
                json!({"prompt": "with all", "subagent_type": "fork", "name": "knows"}),
            ),
            agent_call("b", json!({"prompt": "with nothing", "description": "a  fresh\nlook"})),
        ]),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    say(&house, agent, "the word is plover").await;
    let tasks = tasks(&house, agent).await;
    let store = house.runtime.store();
    let records =
        [store.agent(tasks[0].agent).await.unwrap(), store.agent(tasks[1].agent).await.unwrap()];
    let forked = records.iter().find(|record| record.context == ContextMode::Full).unwrap();
    let fresh = records.iter().find(|record| record.context == ContextMode::Fresh).unwrap();
    assert_eq!(forked.name.as_deref(), Some("knows"));
    assert!(forked.fork_point.is_some() && fresh.fork_point.is_none());
    assert!(texts(&house, forked.id).await.join("\n").contains("plover"));
    let told = texts(&house, fresh.id).await;
    assert!(!told.join("\n").contains("plover") && told[0].contains("with nothing"), "{told:?}");
    assert_eq!(records.iter().map(|record| record.depth).collect::<Vec<_>>(), [1, 1]);
    let described = tasks.iter().find_map(|task| task.description.as_deref());
    assert_eq!(described, Some("a fresh look"));
    // Later words of the parent never reach a child.
    assert!(!texts(&house, forked.id).await.join("\n").contains("Waiting."));
}

#[tokio::test]
async fn a_defined_agent_has_its_own_prompt_and_only_its_tools() {
    let root = [
        call("Agent", json!({"prompt": "look", "subagent_type": "reader"})),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let house =
        House::new(model(root, |request, task| match request.text().matches("\"Bash\"").count() {
            0 => call("Bash", json!({"command": "ls"})),
            _ => report(task),
        }))
        .await;
    let agent = house.root().await;
    let text = "---\nname: reader\ndescription: Reads.\ntools: FileRead, Grep\n---\nYou only read.";
    let mut definitions = Definitions::default();
    definitions.add(AgentDefinition::parse("reader", text, "/x/reader.md".into()).unwrap());
    let mut options: RunOptions = options();
    options.crew.definitions = definitions.into();
    say_with(&house, agent, "go", &options).await;
    let first = house.model.requests()[0].text();
    assert!(first.contains("- reader: Reads."), "the first prompt says whom there is");
    let worker = &tasks(&house, agent).await[0];
    assert_eq!(
        (worker.status, worker.definition.as_deref()),
        (TaskStatus::Completed, Some("reader"))
    );
    let asked: Vec<String> = house
        .model
        .requests()
        .iter()
        .map(|request| request.text())
        .filter(|text| text.contains("You only read."))
        .collect();
    assert_eq!(asked.len(), 2);
    let said = texts(&house, worker.agent).await.join("\n");
    assert!(said.contains("The agent `reader` does not have the tool `Bash`"), "{said}");
}

#[tokio::test]
async fn what_cannot_be_started_is_told_and_nothing_is_made() {
    for (input, expected) in [
        (json!({"prompt": " "}), "`prompt` is blank"),
        (
            json!({"prompt": "x", "subagent_type": "nobody"}),
            "There is no agent `nobody`: none is defined here.",
        ),
        (json!({"prompt": "x", "run_in_background": false}), "every worker runs in the background"),
        (json!({"prompt": "x", "isolation": "worktree"}), "There are no worktrees yet"),
        (json!({"prompt": "x", "fork_turns": "some"}), "`all`, `none` or a number"),
        (json!({"prompt": "x", "name": "a b"}), "cannot be a name"),
        (json!({"prompt": "x", "colour": "red"}), "unknown field `colour`"),
    ] {
        let house =
            House::new(model([call("Agent", input.clone()), Answer::text("I see.")], |_, t| {
                report(t)
            }))
            .await;
        let agent = house.root().await;
        say(&house, agent, "go").await;
        let told = texts(&house, agent).await[2].clone();
        assert!(told.contains(expected), "{input}: {told}");
        assert!(tasks(&house, agent).await.is_empty());
    }
}

#[tokio::test]
async fn with_forks_off_a_worker_is_waited_for_and_a_fork_is_refused() {
    let mut options: RunOptions = options();
    options.crew.policy.fork = tine_runtime::ForkChoice::Off;
    let root = [
        call("Agent", json!({"prompt": "x", "subagent_type": "fork"})),
        call("Agent", json!({"prompt": "count"})),
        Answer::text("Done."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    say_with(&house, agent, "go", &options).await;
    let told = texts(&house, agent).await;
    assert!(told[2].contains("Forks are turned off here"), "{told:?}");
    assert!(told[4].contains("Result: done with count"), "{told:?}");
    // It was told in the answer of the call, so it does not come as mail as well.
    assert_eq!(told.len(), 6, "{told:?}");
    assert!(house.runtime.store().unread_mail(agent).await.unwrap().is_empty());
}
