//! `tine away`: what happened since a person was there.

use crate::support::Home;

/// Has a worker write a file, as it is told.
const SCENARIO: &str = r#"
name = "away"
[[turn]]
when = { user_contains = "WRITE", turn = 0 }
tool_calls = [{ name = "FileWrite", input = { file_path = "made.txt", content = "x" } }]
[[turn]]
when = { user_contains = "WRITE" }
text = "Scope: a file\nResult: written\nKey files: made.txt\nFiles changed: made.txt\nIssues: none"
[[turn]]
text = "hello"
"#;

/// A home whose agent `base` was prompted, and has had workers since.
fn home(settings: &str) -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    let permissions = "permission_mode = \"accept-edits\"\n[workers]\nnudge = false\n";
    home.write("config.toml", &format!("model = \"{model}\"\n{permissions}{settings}"));
    home.done(&["run", "--name", "base", "hi"]);
    home.done(&["task", "start", "base", "WRITE it\nwith care", "--fork", "--wait"]);
    home
}

#[test]
fn what_happened_is_shown_at_any_time() {
    let home = home("");
    shape!(home.shown(&home.ran(&["away"])), @"
    code: 0
    --- stdout
    While you were away (0 min): 1 completed, 1 file written, $0 spent
      completed   [AGENT8]  WRITE it
      files written: made.txt
    --- stderr
    ");
    shape!(home.done(&["away", "base", "--json"]), @r#"{"agent":"[AGENT-ID]","since":"[TIME]","events":[{"at":"[TIME]","kind":"completed","agent":"[AGENT-ID]","text":"WRITE it"}],"left_out":0,"files":["made.txt"],"cost_usd":0,"text":"While you were away (0 min): 1 completed, 1 file written, $0 spent\n  completed   [AGENT8]  WRITE it\n  files written: made.txt"}"#);
    // Looking is no prompt.
    assert_eq!(home.json(&["away", "--json"])["events"].as_array().unwrap().len(), 1);
    home.done(&["run", "--resume", "base", "again"]);
    shape!(home.done(&["away"]), @"Nothing happened here in 0 min.");
    check!(home.shown(&home.ran(&["away", "nobody"])), @"
    code: 42
    --- stdout
    --- stderr
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents
    ");
}

#[test]
fn the_first_prompt_after_the_time_is_preceded_by_it() {
    let home = home("[away]\nafter = \"0s\"\n");
    let before = home.json(&["show", "base", "--json"])["entries"].as_array().unwrap().len();
    // Where nobody reads it, it waits.
    let ran = home.ran(&["run", "--resume", "base", "for a program", "--json"]);
    assert!(!ran.stderr.contains("away"), "{}", ran.stderr);
    let ran = home.ran(&["run", "--resume", "base", "again"]);
    assert!(ran.stderr.contains("While you were away (0 min): 1 completed"), "{}", ran.stderr);
    // Nothing of it is the agent's.
    let shown = home.json(&["show", "base", "--json"]);
    assert!(!shown.to_string().contains("While you were away"));
    assert!(shown["entries"].as_array().unwrap().len() > before);
    let ran = home.ran(&["run", "--resume", "base", "and again"]);
    assert!(!ran.stderr.contains("While you were away"), "{}", ran.stderr);
}

#[test]
fn it_keeps_quiet_where_it_is_too_early_or_turned_off() {
    for settings in ["", "[away]\nenabled = false\nafter = \"0s\"\n", "[away]\nafter = \"31d\"\n"] {
        let home = home(settings);
        let ran = home.ran(&["run", "--resume", "base", "again"]);
        assert!(ran.code == 0 && !ran.stderr.contains("away"), "{settings}: {}", ran.stderr);
    }
    let home = home("[away]\nafter = \"31d\"\n");
    let ran = home.ran(&["away"]);
    assert!(ran.code == 42 && ran.stderr.contains("away.after"), "{}", ran.stderr);
}
