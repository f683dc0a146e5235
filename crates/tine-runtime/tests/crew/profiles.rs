//! What a worker is made of: how much it inherits, as which agent it works, and with which model. Each part goes with each other.

use serde_json::json;
use tine_cache::Asked;
use tine_model::{AgentRecord, ContextMode, TaskRecord, TaskStatus};
use tine_runtime::{
    AgentDefinition, Definitions, FanSpec, ForkSpec, Inherit, Resumed, RunOptions, Spawn,
};
use tine_testkit::{Answer, Captured};

use super::{agent_call, call, calls, model, report, say_with, task_of, tasks, texts};
use crate::fixture::{House, options};

const READER: &str =
    "---\nname: reader\ndescription: Reads.\ntools: FileRead, Grep\n---\nYou only read.";

fn with_reader() -> RunOptions {
    let mut definitions = Definitions::default();
    definitions.add(reader());
    let mut options: RunOptions = options();
    options.crew.definitions = definitions.into();
    options
}

fn reader() -> AgentDefinition {
    AgentDefinition::parse("reader", READER, "/x/reader.md".into()).unwrap()
}

/// Workers that try a command first, and then report; one more when they are resumed.
fn tries_bash(request: &Captured, task: &str) -> Answer {
    let text = request.text();
    let tries = [("tu_bash", true), ("tu_again", text.contains("once more"))];
    match tries.into_iter().find(|(call, is_due)| *is_due && !text.contains(call)) {
        Some((call, _)) => Answer::calls([(call, "Bash", r#"{"command":"ls"}"#)]),
        None => report(task),
    }
}

/// The first requests of workers, by their task.
fn firsts(house: &House, task: &str) -> Vec<String> {
    let requests = house.model.requests().into_iter().map(|request| request.text().to_string());
    requests
        .filter(|text| task_of(text).as_deref() == Some(task) && !text.contains("tu_bash"))
        .collect()
}

/// The only worker of an agent that was told `go` and started one so, and what the agent was told of it.
async fn started(tool: &str, input: serde_json::Value) -> (House, AgentRecord, TaskRecord) {
    let root = [
        Answer::text("Noted."),
        call(tool, input),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let house = House::new(model(root, tries_bash)).await;
    let agent = house.root().await;
    let options = with_reader();
    say_with(&house, agent, "the word is plover", &options).await;
    say_with(&house, agent, "go", &options).await;
    let task = tasks(&house, agent).await.remove(0);
    let record = house.runtime.store().agent(task.agent).await.unwrap();
    (house, record, task)
}

#[tokio::test]
async fn a_full_fork_as_an_agent_shares_every_byte_up_to_its_instructions() {
    let fork = |task: &str, agent: Option<&str>| {
        let input = json!({"prompt": task, "context": "full", "subagent_type": agent});
        agent_call(task, input)
    };
    let root = [
        Answer::text("Ready."),
        calls(&[fork("plain", Some("fork")), fork("narrow", Some("reader"))]),
        Answer::text("Waiting."),
    ];
    let house = House::new(model(root, tries_bash)).await;
    let agent = house.root().await;
    let options = with_reader();
    say_with(&house, agent, &"know this ".repeat(3000), &options).await;
    say_with(&house, agent, "split the work", &options).await;
    let (plain, narrow) = (firsts(&house, "plain").remove(0), firsts(&house, "narrow").remove(0));
    let shared = plain.bytes().zip(narrow.bytes()).take_while(|(one, other)| one == other).count();
    // System, tools, the whole conversation and the placeholders of both calls: what differs is the tail.
    assert_eq!(narrow[..shared].matches("This call was still open").count(), 2);
    assert!(narrow[..shared].contains("\"Bash\""), "declarations stay");
    assert!(narrow[shared..].contains("You only read.") && !plain.contains("You only read."));
    let parent = house.runtime.store().agent(agent).await.unwrap();
    for task in tasks(&house, agent).await {
        let record = house.runtime.store().agent(task.agent).await.unwrap();
        assert_eq!((record.head, record.context), (parent.head, ContextMode::Full));
        let said = texts(&house, task.agent).await.join("\n");
        let is_refused = said.contains("The agent `reader` does not have the tool `Bash`");
        assert_eq!(is_refused, task.definition.is_some(), "{said}");
    }
}

#[tokio::test]
async fn an_agent_is_told_what_it_may_call_where_its_head_does_not_say_it() {
    let input = json!({"prompt": "look", "fork": true, "agent": "reader"});
    let (house, worker, task) = started("TaskStart", input).await;
    assert_eq!((task.definition.as_deref(), worker.context), (Some("reader"), ContextMode::Full));
    let own = house.runtime.fold(worker.id, None).await.unwrap();
    let first = own.items().find(|item| {
        item.message
            .blocks()
            .iter()
            .filter_map(|b| b.as_text())
            .any(|t| t.contains("You only read."))
    });
    let first = first.unwrap().message.blocks().to_vec();
    assert_eq!(first.len(), 2, "the directive stands last");
    insta::assert_snapshot!(first[0].as_text().unwrap(), @"
    For your task you are the agent `reader`. These are its instructions; where they contradict earlier ones, they count:

    You only read.

    The tools that you may call: FileRead, Grep.
    ");
}

#[tokio::test]
async fn with_any_other_context_a_worker_begins_with_its_agents_own_head() {
    for (context, mode) in [
        ("digest", ContextMode::Digest),
        ("graduated", ContextMode::Digest),
        ("last 1", ContextMode::Turns),
        ("last:2", ContextMode::Turns),
        ("fresh", ContextMode::Fresh),
    ] {
        let input = json!({"prompt": "look", "agent": "reader", "context": context});
        let (house, worker, task) = started("TaskStart", input).await;
        assert_eq!((worker.context, task.status), (mode, TaskStatus::Completed), "{context}");
        let first = firsts(&house, "look").remove(0);
        assert_eq!(first.matches("You only read.").count(), 1, "{context}");
        assert!(!first.contains("\"Bash\""), "{context}: only its tools are declared");
        let knows = first.contains("the word is plover");
        assert_eq!(knows, !matches!(context, "last 1" | "fresh"), "{context}: {first}");
        assert_eq!(first.contains("<inherited_context>"), mode == ContextMode::Digest);
    }
}

/// An older lineage has older declarations, and they are the ones that its workers' requests begin with.
#[tokio::test]
async fn without_an_agent_every_context_keeps_the_head_of_the_lineage() {
    for context in ["full", "digest", "last 1", "fresh"] {
        let input = json!({"prompt": "look", "context": context});
        let (house, worker, task) = started("TaskStart", input).await;
        let parent = house.runtime.store().agent(task.spawner).await.unwrap();
        assert_eq!(worker.head, parent.head, "{context}");
    }
}

#[tokio::test]
async fn a_shorter_context_goes_with_another_model_and_a_full_one_has_a_price() {
    let input = |context: &str| json!({"prompt": "look", "context": context, "model": "sim/other"});
    for context in ["digest", "fresh"] {
        let (_, worker, _) = started("TaskStart", input(context)).await;
        assert_eq!(worker.settings.model.to_string(), "sim/other");
    }
    for (tool, context) in [("TaskStart", "full"), ("Agent", "last 1")] {
        let root = [Answer::text("Noted."), call(tool, input(context)), Answer::text("I see.")];
        let house = House::new(model(root, |_, task| report(task))).await;
        let agent = house.root().await;
        say_with(&house, agent, "hello", &options()).await;
        say_with(&house, agent, "go", &options()).await;
        let told = texts(&house, agent).await.join("\n");
        assert!(told.contains("no cache of sim/other has this conversation"), "{told}");
        assert!(tasks(&house, agent).await.is_empty());
    }
}

#[tokio::test]
async fn what_contradicts_itself_starts_nothing() {
    for (input, expected) in [
        (json!({"fork": true, "context": "digest"}), "`fork` is the same as `context` `full`"),
        (json!({"context": "digest", "resume": "x"}), "`context` and `resume` exclude each other"),
        (json!({"context": "some"}), "`some` is none of `full`, `digest`"),
        (json!({"context": "full", "agent": "nobody"}), "There is no agent `nobody`"),
        (json!({"context": "fresh", "model": "nowhere"}), "`model`: "),
    ] {
        let mut input = input;
        input["prompt"] = "x".into();
        let root = [call("TaskStart", input.clone()), Answer::text("I see.")];
        let house = House::new(model(root, |_, task| report(task))).await;
        let agent = house.root().await;
        say_with(&house, agent, "go", &options()).await;
        let told = texts(&house, agent).await[2].clone();
        assert!(told.contains(expected), "{input}: {told}");
        assert!(tasks(&house, agent).await.is_empty());
    }
}

#[tokio::test]
async fn an_agent_in_a_full_context_stays_narrow_when_its_task_is_resumed() {
    let house = House::new(model([Answer::text("Noted.")], tries_bash)).await;
    let agent = house.root().await;
    let options = with_reader();
    say_with(&house, agent, "the word is plover", &options).await;
    let spawn = Spawn {
        fork: ForkSpec { agent: Some(reader()), ..ForkSpec::of(agent) },
        prompt: "look".into(),
        description: None,
        limits: options.crew.limits,
    };
    let worker = house.runtime.start_task(spawn, &options).await.unwrap();
    house.runtime.settled(worker).await;
    let refusals = async || {
        let said = texts(&house, worker).await.join("\n");
        said.matches("The agent `reader` does not have the tool `Bash`").count()
    };
    assert_eq!(refusals().await, 1);
    let resumed = house.runtime.resume_task(worker, "once more".into(), (&options, worker)).await;
    assert_eq!(resumed.unwrap(), Resumed::Started);
    house.runtime.settled(worker).await;
    assert_eq!(refusals().await, 2);
}

#[tokio::test]
async fn the_workers_of_a_fan_share_a_prefix_whatever_they_are() {
    for context in [Inherit::Full, "digest".parse().unwrap(), Inherit::Turns(1), Inherit::Fresh] {
        let house = House::new(model([Answer::text("Noted.")], |_, task| report(task))).await;
        let agent = house.root().await;
        let options = with_reader();
        say_with(&house, agent, "the word is plover", &options).await;
        let agent_of = Some(reader());
        let spec = FanSpec {
            fork: ForkSpec { inherit: context, agent: agent_of, ..ForkSpec::of(agent) },
            directives: vec!["part 0".into(), "part 1".into()],
            plan: Asked::Auto,
        };
        let fanned = house.runtime.fan(spec, &options).await.unwrap();
        let mut heads = Vec::new();
        for task in &fanned.tasks {
            assert_eq!(task.status, TaskStatus::Completed, "{:?}", task.error);
            let record = house.runtime.store().agent(task.agent).await.unwrap();
            assert_eq!(record.context, context.context());
            heads.push(record.head);
            let row = house.runtime.store().task(task.agent).await.unwrap().unwrap();
            assert_eq!(row.definition.as_deref(), Some("reader"));
        }
        assert_eq!(heads[0], heads[1]);
        let bodies: Vec<String> =
            (0..2).map(|n| firsts(&house, &format!("part {n}")).remove(0)).collect();
        let prefix = |body: &String| body.rsplit_once("Task: part ").unwrap().0.to_owned();
        assert_eq!(prefix(&bodies[0]), prefix(&bodies[1]), "{context:?}");
        assert_eq!(bodies[0].contains("plover"), context != Inherit::Fresh);
        assert!(bodies[0].contains("You only read."), "{context:?}");
    }
}
