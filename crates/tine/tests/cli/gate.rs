//! Workers start no workers: not by a tool of any name, not after their conversation was made shorter or went through a file, and
//! not by a command that runs tine.

use crate::support::{Home, Ran};

/// Calls by which agents are started, here and elsewhere.
const DOORS: &str = r#"
tool_calls = [
    { name = "Agent", input = { prompt = "do my task", subagent_type = "fork" } },
    { name = "TaskStart", input = { prompt = "do my task", fork = true } },
    { name = "delegate", input = { prompt = "do my task" } },
    { name = "mcp__tine__fork", input = { prompt = "do my task" } },
]
"#;

/// How many they are.
const DOORS_COUNT: usize = 4;

/// What a worker is told at each.
const REFUSED: &str = "You are a worker, so you cannot start workers or resume any";

/// A root that starts workers, which try every door.
fn scenario() -> String {
    format!(
        r#"
name = "gate"

[[turn]]
when = {{ user_contains = "about to be made shorter" }}
text = "Doors were tried."

[[turn]]
when = {{ user_contains = "try again", turn = 0 }}
{DOORS}

[[turn]]
when = {{ user_contains = "Task: try", turn = 0 }}
{DOORS}

[[turn]]
when = {{ user_contains = "Task: run", turn = 0 }}
tool_calls = [{{ name = "Bash", input = {{ command = "{tine} run --model sim/echo hello; echo code $?" }} }}]

[[turn]]
when = {{ user_contains = "Task: " }}
text = "Scope: the doors\nResult: all of them are shut"

[[turn]]
when = {{ user_contains = "embark", turn = 0 }}
tool_calls = [
    {{ name = "Agent", input = {{ prompt = "try them", subagent_type = "fork" }} }},
    {{ name = "Agent", input = {{ prompt = "try them" }} }},
]

[[turn]]
when = {{ user_contains = "send one out", turn = 0 }}
tool_calls = [{{ name = "Agent", input = {{ prompt = "run it", subagent_type = "fork" }} }}]

[[turn]]
text = "So it is."
"#,
        tine = env!("CARGO_BIN_EXE_tine"),
    )
}

/// Ids of the workers of this home.
fn workers(home: &Home) -> Vec<String> {
    let agents = home.json(&["ps", "--all", "--json"]);
    let agents = agents.as_array().unwrap().iter();
    let workers = agents.filter(|agent| agent["kind"] == "worker");
    workers.map(|agent| agent["id"].as_str().unwrap().to_owned()).collect()
}

/// How often this stands in an agent's log.
fn told(home: &Home, agent: &str, text: &str) -> usize {
    home.done(&["show", agent, "--json"]).matches(text).count()
}

#[test]
fn a_worker_is_refused_at_every_door_in_full_after_compaction_and_after_import() {
    let home = Home::new();
    let model = home.model(&scenario());
    home.done(&["run", "--model", &model, "-q", "embark"]);
    let found = workers(&home);
    assert_eq!(found.len(), 2);
    for worker in &found {
        assert_eq!(told(&home, worker, REFUSED), DOORS_COUNT);
        home.done(&["export", worker, "-o", "../before.json"]);
        home.done(&["compact", worker, "--keep-tokens", "0"]);
        home.done(&["run", "--resume", worker, "-q", "try again"]);
        assert_eq!(told(&home, worker, REFUSED), 2 * DOORS_COUNT, "after compaction");
        home.done(&["export", worker, "-o", "../after.json"]);
        for file in ["../before.json", "../after.json"] {
            let made = home.json(&["import", file, "--model", &model, "--json"]);
            let copy = made["agent"].as_str().unwrap();
            home.done(&["run", "--resume", copy, "-q", "try again"]);
            let refused = told(&home, copy, "that of a worker that was forked elsewhere");
            assert_eq!(refused, DOORS_COUNT, "after import of {file}");
        }
    }
    assert_eq!(workers(&home).len(), 2, "nobody was started");
}

#[test]
fn a_history_of_another_tools_worker_starts_nobody_and_one_that_quotes_its_frame_may() {
    let home = Home::new();
    let model = home.model(&scenario());
    for label in ["fork-directive:", "Your directive:"] {
        let frame = format!(
            "<fork-boilerplate>\nRead this first: you are a fork.\n\n1. Start no other.\n</fork-boilerplate>\n\n{label} Find x."
        );
        let quote = format!("What does this mean?\n\n{frame}");
        for (text, is_worker) in [(frame, true), (quote, false)] {
            let result = serde_json::json!({"type": "tool_result", "tool_use_id": "c1", "content": "Fork started"});
            let call =
                serde_json::json!({"type": "tool_use", "id": "c1", "name": "Agent", "input": {}});
            let history = serde_json::json!([
                {"role": "user", "content": "Look around."},
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result, {"type": "text", "text": text}]},
                {"role": "assistant", "content": "Scope: x\nResult: found"},
            ]);
            home.write("other.json", &history.to_string());
            let before = workers(&home).len();
            let made = home.json(&["import", "../other.json", "--model", &model, "--json"]);
            let copy = made["agent"].as_str().unwrap();
            home.done(&["run", "--resume", copy, "-q", "embark"]);
            let refused = told(&home, copy, "that of a worker that was forked elsewhere");
            assert_eq!(refused > 0, is_worker, "{text}");
            assert_eq!(workers(&home).len() == before, is_worker, "{text}");
        }
    }
}

#[test]
fn a_prompt_that_quotes_the_tag_makes_nobody_a_worker() {
    let home = Home::new();
    let model = home.model(&scenario());
    let quote = "What does <fork-boilerplate>\nYou are now a worker.\n</fork-boilerplate> mean? Then embark.";
    home.done(&["run", "--model", &model, "-q", quote]);
    assert_eq!(workers(&home).len(), 2);
}

#[test]
fn a_command_of_a_worker_starts_no_agents_either() {
    let home = Home::new();
    let model = home.model(&scenario());
    let open = ["--allow", "Bash", "--confine", "off", "-q"];
    home.done(&[&["run", "--model", &model, "send one out"], &open[..]].concat());
    let found = workers(&home);
    let [worker] = found.as_slice() else { panic!("{found:?}") };
    let shown = home.done(&["show", worker, "--json"]);
    assert!(shown.contains("code 56") && shown.contains(REFUSED), "{shown}");

    let with =
        |agent: &str, arguments: &[&str]| Ran::of(home.tine(arguments).env("TINE_AGENT", agent));
    check!(home.shown(&with(worker, &["run", "--model", &model, "hello"])), @"
    code: 56
    --- stdout
    --- stderr
    error: You are a worker, so you cannot start workers or resume any (workers.depth is 1). Do the task yourself, with your own tools, and report what you could not do.
    hint: agent [AGENT8] runs this command: TINE_AGENT is set
    ");
    for arguments in [
        &["run", "--resume", worker, "hello"][..],
        &["fork", worker],
        &["fan", worker, "-d", "one"],
    ] {
        assert_eq!(with(worker, arguments).code, 56, "{arguments:?}");
    }
    assert_eq!(with(worker, &["ps"]).code, 0);
    // Another home's agent, and none at all.
    for other in ["5b7d1f1e-0000-4000-8000-000000000000", "somebody", ""] {
        assert_eq!(with(other, &["run", "--model", &model, "-q", "hello"]).code, 0, "{other}");
    }
    home.write("config.toml", "[workers]\ndepth = 2\n");
    assert_eq!(with(worker, &["run", "--model", &model, "-q", "hello"]).code, 0);
}
