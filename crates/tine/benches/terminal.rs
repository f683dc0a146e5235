//! The terminal as a whole, printed beside its targets: how soon the first prompt is drawn, what a terminal at rest keeps in memory,
//! and `tine --version`. Run with `cargo xtask bench terminal`; `cargo xtask bench frames` has the time of single frames.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no figures")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tine_testkit::memory::Memory;
use tine_testkit::pty::{Place, Terminal};

/// Starts of each kind that are counted; one before them is not.
const STARTS: usize = 15;

/// Agents of a store that has many.
const AGENTS: usize = 5_000;

/// Messages of a conversation that is long.
const MESSAGES: usize = 10_000;

/// What stands before the words that are written.
const PROMPT: &str = "❯";

/// What stands before the words that are searched for in the picker.
const FIND: &str = "find:";

const START_MS: f64 = 40.0;
const MEMORY_MIB: f64 = 40.0;
const VERSION_MS: f64 = 10.0;

/// A home of its own, which has a model.
struct Home(tempfile::TempDir);

impl Place for Home {
    fn program(&self) -> PathBuf {
        env!("CARGO_BIN_EXE_tine").into()
    }

    fn home(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn work(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::write(home.0.path().join("config.toml"), "model = \"sim/echo\"\n").unwrap();
        home
    }

    /// An agent with a conversation of so many messages.
    fn import(&self, name: &str, messages: usize) {
        let line = |at: usize| {
            let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
            format!("{{\"role\":\"{role}\",\"content\":\"{}\"}}\n", "word ".repeat(80))
        };
        let file = self.0.path().join("import.jsonl");
        std::fs::write(&file, (0..messages).map(line).collect::<String>()).unwrap();
        let file = file.to_str().unwrap();
        tine(self.0.path(), &["import", file, "--model", "sim/echo", "--name", name]);
    }
}

fn main() {
    let (empty, many, long) = (Home::new(), Home::new(), Home::new());
    many.import("root", 10);
    (1..AGENTS).for_each(|_| tine(many.0.path(), &["fork", "root"]));
    long.import("long", MESSAGES);
    let version = || {
        let start = Instant::now();
        tine(empty.0.path(), &["--version"]);
        start.elapsed()
    };
    told("tine --version", median(version), "ms", VERSION_MS);
    for (what, home) in [("an empty store", &empty), ("5,000 agents", &many)] {
        let time = median(|| first_prompt(home));
        told(&format!("start to first prompt, {what}"), time, "ms", START_MS);
    }
    let idle: [(_, _, &[&str]); 4] = [
        ("an empty store", &empty, &[]),
        ("5,000 agents", &many, &[]),
        ("5,000 agents in the picker", &many, &["-r"]),
        ("10,000 messages shown", &long, &["--resume", "long"]),
    ];
    for (what, home, arguments) in idle {
        let mut terminal = Terminal::start(home, arguments);
        terminal.at_rest(if arguments == ["-r"] { FIND } else { PROMPT });
        // A key that is shown was taken after everything before it.
        terminal.type_in("at rest");
        terminal.at_rest("at rest");
        let memory = Memory::at_rest(terminal.process_id());
        terminal.kill();
        let Some(memory) = memory else {
            println!(
                "idle memory, {what}: not measured, this system has no /proc/PID/smaps_rollup"
            );
            continue;
        };
        told(&format!("idle memory, {what}: resident"), memory.rss_mib, "MiB", MEMORY_MIB);
        told(&format!("idle memory, {what}: own share"), memory.pss_mib, "MiB", MEMORY_MIB);
    }
}

/// From the start of the process to the first frame with a prompt.
fn first_prompt(home: &Home) -> Duration {
    let start = Instant::now();
    let terminal = Terminal::start(home, &[]);
    terminal.screen(PROMPT);
    let time = start.elapsed();
    terminal.kill();
    time
}

#[expect(clippy::disallowed_methods, reason = "the benchmark runs the real binary")]
fn tine(home: &Path, arguments: &[&str]) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tine"));
    command.env("TINE_HOME", home).current_dir(home).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// In milliseconds.
fn median(mut operation: impl FnMut() -> Duration) -> f64 {
    operation();
    let mut times: Vec<Duration> = (0..STARTS).map(|_| operation()).collect();
    times.sort();
    times.get(STARTS / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

fn told(what: &str, figure: f64, unit: &str, target: f64) {
    let verdict = if figure <= target { "" } else { "  MISSED" };
    println!("{what:<50} {figure:>8.1} {unit:<3}  target {target} {unit}{verdict}");
}
