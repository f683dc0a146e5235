//! Forks of conversations that other programs hold.

use serde_json::{Value, json};
use tine_fork::cache::Asked;
use tine_model::{AgentId, Reach, Standing, Usage};
use tine_runtime::{FanSpec, ForkSpec, ReachWish, RuntimeError};
use tine_testkit::{Answer, ScriptedModel};

use super::host::{Host, Program, reply, said, user};
use crate::fixture::options;

/// A report as workers are told to write it.
const REPORT: &str =
    "Scope: a look\nResult: done\nKey files: none\nFiles changed: none\nIssues: none";

fn model() -> ScriptedModel {
    ScriptedModel::answering(|_| Answer::text(REPORT))
}

fn fan(parent: AgentId, directives: &[&str]) -> FanSpec {
    let directives = directives.iter().map(|text| (*text).to_owned()).collect();
    FanSpec { fork: ForkSpec::of(parent), directives, plan: Asked::Auto }
}

/// The bytes of the program's last request up to the end of its messages, and those behind them.
fn split(program: &Program) -> (String, String) {
    let body = String::from_utf8(program.body()).unwrap();
    let behind = r#"],"stream":true}"#;
    (body.strip_suffix(behind).unwrap().to_owned(), behind.to_owned())
}

/// The messages that a request adds to the beginning of another.
fn added(body: &str, (before, behind): &(String, String)) -> Vec<Value> {
    let added = body.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(behind));
    let added = added.unwrap_or_else(|| panic!("{body}\n{before}\n{behind}"));
    serde_json::from_str(&format!("[{}]", added.trim_start_matches(','))).unwrap()
}

#[tokio::test]
async fn a_fork_goes_on_from_the_last_request_byte_for_byte() {
    let mut host = Host::with(model()).await;
    let mut program = Program::new("s");
    host.turn(&mut program, "one", "two").await;
    // The program writes it anew, in an order of its own, once it is no longer the last.
    program.messages[1] =
        json!({"content": [{"text": "two", "type": "text"}], "role": "assistant"});
    program.messages.push(json!({"role": "system", "content": "It is noon."}));
    program.messages.push(user("three"));
    let guest = host.exchange(&program, &reply(&said("four"), (10, 0))).await;
    let parts = split(&program);
    let report = host.runtime.fan(fan(guest, &["left", "right"]), &options()).await.unwrap();
    assert_eq!(report.tasks.len(), 2);
    let requests = host.model.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        let added = added(&request.text(), &parts);
        assert_eq!(added[0]["role"], "assistant");
        assert_eq!(added[0]["content"][0]["text"], "four");
        assert_eq!(added[1]["role"], "user");
        assert_eq!(added.len(), 2);
        assert_eq!(request.text().matches("cache_control").count(), 3, "two of its own");
    }
    // What the program says next is nothing to them, and to later forks it is.
    program.messages.extend([said("four"), user("five")]);
    assert_eq!(host.exchange(&program, &reply(&said("six"), (10, 0))).await, guest);
    let worker = report.tasks[0].agent;
    host.runtime.run(worker, Some("And now?".to_owned()), &options()).await.unwrap();
    let request = host.model.requests().pop().unwrap();
    assert_eq!(added(&request.text(), &parts).len(), 4);
}

#[tokio::test]
async fn a_fork_in_the_middle_of_a_turn_closes_what_is_open() {
    let mut host = Host::with(model()).await;
    let mut program = Program::new("s");
    program.messages.push(user("one"));
    let call = json!({"role": "assistant", "content": [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
    ]});
    let guest = host.exchange(&program, &reply(&call, (10, 0))).await;
    let parts = split(&program);
    host.runtime.fan(fan(guest, &["look elsewhere"]), &options()).await.unwrap();
    let first = added(&host.model.requests()[0].text(), &parts);
    assert_eq!(first[0]["content"][1]["id"], "toolu_1");
    assert_eq!(first[1]["content"][0]["tool_use_id"], "toolu_1");
    // Its next request is under way, and has no reply yet.
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a b"}]);
    program.messages.extend([call, json!({"role": "user", "content": result})]);
    let exchange = host.sent(&program).await;
    host.guests.begun(exchange, true).await.unwrap();
    let before = host.model.requests().len();
    host.runtime.fan(fan(guest, &["look here"]), &options()).await.unwrap();
    let request = &host.model.requests()[before];
    let added = added(&request.text(), &split(&program));
    assert_eq!(added.len(), 1, "the directive alone: {added:?}");
}

