//! Workers that a run's model starts, as whoever runs it sees them.

use std::process::{Child, Stdio};

use serde_json::Value;
use tine_testkit::{WIRE_BODIES, until};

use super::{SCENARIO, base};
use crate::support::Home;

#[test]
fn a_run_tells_which_workers_it_has_started() {
    let home = base();
    let run = home.json(&["run", "--resume", "base", "--json", "DELEGATE LOOK"]);
    assert_eq!((&run["outcome"], &run["text"]), (&"completed".into(), &"I have read it.".into()));
    let tasks = run["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 1);
    insta::with_settings!({ filters => crate::run::filters() }, {
        insta::assert_snapshot!(tasks[0].to_string(), @r#"{"agent":"[AGENT-ID]","id":"[AGENT-ID]","name":null,"spawner":"[AGENT-ID]","status":"completed","description":"a look","directive":"LOOK around","definition":null,"forked":true,"context":"full","resumes":0,"report":"Scope: a look around\nResult: nothing there","error":null,"flags":[],"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"turns":2,"tool_uses":1,"created_at":"[TIME]","ended_at":"[TIME]","duration_ms":0,"cleared":false,"worktree":null}"#);
    });
    let plain = home.json(&["run", "--resume", "base", "--json", "hello"]);
    assert_eq!(plain["tasks"], Value::Array(Vec::new()));

    let stream = ["run", "--resume", "base", "--output-format", "stream-json", "DELEGATE LOOK"];
    let records: Vec<Value> =
        home.done(&stream).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| records.iter().find(|record| record["type"] == kind).unwrap();
    assert_eq!(of("worker_started")["description"], "a look");
    assert_eq!(of("worker_ended")["status"], "completed");
    assert_eq!(of("result")["tasks"].as_array().unwrap().len(), 1);

    let shown = home.json(&["ps", "--json"]);
    let worker = shown.as_array().unwrap().iter().find(|one| one["kind"] == "worker").unwrap();
    let task = &worker["task"];
    assert_eq!((&task["description"], &task["resumes"]), (&"a look".into(), &0.into()));
    assert!(task["flags"].is_array());
}

/// Starts a command whose words for people are kept.
#[expect(clippy::disallowed_methods, reason = "the test interrupts the real binary")]
fn start(home: &Home, arguments: &[&str]) -> Child {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tine"));
    command.env_clear().env("TINE_HOME", home.path()).env("HOME", home.path());
    for kept in ["PATH", WIRE_BODIES] {
        command.envs(std::env::var_os(kept).map(|value| (kept, value)));
    }
    command.current_dir(home.work()).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn an_interrupted_run_takes_its_workers_with_it_and_says_what_they_had_done() {
    let home = base();
    let run = start(&home, &["run", "--resume", "base", "--json", "DELEGATE STALL"]);
    let waits = || {
        let tasks = home.json(&["task", "list", "--status", "running", "--json"]);
        let log = home.done(&["logs", "base", "--json"]);
        tasks["tasks"].as_array().unwrap().len() == 1 && log.contains("I wait.")
    };
    until("a worker that runs", waits);
    assert_cmd::Command::new("kill").args(["-INT", &run.id().to_string()]).assert().success();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["tasks"][0]["status"], "interrupted", "{told}");
    // How far it had come by then is a matter of luck.
    let said = String::from_utf8(output.stderr).unwrap();
    let line = said.lines().find(|line| line.starts_with("stopped ")).unwrap();
    assert!(line.contains(" stalled · ") && line.contains(" · task interrupted"), "{said}");
}

#[test]
fn a_root_dies_on_purpose_only_and_a_dead_fork_leaves_its_parent_to_go_on_with() {
    let home = base();
    let model = home.near_model(SCENARIO);
    home.import(&model, "other", 2);
    home.done(&["fork", "base", "--name", "peer"]);
    let last = || home.json(&["run", "--continue", "--json", "hello"])["agent"].clone();
    let id = |name: &str| home.json(&["show", name, "--json"])["agent"]["id"].clone();
    let (base, peer) = (id("base"), id("peer"));
    home.done(&["run", "--resume", "other", "--quiet", "hello"]);
    home.done(&["run", "--resume", "peer", "--quiet", "hello"]);
    assert_eq!(last(), peer);
    let killed = home.json(&["kill", "peer", "--json"]);
    assert_eq!(killed["killed"], serde_json::json!([peer]));
    assert_eq!(
        (&killed["receipts"][0]["turns"], &killed["receipts"][0]["over"]),
        (&2.into(), &true.into())
    );
    assert_eq!(last(), base);

    home.done(&["fork", "base", "--name", "again"]);
    check!(home.shown(&home.ran(&["kill", "again", "base"])), @"
    code: 42
    --- stdout
    --- stderr
    error: [AGENT8] is the root of a tree, and 1 agent below it would die with it
    hint: `tine stop [AGENT8]` ends what runs there; all of it can be resumed
    hint: `tine kill --root [AGENT8]` kills it for good
    ");
    check!(home.shown(&home.ran(&["kill", "other"])), @"
    code: 42
    --- stdout
    --- stderr
    error: [AGENT8] is the root of a tree
    hint: `tine stop [AGENT8]` ends what runs there; all of it can be resumed
    hint: `tine kill --root [AGENT8]` kills it for good
    ");
    let killed = home.json(&["kill", "base", "--root", "--json"]);
    assert_eq!(killed["killed"].as_array().unwrap().len(), 2);
}
