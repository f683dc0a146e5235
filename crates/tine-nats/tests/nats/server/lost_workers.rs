//! Forks whose worker dies, and those who take them over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tine_fork::client::LlmClient;
use tine_fork::{DefaultForkSubagent, ForkOverrides, ForkParams, ForkSubagent as _, Outcome};
use tine_nats::Settings;
use tine_testkit::nats::Partition;
use tine_testkit::{Answer, Gate, ScriptedModel, until_some_async};

use crate::forks::{
    CutOff, Tools, inherited, model, params, record, subagent, types, worker, worker_of,
};
use crate::house::House;

fn reminded(params: ForkParams) -> ForkParams {
    let critical_reminder = Some("Only count.".to_owned());
    ForkParams { overrides: Some(ForkOverrides { agent_id: None, critical_reminder }), ..params }
}

/// The bytes that a fork sends beside its parent, with tools that tell of every call that it was cut off.
async fn local(params: ForkParams, answers: impl IntoIterator<Item = Answer>) -> Vec<Value> {
    let llm = model(answers);
    let params = ForkParams {
        llm: Arc::clone(&llm) as Arc<dyn LlmClient>,
        tool_dispatcher: Arc::new(CutOff),
        ..params
    };
    DefaultForkSubagent::new().fork(params).await.unwrap().join().await.unwrap();
    bodies(&llm)
}

/// The requests without the marks for the provider's cache, and without its comparison with the one before: whoever takes a fork over
/// does not know what was answered, and marks where a fork's first request does.
fn bodies(model: &ScriptedModel) -> Vec<Value> {
    let requests = model.requests();
    let bodies = requests.iter().map(|request| serde_json::from_slice(&request.body).unwrap());
    bodies.map(unmarked).collect()
}

