//! Hosts of the Chat format that refuse what they do not know, each in its own words: conversations with reasoning go on, and so do all
//! forks of them.

use tine_cache::Asked;
use tine_model::{AgentId, EntryBody, Outcome, TaskStatus};

use crate::SCENARIO;
use crate::house::House;

const MODEL: &str = "openai-compat/some-model";

async fn at(host: &str) -> House {
    House::new(&format!("host = \"{host}\"\n{SCENARIO}")).await
}

/// The refused members that an agent's own log records, an entry each.
async fn changes(house: &House, agent: AgentId) -> Vec<String> {
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let own = fold.entries().iter().filter(|folded| folded.entry.agent == agent);
    let changes = own.filter_map(|folded| match &folded.entry.body {
        EntryBody::Dialect(change) => Some(change.left_out.join(" ")),
        _ => None,
    });
    changes.collect()
}

/// Runs a parent that thinks, looks and answers, and a fan of its forks. Returns the number of refusals and requests, and the members
/// that each log records.
async fn fan_at(host: &str) -> String {
    let house = at(host).await;
    let root = house.root(MODEL).await;
    let first = house.say(root, "Please look around.").await;
    assert_eq!(first.outcome, Outcome::Completed, "{:?}", house.sim.requests().last());
    let asked = house.sim.requests().len();
    let report = house.fan(root, 5, Asked::Together).await;
    assert!(report.tasks.iter().all(|task| task.status == TaskStatus::Completed));
    let requests = house.sim.requests();
    let refused = requests.iter().filter(|request| request.status != Some(200)).count();
    let mut lines = vec![format!(
        "refused: {refused}; the parent asked {asked} times, its forks {}",
        requests.len() - asked
    )];
    lines.push(format!("parent: {:?}", changes(&house, root).await));
    for task in &report.tasks {
        lines.push(format!("fork: {:?}", changes(&house, task.agent).await));
    }
    lines.dedup();
    lines.join("\n")
}

#[tokio::test]
async fn forks_of_a_conversation_with_reasoning_are_answered_by_every_strict_host() {
    insta::assert_snapshot!(fan_at("groq").await, @r#"
    refused: 1; the parent asked 3 times, its forks 5
    parent: ["messages.reasoning"]
    fork: []
    "#);
    insta::assert_snapshot!(fan_at("cerebras").await, @"
    refused: 0; the parent asked 2 times, its forks 5
    parent: []
    fork: []
    ");
    insta::assert_snapshot!(fan_at("mistral").await, @r#"
    refused: 1; the parent asked 3 times, its forks 5
    parent: ["stream_options"]
    fork: []
    "#);
    insta::assert_snapshot!(fan_at("openai").await, @"
    refused: 0; the parent asked 2 times, its forks 5
    parent: []
    fork: []
    ");
}

/// Nothing was sent back before the fork, so that the forks are the first to be refused.
#[tokio::test]
async fn forks_that_are_refused_first_are_answered_too() {
    let house = at("groq").await;
    let root = house.root(MODEL).await;
    house.say(root, "Good morning.").await;
    let report = house.fan(root, 5, Asked::Leader).await;
    assert!(report.tasks.iter().all(|task| task.status == TaskStatus::Completed));
    for task in &report.tasks {
        assert_eq!(changes(&house, task.agent).await, ["messages.reasoning"]);
    }
    // The host is known by now: the parent leaves out before it is refused.
    let refused = || house.sim.requests().iter().filter(|it| it.status != Some(200)).count();
    let before = refused();
    assert!((1..=5).contains(&before), "{before}");
    house.say(root, "And now?").await;
    assert_eq!(
        (changes(&house, root).await, refused()),
        (vec!["messages.reasoning".to_owned()], before)
    );
}
