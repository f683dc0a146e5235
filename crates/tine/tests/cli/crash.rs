//! `kill -9` at any moment: nothing that was acknowledged is missing, what was running says so, and it can go on.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tine_testkit::{WIRE_BODIES, share, until, until_some};

use crate::support::Home;

/// Three turns with two calls each; slow enough to be killed anywhere.
const SCENARIO: &str = r#"
name = "slow"
per_chunk_ms = 5

[[turn]]
when = { user_contains = "Task:" }
text = "Scope: slow work, of which nothing comes before it is killed"
fault = { first_byte_ms = 300_000 }

[[turn]]
when = { turn = 0 }
text = "First I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.a" } }, { name = "Glob", input = { pattern = "*.b" } }]

[[turn]]
when = { turn = 1 }
text = "Then I look again."
tool_calls = [{ name = "Glob", input = { pattern = "*.c" } }, { name = "Grep", input = { pattern = "x" } }]

[[turn]]
text = "I have looked twice."
"#;

/// A command that is to be killed.
#[expect(clippy::disallowed_methods, reason = "the test kills the real binary")]
pub(crate) fn command(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tine"));
    command.env_clear().env("TINE_HOME", home.path()).env("HOME", home.path());
    for kept in ["PATH", WIRE_BODIES] {
        command.envs(std::env::var_os(kept).map(|value| (kept, value)));
    }
    command.current_dir(home.work()).args(arguments);
    command
}

/// Starts a command; it is killed with a signal that it cannot see.
pub(crate) fn start(home: &Home, arguments: &[&str]) -> Child {
    let mut command = command(home, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Reads so many records of the child's stream, then kills it. Fewer, if it ends before.
fn killed_after(mut child: Child, records: usize) -> Vec<Value> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines.take(records).map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let seen = seen.collect();
    child.kill().unwrap();
    child.wait().unwrap();
    seen
}

/// Role and text of every message of an agent that counts.
fn messages(home: &Home, agent: &str) -> Vec<(String, String)> {
    let shown = home.json(&["show", agent, "--json"]);
    let entries = shown["entries"].as_array().unwrap().iter();
    let effective =
        entries.filter(|entry| entry["kind"] == "message" && entry["effective"] == true);
    effective
        .map(|entry| {
            let blocks = entry["message"]["blocks"].as_array().unwrap().iter();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            (entry["message"]["role"].as_str().unwrap().to_owned(), texts.join("\n\n"))
        })
        .collect()
}

/// The messages that a stream has acknowledged.
fn acknowledged(records: &[Value]) -> Vec<(String, String)> {
    let told = records.iter().filter(|record| record["type"] == "message");
    let text = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
    told.map(|record| (text(record, "role"), text(record, "text"))).collect()
}

#[test]
fn a_killed_run_keeps_what_it_told_and_goes_on() {
    for records in share("records before a kill", 0, 1..=24) {
        let home = Home::new();
        let model = home.model(SCENARIO);
        let arguments = ["run", "--model", &model, "--output-format", "stream-json", "go"];
        let seen = killed_after(start(&home, &arguments), records);
        let agent = seen[0]["agent"].as_str().unwrap();
        let told = acknowledged(&seen);
        let kept = messages(&home, agent);
        assert!(kept.starts_with(&told), "after {records} records: {told:?}\nkept {kept:?}");
        let state = home.json(&["ps", "--json"])[0]["state"].clone();
        if seen.last().unwrap()["type"] == "result" {
            assert_eq!(state, "idle");
            continue;
        }
        // It may have come as far as its end between the last record and the signal.
        assert!(state == "interrupted" || state == "idle", "after {records} records: {state}");
        if kept.last().is_some_and(|(role, text)| role == "assistant" && text.ends_with("twice.")) {
            continue;
        }
        let more: &[&str] = if kept.is_empty() { &["go"] } else { &[] };
        let resumed = home.json(&[&["run", "--resume", agent, "--json"], more].concat());
        assert_eq!(resumed["outcome"], "completed", "after {records} records");
        let after = messages(&home, agent);
        assert!(after.starts_with(&kept), "after {records} records");
    }
}

#[test]
fn killed_workers_are_interrupted_and_their_spawner_is_told_once() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let parent = home.import(&model, "base", 4);
    let mut child = start(&home, &["fan", "base", "-d", "one", "-d", "two", "-d", "three"]);
    let running = || {
        let agents = home.json(&["ps", "--json"]);
        let agents = agents.as_array().unwrap();
        agents.iter().filter(|agent| agent["state"] == "running").count()
    };
    until("three workers that run", || running() == 3);
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..2 {
        let agents = home.json(&["ps", "--json"]);
        let workers: Vec<&Value> =
            agents.as_array().unwrap().iter().filter(|agent| agent["kind"] == "worker").collect();
        assert_eq!(workers.len(), 3);
        for worker in workers {
            assert_eq!(
                (&worker["state"], &worker["task"]["status"]),
                (&"interrupted".into(), &"interrupted".into())
            );
        }
    }
    // The notices reach the parent with its next turn, each one once, and all of them in one message.
    home.done(&["run", "--resume", &parent, "--quiet", "hello"]);
    home.done(&["run", "--resume", &parent, "--quiet", "hello again"]);
    let notices = messages(&home, &parent);
    let notices: Vec<&String> = notices
        .iter()
        .map(|(_, text)| text)
        .filter(|text| text.contains("<task-notification>"))
        .collect();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].matches("<task-id>").count(), 3);
}

/// Sends a signal by name.
#[expect(clippy::disallowed_methods, reason = "the test signals the real binary")]
pub(crate) fn signal(name: &str, process: u32) {
    let mut command = std::process::Command::new("bash");
    let sent = command.arg("-c").arg(format!("kill -{name} {process}")).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_closed_terminal_stops_what_runs_in_it() {
    let home = Home::new();
    let model = home.model(
        r#"
        name = "sleeper"
        [[turn]]
        when = { tool_results = 0 }
        tool_calls = [{ name = "Bash", input = { command = "echo $$ > pid; sleep 1000" } }]
        "#,
    );
    let stream = ["--output-format", "stream-json", "--allow", "Bash", "sleep"];
    let mut child = start(&home, &[&["run", "--model", &model], &stream[..]].concat());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(r#""type":"tool_call""#)));
    let pid = home.work().join("pid");
    let sleeper = || std::fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n'));
    let sleeper = until_some("the command", sleeper);
    signal("HUP", child.id());
    let last = lines.map(Result::unwrap).last().unwrap();
    assert!(last.contains(r#""outcome":"aborted""#), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let sleeper = format!("/proc/{}/stat", sleeper.trim());
    let alive = std::fs::read_to_string(sleeper).is_ok_and(|stat| !stat.contains(") Z"));
    assert!(!alive, "the command outlived its terminal");
}
