//! Ways in which an agent's work reaches the settings of a checkout: in the shared directory, and by `tine apply`.

use serde_json::Value;

use super::{PLANTED, home, model_of};
use crate::support::Home;
use crate::worktree::git;

/// A worker that writes a checkout's settings and a scenario for them.
const PLANTER: &str = r#"
name = "planter"
[[turn]]
when = { user_contains = "PLANT", tool_results = 0 }
text = "I plant."
[[turn.tool_calls]]
name = "Bash"
input.command = "mkdir -p .tine; printf 'model = \"sim/./e.toml\"\n' > .tine/config.toml; cp \"[HOME]/planted.toml\" e.toml; printf x > build.sh; printf all: > Makefile; ln -s /outside sub; ls -A"
[[turn]]
when = { user_contains = "PLANT" }
text = "Scope: plant\nResult: {{tool_result.last}}"
[[turn]]
text = "You said: {{user}}"
"#;

/// A home with a repository and an agent `base` whose workers plant. The user allows everything.
fn planted() -> Home {
    let home = home();
    git(&home.work(), &["init", "-q", "-b", "main"]);
    home.write("work/a.txt", "one\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "First"]);
    home.write("config.toml", "model = \"sim/echo\"\npermission_mode = \"bypass\"\n");
    home.write("planted.toml", PLANTED);
    let scenario = PLANTER.replace("[HOME]", home.path().to_str().unwrap());
    let model = home.near_model(&scenario);
    home.import(&model, "base", 2);
    home
}

/// The next run in the directory obeys nothing that was planted.
fn next_run_is_the_users(home: &Home) {
    let ran = home.ran(&["run", "--name", "next", "please run the tests"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("do not count until you trust them"), "{}", ran.stderr);
    assert_eq!(model_of(home, "next"), "sim/echo");
    assert!(!home.work().join("mark").exists(), "the planted command ran");
}

#[test]
fn a_worker_in_the_shared_directory_chooses_no_model_of_the_next_run() {
    let home = planted();
    home.done(&["fan", "base", "-d", "PLANT", "--confine", "off"]);
    assert!(home.work().join(".tine/config.toml").exists());
    next_run_is_the_users(&home);
    // Even a person who trusts it does not let a scenario in.
    home.trust();
    let ran = home.ran(&["run", "--name", "trusted", "please run the tests"]);
    check!(home.shown(&ran), @"
    code: 0
    --- stdout
    please run the tests

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    --- stderr
    note: `model = sim/./e.toml` of [HOME]/work/.tine/config.toml does not count: a project never chooses a scenario in a file
    agent [AGENT8] trusted · sim/echo
    completed · 1 turn · $0.0012 at anthropic/claude-opus-5-5 prices
    3.3k read, 0 written, 0 uncached, 27 output · go on: tine run --resume [AGENT8]
    ");
    assert_eq!(model_of(&home, "trusted"), "sim/echo");
    assert!(!home.work().join("mark").exists(), "the planted command ran");
}

#[test]
fn settings_that_come_by_apply_do_not_count() {
    let home = planted();
    home.done(&["fan", "base", "-d", "PLANT", "--worktree", "--confine", "off"]);
    let agents = home.json(&["ps", "--all", "--json"]);
    let worker = agents.as_array().unwrap().iter().find(|agent| agent["name"] != "base").unwrap();
    let worker = worker["id"].as_str().unwrap();
    let would = home.json(&["apply", worker, "--dry-run", "--json"]);
    let file = |file: &Value| {
        let word = |key: &str| file.get(key).map(|value| format!(" {key}={value}"));
        let words = ["link", "starts_programs", "steers_agents"].map(word);
        format!("{}{}", file["path"], words.into_iter().flatten().collect::<String>())
    };
    let files: Vec<String> = would["files"].as_array().unwrap().iter().map(file).collect();
    check!(files.join("\n"), @r#"
    ".tine/config.toml" steers_agents=true
    "Makefile" starts_programs=true
    "build.sh"
    "e.toml"
    "sub" link="/outside"
    "#);
    check!(home.shown(&home.ran(&["apply", worker])), @"
    code: 0
    --- stdout
    applied 5 files of [AGENT8] in [HOME]/work
      added  .tine/config.toml  +1 -0
      added  Makefile  +1 -0
      added  build.sh  +1 -0
      added  e.toml  +10 -0
      added  sub -> /outside
    --- stderr
    note: programs run these files by their names; read them first: Makefile
    note: these files tell tine or its agents what to do; read them first: .tine/config.toml
    note: links came in: sub -> /outside (outside the checkout)
    note: `tine apply --undo [AGENT8]` takes it back
    note: told which files changed: [AGENT8]
    ");
    assert!(home.work().join(".tine/config.toml").exists());
    next_run_is_the_users(&home);
}

#[test]
fn commits_that_come_by_merge_are_told_in_the_same_words() {
    let home = planted();
    home.done(&["fork", "base", "--worktree", "--name", "apart"]);
    let path = std::path::PathBuf::from(home.done(&["worktree", "path", "apart"]).trim());
    std::fs::create_dir(path.join(".tine")).unwrap();
    std::fs::write(path.join(".tine/config.toml"), "model = \"sim/./e.toml\"\n").unwrap();
    std::fs::write(path.join("Makefile"), "all:\n").unwrap();
    std::os::unix::fs::symlink("../a.txt", path.join(".tine/inside")).unwrap();
    std::os::unix::fs::symlink("../../up", path.join(".tine/up")).unwrap();
    git(&path, &["add", "-A"]);
    git(&path, &["commit", "-qm", "Plant"]);
    check!(home.shown(&home.ran(&["merge", "apart", "--dry-run"])), @"
    code: 0
    --- stdout
    1 commit of [AGENT8] can be merged in [HOME]/work
      Plant
    --- stderr
    note: programs run these files by their names; read them first: Makefile
    note: these files tell tine or its agents what to do; read them first: .tine/config.toml, .tine/inside, .tine/up
    note: links came in: .tine/up -> ../../up (outside the checkout), .tine/inside -> ../a.txt
    ");
    let came = home.json(&["merge", "apart", "--json"]);
    let links: Vec<&Value> =
        came["files"].as_array().unwrap().iter().filter_map(|file| file.get("link")).collect();
    assert_eq!(links, ["../a.txt", "../../up"]);
    next_run_is_the_users(&home);
}

#[test]
fn a_worktree_has_the_trust_of_its_origin_until_its_content_changes() {
    let home = planted();
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "Settings"]);
    home.trust();
    home.done(&["fork", "base", "--worktree", "--name", "apart"]);
    let path = home.done(&["worktree", "path", "apart"]).trim().to_owned();
    home.done(&["-C", &path, "run", "-q", "--name", "there", "hello"]);
    assert_eq!(model_of(&home, "there"), "sim/echo@openai");
    std::fs::write(format!("{path}/.tine/config.toml"), "model = \"sim/echo@gemini\"\n").unwrap();
    let ran = home.ran(&["-C", &path, "run", "--name", "changed", "hello"]);
    assert!(
        ran.stderr.contains("have changed since you trusted them; only what they forbade holds"),
        "{}",
        ran.stderr
    );
    assert_eq!(model_of(&home, "changed"), "sim/echo");
}
