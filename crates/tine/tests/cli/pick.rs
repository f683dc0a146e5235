//! `tine pick`: several forks do one task, and the best work is taken.

use std::path::Path;

use serde_json::Value;

use super::worktree::git;
use crate::support::{Home, without_figures};

/// Each fork writes as many lines as forks came before it, and one more.
const SCENARIO: &str = r#"
name = "pick"

[[turn]]
when = { user_contains = "COUNT", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "n=1; until mkdir \"[HOME]/slot$n\" 2>/dev/null; do n=$((n+1)); done; seq $n > count.txt; rm -f built" } }]

[[turn]]
when = { user_contains = "COUNT" }
text = "Scope: to count\nResult: counted in the worktree\nKey files: count.txt\nFiles changed: count.txt\nIssues: none"

[[turn]]
text = "You said: {{user}}"
"#;

pub(crate) fn home() -> Home {
    let home = Home::new().without_nudges();
    git(&home.work(), &["init", "-q", "-b", "main"]);
    git(&home.work(), &["config", "user.name", "Ann"]);
    git(&home.work(), &["config", "user.email", "ann@example.org"]);
    home.write("work/a.txt", "one\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "First"]);
    home.write("work/a.txt", "one and a half\n");
    let model = home.near_model(&SCENARIO.replace("[HOME]", home.path().to_str().unwrap()));
    home.import(&model, "base", 2);
    home
}

pub(crate) const TASK: [&str; 9] =
    ["pick", "base", "-d", "COUNT to three", "-n", "3", "--allow", "Bash", "--confine=off"];

fn picked(home: &Home, more: &[&str]) -> (i32, Value) {
    let ran = home.ran(&[&TASK[..], &["--json"], more].concat());
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr)))
}

#[test]
fn the_smallest_work_that_passes_is_taken_as_it_was_before_its_check() {
    let home = home();
    // Passes from two lines on, and leaves something behind in every worktree.
    let check = "test $(wc -l < count.txt) -ge 2 && touch built";
    let (code, result) = picked(&home, &["--check", check, "--take", "best"]);
    assert_eq!(code, 0);
    let candidates = result["candidates"].as_array().unwrap();
    let mut seen: Vec<(u64, bool)> = candidates
        .iter()
        .map(|one| (one["added"].as_u64().unwrap(), one["check"]["passed"].as_bool().unwrap()))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, [(1, false), (2, true), (3, true)]);
    assert_eq!(result["taken"]["outcome"], "written");
    assert_eq!(result["taken"]["agent"], result["best"]);
    assert_eq!(std::fs::read_to_string(home.work().join("count.txt")).unwrap(), "1\n2\n");
    assert!(!home.work().join("built").exists(), "what the check made is no work");
    assert_eq!(git(&home.work(), &["status", "--porcelain"]), " M a.txt\n?? count.txt\n");
}

#[test]
fn what_a_check_leaves_behind_is_no_work() {
    let home = home();
    let check = "echo leftover > built; echo broken >> a.txt; git add built; true";
    let (code, result) = picked(&home, &["--check", check]);
    assert_eq!(code, 0);
    let agents: Vec<&str> = result["candidates"].as_array().unwrap().iter().map(agent_of).collect();
    for again in [&["--check", check][..], &[]] {
        let ran = home.ran(&[&["pick", "--json"], again, &["--among"], &agents[..]].concat());
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        for one in result["candidates"].as_array().unwrap() {
            assert_eq!(one["files"], 1, "{one}");
            assert!(one["check"]["left"].is_null(), "{one}");
        }
    }
    let best = agent_of(&result["best"]);
    assert_eq!(home.ran(&["apply", best]).code, 0);
    assert_eq!(git(&home.work(), &["status", "--porcelain"]), " M a.txt\n?? count.txt\n");
    assert_eq!(std::fs::read_to_string(home.work().join("a.txt")).unwrap(), "one and a half\n");
}

fn agent_of(value: &Value) -> &str {
    value.as_str().or_else(|| value["agent"].as_str()).unwrap()
}

