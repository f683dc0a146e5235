//! What workers start from.

use serde_json::json;
use tine_model::{ContextMode, TaskStatus};
use tine_runtime::{AgentDefinition, Definitions, RunOptions};
use tine_testkit::Answer;

use super::{
    agent_call, call, calls, eager_model, model, report, say, say_with, statuses, task_of, tasks,
    texts,
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
        (
            json!({"prompt": "x", "isolation": "worktree"}),
            "has turned worktrees off, so no worker was started. Start the worker without `isolation`",
        ),
        (json!({"prompt": "x", "fork_turns": "some"}), "`some` is none of `full`, `digest`"),
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
    let house = House::new(eager_model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    say_with(&house, agent, "go", &options).await;
    let told = texts(&house, agent).await;
    assert!(told[2].contains("Forks are turned off here"), "{told:?}");
    assert!(told[4].contains("Result: done with count"), "{told:?}");
    // It was told in the answer of the call, so it does not come as mail as well.
    assert_eq!(told.len(), 6, "{told:?}");
    assert!(house.runtime.store().unread_mail(agent).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_last_turns_are_inherited_where_so_many_are_asked_for() {
    let input = json!({"prompt": "look", "subagent_type": "fork", "fork_turns": 1});
    let root = [
        Answer::text("Noted."),
        call("Agent", input),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let agent = house.root().await;
    say(&house, agent, "the word is plover").await;
    say(&house, agent, "now look").await;
    let worker = tasks(&house, agent).await.remove(0).agent;
    let said = texts(&house, worker).await.join("\n");
    assert!(said.contains("now look") && !said.contains("plover"), "{said}");
    let record = house.runtime.store().agent(worker).await.unwrap();
    assert_eq!(record.context, ContextMode::Turns);
}

#[tokio::test]
async fn an_omitted_type_forks_where_that_is_chosen_and_never_for_a_coordinator() {
    for (coordinator, context) in [(false, ContextMode::Full), (true, ContextMode::Fresh)] {
        let mut options: RunOptions = options();
        options.crew.policy.fork = tine_runtime::ForkChoice::Implicit;
        options.crew.policy.coordinator = coordinator;
        let background = json!({"prompt": "look", "run_in_background": true});
        let root = [call("Agent", background), Answer::text("Waiting."), Answer::text("Done.")];
        let house = House::new(model(root, |_, task| report(task))).await;
        let agent = house.root().await;
        say_with(&house, agent, "go", &options).await;
        let worker = tasks(&house, agent).await.remove(0).agent;
        assert_eq!(house.runtime.store().agent(worker).await.unwrap().context, context);
    }
    let mut options: RunOptions = options();
    options.crew.policy.coordinator = true;
    let fork = json!({"prompt": "look", "subagent_type": "fork"});
    let house = House::new(model([call("Agent", fork), Answer::text("I see.")], |_, t| report(t)));
    let house = house.await;
    let agent = house.root().await;
    say_with(&house, agent, "go", &options).await;
    assert!(texts(&house, agent).await[2].contains("workers.coordinator is set"));
    assert!(tasks(&house, agent).await.is_empty());
}

#[tokio::test]
async fn a_worker_that_takes_too_long_has_timed_out() {
    let input = json!({"prompt": "think", "timeout": 1});
    let root = [call("Agent", input), Answer::text("Waiting."), Answer::text("Too late.")];
    let house = House::new(model(root, |_, _| Answer::text_then_hang("I beg"))).await;
    let agent = house.root().await;
    say(&house, agent, "go").await;
    assert_eq!(statuses(&tasks(&house, agent).await), [TaskStatus::TimedOut]);
    assert!(texts(&house, agent).await.join("\n").contains("<status>timeout</status>"));
}

#[tokio::test]
async fn a_worktree_is_asked_about_where_the_checkouts_settings_name_programs() {
    for trusts in [false, true] {
        let mut options: RunOptions = options();
        options.crew.trusts_programs = trusts;
        let root = [
            call("Agent", json!({"prompt": "x", "isolation": "worktree"})),
            call("Agent", json!({"prompt": "x"})),
            Answer::text("Waiting."),
            Answer::text("Done."),
        ];
        let house = House::new(model(root, |_, task| report(task))).await;
        let at = |arguments: &[&str]| crate::worktrees::git(house.home.path(), arguments);
        at(&["init", "--quiet"]);
        at(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        at(&["config", "filter.e.clean", "cat"]);
        let agent = house.root().await;
        say_with(&house, agent, "go", &options).await;
        let told = texts(&house, agent).await;
        let why = "the checkout's own git settings name a program that runs, behind a wall, when the worktree is made: filter.e.clean";
        assert_eq!(told[2].contains(why), !trusts, "{}", told[2]);
        assert!(told[4].contains("Started worker"), "{}", told[4]);
    }
}

#[tokio::test]
async fn a_dear_fork_is_asked_about_and_a_fresh_worker_is_not() {
    let mut options: RunOptions = options();
    options.crew.confirm_above = Some(0.0);
    let root = [
        call("Agent", json!({"prompt": "x", "subagent_type": "fork"})),
        call("Agent", json!({"prompt": "x", "fork_turns": "all"})),
        call("TaskStart", json!({"prompt": "x", "fork": true})),
        call("Agent", json!({"prompt": "x", "subagent_type": "fork", "fork_turns": "none"})),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let house = House::new(model(root, |_, task| report(task))).await;
    let mut new = house.new_root(house.home.path().to_owned());
    new.settings.model = "anthropic/claude-opus-5-5".parse().unwrap();
    let agent = house.runtime.create_root(new).await.unwrap();
    say_with(&house, agent, "go", &options).await;
    let told = texts(&house, agent).await;
    for refused in [2, 4, 6] {
        assert!(told[refused].contains("the worker is estimated to cost $"), "{}", told[refused]);
    }
    assert!(told[8].contains("Started worker") && told[8].contains("(fresh)"), "{}", told[8]);
    assert_eq!(tasks(&house, agent).await.len(), 1);
}
