//! Forks of conversations that a real Claude Code and Codex hold, which are fetched for it. The simulator is their provider.

use serde_json::{Value, json};
use tine_testkit::{until, until_some};

use crate::foreign::{KEY, Running, program, user};
use crate::hosts_gateway::{CODEX_SETTINGS, provider, with};
use crate::sim_serve::Server;
use crate::support::{Home, Ran};

/// A report as workers are told to write it.
const REPORT: &str =
    "Scope: a look\\nResult: done\\nKey files: notes.txt\\nFiles changed: none\\nIssues: none";

/// Runs tine with the key that the host has.
fn own(home: &Home, provider: &Server, arguments: &[&str]) -> Ran {
    let mut command = home.tine(arguments);
    command.env("ANTHROPIC_BASE_URL", provider.field("anthropic")).env("ANTHROPIC_API_KEY", KEY);
    command.env("OPENAI_BASE_URL", provider.field("openai")).env("OPENAI_API_KEY", KEY);
    Ran::of(&mut command)
}

/// All tokens of a request's prompt, and those that the cache served.
fn tokens(request: &Value) -> (u64, u64) {
    let usage = &request["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap_or(0);
    let read = count("read");
    (read + count("write_short") + count("write_long") + count("uncached"), read)
}

/// The requests of an agent.
fn requests(home: &Home, agent: &str) -> Vec<Value> {
    let explained = home.json(&["cache", "explain", agent, "--json"]);
    explained["requests"].as_array().unwrap().clone()
}

/// Fails unless the first request of each agent has read at least 99 % of the guest's last prompt.
fn all_read(home: &Home, guest: &str, agents: &[String]) {
    let (prompt, _) = tokens(requests(home, guest).last().unwrap());
    for agent in agents {
        let (all, read) = tokens(&requests(home, agent)[0]);
        assert!(read * 100 >= prompt * 99, "{agent} read {read} of {prompt}, and sent {all}");
    }
}

/// A fan of four, all at once; its workers.
fn fan_of_four(home: &Home, provider: &Server, parent: &str) -> Vec<String> {
    let directives =
        ["-d", "look at one", "-d", "look at two", "-d", "look at three", "-d", "look at four"];
    let fan = [["fan", parent].as_slice(), &directives, &["--plan", "together", "--json"]].concat();
    let ran = own(home, provider, &fan);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tasks = told["tasks"].as_array().unwrap();
    let agent = |task: &Value| {
        assert_eq!(task["status"], "completed", "{task}");
        task["agent"].as_str().unwrap().to_owned()
    };
    tasks.iter().map(agent).collect()
}

/// The id of the program's conversation, once all of its messages are in the log.
fn last_guest(home: &Home, name: &str, entries: usize) -> String {
    until_some("the guest", || {
        let ran = home.ran(&["show", name, "--json"]);
        let shown: Value = serde_json::from_str(&ran.stdout).ok()?;
        let id = shown["agent"]["id"].as_str()?.to_owned();
        (home.ran(&["logs", &id]).stdout.lines().count() >= entries).then_some(id)
    })
}

fn ended(running: Running) {
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A file that workers read.
fn notes(home: &Home) {
    std::fs::create_dir(user(home)).unwrap();
    std::fs::write(home.work().join("notes.txt"), "the parser is slow\n").unwrap();
}

fn claude_code_scenario() -> String {
    format!(
        r#"
name = "claude-code"

[[turn]]
when = {{ user_contains = "Run it", tool_results = 0 }}
tool_calls = [{{ name = "Bash", input = {{ command = "echo it-$((1 + 1))", description = "Runs it" }} }}]

[[turn]]
when = {{ last_tool = "Bash" }}
text = "It ran."

[[turn]]
when = {{ last_tool = "Read" }}
text = "{REPORT}"

[[turn]]
when = {{ user_contains = "look at" }}
tool_calls = [{{ name = "Read", input = {{ file_path = "notes.txt" }} }}]

[[turn]]
text = "ok"
"#
    )
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts guests"]
fn claude_code_is_forked_and_its_forks_read_what_it_has_cached() {
    let claude_code = program("TINE_TEST_CLAUDE_CODE");
    let home = Home::new();
    notes(&home);
    let provider = provider(&home, &claude_code_scenario(), "bodies");
    let host = claude_code.to_str().unwrap();
    ended(with(&home, &provider, &[host, "-p", "Run it", "--allowedTools", "Bash"]));
    let guest = last_guest(&home, "claude:last", 4);
    let workers = fan_of_four(&home, &provider, "claude:last");
    all_read(&home, &guest, &workers);
    let shown = home.done(&["show", &workers[0]]);
    assert!(shown.contains("the parser is slow"), "{shown}");
    // The program goes on, and knows nothing of them.
    ended(with(&home, &provider, &[host, "-p", "Say more", "--continue"]));
    assert_eq!(last_guest(&home, "claude:last", 6), guest);
    all_read(&home, &guest, &fan_of_four(&home, &provider, &guest));
    generations(&home, &provider, &guest);
}

/// Forks a fork, and a fork of that.
fn generations(home: &Home, provider: &Server, guest: &str) {
    let mut parent = guest.to_owned();
    for _ in 0..3 {
        let ran = own(home, provider, &["fork", &parent, "Say it once more", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let told: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
        let child = told["agent"].as_str().unwrap().to_owned();
        all_read(home, &parent, std::slice::from_ref(&child));
        parent = child;
    }
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts guests"]
fn claude_code_is_forked_in_the_middle_of_a_turn_with_its_own_credentials() {
    let claude_code = program("TINE_TEST_CLAUDE_CODE");
    let home = Home::new();
    notes(&home);
    home.write("config.toml", "[gateway]\nborrow_credentials = \"always\"\n");
    let provider = provider(&home, &claude_code_scenario(), "bodies");
    // Its command runs until the file is there.
    let command = "until [ -e go ]; do sleep 0.1; done";
    let scenario = claude_code_scenario().replace("echo it-$((1 + 1))", command);
    let waiting = self::provider(&home, &scenario, "waiting");
    drop(provider);
    let host = claude_code.to_str().unwrap();
    let running = with(&home, &waiting, &[host, "-p", "Run it", "--allowedTools", "Bash"]);
    let guest = last_guest(&home, "claude:last", 2);
    let ran = home.ran(&["fan", "claude:last", "-d", "look at one", "-d", "look at two", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let workers = told["tasks"].as_array().unwrap().iter();
    let workers: Vec<String> =
        workers.map(|task| task["agent"].as_str().unwrap().to_owned()).collect();
    assert_eq!(workers.len(), 2);
    all_read(&home, &guest, &workers);
    std::fs::write(home.work().join("go"), "").unwrap();
    ended(running);
    until("the end of the turn", || home.ran(&["logs", &guest]).stdout.contains("It ran."));
}

fn codex_scenario() -> String {
    format!(
        r#"
name = "codex"

[[turn]]
when = {{ user_contains = "Run it", tool_results = 0 }}
tool_calls = [{{ name = "exec_command", input = {{ cmd = "echo it-$((1 + 1))" }} }}]

[[turn]]
when = {{ user_contains = "look at" }}
text = "{REPORT}"

[[turn]]
text = "ok"
"#
    )
}

#[test]
#[ignore = "needs Codex: cargo xtask hosts guests"]
fn codex_is_forked_and_its_forks_read_what_it_has_cached() {
    let codex = program("TINE_TEST_CODEX");
    let home = Home::new();
    notes(&home);
    home.write("user/.codex/config.toml", CODEX_SETTINGS);
    home.write("user/.codex/auth.json", &json!({"OPENAI_API_KEY": KEY}).to_string());
    let provider = provider(&home, &codex_scenario(), "bodies");
    let run = [codex.to_str().unwrap(), "exec", "--skip-git-repo-check", "Run it"];
    ended(with(&home, &provider, &run));
    let guest = last_guest(&home, "codex:last", 5);
    let workers = fan_of_four(&home, &provider, "codex:last");
    all_read(&home, &guest, &workers);
    generations(&home, &provider, &guest);
}
