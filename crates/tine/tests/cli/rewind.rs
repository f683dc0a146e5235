//! `tine mark`, `tine rewind` and `tine clear`; the same marks in the terminal's lines.

use crate::support::{Home, Ran};

const SCENARIO: &str = r#"
name = "case"

[[turn]]
text = "You said: {{user}}"
"#;

/// The messages that count, as the model is sent them.
fn counts(home: &Home, agent: &str) -> String {
    home.done(&["export", agent, "--format", "markdown"])
}

#[test]
fn a_conversation_goes_back_to_a_mark_and_begins_anew() {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.done(&["run", "--name", "base", "--model", &model, "one"]);
    check!(home.shown(&home.ran(&["mark", "base", "a  b"])), @"
    code: 0
    --- stdout
    marked entry 3 of [AGENT8]; `tine rewind [AGENT8] --to 3` comes back to it
    --- stderr
    ");
    home.done(&["run", "--resume", "base", "two"]);
    check!(home.done(&["mark", "base", "--list"]), @"3  a b");
    check!(home.shown(&home.ran(&["rewind", "base", "a b"])), @"
    code: 42
    --- stdout
    --- stderr
    error: Mark not found: a b
    hint: `tine mark [AGENT8] --list` lists them
    ");
    check!(home.shown(&home.ran(&["rewind", "base", "a  b"])), @"
    code: 0
    --- stdout
    rewound [AGENT8] to entry 3
    --- stderr
    ");
    assert!(!counts(&home, "base").contains("two"));
    check!(home.shown(&home.ran(&["rewind", "base", "--json"])), @r#"
    code: 0
    --- stdout
    {"agent":"[AGENT-ID]","to":null,"prompt":"one","changes":0,"commands":0}
    --- stderr
    "#);
    check!(home.shown(&home.ran(&["rewind", "base"])), @"
    code: 42
    --- stdout
    --- stderr
    error: there is nothing to go back to
    ");
    home.done(&["run", "--resume", "base", "three"]);
    check!(home.shown(&home.ran(&["clear", "base"])), @"
    code: 0
    --- stdout
    cleared [AGENT8]: its conversation begins anew
    --- stderr
    ");
    assert!(!counts(&home, "base").contains("three"));
    check!(home.shown(&home.ran(&["rewind", "base", "--to", "99"])), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has no entry 99
    hint: `tine show AGENT` lists its entries
    ");
}

#[test]
fn a_mark_is_found_in_the_terminal_by_the_label_that_was_typed() {
    let home = Home::new();
    home.write("config.toml", &format!("model = \"{}\"\n", home.near_model(SCENARIO)));
    let ran =
        Ran::of(home.tine(&["--plain"]).write_stdin("hello\n/mark a  b\nsecond\n/rewind a  b\n"));
    assert!(ran.stdout.contains("Rewound to here"), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("not found"), "{}", ran.stdout);
}

#[test]
fn a_level_behind_a_model_means_the_same_at_every_door() {
    let home = Home::new();
    home.done(&["run", "--name", "base", "--model", "sim/echo/low", "one"]);
    home.done(&[
        "fork",
        "base",
        "--name",
        "fork",
        "--model",
        "sim/echo/high",
        "--accept-cache-loss",
    ]);
    home.done(&[
        "fan",
        "base",
        "-d",
        "two",
        "--model",
        "sim/echo/high",
        "--accept-cache-loss",
        "--json",
    ]);
    let agents = home.json(&["ps", "--json"]);
    let mut all: Vec<_> = agents
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| {
            let word = |field: &str| agent[field].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", word("kind"), word("model"), word("effort"))
        })
        .collect();
    all.sort();
    assert_eq!(all, ["peer sim/echo high", "root sim/echo low", "worker sim/echo high"]);
}

#[test]
fn a_worker_begins_at_the_entry_that_is_named() {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.import(&model, "base", 4);
    home.done(&["task", "start", "base@2", "--fork", "look", "--wait", "--name", "early"]);
    let early = home.json(&["show", "early", "--json"]);
    assert_eq!(early["agent"]["fork_point"], 2);
    let text = home.done(&["export", "early", "--format", "markdown"]);
    assert!(text.contains("message 1") && !text.contains("message 2"), "{text}");
}
