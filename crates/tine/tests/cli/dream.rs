//! `tine dream`: notes of a project, written by a hidden run.

use std::fs;
use std::path::PathBuf;

use tine_testkit::until_some;

use crate::support::Home;

/// A home whose model writes two notes, and a file of the project, when it is asked to look after the memory.
fn home(settings: &str) -> (Home, PathBuf) {
    let home = Home::new();
    home.write("config.toml", &format!("model = \"sim/../case.toml\"\n{settings}"));
    home.write("case.toml", "name = \"case\"\n[[turn]]\ntext = \"hello\"\n");
    let status = home.json(&["dream", "status", "--json"]);
    let memory = PathBuf::from(status["memory_dir"].as_str().unwrap());
    let scenario = format!(
        r#"
name = "dreamer"
[[turn]]
when = {{ user_contains = "You look after the memory", turn = 0 }}
tool_calls = [
  {{ name = "FileWrite", input = {{ file_path = "{0}/MEMORY.md", content = "- build.md: how to build\n" }} }},
  {{ name = "FileWrite", input = {{ file_path = "{0}/build.md", content = "make all\n" }} }},
  {{ name = "FileWrite", input = {{ file_path = "made", content = "x" }} }},
]
[[turn]]
when = {{ user_contains = "You look after the memory" }}
text = "Wrote two notes."
[[turn]]
text = "hello"
"#,
        memory.display()
    );
    home.write("case.toml", &scenario);
    (home, memory)
}

