//! `tine mcp` as a host sees it.

use std::collections::VecDeque;
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
    /// Said with each request, as the newest protocol wants it.
    about: Option<Value>,
    /// Messages of the server that nobody has read yet.
    unread: VecDeque<Value>,
}

impl Host {
    /// One that has said nothing yet.
    fn silent(home: &Home) -> Self {
        Self::silent_with(home, &[])
    }

    /// One that has said nothing yet, with these variables of the environment.
    fn silent_with(home: &Home, variables: &[(&str, &str)]) -> Self {
        let mut command = crate::crash::command(home, &["mcp"]);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        Self { server, input, output, asked: 0, about: None, unread: VecDeque::new() }
    }

    /// One that has asked for this version of the protocol, and the answer.
    fn of(home: &Home, version: &str) -> (Self, Value) {
        Self::that_has(home, version, &json!({}))
    }

    /// One that has these capabilities.
    fn that_has(home: &Home, version: &str, capabilities: &Value) -> (Self, Value) {
        let mut host = Self::silent(home);
        let client = json!({"name": "a test", "version": "1"});
        let hello =
            json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let answer = host.ask("initialize", &hello);
        host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (host, answer["result"].clone())
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// One of the newest protocol: it greets nobody, and says with each request who speaks.
    fn newest(home: &Home, capabilities: &Value) -> Self {
        let about = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        Self { about: Some(about), ..Self::silent(home) }
    }

    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let mut params = params.clone();
        if let Some(about) = &self.about {
            params["_meta"] = about.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for a message; those that come before it are read later.
    fn message(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unread.iter().position(&is_it) {
            return self.unread.remove(at).unwrap();
        }
        loop {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "it has closed the connection"
            );
            let message: Value = serde_json::from_str(&line).unwrap();
            if is_it(&message) {
                return message;
            }
            self.unread.push_back(message);
        }
    }

    /// The answer to a request. The server's own requests have numbers, too.
    fn answer(&mut self, id: u64) -> Value {
        self.message(|message| message["id"] == id && message["method"].is_null())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// The next request or notification of this kind.
    fn told(&mut self, method: &str) -> Value {
        self.message(|message| message["method"] == method)
    }

    fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
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
    let mut host = Host::newest(&home, &json!({}));
    let listed = host.ask("tools/list", &json!({}));
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
    assert!(code == 2 && text.contains("tine mcp install claude-code"), "{code}: {text}");
}

/// A host whose person can be asked by forms.
fn with_forms(home: &Home) -> Host {
    Host::that_has(home, "2025-11-25", &json!({"elicitation": {}})).0
}

fn begin_fan(host: &mut Host) -> u64 {
    let fan = json!({"agent": "base", "directives": ["run it", "another"]});
    let about = json!({"progressToken": 7});
    host.begin("tools/call", &json!({"name": "fan", "arguments": fan, "_meta": about}))
}

fn accepted(answer: &str) -> Value {
    json!({"action": "accept", "content": {"answer": answer}})
}

/// The end of the worker that asked, from the answer to a fan.
fn first_task(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    // Behind it stands, for a failure, the reason.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let fan = values.next().and_then(Result::ok).unwrap_or_else(|| panic!("{answer}"));
    fan["tasks"][0].clone()
}

#[test]
fn a_person_at_the_host_is_asked_by_a_form() {
    let home = home();
    let mut host = with_forms(&home);
    let call = begin_fan(&mut host);
    let form = host.told("elicitation/create");
    let message = form["params"]["message"].as_str().unwrap();
    let (who, call_and_why) = message.split_once(" wants ").unwrap();
    assert!(who.starts_with("run it ("), "{message}");
    insta::assert_snapshot!(home.masked(call_and_why), @"
    to use Bash
      make test
      in [HOME]/work: no rule allows this command, and it may do more than read: `make` at column 1: it runs code of the project
    ");
    insta::assert_snapshot!(form["params"]["requestedSchema"], @r#"{"type":"object","properties":{"answer":{"type":"string","title":"Answer","enum":["allow this call","allow it to this worker","allow it to all workers of the tree","deny"]},"reason":{"type":"string","title":"If not: why, or what to do instead"}},"required":["answer"]}"#);
    host.reply(&form, accepted("allow this call"));
    assert_eq!(first_task(&host.answer(call))["status"], "completed");
    let answered = home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!(
        (&answered[0]["state"], &answered[0]["answered_by"]),
        (&json!("allowed"), &json!("tine mcp"))
    );
    host.leave();
}

#[test]
fn a_refusal_by_form_reaches_the_worker_with_its_reason() {
    let home = home();
    let mut host = with_forms(&home);
    let call = begin_fan(&mut host);
    let form = host.told("elicitation/create");
    let reply =
        json!({"action": "accept", "content": {"answer": "deny", "reason": "no tests today"}});
    host.reply(&form, reply);
    let task = first_task(&host.answer(call));
    assert_eq!(task["error"], "every call was refused: denied by the user: no tests today.");
    let answered = home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!(
        (&answered[0]["state"], &answered[0]["reason"]),
        (&json!("denied"), &json!("no tests today"))
    );
    host.leave();
}

#[test]
fn silence_grants_nothing_and_the_question_waits_in_the_queue() {
    let home = home();
    let mut host = with_forms(&home);
    let call = begin_fan(&mut host);
    let form = host.told("elicitation/create");
    host.reply(&form, json!({"action": "decline"}));
    let progress = host.told("notifications/progress");
    // The last line that the command had said by then.
    assert_ne!(progress["params"]["message"].as_str().unwrap(), "", "{progress}");
    let question = question(&home).unwrap();
    home.done(&["permission", "allow", question["id"].as_str().unwrap()]);
    assert_eq!(first_task(&host.answer(call))["status"], "completed");
    assert!(host.unread.iter().all(|message| message["method"] != "elicitation/create"));
    host.leave();
}

#[test]
fn a_form_is_taken_away_where_the_question_is_answered_elsewhere() {
    let home = home();
    let mut host = with_forms(&home);
    let call = begin_fan(&mut host);
    let form = host.told("elicitation/create");
    let question = question(&home).unwrap();
    home.done(&["permission", "allow", question["id"].as_str().unwrap()]);
    assert_eq!(host.told("notifications/cancelled")["params"]["requestId"], form["id"]);
    assert_eq!(first_task(&host.answer(call))["status"], "completed");
    host.leave();
}

#[test]
fn an_agent_that_is_the_host_answers_nothing() {
    let home = home();
    let mut host =
        Host::silent_with(&home, &[("TINE_AGENT", "00000000-0000-4000-8000-000000000000")]);
    let client = json!({"name": "a test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": client});
    host.ask("initialize", &hello);
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let call = begin_fan(&mut host);
    let question = until_some("a question", || question(&home));
    home.done(&["permission", "allow", question["id"].as_str().unwrap()]);
    host.answer(call);
    assert!(host.unread.iter().all(|message| message["method"] != "elicitation/create"));
    host.leave();
}

#[test]
fn the_newest_protocol_asks_by_the_answer_of_the_call() {
    let home = home();
    let mut host = Host::newest(&home, &json!({"elicitation": {"form": {}}}));
    let fan = json!({"agent": "base", "directives": ["run it"]});
    let mut call = json!({"name": "fan", "arguments": fan});
    let asks = host.ask("tools/call", &call)["result"].clone();
    assert_eq!(asks["resultType"], "input_required");
    let state = asks["requestState"].as_str().unwrap();
    assert_eq!(asks["inputRequests"][state]["method"], "elicitation/create");
    call["requestState"] = json!(state);
    // Without a reply, and with one to another form, it asks again.
    for replies in [json!({}), json!({"other": accepted("deny")}), json!({state: {"action": "?"}})]
    {
        call["inputResponses"] = replies;
        assert_eq!(host.ask("tools/call", &call)["result"], asks);
    }
    call["inputResponses"] = json!({state: accepted("allow it to this worker")});
    let end = host.ask("tools/call", &call);
    assert_eq!(end["result"]["resultType"], "complete");
    assert_eq!(first_task(&end)["status"], "completed");
    // The same once more, as a client that has lost the answer says it.
    let lost = host.ask("tools/call", &call);
    assert_eq!(lost["result"]["isError"], true, "{lost}");
    host.leave();
}

#[test]
fn a_client_with_tasks_looks_after_a_call_when_it_likes() {
    let home = home();
    let capabilities =
        json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut host = Host::newest(&home, &capabilities);
    let fan = json!({"agent": "base", "directives": ["run it"]});
    let made = host.ask("tools/call", &json!({"name": "fan", "arguments": fan}))["result"].clone();
    assert_eq!(made["resultType"], "task");
    let id = json!({"taskId": made["taskId"]});
    let state = |host: &mut Host, wanted: &str| {
        until_some(wanted, || {
            Some(host.ask("tasks/get", &id)["result"].clone())
                .filter(|task| task["status"] == wanted)
        })
    };
    let asks = state(&mut host, "input_required");
    let key =
        |asks: &Value| asks["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    for (asks, reply) in [(asks, accepted("Allow")), (Value::Null, accepted("allow this call"))] {
        let asks = if asks.is_null() { state(&mut host, "input_required") } else { asks };
        let told = json!({"taskId": made["taskId"], "inputResponses": {key(&asks): reply}});
        host.ask("tasks/update", &told);
    }
    let end = state(&mut host, "completed");
    assert_eq!(first_task(&end)["status"], "completed");
    host.leave();
}

#[test]
fn a_task_that_is_cancelled_stops_its_workers() {
    let home = home();
    let mut host =
        Host::newest(&home, &json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let fan = json!({"agent": "base", "directives": ["run it"]});
    let made = host.ask("tools/call", &json!({"name": "fan", "arguments": fan}))["result"].clone();
    until_some("a question", || question(&home));
    host.ask("tasks/cancel", &json!({"taskId": made["taskId"]}));
    let interrupted =
        || home.json(&["task", "list", "--json"])["tasks"][0]["status"] == "interrupted";
    until_some("the end of the worker", || interrupted().then_some(()));
    until_some("the end of the task", || {
        let task = host.ask("tasks/get", &json!({"taskId": made["taskId"]}))["result"].clone();
        (task["status"] == "cancelled").then_some(())
    });
    host.leave();
}

#[test]
fn agents_and_reports_are_resources() {
    let home = home();
    let (mut host, _) = Host::of(&home, "2025-11-25");
    host.json("fan", json!({"agent": "base", "directives": ["one"]}));
    let listed = host.ask("resources/list", &json!({}))["result"]["resources"].clone();
    let address = |kind: &str| {
        let all = listed.as_array().unwrap().iter();
        let mut found = all.filter_map(|one| one["uri"].as_str()).filter(|uri| uri.contains(kind));
        (found.next().unwrap().to_owned(), found.count() + 1)
    };
    let ((agent, agents), (report, reports)) = (address("agent/"), address("report/"));
    assert_eq!((agents, reports), (2, 1), "{listed}");
    let mut text = |uri: &str| {
        let read = host.ask("resources/read", &json!({"uri": uri}));
        let text = read["result"]["contents"][0]["text"].as_str().map(str::to_owned);
        text.unwrap_or_else(|| read["error"]["message"].to_string())
    };
    assert!(text(&agent).contains("Task: one"));
    assert!(text("tine://agent/base").contains("message 0"));
    assert!(text(&report).contains("Result: done"));
    insta::assert_snapshot!(text("tine://agent/nobody"), @r#""error: no agent `nobody`\nhint: `tine ps --all` lists all agents""#);
    assert!(text("tine://report/base").contains("has not reported"));
    insta::assert_snapshot!(text("file:///etc/passwd"), @r#""no resource has the address file:///etc/passwd""#);
    let shapes = host.ask("resources/templates/list", &json!({}));
    assert_eq!(shapes["result"]["resourceTemplates"].as_array().unwrap().len(), 2);
    let far = host.ask("resources/list", &json!({"cursor": "100"}));
    assert_eq!(far["result"]["resources"], json!([]));
    assert!(host.ask("resources/list", &json!({"cursor": "x"}))["error"].is_object());
    host.leave();
}

#[test]
fn a_client_hears_of_changes() {
    let home = home();
    let base = home.json(&["tree", "--json"])[0]["id"].as_str().unwrap().to_owned();
    let uri = format!("tine://agent/{base}");
    let (mut host, _) = Host::of(&home, "2025-11-25");
    host.ask("resources/subscribe", &json!({"uri": uri}));
    home.json(&["fork", "base", "--name", "other", "--json"]);
    host.told("notifications/resources/list_changed");
    home.done(&["run", "--resume", "base", "go on"]);
    assert_eq!(host.told("notifications/resources/updated")["params"]["uri"], uri.as_str());
    host.leave();

    let mut host = Host::newest(&home, &json!({}));
    let wanted = json!({"resourcesListChanged": true, "resourceSubscriptions": [uri]});
    host.begin("subscriptions/listen", &json!({"notifications": wanted}));
    host.told("notifications/subscriptions/acknowledged");
    // The acknowledgment is sent before the watch begins; so a change that comes too early is followed by others.
    let mut number = 0;
    until_some("a notice", || {
        number += 1;
        home.json(&["fork", "base", "--name", &format!("n{number}"), "--json"]);
        host.ask("tools/list", &json!({}));
        let is_notice =
            |message: &Value| message["method"] == "notifications/resources/list_changed";
        host.unread.iter().any(is_notice).then_some(())
    });
    home.done(&["run", "--resume", "base", "go on"]);
    assert_eq!(host.told("notifications/resources/updated")["params"]["uri"], uri.as_str());
    host.leave();
}