#[tokio::test]
async fn generations_go_on_from_each_other() {
    let mut host = Host::with(model()).await;
    let mut program = Program::new("s");
    host.turn(&mut program, "one", "two").await;
    let guest = host.turn(&mut program, "three", "four").await;
    program.messages.pop();
    let (before, _) = split(&program);
    let mut parent = guest;
    let mut last = before;
    for generation in 1..=3 {
        let spec = ForkSpec::of(parent);
        let child = host.runtime.fork(spec).await.unwrap().child;
        let words = format!("generation {generation}");
        host.runtime.run(child, Some(words.clone()), &options()).await.unwrap();
        let request = host.model.requests().pop().unwrap().text();
        let mark = r#","cache_control":{"type":"ephemeral"}"#;
        assert!(request.replace(mark, "").starts_with(&last.replace(mark, "")), "{request}");
        let end = request.rfind(&words).unwrap() + words.len();
        last = request[..end].to_owned();
        parent = child;
    }
}

#[tokio::test]
async fn a_fork_at_an_earlier_entry_has_the_bytes_up_to_it() {
    let mut host = Host::with(model()).await;
    let mut program = Program::new("s");
    host.turn(&mut program, "one", "two").await;
    let guest = host.turn(&mut program, "three", "four").await;
    let entries = host.runtime.store().own_entries(guest, None).await.unwrap();
    let spec = ForkSpec { at: Some(entries[1].id), ..ForkSpec::of(guest) };
    let child = host.runtime.fork(spec).await.unwrap().child;
    host.runtime.run(child, Some("another".to_owned()), &options()).await.unwrap();
    let sent: Value = serde_json::from_slice(&host.model.requests()[0].body).unwrap();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3);
    assert_eq!(sent["messages"][0]["content"], "one");
    assert_eq!(sent["tools"][0]["defer_loading"], true);
}

#[tokio::test]
async fn the_ledger_expects_what_the_program_has_had_cached() {
    let usage = Usage { read: Some(9_020), ..Usage::default() };
    let mut host =
        Host::with(ScriptedModel::answering(move |_| Answer::text(REPORT).with_usage(usage))).await;
    let mut program = Program::new("s");
    program.messages.push(user(&"word ".repeat(8_000)));
    let guest = host.exchange(&program, &reply(&said("two"), (9_000, 0))).await;
    program.messages.extend([said("two"), user("three")]);
    host.exchange(&program, &reply(&said("four"), (20, 9_000))).await;
    let report = host.runtime.fan(fan(guest, &["left", "right"]), &options()).await.unwrap();
    for task in &report.tasks {
        let all = host.runtime.explain_cache(task.agent).await.unwrap();
        let note = all[0].note.as_ref().unwrap();
        // The second one also has what the first has written.
        assert_eq!(all[0].verdict.as_deref(), Some("ok"), "{note:?}");
        assert!(note.expected >= 9_020, "{note:?}");
    }
}

#[tokio::test]
async fn forks_of_a_guest_write_nothing_unless_a_person_says_so() {
    let mut host = Host::with(model()).await;
    let guest = host.turn(&mut Program::new("s"), "one", "two").await;
    let fork = host.runtime.fork(ForkSpec::of(guest)).await.unwrap();
    assert_eq!((fork.record.standing, fork.record.reach), (Standing::Peer, Reach::read_only()));
    let reach = ReachWish::Run(Reach::open());
    let fork = host.runtime.fork(ForkSpec { reach, ..ForkSpec::of(guest) }).await.unwrap();
    assert_eq!(fork.record.reach, Reach::read_only());
    let reach = ReachWish::Person(Reach::directory());
    let fork = host.runtime.fork(ForkSpec { reach, ..ForkSpec::of(guest) }).await.unwrap();
    assert_eq!(fork.record.reach, Reach::directory());
    let ran = host.runtime.run(guest, Some("go on".to_owned()), &options()).await;
    assert!(matches!(ran, Err(RuntimeError::Guest(_))), "its program runs it");
}

#[tokio::test]
async fn a_system_message_at_the_end_is_followed_by_a_reply() {
    let mut host = Host::with(model()).await;
    let mut program = Program::new("s");
    program.messages = vec![user("one"), json!({"role": "system", "content": "It is noon."})];
    let exchange = host.sent(&program).await;
    let guest = host.guests.begun(exchange, true).await.unwrap().unwrap();
    host.runtime.fan(fan(guest, &["look", "look again"]), &options()).await.unwrap();
    for request in &host.model.requests()[..2] {
        let added = added(&request.text(), &split(&program));
        let roles: Vec<&Value> = added.iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["assistant", "user"]);
    }
}

#[tokio::test]
async fn forks_of_a_guest_that_was_removed_go_on_at_its_server() {
    let mut host = Host::with(model()).await;
    let guest = host.turn(&mut Program::new("s"), "one", "two").await;
    let fork = host.runtime.fork(ForkSpec::of(guest)).await.unwrap().record;
    host.runtime.remove_agents(&[guest]).await.unwrap();
    let model = &fork.settings.model;
    let row = host.runtime.guest_above(&fork, model).await.unwrap().unwrap();
    assert_eq!(row.upstream, "https://api.test");
    assert_eq!(host.runtime.last_guest("test", std::path::Path::new("/")).await.unwrap(), None);
}
