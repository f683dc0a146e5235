//! What scripts rely on: `-` for standard input, addresses as lists print them, times, and names in JSON.

use std::path::Path;

use crate::sim_serve::Server;
use crate::support::{Home, Ran, SCENARIO};

/// Runs a command that must not fail, with this on its standard input.
fn piped(home: &Home, arguments: &[&str], stdin: &str) -> String {
    let ran = Ran::of(home.tine(arguments).write_stdin(stdin));
    assert_eq!(ran.code, 0, "tine {arguments:?}: {}", ran.stderr);
    ran.stdout
}

fn piped_json(home: &Home, arguments: &[&str], stdin: &str) -> serde_json::Value {
    serde_json::from_str(&piped(home, arguments, stdin)).unwrap()
}

#[test]
fn a_dash_is_standard_input_wherever_a_model_is_told_something() {
    let home = Home::new().without_nudges();
    let model = home.model(SCENARIO);
    let run = ["run", "-", "--model", &model, "--name", "base"];
    assert_eq!(piped(&home, &run, "count").trim(), "You said: count");
    piped(&home, &["send", "base", "-"], "and the empty lines");
    let answered = home.done(&["run", "--resume", "base"]);
    assert!(answered.contains("and the empty lines"), "{answered}");
    assert_eq!(piped(&home, &["fork", "base", "-"], "go on").trim(), "You said: go on");
    let fan = piped_json(&home, &["fan", "base", "-d", "-", "--json"], "count the files");
    assert_eq!(fan["tasks"][0]["directive"], "count the files");
    let start = ["task", "start", "base", "-", "--json"];
    let waited = piped_json(&home, &[&start[..], &["--wait"]].concat(), "count the lines");
    assert_eq!(waited["directive"], "count the lines");
    // The process in the background gets what was piped into the first.
    let begun = piped_json(&home, &start, "- count the words");
    assert_eq!(begun["agent"], begun["task"]);
    let task = begun["task"].as_str().unwrap();
    let ended = home.json(&["task", "output", task, "--block", "--timeout", "100s", "--json"]);
    assert_eq!(ended["task"]["directive"], "- count the words");
    assert!(!Path::new(begun["log"].as_str().unwrap()).with_extension("stdin").exists());
}

