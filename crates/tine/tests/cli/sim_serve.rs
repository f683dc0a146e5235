//! `tine sim serve`: the simulator as a provider of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use crate::support::{Home, Ran, SCENARIO};

/// A running simulator; interrupted when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) line: serde_json::Value,
}

impl Server {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        let command = home.tine(&["sim", "serve"]);
        #[expect(
            clippy::disallowed_methods,
            reason = "a server runs beside the test; assert_cmd only waits for ends"
        )]
        let mut process = std::process::Command::new(command.get_program());
        process.env_clear().args(command.get_args()).args(arguments);
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                process.env(name, value);
            }
        }
        process.current_dir(home.work()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        Self { child, line: serde_json::from_str(&line).unwrap() }
    }

    /// A field of the line that it printed.
    pub(crate) fn field(&self, name: &str) -> String {
        self.line[name].as_str().unwrap().to_owned()
    }

    /// Ends it kindly; its code and what it wrote to stderr.
    fn stop(mut self, signal: &str) -> Ran {
        let pid = self.child.id().to_string();
        assert_cmd::Command::new("kill").args([signal, &pid]).assert().success();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ran { code, stdout: String::new(), stderr }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bodies that `--log-bodies` has written in this folder, in the order of their arrival.
pub(crate) fn bodies(folder: &Path) -> Vec<Vec<u8>> {
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let entry = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let mut entries: Vec<_> = index.lines().map(entry).collect();
    entries.sort_by_key(|entry| entry["n"].as_u64());
    let body = |entry: &serde_json::Value| folder.join(entry["file"].as_str().unwrap());
    entries.iter().map(|entry| std::fs::read(body(entry)).unwrap()).collect()
}

#[test]
fn the_addresses_are_one_line_of_json() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    assert_eq!(server.line["pid"], server.child.id());
    let text = server.line.to_string().replace(&server.child.id().to_string(), "[PID]");
    check!(text, @r#"{"scenario":"echo","anthropic":"http://127.0.0.1:[PORT]","openai":"http://127.0.0.1:[PORT]/v1","gemini":"http://127.0.0.1:[PORT]","deepseek":"http://127.0.0.1:[PORT]","minimax":"http://127.0.0.1:[PORT]","pid":[PID]}"#);
}

#[test]
fn both_formats_are_answered_and_summed_up() {
    let home = Home::new();
    let model = home.write("case.toml", SCENARIO);
    let bodies = home.path().join("bodies");
    let arguments =
        ["--scenario", model.to_str().unwrap(), "--log-bodies", bodies.to_str().unwrap()];
    let server = Server::start(&home, &arguments);
    for (variable, field, model) in [
        ("ANTHROPIC_BASE_URL", "anthropic", "anthropic/any"),
        ("OPENAI_BASE_URL", "openai", "openai/any"),
    ] {
        let mut run = home.tine(&["run", "hello", "--model", model, "--quiet"]);
        run.env("ANTHROPIC_API_KEY", "any").env("OPENAI_API_KEY", "any");
        let ran = Ran::of(run.env(variable, server.field(field)));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stdout.starts_with("You said: ") && ran.stdout.ends_with("hello\n"),
            "{}",
            ran.stdout
        );
    }
    assert_eq!(std::fs::read_dir(&bodies).unwrap().count(), 3);
    let stopped = server.stop("-INT");
    assert_eq!(stopped.code, 0);
    assert!(stopped.stderr.contains("\n2 requests; tokens: "), "{}", stopped.stderr);
}

#[test]
fn a_polite_signal_ends_it_too() {
    let home = Home::new();
    let stopped = Server::start(&home, &[]).stop("-TERM");
    check!(home.shown(&stopped), @"
    code: 0
    --- stdout
    --- stderr
    simulating a provider with scenario echo; no model answers here
    hint: export ANTHROPIC_BASE_URL=http://127.0.0.1:[PORT] ANTHROPIC_API_KEY=any, then use any anthropic/… model; Ctrl-C stops
    0 requests; tokens: 0 written to the cache, 0 read from it, 0 uncached, 0 generated
    ");
}

#[test]
fn what_it_cannot_serve_is_named() {
    let home = Home::new();
    check!(home.shown(&home.ran(&["sim", "serve", "--scenario", "none"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot use the scenario: no scenario `none`: it is neither a file nor one of the built-in scenarios (echo, demo, tour, worktrees)
    hint: a scenario is a built-in name such as `echo`, or a TOML file
    ");
    home.write("bad.toml", "name = \"x\"\n[[turn]]\ntxt = 1\n");
    check!(home.shown(&home.ran(&["sim", "serve", "--scenario", "../bad.toml"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot use the scenario: ../bad.toml is not a scenario: TOML parse error at line 3, column 1
      |
    3 | txt = 1
      | ^^^
    unknown field `txt`, expected one of `when`, `thinking`, `text`, `tool_calls`, `stop_reason`, `fault`
    hint: a scenario is a built-in name such as `echo`, or a TOML file
    ");
    home.write("bodies/index.jsonl", "");
    check!(home.shown(&home.ran(&["sim", "serve", "--log-bodies", "../bodies"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot start the simulator: cannot start a body log in ../bodies (it must be writable and hold no index.jsonl): File exists (os error 17)
    hint: give --log-bodies a new or empty directory
    ");
    let server = Server::start(&home, &[]);
    let url = server.field("anthropic");
    let port = url.rsplit(':').next().unwrap();
    check!(home.shown(&home.ran(&["sim", "serve", "--port", port])), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot start the simulator: cannot listen on 127.0.0.1:[PORT]: Address already in use (os error 98)
    hint: choose another --port; 0 takes a free one
    ");
}
