//! Forks that run on a worker, to whichever end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tine_fork::client::LlmClient;
use tine_fork::message::Message;
use tine_fork::{
    CancellationToken, DefaultForkSubagent, DelegateMode, ForkMessage, ForkOverrides, ForkParams,
    ForkSubagent as _, Outcome, ParentContext, ToolDispatcher,
};
use tine_nats::{FORK_JOBS, Names, NatsForkSubagent, Queue};
use tine_testkit::{Answer, replies};

use crate::forks::{Tools, inherited, model, names, params, record, subagent, types, worker};
use crate::house::{House, job, run, words};

const PLACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn answers() -> [Answer; 3] {
    [
        Answer::calls([("c1", "Echo", r#"{"a":1}"#), ("c2", "Echo", "{}")]),
        Answer::message(replies::text_and_calls("One more.", [("c3", "Nothing", "{}")])),
        Answer::text("Three."),
    ]
}

/// One fork here, and one on a worker, of the same parameters: the same bytes leave, and the same comes back.
#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_sends_the_same_bytes_and_has_the_same_end_as_one_beside_its_parent() {
    let house = House::new();
    let cluster = house.cluster().await;
    for name in ["anthropic/m", "openai/m", "openai-chat/m", "gemini/m"] {
        let (here, there) = (model(answers()), model(answers()));
        let overrides = ForkOverrides {
            agent_id: Some("counter".to_owned()),
            critical_reminder: Some("Only count.".to_owned()),
        };
        let parent = ParentContext {
            delegation_depth: 1,
            traceparent: Some(PLACE.to_owned()),
            ..ParentContext::new("parent")
        };
        let prompt = vec![Message::user("first"), replies::text("yes"), Message::user("go")];
        let shared = ForkParams {
            overrides: Some(overrides),
            parent_ctx: parent,
            prompt_messages: prompt,
            ..params(inherited(name))
        };

        let local = ForkParams {
            llm: Arc::clone(&here) as Arc<dyn LlmClient>,
            tool_dispatcher: Arc::<Tools>::default() as Arc<dyn ToolDispatcher>,
            ..shared.clone()
        };
        let local = DefaultForkSubagent::new().fork(local).await.unwrap().join().await.unwrap();

        let tools = Arc::<Tools>::default();
        let running = worker(house.settings(), "north", &there, &tools).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let observer = {
            let seen = Arc::clone(&seen);
            move |message: &ForkMessage<'_>| {
                seen.lock().unwrap().push((message.agent.to_owned(), Arc::clone(message.message)));
            }
        };
        let remote = ForkParams { on_message: Some(Arc::new(observer)), ..shared };
        let remote = subagent(&cluster).fork(remote).await.unwrap().join().await.unwrap();
        running.end().await;

        let bodies = |model: &tine_testkit::ScriptedModel| -> Vec<String> {
            model.requests().iter().map(|request| request.text()).collect()
        };
        assert_eq!(bodies(&there), bodies(&here));
        assert_eq!(there.requests(), here.requests());
        assert_eq!(remote.outcome, Outcome::Completed);
        let seen = seen.lock().unwrap();
        assert!(seen.iter().all(|(agent, _)| agent == "counter"));
        assert!(seen.iter().map(|(_, message)| message).eq(&remote.messages));
        assert_eq!(remote.messages, local.messages);
        assert_eq!((remote.usage, remote.requests.len()), (local.usage, local.requests.len()));
        assert_eq!((remote.turns, remote.tool_uses), (local.turns, local.tool_uses));
        assert_eq!((&remote.label, &remote.source), (&local.label, &local.source));
        assert_eq!((remote.cost_usd, &remote.cache), (local.cost_usd, &local.cache));
        assert_eq!(remote.final_text.as_deref(), Some("Three."));
        let called = tools.called.lock().unwrap().clone();
        assert_eq!(called[2], format!("Nothing 1 {PLACE}"));
    }
    assert_eq!(cluster.status().await.unwrap().jobs, 0);
    assert_eq!(cluster.present().await.unwrap(), [], "the workers said that they leave");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn events_come_in_order_and_have_their_documented_forms() {
    let house = House::new();
    let cluster = house.cluster().await;
    let running =
        worker(house.settings(), "north", &model(answers()), &Arc::<Tools>::default()).await;
    let params = ForkParams {
        parent_ctx: ParentContext {
            traceparent: Some(PLACE.to_owned()),
            ..ParentContext::new("parent")
        },
        mode: DelegateMode::Sync,
        ..params(inherited("anthropic/m"))
    };
    let fork = subagent(&cluster).fork(params).await.unwrap();
    assert!(fork.is_ended(), "its caller waited");
    let record = record(&cluster, fork.run_id()).await;
    running.end().await;
    // Neighbours that read only run at the same time: each begins before it ends.
    let mut parallel = types(&record)[5..9].to_vec();
    parallel.sort();
    assert_eq!(parallel.join(","), "1 tool finished,1 tool finished,1 tool started,1 tool started");
    let mut types = types(&record);
    types.drain(5..9);
    insta::assert_snapshot!(types.join("\n"), @r"
    1 started
    1 entry
    1 request
    1 entry
    1 cost
    1 entry
    1 request
    1 text
    1 entry
    1 cost
    1 tool started
    1 tool finished
    1 entry
    1 request
    1 text
    1 entry
    1 cost
    1 report
    1 ended
    ");
    assert!(record.iter().all(|event| event["traceparent"] == PLACE));
    let sequences: Vec<_> = record.iter().map(|event| event["sequence"].clone()).collect();
    assert_eq!(sequences, (1..=record.len()).map(|number| json!(number)).collect::<Vec<_>>());
    let data = |kind: &str| {
        let kind = format!("tine.fork.{kind}.v1");
        let found = record.iter().find(|event| event["type"] == kind.as_str()).unwrap();
        let mut data = found["data"].clone();
        if let Some(started) = data.pointer_mut("/detail/started_ms") {
            *started = json!("…");
        }
        data.to_string()
    };
    let kinds = ["started", "entry", "request", "cost", "tool", "text", "report", "ended"];
    insta::assert_snapshot!(kinds.map(data).join("\n"), @r#"
    {"worker":"north"}
    {"entry":"{\"role\":\"user\",\"blocks\":[{\"text\":\"go\"}]}"}
    {"turn":1}
    {"request":"1.1","tokens":{"uncached":7,"output":3},"detail":{"started_ms":"…","stop":"tool_use","reply":"scripted","model":"scripted","items":4,"body_bytes":726,"cache":{"verdict":"below_minimum","expected_read":0,"missed":0,"why":"7 tokens are fewer than the 512 that are cached"}}}
    {"call":"c1","tool":"Echo","state":"started","is_error":false}
    {"text":"One more."}
    {"text":"Three."}
    {"outcome":"completed","detail":{"turns":3,"tool_uses":3}}
    "#);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_that_is_stopped_ends_with_what_it_has() {
    let house = House::new();
    let cluster = house.cluster().await;
    for who in ["the handle", "the parent", "another token"] {
        let llm = model([Answer::text_then_hang("half a sen")]);
        let running = worker(house.settings(), "north", &llm, &Arc::<Tools>::default()).await;
        let (parent, external) = (ParentContext::new("parent"), CancellationToken::new());
        let params = ForkParams {
            parent_ctx: parent.clone(),
            external_abort: Some(external.clone()),
            ..params(inherited("anthropic/m"))
        };
        let fork = subagent(&cluster).fork(params).await.unwrap();
        llm.requested(1).await;
        match who {
            "the handle" => fork.cancel(),
            "the parent" => parent.abort.cancel(),
            _ => external.cancel(),
        }
        let result = fork.join().await.unwrap();
        running.end().await;
        assert_eq!(result.outcome, Outcome::Aborted, "{who}");
        assert_eq!(result.final_text.as_deref(), Some("half a sen"), "{who}");
    }
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_handle_that_is_dropped_stops_its_fork_and_a_detached_one_lets_it_go_on() {
    let house = House::new();
    let cluster = house.cluster().await;
    let llm = model([Answer::hang(), Answer::text("done")]);
    let running = worker(house.settings(), "north", &llm, &Arc::<Tools>::default()).await;
    for (expected, requests) in [("aborted", 1), ("completed", 2)] {
        let fork = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
        let id = fork.run_id();
        llm.requested(requests).await;
        match expected {
            "aborted" => drop(fork),
            _ => fork.detach(),
        }
        let record = record(&cluster, id).await;
        assert_eq!(record.last().unwrap()["data"]["outcome"], expected);
    }
    running.end().await;
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_that_is_stopped_before_a_worker_has_it_never_sends_anything() {
    let house = House::new();
    let cluster = house.cluster().await;
    let fork = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    let id = fork.run_id();
    fork.cancel();
    let result = fork.join().await.unwrap();
    assert_eq!((result.outcome, result.messages.len()), (Outcome::Aborted, 0));
    let llm = model([]);
    let running = worker(house.settings(), "north", &llm, &Arc::<Tools>::default()).await;
    let record = record(&cluster, id).await;
    running.end().await;
    assert_eq!(record.last().unwrap()["data"]["outcome"], "aborted");
    assert_eq!((llm.requests().len(), cluster.status().await.unwrap().jobs), (0, 0));
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn limits_travel() {
    let house = House::new();
    let cluster = house.cluster().await;
    let call = || Answer::calls([("c1", "Echo", "{}")]);
    let llm = model([Answer::hang(), call(), call()]);
    let running = worker(house.settings(), "north", &llm, &Arc::<Tools>::default()).await;
    let base = params(inherited("anthropic/m"));
    let ends = [
        (ForkParams { timeout: Some(Duration::from_millis(200)), ..base.clone() }, "timed_out"),
        (ForkParams { max_turns: 2, ..base }, "turn_limit"),
    ];
    for (params, expected) in ends {
        let fork = subagent(&cluster).fork(params).await.unwrap();
        assert_eq!(fork.join().await.unwrap().outcome.as_str(), expected);
    }
    running.end().await;
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn what_a_worker_cannot_run_fails_in_clear_words() {
    let house = House::new();
    let cluster = house.cluster().await;
    let llm = model([Answer::refused(tine_wire::FailureKind::InvalidRequest, "no such model")]);
    let running = worker(house.settings(), "north", &llm, &Arc::<Tools>::default()).await;
    let of = |names: Names| NatsForkSubagent::new(cluster.clone(), names);
    let mut said = Vec::new();
    for names in [Names { client: "other".to_owned(), ..names() }, names()] {
        let fork = of(names).fork(params(inherited("anthropic/m"))).await.unwrap();
        let result = fork.join().await.unwrap();
        said.push(words(&result.into_text().unwrap_err(), None));
    }
    let gone = "0".repeat(64);
    let work = json!({
        "names": names(), "inherited": gone, "prompt": {"messages": []}, "parent": "", "account": "",
        "delegation_depth": 0, "label": "", "source": "", "max_turns": 1,
    });
    let (strange, _) = cluster.put("[]".into()).await.unwrap();
    let mut unfit = work.clone();
    unfit["inherited"] = json!(strange);
    for (number, work) in (1..).zip([json!("nonsense"), json!({"names": names()}), work, unfit]) {
        let hostile = tine_nats::Job { kind: FORK_JOBS.to_owned(), work, ..job(number, "any") };
        cluster.submit(&hostile).await.unwrap();
        let record = record(&cluster, run(number)).await;
        said.push(record.last().unwrap()["data"]["error"].as_str().unwrap().to_owned());
    }
    running.end().await;
    insta::assert_snapshot!(said.join("\n"), @r#"
    the fork did not complete: the worker `north` does not have the client `other`, the tools `files` and the filter `no_writing`
    the fork did not complete: invalid request: no such model
    the job cannot be read: invalid type: string "nonsense", expected struct ForkWork
    the job cannot be read: missing field `inherited`
    the NATS server does not have 0000000000000000000000000000000000000000000000000000000000000000: it keeps things for 7 days at most, and the oldest go first
    cannot read a fork: invalid length 0, expected struct Written with 6 elements at line 1 column 2
    "#);
    assert_eq!(cluster.status().await.unwrap().jobs, 0);
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_that_cannot_be_sent_or_submitted_is_an_error_at_once() {
    let mut house = House::new();
    let cluster = house.cluster().await;
    let empty = ForkParams {
        prompt_messages: vec![replies::text("mine")],
        ..params(inherited("openai/m"))
    };
    let error = subagent(&cluster).fork(empty).await.unwrap_err();
    assert!(matches!(error, tine_fork::ForkError::NothingToAnswer));
    house.node.kill();
    let error = subagent(&cluster).fork(params(inherited("openai/m"))).await.unwrap_err();
    insta::assert_snapshot!(words(&error, Some(&house)), @"the fork could not be registered: the NATS server could not read a blob: failed to get last raw message: timed out: request timed out: deadline has elapsed");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_fork_for_a_label_waits_for_a_worker_that_has_it() {
    let house = House::new();
    let cluster = house.cluster().await;
    let params = params(inherited("anthropic/m"));
    let fork = subagent(&cluster).on("gpu").fork(params.clone()).await.unwrap();
    let mut queue = Queue::open(&cluster, FORK_JOBS, &["gpu".to_owned()]).await.unwrap();
    let held = crate::house::next_job(&mut queue).await;
    assert_eq!((held.job.run, held.job.label.as_str()), (fork.run_id(), "gpu"));
    assert!(subagent(&cluster).on("GPU").fork(params).await.is_err());
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_prompt_that_is_too_long_for_a_job_travels_beside_it() {
    let house = House::with("max_payload: 64KB");
    let cluster = house.cluster().await;
    let llm = model([Answer::text("ok")]);
    let running = worker(house.settings(), "north", &llm, &Arc::<Tools>::default()).await;
    let long = Message::user("long ".repeat(50_000));
    let params = ForkParams { prompt_messages: vec![long], ..params(inherited("anthropic/m")) };
    let fork = subagent(&cluster).fork(params).await.unwrap();
    assert!(fork.join().await.unwrap().is_completed());
    running.end().await;
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_worker_that_is_told_to_end_finishes_what_it_has_and_takes_nothing_new() {
    let house = House::new();
    let cluster = house.cluster().await;
    let tools = Arc::<Tools>::default();
    let llm = model([Answer::calls([("c1", "Gated", "{}")]), Answer::text("done")]);
    let running = worker(house.settings(), "north", &llm, &tools).await;
    let first = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    tools.gate.reached().await;
    running.stop.cancel();
    let second = subagent(&cluster).fork(params(inherited("anthropic/m"))).await.unwrap();
    tools.gate.open();
    running.end().await;
    assert!(first.join().await.unwrap().is_completed());
    let mut queue = Queue::open(&cluster, FORK_JOBS, &[]).await.unwrap();
    let held = crate::house::next_job(&mut queue).await;
    assert_eq!(held.job.run, second.run_id());
}
