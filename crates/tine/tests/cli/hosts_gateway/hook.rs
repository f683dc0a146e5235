//! What was sent to a guest, and comes to its program's model by the hook that `tine gateway install` puts into the program's settings.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{CODEX, CODEX_SETTINGS, Way, program, provider};
use crate::foreign::{KEY, user};
use crate::sim_serve::bodies;
use crate::support::{Home, Ran};

const REPORT: &str = "Report: the tests pass";

/// Claude Code: without any question, from the user's own settings.
pub(super) fn of_claude_code() {
    let host = program("TINE_TEST_CLAUDE_CODE");
    let home = Home::new();
    std::fs::create_dir(user(&home)).unwrap();
    let talk = |prompt: &str, more: &[&str]| {
        let arguments = [&["-p", prompt], more].concat();
        run(&home, &host, &arguments);
    };
    talk("Say one", &[]);
    sent(&home, "claude-code");
    talk("Say two", &["--continue"]);
    talk("Say three", &["--continue"]);
    assert_once(&home);
}

/// Codex: a person would trust the hook with `/hooks`; here an option says that it was looked at.
pub(super) fn of_codex() {
    let host = program("TINE_TEST_CODEX");
    let home = Home::new();
    home.write("user/.codex/config.toml", CODEX_SETTINGS);
    let keys = serde_json::json!({"OPENAI_API_KEY": KEY}).to_string();
    home.write("user/.codex/auth.json", &keys);
    let talk = |arguments: &[&str], trust: &[&str]| {
        let exec = ["exec", "--skip-git-repo-check"];
        run(&home, &host, &[exec.as_slice(), trust, arguments].concat());
    };
    let trust = ["--dangerously-bypass-hook-trust"];
    talk(&["Say one"], &[]);
    sent(&home, "codex");
    talk(&["resume", "--last", "Say nothing"], &[]);
    let untrusted = texts(&home);
    assert!(!untrusted.iter().any(|body| body.contains(REPORT)), "it is skipped");
    talk(&["resume", "--last", "Say two"], &trust);
    talk(&["resume", "--last", "Say three"], &trust);
    assert_once(&home);
}

/// Lets a host answer once, with a simulator of its own.
fn run(home: &Home, host: &Path, arguments: &[&str]) {
    let number = folders(home).len();
    let provider = provider(home, CODEX, &format!("bodies-{number}"));
    let ran = Way::Gateway.start(home, &provider, host, arguments).end();
    assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
}

/// Puts the hook into the settings of the host's user, and a message into the mailbox of the guest.
fn sent(home: &Home, host: &str) {
    let mut install = home.tine(&["gateway", "install", host, "--yes"]);
    let ran = Ran::of(install.env("HOME", user(home)));
    assert_eq!(ran.code, 0, "{ran:?}");
    let agents: Value = home.json(&["ps", "--all", "--json"]);
    let guest = agents[0]["id"].as_str().unwrap();
    home.done(&["send", guest, REPORT]);
}

/// The folders of the bodies of each run so far, in order.
fn folders(home: &Home) -> Vec<PathBuf> {
    let numbered = (0..).map(|number| home.path().join(format!("bodies-{number}")));
    numbered.take_while(|folder| folder.exists()).collect()
}

/// The bodies that were sent so far, in order.
fn texts(home: &Home) -> Vec<String> {
    let folders = folders(home);
    let all = folders.iter().flat_map(|folder| bodies(folder));
    all.map(|body| String::from_utf8(body).unwrap()).collect()
}

/// The prompt behind the message brings it, and the one after that has it in its history alone.
fn assert_once(home: &Home) {
    let texts = texts(home);
    let of = |prompt: &str, later: &str| {
        let found = texts.iter().find(|body| body.contains(prompt) && !body.contains(later));
        found.unwrap_or_else(|| panic!("{prompt} is in no request")).matches(REPORT).count()
    };
    assert_eq!(of("Say one", "Say two"), 0);
    assert_eq!(of("Say two", "Say three"), 1);
    assert_eq!(of("Say three", "Say four"), 1);
    let last = texts.last().unwrap();
    let place = |part: &str| last.find(part).unwrap();
    assert!(place(REPORT) < place("Say three"), "it is no news any more: {last}");
}