#[test]
fn a_forced_run_in_a_fresh_home_writes_notes_that_can_be_taken_back() {
    let (home, memory) = home("");
    let project = memory.file_name().unwrap().to_str().unwrap();
    let shown = |arguments: &[&str]| home.shown(&home.ran(arguments)).replace(project, "[PROJECT]");
    check!(shown(&["dream", "--force"]), @"
    code: 0
    --- stdout
    nothing to do: sessions: this project has no session yet
    --- stderr
    reading the sessions of this project (Ctrl-C stops it; the notes are then as they were)
    ");
    home.done(&["run", "look around"]);
    check!(shown(&["dream"]), @"
    code: 0
    --- stdout
    nothing to do: enabled: off; `[dream] enabled = true` turns it on
    --- stderr
    hint: `tine dream --force` runs all the same; `tine dream status` shows all gates
    ");
    check!(shown(&["dream", "--dry-run"]), @"
    code: 0
    --- stdout
    notes: [HOME]/memory/[PROJECT]
    GATE              WHY
    enabled   closed  off; `[dream] enabled = true` turns it on
    memory    closed  [HOME]/memory/[PROJECT] is not there; a forced run makes it
    hours     open    no run has succeeded yet
    scan      closed  0 s since the sessions were counted, of 10 min
    sessions  closed  1 since the last run, of 5 that it takes
    lock      open    nobody consolidates this memory now
    --- stderr
    ");
    shape!(shown(&["dream", "--force"]), @"
    code: 0
    --- stdout
    [AGENT8] completed · 0s · 2 notes · 2 turns (warm): 0 read, 0 written, 0 uncached · $0
      MEMORY.md
      build.md
      refused: FileWrite: `made` is not an absolute path
    --- stderr
    reading the sessions of this project (Ctrl-C stops it; the notes are then as they were)
    notes: [HOME]/memory/[PROJECT]
    hint: `tine dream undo [AGENT8]` takes it back
    ");
    assert_eq!(fs::read_to_string(memory.join("build.md")).unwrap(), "make all\n");
    assert!(!home.work().join("made").exists());
    // Who comes later is told, once.
    home.done(&["run", "--name", "later", "what do you know?"]);
    let told = home.done(&["show", "later", "--json"]);
    assert_eq!(told.matches("<project-memory>").count(), 1, "{told}");
    let run = home.json(&["dream", "log", "--json"])[0]["run"].as_str().unwrap().to_owned();
    home.done(&["dream", "undo", &run[..8]]);
    assert!(!memory.join("build.md").exists());
    shape!(shown(&["dream", "log"]), @"
    code: 0
    --- stdout
    [AGENT8] completed · 0s · 2 notes · 2 turns (warm): 0 read, 0 written, 0 uncached · $0 · taken back
      MEMORY.md
      build.md
      refused: FileWrite: `made` is not an absolute path
    --- stderr
    ");
    check!(shown(&["dream", "undo", &run[..8]]), @"
    code: 42
    --- stdout
    --- stderr
    error: run [AGENT8] was taken back before
    hint: `tine dream log` lists the runs
    ");
}

#[test]
fn the_json_of_a_run_is_a_promise() {
    let (home, memory) = home("");
    home.done(&["run", "look around"]);
    let masked = |text: String| {
        let ran: serde_json::Value = serde_json::from_str(&text).unwrap();
        let commit = ["ran", "last"].iter().find_map(|run| ran[run]["commit"].as_str());
        let text = text.replace(memory.to_str().unwrap(), "[MEMORY]");
        commit.map_or(text.clone(), |commit| text.replace(commit, "[COMMIT]"))
    };
    shape!(masked(home.done(&["dream", "--force", "--json"])), @r#"{"memory_dir":"[MEMORY]","gates":[{"name":"enabled","open":true,"reason":"[WHY]"},{"name":"memory","open":true,"reason":"[WHY]"},{"name":"hours","open":true,"reason":"[WHY]"},{"name":"scan","open":true,"reason":"[WHY]"},{"name":"sessions","open":true,"reason":"[WHY]"},{"name":"lock","open":true,"reason":"[WHY]"}],"ran":{"run":"[AGENT-ID]","outcome":"completed","phase":"ended","began_at":"[TIME]","ended_at":"[TIME]","context":"warm","sessions":["[AGENT-ID]"],"gates":[{"name":"enabled","open":true,"reason":"[WHY]"},{"name":"memory","open":true,"reason":"[WHY]"},{"name":"hours","open":true,"reason":"[WHY]"},{"name":"scan","open":true,"reason":"[WHY]"},{"name":"sessions","open":true,"reason":"[WHY]"},{"name":"lock","open":true,"reason":"[WHY]"}],"files":["MEMORY.md","build.md"],"escapes":[],"refused":["FileWrite: `made` is not an absolute path"],"redacted":0,"commit":"[COMMIT]","undone":null,"turns":2,"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"cost_usd":0,"error":null}}"#);
    shape!(masked(home.done(&["dream", "status", "--json"])), @r#"{"memory_dir":"[MEMORY]","gates":[{"name":"enabled","open":false,"reason":"[WHY]"},{"name":"memory","open":true,"reason":"[WHY]"},{"name":"hours","open":false,"reason":"[WHY]"},{"name":"scan","open":false,"reason":"[WHY]"},{"name":"sessions","open":false,"reason":"[WHY]"},{"name":"lock","open":true,"reason":"[WHY]"}],"last":{"run":"[AGENT-ID]","outcome":"completed","phase":"ended","began_at":"[TIME]","ended_at":"[TIME]","context":"warm","sessions":["[AGENT-ID]"],"gates":[{"name":"enabled","open":true,"reason":"[WHY]"},{"name":"memory","open":true,"reason":"[WHY]"},{"name":"hours","open":true,"reason":"[WHY]"},{"name":"scan","open":true,"reason":"[WHY]"},{"name":"sessions","open":true,"reason":"[WHY]"},{"name":"lock","open":true,"reason":"[WHY]"}],"files":["MEMORY.md","build.md"],"escapes":[],"refused":["FileWrite: `made` is not an absolute path"],"redacted":0,"commit":"[COMMIT]","undone":null,"turns":2,"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"cost_usd":0,"error":null}}"#);
    assert_eq!(home.json(&["tick", "--json"]), serde_json::json!([]));
}

/// Sessions of another project, and the one that is held now, do not count; a turn's end begins a run in the background.
#[test]
fn a_run_begins_by_itself_behind_a_turn() {
    let rules = "[dream]\nenabled = true\nmin_hours = 1\nscan_minutes = 0\nmin_sessions = 1\n";
    let (home, memory) = home("");
    fs::create_dir_all(&memory).unwrap();
    home.done(&["run", "one"]);
    home.write("config.toml", &format!("model = \"sim/../case.toml\"\n{rules}"));
    home.done(&["run", "two"]);
    let log = until_some("a run has ended", || {
        let log = home.json(&["dream", "log", "--json"]);
        (log[0]["outcome"] == "completed").then_some(log)
    });
    assert_eq!(log[0]["files"], serde_json::json!(["MEMORY.md", "build.md"]));
    let sessions = log[0]["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{log}");
    let listed = home.json(&["ps", "--json"]);
    let older = listed.as_array().unwrap().last().unwrap();
    assert_eq!(older["id"], sessions[0]);
}

#[test]
fn what_is_due_is_done_by_a_tick() {
    let rules = "[dream]\nenabled = true\nmin_hours = 1\nscan_minutes = 0\nmin_sessions = 2\n";
    // Not before the tick: what a run begins in the background would hold the lock of the memory for a moment.
    let (home, memory) = home("");
    fs::create_dir_all(&memory).unwrap();
    home.done(&["run", "one"]);
    home.done(&["run", "two"]);
    home.write("config.toml", &format!("model = \"sim/../case.toml\"\n{rules}"));
    let ticked = home.json(&["tick", "--json"]);
    assert_eq!(ticked[0]["outcome"], "completed", "{ticked}");
    assert_eq!(home.json(&["tick", "--json"]), serde_json::json!([]));
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let home = Home::new();
    for (settings, named) in [
        ("[dream]\nmin_hours = 0\n", "dream.min_hours"),
        ("[dream]\nmemory_dir = \"notes\"\n", "dream.memory_dir"),
        ("[dream]\norder = \"loudest\"\n", "dream.order"),
        ("[dream]\nhours = 3\n", "unknown field"),
    ] {
        home.write("config.toml", settings);
        let ran = home.ran(&["dream", "status"]);
        assert!(ran.code == 42 && ran.stderr.contains(named), "{settings}: {}", ran.stderr);
    }
}
