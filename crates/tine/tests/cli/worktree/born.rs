//! What a worktree starts from, who works in it, and what its agent is told.

use serde_json::Value;

use super::{base, dirty, files, forked, git, place, shown, whole};
use crate::sim_serve::Server;
use crate::support::{Home, Ran};

#[test]
fn a_fork_takes_everything_that_is_not_committed_with_it() {
    let home = dirty();
    let before = whole(&home.work());
    let ran = home.ran(&["fork", "base", "--worktree"]);
    check!(shown(&home, &ran), @"
    code: 0
    --- stdout
    [AGENT-ID]
    --- stderr
    Forked [AGENT8] from [AGENT8] at entry 2
    note: it works in [WORKTREE]
    ");
    let child = ran.stdout.trim();
    let place = place(&home, child);
    let status = |at: &std::path::Path| git(at, &["status", "--porcelain"]);
    check!(status(&home.work()), @"
     M a.txt
    A  staged.txt
    ?? new.txt
    ");
    assert_eq!(status(&place), status(&home.work()));
    check!(files(&place), @r#"
    .gitignore: "target/\n"
    a.txt: "one\nand a half\n"
    new.txt: "new\n"
    staged.txt: "staged\n"
    "#);
    assert_eq!(whole(&home.work()), before);

    let listed = home.json(&["ps", "--json"]);
    assert_eq!(listed[0]["directory"], place.to_str().unwrap());
    let text = serde_json::to_string(&listed[0]["worktree"]).unwrap();
    check!(home.masked(&text).replace(place.file_name().unwrap().to_str().unwrap(), "[ID]"), @r#"{"path":"[HOME]/worktrees/work-[AGENT8]/[ID]","origin":"[HOME]/work","removed":false}"#);
    assert_eq!(listed[1]["worktree"], Value::Null);
    let tree = home.done(&["tree"]);
    assert!(tree.lines().nth(1).unwrap().contains("  in a worktree  "), "{tree}");
}

#[test]
fn a_clean_fork_takes_a_commit_and_nothing_else() {
    let home = dirty();
    let made = home.json(&["fork", "base", "--clean", "--json"]);
    let path = made["worktree"]["path"].as_str().unwrap().to_owned();
    check!(files(path.as_ref()), @r#"
    .gitignore: "target/\n"
    a.txt: "one\n"
    "#);
    git(&home.work(), &["commit", "-qam", "Second"]);
    let made = home.json(&["fork", "base", "--base", "main~1", "--json"]);
    let older = made["worktree"]["path"].as_str().unwrap().to_owned();
    assert_eq!(files(older.as_ref()), files(path.as_ref()));
    let shared = home.json(&["fork", "base", "--json"]);
    assert_eq!(shared["worktree"], Value::Null);
}

#[test]
fn what_a_fork_writes_stays_in_its_worktree() {
    let home = dirty();
    let before = whole(&home.work());
    let made = forked(&home, "WRITE it", &["--permission-mode", "accept-edits"]);
    assert_eq!(made["outcome"], "completed", "{made}");
    let path = made["worktree"]["path"].as_str().unwrap();
    assert!(files(path.as_ref()).contains("made.txt: \"made\\n\""));
    let committed = forked(&home, "COMMIT it", &["--allow", "Bash"]);
    assert!(committed["text"].as_str().unwrap().contains("Result: 2"), "{committed}");
    assert_eq!(whole(&home.work()), before);
}

#[test]
fn workers_of_a_fan_do_not_see_each_other_and_only_changes_stay() {
    let home = dirty();
    let before = whole(&home.work());
    let fan = home.json(&[
        "fan",
        "base",
        "-d",
        "WRITE one",
        "-d",
        "NOTHING",
        "-d",
        "WRITE three",
        "--worktree",
        "--permission-mode",
        "accept-edits",
        "--json",
    ]);
    let tasks = fan["tasks"].as_array().unwrap();
    assert_eq!(tasks[1]["worktree"], Value::Null, "{fan}");
    for task in [&tasks[0], &tasks[2]] {
        assert_eq!(
            (&task["worktree"]["files"], &task["worktree"]["commits"]),
            (&1.into(), &0.into())
        );
        let path = task["worktree"]["path"].as_str().unwrap();
        assert!(files(path.as_ref()).contains("made.txt"));
    }
    assert_ne!(tasks[0]["worktree"]["path"], tasks[2]["worktree"]["path"]);
    assert_eq!(whole(&home.work()), before);
    let there = home.json(&["worktree", "list", "--json"]);
    assert_eq!(there["worktrees"].as_array().unwrap().len(), 2);

    let told = home.ran(&[
        "fan",
        "base",
        "-d",
        "WRITE it",
        "--worktree",
        "--permission-mode",
        "accept-edits",
    ]);
    let line = told.stdout.lines().nth(2).unwrap().to_owned();
    let line = shown(&home, &Ran { stdout: format!("{line}\n"), stderr: String::new(), ..told });
    check!(line, @"
    code: 0
    --- stdout
    [WORKTREE]: 1 file changed
    --- stderr
    ");
}

#[test]
fn a_confined_worker_commits_in_its_worktree() {
    let home = dirty();
    let before = whole(&home.work());
    let order = ["fan", "base", "-d", "COMMIT it", "--worktree", "--allow", "Bash", "--json"];
    let fan = home.json(&order);
    let task = &fan["tasks"][0];
    assert_eq!(task["worktree"]["commits"], 1, "{fan}");
    assert_eq!(whole(&home.work()), before);
}

#[test]
fn worktrees_lie_where_the_settings_say_and_only_changed_ones_stay_there() {
    let home = dirty();
    // Right beside the checkout, in the user's home.
    let beside = home.path().join("trees");
    home.write("config.toml", &format!("[worktree]\ndirectory = {beside:?}\n"));
    let orders = ["-d", "NOTHING", "-d", "COMMIT it", "--worktree", "--allow", "Bash", "--json"];
    let fan = home.json(&[&["fan", "base"], &orders[..]].concat());
    assert_eq!(fan["tasks"][0]["worktree"], Value::Null, "{fan}");
    assert_eq!(fan["tasks"][1]["worktree"]["commits"], 1, "{fan}");
    assert!(fan["tasks"][1]["worktree"]["path"].as_str().unwrap().contains("/trees/"), "{fan}");
}

#[test]
fn a_task_in_the_background_tells_its_spawner_where_its_changes_are() {
    let home = dirty();
    let start = ["task", "start", "base", "WRITE it", "--fork", "--worktree"];
    let more = ["--permission-mode", "accept-edits", "--json"];
    let begun = home.json(&[&start[..], &more].concat());
    let task = begun["task"].as_str().unwrap();
    let path = begun["worktree"]["path"].as_str().unwrap();
    let ended = crate::task::ended(&home, task);
    assert_eq!(ended["task"]["status"], "completed", "{ended}");
    assert_eq!(ended["task"]["worktree"]["files"], 1);
    assert_eq!(ended["task"]["worktree"]["path"], path);
    home.done(&["run", "--resume", "base", "--quiet", "hello"]);
    let log = home.done(&["logs", "base", "--json"]);
    assert!(log.contains(&format!("<worktree>{path}: 1 file changed</worktree>")), "{log}");
    let list = home.done(&["task", "list", "base"]);
    assert!(list.contains("WORKTREE") && list.contains("1 file changed"), "{list}");

    let waited = home.ran(&[&start[..], &["--wait", "--permission-mode", "accept-edits"]].concat());
    assert!(waited.stderr.contains("note: it works in "), "{}", waited.stderr);
    assert!(waited.stderr.contains(": 1 file changed\n"), "{}", waited.stderr);
}

#[test]
fn a_model_asks_for_a_worktree_by_its_tool() {
    let home = dirty();
    let before = whole(&home.work());
    let run =
        ["run", "--resume", "base", "--permission-mode", "accept-edits", "--json", "DELEGATE"];
    let ran = home.json(&run);
    assert_eq!(ran["text"], "I have read it.");
    let worktree = &ran["tasks"][0]["worktree"];
    assert_eq!(worktree["files"], 1, "{ran}");
    assert!(files(worktree["path"].as_str().unwrap().as_ref()).contains("made.txt"));
    assert_eq!(whole(&home.work()), before);
}

/// A simulator that keeps what it is asked, and an agent `base` of it.
fn watched() -> (Home, Server) {
    let home = dirty();
    let bodies = home.path().join("bodies");
    let scenario = home.path().join("case.toml");
    let arguments =
        ["--scenario", scenario.to_str().unwrap(), "--log-bodies", bodies.to_str().unwrap()];
    let server = Server::start(&home, &arguments);
    (home, server)
}

/// The bodies that a simulator was sent, in order.
fn bodies(home: &Home) -> Vec<String> {
    let log = std::fs::read_dir(home.path().join("bodies")).unwrap();
    let mut paths: Vec<_> = log.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name != "index.jsonl"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// A body without the marks for the provider's cache.
fn unmarked(body: &str) -> String {
    let mut text = body.to_owned();
    while let Some(at) = text.find(",\"cache_control\":{") {
        let end = at + text[at..].find('}').unwrap() + 1;
        text.replace_range(at..end, "");
    }
    text
}

#[test]
fn the_notice_of_a_worktree_stands_behind_the_whole_prefix() {
    let (home, server) = watched();
    let asked = |arguments: &[&str]| {
        let mut command = home.tine(arguments);
        command.env("ANTHROPIC_API_KEY", "any");
        let ran = Ran::of(command.env("ANTHROPIC_BASE_URL", server.field("anthropic")));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    };
    asked(&["run", "--model", "anthropic/any", "--name", "parent", "--quiet", "NOTHING"]);
    asked(&["fork", "parent", "and now?", "--worktree", "--quiet"]);
    asked(&["fork", "parent", "and now?", "--quiet"]);
    let sent: Vec<String> = bodies(&home).iter().map(|body| unmarked(body)).collect();
    let [.., apart, shared] = sent.as_slice() else { panic!("{} requests", sent.len()) };
    let notice = apart.find("<worktree>").unwrap();
    assert!(apart[notice..].contains("and now?"));
    let same = apart.bytes().zip(shared.bytes()).take_while(|(one, other)| one == other).count();
    assert!(same >= notice - 1, "they part {} bytes before the notice", notice - same);
    assert!(apart[..notice].contains("NOTHING") && !shared.contains("<worktree>"));
}

#[test]
fn a_merge_under_way_stays_where_it_is() {
    let home = base();
    git(&home.work(), &["checkout", "-qb", "side"]);
    home.write("work/side.txt", "side\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "Side"]);
    git(&home.work(), &["checkout", "-q", "main"]);
    git(&home.work(), &["merge", "-q", "--no-ff", "--no-commit", "side"]);
    let before = whole(&home.work());
    check!(shown(&home, &home.ran(&["fork", "base", "--worktree"])), @"
    code: 0
    --- stdout
    [AGENT-ID]
    --- stderr
    Forked [AGENT8] from [AGENT8] at entry 2
    note: it works in [WORKTREE]
    note: the checkout is in the middle of a merge; the files come along as they are, the merge does not
    ");
    let fan = home.ran(&["fan", "base", "-d", "NOTHING", "--worktree", "--json"]);
    assert!(
        fan.stderr.starts_with("note: the checkout is in the middle of a merge"),
        "{}",
        fan.stderr
    );
    let task = home.ran(&["task", "start", "base", "NOTHING", "--worktree", "--wait"]);
    assert!(
        task.stderr.starts_with("note: the checkout is in the middle of a merge"),
        "{}",
        task.stderr
    );
    assert_eq!(whole(&home.work()), before);
    assert!(home.work().join(".git/MERGE_HEAD").exists());
}
