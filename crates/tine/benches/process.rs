//! Whole processes, printed: `tine --version`, `tine fork` of a short and of a long conversation, and the lists of many agents. Run with
//! `cargo xtask bench process`. Medians; the growth of the database is measured over 64 forks.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no figures")]

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Runs of each command that are counted.
const RUNS: usize = 41;

/// Agents of a store that has many.
const AGENTS: usize = 5_000;

/// Forks over which the growth of the database is measured, as DESIGN §14 has it.
const FORKS: u64 = 64;

fn main() {
    let home = tempfile::tempdir().unwrap();
    println!("tine --version: {}", shown(median(|| tine(home.path(), &["--version"]))));
    let mut times = Vec::new();
    for messages in [10, 10_000] {
        let name = format!("m{messages}");
        let file = home.path().join(&name);
        std::fs::write(&file, conversation(messages)).unwrap();
        let arguments = ["import", file.to_str().unwrap(), "--model", "sim/echo", "--name", &name];
        tine(home.path(), &arguments);
        let time = median(|| tine(home.path(), &["fork", &name, "--json"]));
        println!("tine fork of {messages:>6} messages: {}", shown(time));
        times.push(time);
        let before = database_bytes(home.path());
        (0..FORKS).for_each(|_| tine(home.path(), &["fork", &name]));
        let grown = (database_bytes(home.path()) - before) / FORKS;
        println!("  growth of the database a fork, average of {FORKS}: {grown} bytes");
    }
    // No conversation of another program is known, so nothing waits for one.
    let hook = r#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"Go on"}"#;
    let time = median(|| said_to(home.path(), &["gateway", "hook"], hook));
    println!("tine gateway hook with nothing to hand over: {}", shown(time));
    let ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
    println!("10,000 messages against 10: {ratio:.2} times");
    let many = tempfile::tempdir().unwrap();
    let file = many.path().join("short");
    std::fs::write(&file, conversation(10)).unwrap();
    let import = ["import", file.to_str().unwrap(), "--model", "sim/echo", "--name", "root"];
    tine(many.path(), &import);
    (1..AGENTS).for_each(|_| tine(many.path(), &["fork", "root"]));
    for command in [&["ps"][..], &["ps", "--json"], &["tree"]] {
        let time = median(|| tine(many.path(), command));
        println!("tine {} of {AGENTS} agents: {}", command.join(" "), shown(time));
    }
}

#[expect(clippy::disallowed_methods, reason = "the benchmark runs the real binary")]
fn tine(home: &Path, arguments: &[&str]) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tine"));
    command.env("TINE_HOME", home).current_dir(home).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[expect(clippy::disallowed_methods, reason = "the benchmark runs the real binary")]
fn said_to(home: &Path, arguments: &[&str], input: &str) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tine"));
    command.env("TINE_HOME", home).current_dir(home).args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

fn conversation(messages: usize) -> String {
    let line = |at: usize| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        format!("{{\"role\":\"{role}\",\"content\":\"{}\"}}\n", "word ".repeat(80))
    };
    (0..messages).map(line).collect()
}

/// The database with what stands in its log: what a fork really adds on disk.
fn database_bytes(home: &Path) -> u64 {
    let wal = std::fs::metadata(home.join("tine.db-wal")).map_or(0, |file| file.len());
    assert!(wal == 0, "the log is folded in when the last process closes the database");
    std::fs::metadata(home.join("tine.db")).unwrap().len()
}

fn median(mut operation: impl FnMut()) -> Duration {
    operation();
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            operation();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
