//! The process in the background: its session, its death, and how it is stopped.

use serde_json::Value;

use super::{base, ended, listed, notices, started, until};
use crate::support::{Home, Ran};

/// The process whose command line names this log: its id, and its session's.
pub(crate) fn process_of(log: &str) -> Option<(u32, u32)> {
    std::fs::read_dir("/proc").unwrap().find_map(|entry| {
        let directory = entry.unwrap().path();
        let pid: u32 = directory.file_name()?.to_str()?.parse().ok()?;
        let line = std::fs::read(directory.join("cmdline")).ok()?;
        let is_it = String::from_utf8_lossy(&line).split('\0').any(|word| word == log);
        let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
        // Behind the name: state, parent, group, session.
        let session = stat.rsplit_once(") ")?.1.split(' ').nth(3)?.parse().ok()?;
        is_it.then_some((pid, session))
    })
}

fn receipts(ran: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(ran).unwrap();
    value["stopped"].as_array().unwrap().clone()
}

#[test]
fn a_worker_whose_process_is_killed_is_interrupted_and_told_of_once() {
    let home = base();
    let begun = home.json(&["task", "start", "base", "STALL", "--fork", "--json"]);
    let (task, log) = (begun["task"].as_str().unwrap(), begun["log"].as_str().unwrap());
    until(&home, task, "running");
    let (pid, session) = process_of(log).unwrap();
    assert_eq!(pid, session, "it is in a session of its own");
    assert_cmd::Command::new("kill").args(["-9", &pid.to_string()]).assert().success();
    until(&home, task, "interrupted");
    assert_eq!(home.json(&["task", "list", "--json"])["tasks"].as_array().unwrap().len(), 1);
    for _ in 0..2 {
        home.done(&["run", "--resume", "base", "--quiet", "hello"]);
        assert_eq!(notices(&home, "base"), 1);
    }
    let again = home.json(&["task", "resume", task, "LOOK instead", "--wait", "--json"]);
    assert_eq!((&again["status"], &again["resumes"]), (&"completed".into(), &1.into()));
}

#[test]
fn a_polite_signal_ends_the_process_and_interrupts_its_task() {
    let home = base();
    let begun = home.json(&["task", "start", "base", "STALL", "--json"]);
    let (task, log) = (begun["task"].as_str().unwrap(), begun["log"].as_str().unwrap());
    until(&home, task, "running");
    let (pid, _) = process_of(log).unwrap();
    assert_cmd::Command::new("kill").args(["-TERM", &pid.to_string()]).assert().success();
    until(&home, task, "interrupted");
    tine_testkit::until("the end of the process", || process_of(log).is_none());
    assert!(std::fs::read_to_string(log).unwrap().contains("interrupted"));
}