#[test]
fn nobodys_work_is_taken_unless_somebody_says_so() {
    let home = home();
    let (code, result) = picked(&home, &[]);
    assert_eq!((code, &result["taken"]), (0, &Value::Null));
    assert!(!home.work().join("count.txt").exists());
    let agents: Vec<String> = result["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["agent"].as_str().unwrap().to_owned())
        .collect();
    let among: Vec<&str> = agents.iter().map(String::as_str).collect();
    let ran = home.ran(&[&["pick", "--among"], &among[..]].concat());
    let table = without_figures(&ran.stdout);
    // Who wrote how much is decided by chance.
    let best = table.lines().find(|line| line.starts_with('*')).unwrap();
    check!(format!("{}\n{}", table.lines().next().unwrap(), &best[2..]), @"
    AGENT STATUS FILES LINES COST TIME REPORT
     [AGENT8] completed # +1 -0 # # s counted in the worktree
    ");
    assert_eq!(table.lines().count(), 4, "{table}");
    let none = home
        .ran(&[&["pick", "--check", "false", "--take", "best", "--among"], &among[..]].concat());
    check!(home.shown(&none).split("--- stderr").nth(1).unwrap(), @"
    checking 1 of 3: [AGENT8]
    checking 2 of 3: [AGENT8]
    checking 3 of 3: [AGENT8]
    error: no work is good, and nothing was taken
    hint: `tine diff AGENT` shows what one did; `tine apply AGENT` takes it all the same
    ");
    let (checked, json) =
        ("echo one FAILED; echo two FAILED; false", ["pick", "--check", "false", "--json"]);
    let none = home
        .ran(&[&["pick", "--check", checked, "--take", "none", "--among"], &among[..]].concat());
    assert_eq!(none.code, 1, "{}", none.stderr);
    let said: Vec<&str> = none.stdout.lines().skip(4).take(3).collect();
    assert_eq!(said, ["1: one FAILED", "   two FAILED", "   [exit code 1]"]);
    let none = home.ran(&[&json[..], &["--among"], &among[..]].concat());
    let result: Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!((none.code, &result["best"], &result["taken"]), (1, &Value::Null, &Value::Null));
    let wrong = ["pick", "--check", "touch checked", "--take", "base", "--among"];
    check!(home.shown(&home.ran(&[&wrong, &among[..]].concat())), @"
    code: 2
    --- stdout
    --- stderr
    error: [AGENT8] is none of those to pick from
    hint: --take names one that --among names
    ");
    let one = home.ran(&[&["pick", "--take", among[1], "--among"], &among[..]].concat());
    assert_eq!(one.code, 0, "{}", one.stderr);
    assert!(home.work().join("count.txt").exists());
}

#[test]
fn what_cannot_be_picked_from_is_said() {
    let home = home();
    let said = |arguments: &[&str]| home.shown(&home.ran(arguments));
    check!(said(&["pick"]), @"
    code: 2
    --- stdout
    --- stderr
    error: nobody to pick from
    hint: give an agent and a task for its forks: tine pick AGENT -d TEXT
    hint: or name agents that have worked in worktrees: tine pick --among AGENT AGENT
    ");
    check!(said(&["pick", "base"]), @"
    code: 2
    --- stdout
    --- stderr
    error: nobody to pick from
    hint: give an agent and a task for its forks: tine pick AGENT -d TEXT
    hint: or name agents that have worked in worktrees: tine pick --among AGENT AGENT
    ");
    check!(said(&["pick", "base", "-d", "x", "-n", "1"]), @"
    code: 2
    --- stdout
    --- stderr
    error: invalid value '1' for '--forks <N>': 1 is not in 2..=64

    For more information, try '--help'.
    ");
    check!(said(&["pick", "base", "-d", "x", "--take", "base"]), @"
    code: 2
    --- stdout
    --- stderr
    error: the forks do not exist yet: --take is `best` or `none`
    hint: with --among it may name one of the agents
    ");
    check!(said(&["pick", "--among", "base"]), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has no worktree of its own
    hint: `tine worktree list` lists those that have one
    ");
    check!(said(&["pick", "base", "-d", "x", "--check", "true", "--check-timeout", "soon"]), @"
    code: 2
    --- stdout
    --- stderr
    error: --check-timeout cannot be `soon`
    hint: it is a number and a unit, such as 0s, 30m or 1h
    ");
    assert!(!Path::new(&home.path().join("slot1")).exists());
}
