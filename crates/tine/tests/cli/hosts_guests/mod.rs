//! Forks of conversations that a real Claude Code and Codex hold, which are fetched for it. The simulator is their provider.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tine_testkit::{until, until_some};

use crate::crash::signal;
use crate::foreign::{KEY, Running, program, user};
use crate::hosts_gateway::{CODEX_SETTINGS, provider, with};
use crate::sim_serve::{Server, bodies};
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
pub(crate) fn all_read(home: &Home, guest: &str, agents: &[String]) {
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
when = {{ user_contains = "create a detailed summary" }}
text = "<summary>All was said.</summary>"

[[turn]]
when = {{ user_contains = "Stay", tool_results = 0 }}
text = "It takes its time."
fault = {{ stall_after_events = 2 }}

[[turn]]
when = {{ user_contains = "list the files", last_tool = "Bash" }}
text = "{REPORT}"

[[turn]]
when = {{ user_contains = "list the files" }}
tool_calls = [{{ name = "Bash", input = {{ command = "ls", description = "Lists them" }} }}]

[[turn]]
when = {{ last_tool = "Bash" }}
text = "It ran."

[[turn]]
when = {{ last_tool = "Write" }}
text = "{REPORT}"

[[turn]]
when = {{ user_contains = "write a file" }}
tool_calls = [{{ name = "Write", input = {{ file_path = "made.txt", content = "made" }} }}]

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

/// Forks a program while a command of its runs until a file is there. The forks have no key, and use the program's own.
fn forked_in_the_middle(home: &Home, scenario: &str, arguments: &[&str], last: (&str, usize)) {
    home.write("config.toml", "[gateway]\nborrow_credentials = \"always\"\n");
    let command = "until [ -e go ]; do sleep 0.1; done";
    let scenario = scenario.replace("echo it-$((1 + 1))", command);
    let provider = provider(home, &scenario, "bodies");
    let running = with(home, &provider, arguments);
    let (name, entries) = last;
    let guest = last_guest(home, name, entries);
    let ran = home.ran(&["fan", name, "-d", "look at one", "-d", "look at two", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let workers = told["tasks"].as_array().unwrap().iter();
    let workers: Vec<String> =
        workers.map(|task| task["agent"].as_str().unwrap().to_owned()).collect();
    assert_eq!(workers.len(), 2);
    all_read(home, &guest, &workers);
    std::fs::write(home.work().join("go"), "").unwrap();
    ended(running);
    until("the end of the turn", || {
        home.ran(&["logs", &guest]).stdout.lines().count() >= entries + 2
    });
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts guests"]
fn claude_code_is_forked_in_the_middle_of_a_turn_with_its_own_credentials() {
    let claude_code = program("TINE_TEST_CLAUDE_CODE");
    let home = Home::new();
    notes(&home);
    let arguments = [claude_code.to_str().unwrap(), "-p", "Run it", "--allowedTools", "Bash"];
    forked_in_the_middle(&home, &claude_code_scenario(), &arguments, ("claude:last", 3));
}

#[test]
#[ignore = "needs Codex: cargo xtask hosts guests"]
fn codex_is_forked_in_the_middle_of_a_turn_with_its_own_credentials() {
    let codex = program("TINE_TEST_CODEX");
    let home = Home::new();
    notes(&home);
    settings_of_codex(&home);
    let prompt = format!("Run it. {}", "word ".repeat(6_000));
    let arguments = [codex.to_str().unwrap(), "exec", "--skip-git-repo-check", &prompt];
    forked_in_the_middle(&home, &codex_scenario(), &arguments, ("codex:last", 3));
}

fn settings_of_codex(home: &Home) {
    home.write("user/.codex/config.toml", CODEX_SETTINGS);
    home.write("user/.codex/auth.json", &json!({"OPENAI_API_KEY": KEY}).to_string());
}

/// The files of the host's user with their content, but for what it notes of its own runs.
fn files_of_user(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![user(home)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push((path.clone(), std::fs::read(path).unwrap())),
            }
        }
    }
    files.sort();
    files
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts guests"]
fn claude_code_is_told_the_reports_of_its_forks_with_its_next_prompt() {
    let claude_code = program("TINE_TEST_CLAUDE_CODE");
    let home = Home::new();
    notes(&home);
    let provider = provider(&home, &claude_code_scenario(), "bodies");
    let host = claude_code.to_str().unwrap();
    ended(with(&home, &provider, &[host, "-p", "Run it", "--allowedTools", "Bash"]));
    last_guest(&home, "claude:last", 4);
    let before = files_of_user(&home);
    let fan = ["fan", "claude:last", "-d", "look at the notes", "-d", "list the files", "--json"];
    let ran = own(&home, &provider, &fan);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let listed = told["tasks"][1]["agent"].as_str().unwrap();
    assert!(home.done(&["show", listed]).contains("notes.txt"), "a command that reads has run");
    assert!(files_of_user(&home) == before, "nothing of the host's has changed");
    let mut install = home.tine(&["gateway", "install", "claude-code", "--yes"]);
    assert_eq!(Ran::of(install.env("HOME", user(&home))).code, 0);
    let mut after = files_of_user(&home);
    after.retain(|file| !before.contains(file));
    assert_eq!(after.len(), 1, "the settings alone");
    assert!(after[0].0.ends_with(".claude/settings.json"));
    let said = |prompt: &str| {
        ended(with(&home, &provider, &[host, "-p", prompt, "--continue"]));
        let bodies = bodies(&home.path().join("bodies"));
        String::from_utf8(bodies.last().unwrap().clone()).unwrap()
    };
    let reports = |body: &str| body.matches("Scope: a look").count();
    let (first, second) = (said("Say more"), said("Say still more"));
    assert_eq!(
        (reports(&first), reports(&second)),
        (2, 2),
        "once, and in the history from then on"
    );
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts guests"]
fn claude_code_compacts_and_is_killed_while_a_fork_of_it_works() {
    let claude_code = program("TINE_TEST_CLAUDE_CODE");
    let home = Home::new();
    notes(&home);
    home.write("config.toml", "[permissions]\nwait = true\n");
    let provider = provider(&home, &claude_code_scenario(), "bodies");
    let host = claude_code.to_str().unwrap();
    ended(with(&home, &provider, &[host, "-p", "Run it", "--allowedTools", "Bash"]));
    let guest = last_guest(&home, "claude:last", 4);
    let fan = ["fan", &guest, "-d", "write a file", "--confine", "directory", "--json"];
    let mut command = crate::crash::command(&home, &fan);
    command.env("ANTHROPIC_BASE_URL", provider.field("anthropic")).env("ANTHROPIC_API_KEY", KEY);
    let mut fan = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let question = until_some("the question of the worker", || {
        let asked: Value =
            serde_json::from_str(&home.ran(&["permission", "list", "--json"]).stdout).ok()?;
        Some(asked.as_array()?.first()?["id"].as_str()?.to_owned())
    });
    ended(with(&home, &provider, &[host, "-p", "/compact", "--continue"]));
    let running = with(&home, &provider, &[host, "-p", "Stay", "--continue"]);
    until("its last request", || {
        home.ran(&["logs", "claude:last", "--json"]).stdout.contains("Stay")
    });
    signal("KILL", running.id());
    home.done(&["permission", "allow", &question]);
    let mut printed = String::new();
    fan.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(fan.wait().unwrap().success(), "{printed}");
    let told: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(told["tasks"][0]["status"], "completed", "{printed}");
    let worker = told["tasks"][0]["agent"].as_str().unwrap().to_owned();
    all_read(&home, &guest, &[worker]);
    assert_eq!(std::fs::read_to_string(home.work().join("made.txt")).unwrap(), "made");
}

fn codex_scenario() -> String {
    format!(
        r#"
name = "codex"

[[turn]]
when = {{ user_contains = "Run it", tool_results = 0 }}
tool_calls = [{{ name = "exec_command", input = {{ cmd = "echo it-$((1 + 1))" }} }}]

[[turn]]
when = {{ user_contains = "look at", last_tool = "exec_command" }}
text = "{REPORT}"

[[turn]]
when = {{ user_contains = "look at" }}
tool_calls = [{{ name = "exec_command", input = {{ cmd = "cat notes.txt" }} }}]

[[turn]]
when = {{ user_contains = "Patch it", last_tool = "apply_patch" }}
text = "It is patched."

[[turn]]
when = {{ user_contains = "Patch it" }}
tool_calls = [{{ name = "apply_patch", input = {{ input = """{PATCH}""" }} }}]

[[turn]]
text = "ok"
"#
    )
}

/// A change of the notes, as Codex's model writes one.
const PATCH: &str = "*** Begin Patch
*** Update File: notes.txt
@@
-the parser is slow
+the parser is fast
*** End Patch
";

#[test]
#[ignore = "needs Codex: cargo xtask hosts guests"]
fn codex_is_forked_and_its_forks_read_what_it_has_cached() {
    let codex = program("TINE_TEST_CODEX");
    let home = Home::new();
    notes(&home);
    settings_of_codex(&home);
    let provider = provider(&home, &codex_scenario(), "bodies");
    // OpenAI's cache serves units of 128 tokens: with a short prompt one of them is more than a hundredth.
    let prompt = format!("Run it. {}", "word ".repeat(6_000));
    let run = [codex.to_str().unwrap(), "exec", "--skip-git-repo-check", &prompt];
    ended(with(&home, &provider, &run));
    let guest = last_guest(&home, "codex:last", 5);
    let workers = fan_of_four(&home, &provider, "codex:last");
    all_read(&home, &guest, &workers);
    assert!(home.done(&["show", &workers[0]]).contains("the parser is slow"));
    generations(&home, &provider, &guest);
    let patch = ["fork", &guest, "Patch it", "--confine", "directory"];
    let ran =
        own(&home, &provider, &[patch.as_slice(), &["--permission-mode", "accept-edits"]].concat());
    assert!(ran.code == 0 && ran.stdout.contains("It is patched."), "{ran:?}");
    let notes = std::fs::read_to_string(home.work().join("notes.txt")).unwrap();
    assert_eq!(notes, "the parser is fast\n");
}
