//! `tine mcp` as a host sees it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use tine_testkit::until_some;

use crate::support::Home;

/// A worker that wants to run a command, and others that report at once.
const SCENARIO: &str = r#"
name = "mcp"

[[turn]]
when = { user_contains = "Task: run", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "make test" } }]

[[turn]]
when = { user_contains = "Task:" }
text = "Scope: what was asked\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"

[[turn]]
text = "ok"
"#;

/// A host that speaks to it, as far as these tests need one.
struct Host {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Host {
    /// One that has said nothing yet.
    fn silent(home: &Home) -> Self {
        let mut command = crate::crash::command(home, &["mcp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        Self { server, input, output, asked: 0 }
    }

    /// One that has asked for this version of the protocol, and the answer.
    fn of(home: &Home, version: &str) -> (Self, Value) {
        let mut host = Self::silent(home);
        let client = json!({"name": "a test", "version": "1"});
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = host.ask("initialize", &hello);
        host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (host, answer["result"].clone())
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        loop {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "it has closed the connection"
            );
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool; its text, and whether it failed.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    /// The JSON of a call that does not fail.
    fn json(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, failed) = self.call(tool, arguments);
        assert!(!failed, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Hangs up; it ends well.
    fn leave(self) {
        let Self { mut server, input, .. } = self;
        drop(input);
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }
}

/// The first request for permission that waits.
fn question(home: &Home) -> Option<Value> {
    home.json(&["permission", "list", "--json"]).as_array()?.first().cloned()
}

fn home() -> Home {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.import(&model, "base", 2);
    home
}

#[test]
fn every_protocol_that_hosts_ask_for_is_spoken() {
    let home = home();
    for version in ["2025-06-18", "2025-11-25"] {
        let (mut host, hello) = Host::of(&home, version);
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(hello["serverInfo"]["name"], "tine");
        let listed = host.ask("tools/list", &json!({}));
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 14);
        host.leave();
    }
    // Without a word of greeting: each request says who speaks.
    let mut host = Host::silent(&home);
    let about = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let listed = host.ask("tools/list", &about);
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(14), "{listed}");
    host.leave();
}

#[test]
fn a_host_forks_fans_out_and_reads_what_came_of_it() {
    let home = home();
    let (mut host, _) = Host::of(&home, "2025-06-18");
    let fork = host.json("fork", json!({"agent": "base", "prompt": "go on", "name": "other"}));
    assert_eq!((&fork["outcome"], &fork["text"]), (&json!("completed"), &json!("ok")));
    let fan = host.json("fan", json!({"agent": "base", "directives": ["one", "two"]}));
    let reports = fan["tasks"].as_array().unwrap().iter().map(|task| &task["report"]["result"]);
    assert_eq!(reports.collect::<Vec<_>>(), ["done", "done"]);
    let task = host.json("task_start", json!({"agent": "base", "prompt": "three"}));
    let output = host.json("task_output", json!({"task": task["task"], "wait": true}));
    assert_eq!(output["task"]["status"], "completed");
    assert_eq!(host.json("task_list", json!({}))["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(host.json("tree", json!({}))[0]["children"].as_array().unwrap().len(), 4);
    assert_eq!(
        host.json("merge_back", json!({"agent": "other", "text": "It went well."}))["into"],
        fork["parent"]
    );
    assert!(host.call("show", json!({"agent": "base"})).0.contains("It went well."));
    assert!(host.json("cost", json!({}))["total"]["cost_usd"].is_number());
    host.leave();
}

#[test]
fn what_a_model_gets_wrong_is_told_to_it_and_the_next_call_works() {
    let home = home();
    let (mut host, _) = Host::of(&home, "2025-11-25");
    insta::assert_snapshot!(host.call("fork", json!({"agent": "nobody"})).0, @"
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents
    ");
    for (tool, arguments) in [
        ("fork", json!({"agent": "--help"})),
        ("fan", json!({"agent": "base"})),
        ("fan", json!({"agent": "base", "directives": "one"})),
        ("tree", json!({"agnet": "base"})),
        ("show", json!({"agent": ["base"]})),
        ("task_output", json!({"task": "base", "since": "x"})),
        ("apply", json!({"agent": "base"})),
        ("import", json!({"file": "nothing.json"})),
    ] {
        let (text, failed) = host.call(tool, arguments.clone());
        assert!(failed && !text.is_empty(), "{tool} {arguments}: {text}");
    }
    let unknown = host.ask("tools/call", &json!({"name": "rm", "arguments": {}}));
    assert_eq!(unknown["error"]["message"], "there is no tool `rm`");
    assert_eq!(host.json("tree", json!({"agent": "base"})).as_array().unwrap().len(), 1);
    host.leave();
}

#[test]
fn work_and_its_question_outlive_the_connection() {
    let home = home();
    let (mut host, _) = Host::of(&home, "2025-06-18");
    let fan = json!({"agent": "base", "directives": ["run it"]});
    host.begin("tools/call", &json!({"name": "fan", "arguments": fan}));
    until_some("a question", || question(&home));
    host.leave();
    let question = question(&home).unwrap();
    assert_eq!((&question["tool"], &question["state"]), (&json!("Bash"), &json!("pending")));
    home.done(&["permission", "deny", question["id"].as_str().unwrap()]);
    let (mut next, _) = Host::of(&home, "2025-06-18");
    let task = next.json("task_list", json!({"agent": "base"}))["tasks"][0]["id"].clone();
    let output = next.json("task_output", json!({"task": task, "wait": true}));
    assert_eq!(output["task"]["error"], "every call was refused: denied by the user.", "{output}");
    next.leave();
}

#[test]
fn a_call_that_is_cancelled_stops_its_workers() {
    let home = home();
    let (mut host, _) = Host::of(&home, "2025-06-18");
    let fan = json!({"agent": "base", "directives": ["run it"]});
    let id = host.begin("tools/call", &json!({"name": "fan", "arguments": fan}));
    until_some("a question", || question(&home));
    let cancelled = json!({"requestId": id, "reason": "the person pressed Escape"});
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    let task = host.json("task_list", json!({"agent": "base"}))["tasks"][0]["id"].clone();
    let output = host.json("task_output", json!({"task": task, "wait": true}));
    assert_eq!(output["task"]["status"], "interrupted", "it can be resumed");
    host.leave();
}

#[test]
fn a_person_who_types_it_is_told_who_starts_it() {
    let home = home();
    let (code, text) = crate::pty::Terminal::start(&home, &["mcp"]).end();
    assert!(code == 2 && text.contains("claude mcp add tine"), "{code}: {text}");
}
