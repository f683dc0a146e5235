//! Workers whose process is killed: what they had done counts and is told, and whoever takes one up goes on with its task.

use serde_json::Value;
use tine_testkit::until_some;

use crate::crash::start;
use crate::permission::until_asked;
use crate::support::Home;
use crate::worktree::{base, git};

const SCENARIO: &str = r#"
name = "case"

[[turn]]
when = { user_contains = "STALL", tool_results = 0 }
text = "Scope: slow work, of which nothing comes before it is killed"
fault = { first_byte_ms = 300_000 }

[[turn]]
when = { user_contains = "Task: write it", tool_results = 0 }
tool_calls = [{ name = "FileWrite", input = { file_path = "made.txt", content = "made\n" } }]

[[turn]]
when = { user_contains = "Task: write it", tool_results = 1 }
tool_calls = [{ name = "Bash", input = { command = "touch asked" } }]

[[turn]]
text = "Scope: the task\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"
"#;

/// The tasks of the home, the newest first.
fn tasks(home: &Home) -> Vec<Value> {
    home.json(&["task", "list", "--all", "--json"])["tasks"].as_array().unwrap().clone()
}

/// The notices that wait for the agent `root`.
fn notices(home: &Home) -> Vec<String> {
    let shown = home.json(&["show", "root", "--json"]);
    let mail = shown["mail"].as_array().unwrap().iter();
    mail.map(|mail| mail["text"].as_str().unwrap().to_owned()).collect()
}

fn home() -> Home {
    let home = base().without_nudges();
    let model = home.near_model(SCENARIO);
    home.import(&model, "root", 2);
    home
}

#[test]
fn a_worker_that_was_killed_in_its_work_has_done_what_it_had_done() {
    let home = home();
    let how = ["--worktree", "--permission-mode", "accept-edits", "--wait-for-permission"];
    let mut fan = start(&home, &[&["fan", "root", "-d", "write it"][..], &how].concat());
    let asked = until_asked(&home);
    fan.kill().unwrap();
    fan.wait().unwrap();
    let task = tasks(&home).remove(0);
    assert_eq!((&task["status"], &task["tool_uses"]), (&"interrupted".into(), &2.into()));
    assert!(task["usage"]["output"].as_u64() > Some(0), "{task}");
    assert_eq!(task["worktree"]["files"], 1);
    let told = notices(&home);
    assert!(told.len() == 1 && told[0].contains("1 file changed"), "{told:?}");

    let worker = task["agent"].as_str().unwrap();
    home.done(&["permission", "deny", asked["id"].as_str().unwrap()]);
    home.done(&["run", "--resume", worker]);
    let task = tasks(&home).remove(0);
    assert_eq!((&task["status"], &task["error"]), (&"completed".into(), &Value::Null));
    assert_eq!(task["tool_uses"], 2);
    let told = notices(&home);
    assert!(told.len() == 2 && told[1].contains("1 file changed"), "{told:?}");
}

#[test]
fn a_worker_that_was_killed_before_it_began_is_told_its_task_by_whoever_takes_it_up() {
    for prompt in [Some("Continue."), None] {
        let home = home();
        let how = ["--worktree", "--tree-running", "1"];
        let tasks_of = ["fan", "root", "-d", "STALL", "-d", "look at all of it"];
        let mut fan = start(&home, &[&tasks_of[..], &how].concat());
        let worker = until_some("a worker that waits", || {
            let all = tasks(&home);
            let begun = all.iter().any(|task| task["status"] == "running");
            let waits = all.iter().find(|task| task["status"] == "queued");
            waits.filter(|_| begun).map(|task| task["agent"].as_str().unwrap().to_owned())
        });
        fan.kill().unwrap();
        fan.wait().unwrap();
        let resume = ["run", "--resume", &worker];
        home.done(&resume.into_iter().chain(prompt).collect::<Vec<_>>());
        let heard = home.done(&["show", &worker, "--full"]);
        assert!(heard.contains("look at all of it"), "{heard}");
        assert_eq!(heard.contains("Continue."), prompt.is_some());
        let ended = tasks(&home);
        let ended = ended.iter().find(|task| task["agent"] == worker.as_str()).unwrap();
        assert_eq!(ended["status"], "completed");
        // Nothing was changed in it, so it is gone.
        assert!(!git(&home.work(), &["worktree", "list"]).contains(&worker[..8]));
    }
}

#[test]
fn a_wait_for_an_agent_is_one_for_its_workers() {
    let home = home();
    let mut fan = start(&home, &["fan", "root", "-d", "STALL"]);
    until_some("a worker that runs", || {
        tasks(&home).iter().any(|task| task["status"] == "running").then_some(())
    });
    let waited = home.ran(&["wait", "root", "--timeout", "0"]);
    assert_eq!(
        (waited.code, waited.stderr.as_str()),
        (124, "time is up; their workers have not finished\n")
    );
    fan.kill().unwrap();
    fan.wait().unwrap();
    assert_eq!(home.ran(&["wait", "root"]).code, 0);
}
