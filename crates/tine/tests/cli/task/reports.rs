//! Reports and notices of workers, held against what the workers did.

use serde_json::Value;
use tine_testkit::until;

use super::{ended, listed};
use crate::support::Home;
use crate::worktree::git;

/// Workers that claim, that talk too much, that never end, and one that looks once and then stalls.
fn scenario() -> String {
    let long = "word ".repeat(700);
    let own = r#"name = "reports"

[[turn]]
when = { user_contains = "CLAIM", tool_results = 0 }
tool_calls = [{ name = "Glob", input = { pattern = "*" } }]

[[turn]]
when = { user_contains = "CLAIM" }
text = "Scope: a change\nResult: I changed it.\nFiles changed: other.txt (abc1234)\nIssues: none"

[[turn]]
when = { user_contains = "HONEST", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo two > b.txt && git add b.txt && git commit -qm 'Add b'" } }]

[[turn]]
when = { user_contains = "HONEST" }
text = "Scope: a change\nResult:\nb.txt is there.\nFiles changed: b.txt"

[[turn]]
when = { user_contains = "AT LENGTH", tool_results = 0 }
tool_calls = [{ name = "Glob", input = { pattern = "*" } }]

[[turn]]
when = { user_contains = "AT LENGTH" }
text = "Scope: a look\nResult: LONG"

[[turn]]
when = { user_contains = "ENDLESS" }
text = "Scope: all of it\nResult: I have found the first part."
tool_calls = [{ name = "Glob", input = { pattern = "*.txt" } }]

[[turn]]
when = { user_contains = "ONCE", tool_results = 0 }
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.txt" } }]

[[turn]]
when = { user_contains = "ONCE" }
text = "I begin, and then nothing comes for a very long time, because the connection stalls."
fault = { stall_after_events = 4 }

[[turn]]
text = "You said: {{user}}"
"#;
    own.replace("LONG\"", &format!("{long}\""))
}

/// An agent called `base`, in a repository with one commit.
fn base() -> Home {
    let home = Home::new();
    git(&home.work(), &["init", "-q", "-b", "main"]);
    git(&home.work(), &["config", "user.name", "Ann"]);
    git(&home.work(), &["config", "user.email", "ann@example.org"]);
    home.write("work/a.txt", "one\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "First"]);
    let model = home.near_model(&scenario());
    home.import(&model, "base", 2);
    home
}

/// Starts a forked worker, in a process of its own; its task.
fn started(home: &Home, prompt: &str, options: &[&str]) -> String {
    super::started(home, prompt, &[&["--fork"], options].concat())
}

/// What the spawner was told of a task, once it reads its mail.
fn notice(home: &Home, task: &str) -> String {
    home.done(&["run", "--resume", "base", "--quiet", "hello"]);
    let log = home.done(&["logs", "base", "--json"]);
    let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let blocks = entries
        .flat_map(|entry| entry["message"]["blocks"].as_array().cloned().unwrap_or_default());
    let mut texts = blocks.filter_map(|block| Some(block["text"].as_str()?.to_owned()));
    texts.find(|text| text.contains(&format!("<task-id>{task}"))).unwrap()
}

/// The text of an element.
fn element<'a>(notice: &'a str, name: &str) -> &'a str {
    let (_, behind) = notice.split_once(&format!("<{name}>")).unwrap();
    behind.split_once(&format!("</{name}>")).unwrap().0
}

#[test]
fn what_a_worker_claims_and_did_not_do_is_a_flag_on_its_task() {
    let home = base();
    let flags = |prompt: &str, options: &[&str]| {
        let task = started(&home, prompt, &[&["--worktree"], options].concat());
        let told = ended(&home, &task);
        assert_eq!(told["task"]["status"], "completed", "{told}");
        (task.clone(), listed(&home, &task)["flags"].to_string())
    };
    assert_eq!(flags("CLAIM it", &[]).1, r#"["claims"]"#);
    assert_eq!(flags("AT LENGTH, please look", &[]).1, r#"["too_long"]"#);
    let (honest, none) = flags("HONEST work", &["--allow", "Bash"]);
    assert_eq!(none, "[]");
    // The result, and not the task given back.
    assert_eq!(element(&notice(&home, &honest), "summary"), "b.txt is there.");
}

#[test]
fn a_worker_that_a_person_takes_up_is_looked_at_as_well() {
    let home = base();
    let task = started(&home, "ENDLESS", &["--worktree", "--max-turns", "2"]);
    assert_eq!(ended(&home, &task)["task"]["status"], "failed");
    home.done(&["run", "--resume", &task, "--quiet", "CLAIM it"]);
    let listed = listed(&home, &task);
    assert_eq!((&listed["status"], &listed["tool_uses"]), (&"completed".into(), &3.into()));
    assert_eq!(listed["flags"].to_string(), r#"["claims"]"#);
}

#[test]
fn a_fan_says_which_reports_to_look_at() {
    let home = base();
    let fan = ["fan", "base", "--worktree", "-d", "CLAIM it", "-d", "AT LENGTH, please look"];
    let told = home.json(&[&fan[..], &["--json"]].concat());
    let flags = |task: usize| told["tasks"][task]["flags"].to_string();
    assert_eq!([flags(0), flags(1)], [r#"["claims"]"#, r#"["too_long"]"#]);
    let text = home.done(&fan);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("look at it")).collect();
    assert_eq!(
        lines,
        ["look at it: its report and its changes differ", "look at it: the report is too long"]
    );
}

#[test]
fn a_notice_names_its_cause_also_where_the_worker_spoke() {
    let home = base();
    let task = started(&home, "ENDLESS", &["--max-turns", "2"]);
    assert_eq!(ended(&home, &task)["task"]["status"], "failed");
    let notice = notice(&home, &task);
    assert_eq!(element(&notice, "summary"), "turn limit");
    assert!(element(&notice, "result").contains("the first part"), "{notice}");
}

#[test]
fn the_notice_of_a_worker_that_another_process_killed_has_what_it_used() {
    let home = base();
    let task = started(&home, "ONCE", &[]);
    let looked = || home.done(&["logs", &task, "--json"]).contains("tool_result");
    until("a worker that has looked", looked);
    let receipt = home.json(&["kill", &task, "--json"])["receipts"][0].clone();
    let used = |part: &str| receipt["usage"][part].as_u64().unwrap_or_default();
    let parts = ["uncached", "write_short", "write_long", "read", "output"];
    let tokens: u64 = parts.map(used).iter().sum();
    assert!(tokens > 0 && receipt["tool_uses"] == 1, "{receipt}");

    let notice = notice(&home, &task);
    assert_eq!(element(&notice, "status"), "killed");
    assert_eq!(element(&notice, "total_tokens"), tokens.to_string());
    assert_eq!(element(&notice, "tool_uses"), "1");
    let listed = listed(&home, &task);
    assert_eq!((&listed["turns"], &listed["tool_uses"]), (&receipt["turns"], &1.into()));
    assert_eq!(listed["usage"], receipt["usage"]);
}