#[test]
fn what_is_told_waits_until_the_worker_is_done_one_thing_at_a_time() {
    let home = base();
    let task = started(&home, "STALL", &["--fork", "-d", "a long wait"]);
    until(&home, &task, "running");
    let shown = |arguments: &[&str]| home.shown(&home.ran(arguments));
    let late = home.ran(&["task", "output", &task, "--block", "--timeout", "0"]);
    assert_eq!(late.code, 124);
    assert!(
        late.stdout.starts_with(&format!("{} (forked)  running", &task[..8])),
        "{}",
        late.stdout
    );
    assert!(late.stderr.starts_with("time is up; the task is still under way"), "{}", late.stderr);
    check!(shown(&["task", "send", &task, "the port is 8081"]), @"
    code: 0
    --- stdout
    sent to [AGENT8]; it is delivered at the agent's next turn
    --- stderr
    ");
    check!(shown(&["task", "resume", &task, "and then this"]), @"
    code: 0
    --- stdout
    queued for [AGENT8]; its worker is told when it has reported
    --- stderr
    ");
    check!(shown(&["task", "resume", &task, "and also that"]), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] is told something else already when it is done
    hint: wait for its report: `tine task output TASK --block`
    ");
    check!(shown(&["send", &task, "--next", "and also that"]), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] is told something else already when it is done
    hint: wait for its report: `tine task output TASK --block`
    ");
    // How far it had come by then is a matter of luck.
    let cancelled = home.done(&["task", "cancel", &task]);
    assert!(
        cancelled.starts_with(&format!("stopped {} a long wait · ", &task[..8])),
        "{cancelled}"
    );
    assert!(cancelled.contains(" · task cancelled"), "{cancelled}");
    assert_eq!(listed(&home, &task)["error"], "stopped on request");
    check!(shown(&["task", "cancel", &task]), @"
    code: 0
    --- stdout
    --- stderr
    nothing runs: task [AGENT8] has ended (cancelled)
    ");
    check!(shown(&["task", "send", &task, "too late"]), @"
    code: 42
    --- stdout
    --- stderr
    error: the task of agent [AGENT-ID] has ended
    hint: `tine task resume [AGENT8] TEXT` lets it go on with your text
    ");
    let waited = home.json(&["wait", &task, "base", "--json"]);
    assert_eq!(
        (&waited["agents"][0]["status"], &waited["agents"][1]["status"]),
        (&"received".into(), &"idle".into())
    );
}

#[test]
fn a_stop_reaches_all_below_and_a_clear_empties_the_list() {
    let home = base();
    check!(home.shown(&home.ran(&["stop", "base"])), @r"
    code: 0
    --- stdout
    --- stderr
    nothing runs
    ");
    let task = started(&home, "STALL", &["--fork"]);
    until(&home, &task, "running");
    assert_eq!(home.done(&["stop", "base", "--only", "--json"]), "{\"stopped\":[]}\n");
    let stopped = receipts(&home.done(&["stop", "base", "--json"]));
    assert_eq!(stopped.len(), 1);
    assert_eq!(stopped[0]["agent"], task.as_str());
    assert_eq!((&stopped[0]["over"], &stopped[0]["status"]), (&true.into(), &"cancelled".into()));

    let other = started(&home, "STALL", &[]);
    until(&home, &other, "running");
    let cleared = home.ran(&["task", "clear", "base", "--json"]);
    assert_eq!(receipts(&cleared.stdout).len(), 1, "{}", cleared.stdout);
    assert!(
        cleared.stdout.contains(&format!(r#""cleared":["{task}","{other}"]"#)),
        "{}",
        cleared.stdout
    );
    assert!(home.json(&["task", "list", "--json"])["tasks"].as_array().unwrap().is_empty());
    let all = home.json(&["task", "list", "base", "--all", "--json"]);
    let all: Vec<&Value> = all["tasks"].as_array().unwrap().iter().collect();
    assert!(all.iter().all(|task| task["cleared"] == true));
    assert_eq!(all[0]["id"], other.as_str(), "the newest first");
}

#[test]
fn an_interrupted_worker_asks_nobody_any_more() {
    let home = base();
    let task = started(&home, "COMMAND", &["--fork", "--wait-for-permission"]);
    let asked = crate::permission::until_asked(&home);
    let stopped: Ran = home.ran(&["stop", &task, "--interrupt", "--json"]);
    assert_eq!(receipts(&stopped.stdout)[0]["status"], "interrupted", "{}", stopped.stdout);
    assert_eq!(home.json(&["permission", "list", "--json"]), Value::Array(Vec::new()));
    let all = home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!((&all[0]["id"], &all[0]["state"]), (&asked["id"], &"withdrawn".into()));
    assert_eq!(ended(&home, &task)["task"]["status"], "interrupted");
}

#[test]
fn a_soft_stop_says_what_is_still_ending_and_lets_it_report() {
    let home = base();
    let task = started(&home, "COMMAND", &["--fork", "--wait-for-permission"]);
    let asked = crate::permission::until_asked(&home);
    // Its turn ends when somebody has answered; nobody does, as long as the stop waits.
    let soft = home.ran(&["task", "cancel", &task, "--soft"]);
    assert_eq!(soft.code, 0, "{}", soft.stderr);
    let short = &task[..8];
    assert!(soft.stdout.starts_with(&format!("asked to stop: {short} · ")), "{}", soft.stdout);
    assert_eq!(
        soft.stderr,
        format!("still ending: {short}\nhint: `tine wait {short}` waits for the end\n")
    );
    home.done(&["permission", "allow", asked["id"].as_str().unwrap()]);
    let told = ended(&home, &task)["task"].clone();
    assert_eq!((&told["status"], &told["tool_uses"]), (&"cancelled".into(), &1.into()));
    assert_eq!(told["error"], "stopped on request, after it had reported");
    assert!(told["report"].is_string(), "{told}");
}

#[test]
fn the_oldest_logs_make_room() {
    let home: Home = base();
    for number in 0..205 {
        home.write(&format!("log/task-{number:015}-1.log"), "");
    }
    let begun = home.json(&["task", "start", "base", "LOOK", "--json"]);
    ended(&home, begun["task"].as_str().unwrap());
    let logs = std::fs::read_dir(home.path().join("log")).unwrap();
    let mut logs: Vec<_> = logs.map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    assert_eq!(logs.len(), 200);
    assert_eq!(logs[0].file_name().unwrap(), "task-000000000000006-1.log");
    assert_eq!(logs[199].to_str(), begun["log"].as_str());
}