fn unmarked(value: Value) -> Value {
    const MARKS: [&str; 4] =
        ["cache_control", "prompt_cache_breakpoint", "diagnostics", "comparison_response_id"];
    match value {
        Value::Array(items) => items.into_iter().map(unmarked).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(name, _)| !MARKS.contains(&name.as_str()));
            fields.map(|(name, value)| (name, unmarked(value))).collect()
        }
        other => other,
    }
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_call_that_had_begun_is_not_run_again_and_no_reply_is_paid_for_twice() {
    let house = House::new();
    let cluster = house.cluster().await;
    let call = || Answer::calls([("c1", "Gated", "{}")]);
    let tools = Arc::<Tools>::default();
    let (first, second) = (model([call()]), model([Answer::text("done")]));
    let killed = worker(house.settings(), "north", &first, &tools).await;
    let params = reminded(params(inherited("anthropic/m")));
    let fork = subagent(&cluster).fork(params.clone()).await.unwrap();
    let id = fork.run_id();
    tools.gate.reached().await;
    killed.kill().await;
    let running = worker(house.settings(), "south", &second, &tools).await;
    let result = fork.join().await.unwrap();
    running.end().await;

    assert_eq!((result.outcome, result.final_text.as_deref()), (Outcome::Completed, Some("done")));
    assert_eq!((result.turns, result.tool_uses, result.messages.len()), (2, 1, 4));
    assert_eq!(result.requests.len(), 2);
    assert_eq!(tools.called.lock().unwrap().len(), 1);
    let mut sent = bodies(&first);
    sent.extend(bodies(&second));
    assert_eq!(sent, local(params, [call(), Answer::text("done")]).await);
    insta::assert_snapshot!(types(&record(&cluster, id).await).join("\n"), @r"
    1 started
    1 entry
    1 request
    1 entry
    1 cost
    1 tool started
    2 started
    2 tool finished
    2 entry
    2 request
    2 text
    2 entry
    2 cost
    2 report
    2 ended
    ");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_reply_that_was_cut_off_is_asked_for_again() {
    let house = House::new();
    let cluster = house.cluster().await;
    let tools = Arc::<Tools>::default();
    let call = || Answer::calls([("c1", "Nothing", "{}")]);
    let first = model([call(), Answer::text_then_hang("half a sen")]);
    let second = model([Answer::text("A whole sentence.")]);
    let killed = worker(house.settings(), "north", &first, &tools).await;
    let params = reminded(params(inherited("openai/m")));
    let fork = subagent(&cluster).fork(params).await.unwrap();
    first.requested(2).await;
    killed.kill().await;
    let running = worker(house.settings(), "south", &second, &tools).await;
    let result = fork.join().await.unwrap();
    running.end().await;
    assert_eq!((result.outcome, result.turns), (Outcome::Completed, 2));
    assert_eq!(bodies(&second), bodies(&first)[1..], "the bytes of the request that was cut off");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn what_a_worker_does_that_was_cut_off_from_the_others_counts_no_more() {
    let house = House::new();
    let cluster = house.cluster().await;
    let network = Partition::before(house.node.address());
    let settings = Settings { url: network.url(), ..house.settings() };
    let (first_tools, tools) = (Arc::<Tools>::default(), Arc::<Tools>::default());
    let first = model([Answer::calls([("c1", "Gated", "{}")]), Answer::text("too late")]);
    let second = model([Answer::text("done")]);
    let north = worker(settings, "north", &first, &first_tools).await;
    let fork = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    let id = fork.run_id();
    first_tools.gate.reached().await;
    network.cut();
    let south = worker(house.settings(), "south", &second, &tools).await;
    let result = fork.join().await.unwrap();
    assert_eq!(result.final_text.as_deref(), Some("done"));
    first_tools.gate.open();
    network.heal();
    north.end().await;
    south.end().await;
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
    let record = record(&cluster, id).await;
    let mut stream = house.stream("TINE_FORKS").await;
    let messages = stream.info().await.unwrap().state.messages;
    assert_eq!(messages, record.len() as u64, "nothing stands behind the end");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_that_takes_every_worker_with_it_fails() {
    let house = House::new();
    let cluster = house.cluster().await;
    let llm = Arc::new(ScriptedModel::answering(|_| Answer::hang()));
    let tools = Arc::<Tools>::default();
    let fork = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    for number in 1..=5 {
        let killed = worker(house.settings(), &format!("w{number}"), &llm, &tools).await;
        llm.requested(number).await;
        killed.kill().await;
    }
    let running = worker(house.settings(), "last", &llm, &tools).await;
    let result = fork.join().await.unwrap();
    running.end().await;
    assert_eq!(result.outcome, Outcome::Failed("5 workers were lost over this fork".to_owned()));
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_outlives_a_restart_of_the_server() {
    let mut house = House::new();
    let cluster = house.cluster().await;
    let tools = Arc::<Tools>::default();
    let llm = model([Answer::calls([("c1", "Gated", "{}")]), Answer::text("done")]);
    let settings = Settings { lease: std::time::Duration::from_secs(20), ..house.settings() };
    let running = worker(settings, "north", &llm, &tools).await;
    let fork = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    tools.gate.reached().await;
    house.node.kill();
    tools.gate.open();
    house.node.restart();
    let result = fork.join().await.unwrap();
    running.end().await;
    assert_eq!((result.outcome, result.turns), (Outcome::Completed, 2));
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn siblings_on_two_machines_wait_for_the_one_who_writes_their_prefix() {
    let house = House::new();
    let cluster = house.cluster().await;
    let (gate, is_open) = (Gate::new(), Arc::new(AtomicBool::new(false)));
    let (at, opened) = (gate.clone(), Arc::clone(&is_open));
    let mut requests = 0;
    let llm = Arc::new(ScriptedModel::answering(move |_| {
        requests += 1;
        assert!(requests == 1 || opened.load(Ordering::SeqCst), "it waits for the first");
        if requests == 1 { Answer::text("one").behind(&at) } else { Answer::text("two") }
    }));
    let tools = Arc::<Tools>::default();
    let north = worker_of((house.settings(), 1), "north", &llm, &tools).await;
    let first = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    gate.reached().await;
    let south = worker_of((house.settings(), 1), "south", &llm, &tools).await;
    let second = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    until_some_async("somebody has the second", async || {
        cluster.status().await.unwrap().workers.len().eq(&2).then_some(())
    })
    .await;
    is_open.store(true, Ordering::SeqCst);
    gate.open();
    for fork in [first, second] {
        assert!(fork.join().await.unwrap().is_completed());
    }
    north.end().await;
    south.end().await;
}