#[test]
fn a_dash_is_standard_input_for_options_too() {
    let home = Home::new();
    let (model, bodies) = (home.model(SCENARIO), home.path().join("bodies"));
    let server = Server::start(&home, &["--log-bodies", bodies.to_str().unwrap()]);
    let run = ["run", "count", "--model", "anthropic/any", "--name", "base", "--system", "-", "-q"];
    let mut run = home.tine(&run);
    run.env("ANTHROPIC_BASE_URL", server.field("anthropic")).env("ANTHROPIC_API_KEY", "any");
    // What is read for the option is no part of the prompt.
    let said = Ran::of(run.write_stdin("Count aloud."));
    assert!(said.stdout.contains("count") && !said.stdout.contains("aloud"), "{}", said.stdout);
    let sent = std::fs::read_dir(&bodies).unwrap().map(|file| file.unwrap().path());
    let sent: Vec<String> = sent.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    assert!(sent.iter().any(|body| body.contains("Count aloud.")), "{sent:?}");
    home.done(&["run", "count", "--model", &model, "--name", "talk"]);
    home.done(&["fork", "talk", "go on", "--name", "child"]);
    let brought =
        piped(&home, &["merge-back", "child", "--text", "-", "--dry-run"], "All counted.");
    assert_eq!(brought.trim(), "All counted.");
    let mut twice = home.tine(&["run", "-", "--system", "-", "--model", &model]);
    check!(home.shown(&Ran::of(twice.write_stdin("x"))), @r#"
    code: 2
    --- stdout
    --- stderr
    error: `-` is given twice, and there is one standard input
    hint: `"$(cat FILE)"` is the text of a file
    "#);
}

#[test]
fn an_empty_standard_input_is_no_prompt() {
    let home = Home::new();
    check!(home.shown(&home.ran(&["run", "-", "--model", "sim/echo"])), @"
    code: 2
    --- stdout
    --- stderr
    error: standard input is empty
    hint: `-` reads the text from standard input: pipe it, or name a file with `<`
    ");
}

#[test]
fn a_fork_point_is_understood_as_ps_prints_it() {
    let home = Home::new();
    home.import("sim/echo", "base", 4);
    let forked = home.json(&["fork", "base", "--at", "2", "--name", "child", "--json"]);
    assert_eq!(forked["fork_point"], 2);
    let listed = home.done(&["ps"]);
    let line = listed.lines().find(|line| line.contains("child")).unwrap();
    let address = line.split_whitespace().find(|word| word.contains('@')).unwrap();
    let sibling = home.json(&["fork", address, "--json"]);
    assert_eq!((&sibling["parent"], &sibling["fork_point"]), (&forked["parent"], &2.into()));
    let shown = home.json(&["show", address, "--json"]);
    assert_eq!(shown["entries"].as_array().unwrap().len(), 2);
    let fanned = home.json(&["fan", address, "-d", "one", "-d", "two", "--json"]);
    assert_eq!((&fanned["parent"], &fanned["fork_point"]), (&forked["parent"], &2.into()));
    check!(home.shown(&home.ran(&["show", "base@99"])), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT8] has no entry 99
    hint: `tine show [AGENT8]` shows them with their numbers
    ");
    check!(home.shown(&home.ran(&["fork", "base@2", "--at", "2"])), @"
    code: 2
    --- stdout
    --- stderr
    error: the entry is given twice
    hint: `tine fork AGENT@ENTRY` and `--at ENTRY` say the same
    ");
    // A whole name comes first.
    home.done(&["rename", "base", "base@1"]);
    let shown = home.json(&["show", "base@1", "--json"]);
    assert!(shown["entries"].as_array().unwrap().len() >= 4, "{shown}");
}

#[test]
fn times_are_seconds_or_have_a_unit() {
    let home = Home::new();
    let run = ["run", "hello", "--model", "sim/echo", "--name", "base"];
    home.done(&[&run[..], &["--timeout", "10m", "--tree-time", "600"]].concat());
    home.done(&["wait", "base", "--timeout", "10s"]);
    home.done(&["wait", "base", "--timeout", "10"]);
    let soon = home.ran(&["wait", "base", "--timeout", "soon"]);
    assert_eq!(soon.code, 2);
    let why = "it is a number of seconds, or one with a unit, such as 90s, 30m, 1h or 2d";
    assert!(soon.stderr.contains(why), "{}", soon.stderr);
}

#[test]
fn a_slash_command_that_run_does_not_know_is_refused_and_not_billed() {
    let home = Home::new();
    check!(home.shown(&home.ran(&["run", "/nosuch x", "--model", "sim/echo"])), @r#"
    code: 2
    --- stdout
    --- stderr
    error: `tine run` has no command /nosuch
    hint: the only one here is /fork; the others are for the terminal, `tine` alone
    hint: to send it as words, begin with a blank: `tine run " /nosuch …"`
    "#);
    assert_eq!(home.ran(&["run", "/compact", "--model", "sim/echo"]).code, 2);
    assert_eq!(home.done(&["ps", "--all", "--json"]).trim(), "[]");
    home.done(&["run", "/etc/hosts is odd", "--model", "sim/echo"]);
    home.done(&["run", " /nosuch x", "--model", "sim/echo"]);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test gives the real binary a device that is full"
)]
fn a_result_that_cannot_be_written_is_a_failure() {
    let home = Home::new();
    for arguments in [
        &["run", "hello", "--model", "sim/echo", "--quiet"][..],
        &["--help"],
        &["fork", "--help"],
        &["help", "fork"],
        &["--version"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tine"));
        command.env("TINE_HOME", home.path()).current_dir(home.work()).args(arguments);
        let ran = command.stdin(std::process::Stdio::null()).stdout(full).output().unwrap();
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}");
        let told = String::from_utf8(ran.stderr).unwrap();
        assert!(told.starts_with("error: cannot write the result: "), "{arguments:?}: {told}");
    }
}
