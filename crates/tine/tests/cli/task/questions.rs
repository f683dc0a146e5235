//! Questions of workers in the background.

use serde_json::Value;

use super::{SCENARIO, base, ended, listed, started, until};
use crate::crash::start;
use crate::permission::until_asked;
use crate::sim_serve::Server;
use crate::support::{Home, Ran};

#[test]
fn a_question_of_a_worker_in_the_background_is_answered_from_a_second_process() {
    let home = base();
    let task = started(&home, "COMMAND", &["--fork", "--wait-for-permission"]);
    let asked = until_asked(&home);
    let root = home.json(&["show", "base", "--json"])["agent"]["id"].clone();
    assert_eq!((&asked["agent"], &asked["root"]), (&task.as_str().into(), &root));
    home.done(&["permission", "allow", asked["id"].as_str().unwrap()]);
    assert_eq!(ended(&home, &task)["task"]["status"], "completed");
    assert!(home.work().join("made").exists());
}

#[test]
fn without_anybody_to_ask_a_worker_in_the_background_is_refused() {
    let home = base();
    let begun = home.json(&["task", "start", "base", "COMMAND", "--json"]);
    let task = ended(&home, begun["task"].as_str().unwrap())["task"].clone();
    assert_eq!((&task["status"], &task["flags"]), (&"failed".into(), &vec!["denied"].into()));
    for word in ["report", "error"] {
        assert!(task[word].as_str().unwrap().contains("nobody can be asked here"), "{task}");
    }
    assert!(!home.work().join("made").exists());
    let ran = home.ran(&["task", "start", "base", "COMMAND", "--wait"]);
    assert!(
        ran.stderr.contains("hint: allow it with --allow 'Bash(echo hi > made)'"),
        "{}",
        ran.stderr
    );
}

/// The words of the model are no measure: it says `Result: …` of a call that was denied, too.
#[test]
fn a_worker_whose_only_call_was_denied_has_not_done_its_task() {
    let home = base();
    let directives = ["-d", "COMMAND", "-d", "LOOK here", "-d", "LOOK there"];
    let fan = [&["fan", "base"][..], &directives, &["--wait-for-permission", "--json"]].concat();
    let running = start(&home, &fan);
    let asked = until_asked(&home);
    let why = ["permission", "deny", asked["id"].as_str().unwrap(), "--reason", "not today"];
    home.done(&why);
    let ran = running.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let fan: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let statuses: Vec<_> =
        fan["tasks"].as_array().unwrap().iter().map(|task| task["status"].clone()).collect();
    assert_eq!(statuses, ["failed", "completed", "completed"]);
    let denied = &fan["tasks"][0];
    assert_eq!(denied["error"], "every call was refused: denied by the user: not today.");
    let result = "Denied by the user: not today. Do not try this call again.";
    assert_eq!(denied["report"]["result"], result);
    let task = denied["agent"].as_str().unwrap();
    let row = listed(&home, task);
    assert_eq!((&row["status"], &row["flags"]), (&"failed".into(), &vec!["denied"].into()));
    let shown = home.done(&["ps"]);
    assert!(
        shown.lines().any(|line| line.contains(&task[..8]) && line.contains(" denied ")),
        "{shown}"
    );
    // What its spawner's model reads.
    home.done(&["run", "--resume", "base", "And?", "-q"]);
    let log = home.json(&["show", "base", "--json"]);
    let log = log["entries"].to_string();
    for part in [
        "<status>failed</status>",
        "<summary>every call was refused: denied by the user: not today.</summary>",
    ] {
        assert!(log.contains(part), "{log}");
    }
}

/// How many requests the simulator has seen.
fn requests(home: &Home) -> usize {
    let index = std::fs::read_to_string(home.path().join("bodies/index.jsonl")).unwrap();
    index.lines().count()
}

#[test]
fn a_worker_that_is_stopped_while_it_asks_closes_its_call_and_asks_the_model_no_more() {
    let home = Home::new();
    let scenario = home.write("case.toml", SCENARIO);
    let bodies = home.path().join("bodies");
    let log = ["--scenario", scenario.to_str().unwrap(), "--log-bodies", bodies.to_str().unwrap()];
    let server = Server::start(&home, &log);
    home.import("anthropic/any", "base", 2);
    let tine = |arguments: &[&str]| {
        let mut command = home.tine(arguments);
        command.env("ANTHROPIC_BASE_URL", server.field("anthropic"));
        Ran::of(command.env("ANTHROPIC_API_KEY", "any"))
    };
    let start = ["task", "start", "base", "COMMAND", "--fork", "--wait-for-permission", "--json"];
    let begun: Value = serde_json::from_str(&tine(&start).stdout).unwrap();
    let task = begun["task"].as_str().unwrap();
    let asked = until_asked(&home);
    assert_eq!(requests(&home), 1);
    let cancelled = tine(&["task", "cancel", task, "--json"]);
    assert!(cancelled.stdout.contains(r#""over":true"#), "{}", cancelled.stdout);
    until(&home, task, "cancelled");
    assert_eq!(requests(&home), 1, "the model was asked no more");
    let shown = home.json(&["show", task, "--json"]);
    let last = shown["entries"].as_array().unwrap().last().unwrap().clone();
    let block = &last["message"]["blocks"][0];
    assert_eq!(
        (&block["type"], &block["is_error"]),
        (&"tool_result".into(), &true.into()),
        "{last}"
    );
    let late = home.ran(&["permission", "allow", asked["id"].as_str().unwrap()]);
    assert_eq!(late.code, 1, "{}", late.stdout);
    assert!(!home.work().join("made").exists());
}
