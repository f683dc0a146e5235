//! The terminal for long, with many agents that all stream: does its memory stay as it is? Run with `cargo xtask soak terminal`.
//!
//! Arguments: the number of agents, minutes. Every agent answers at length and slowly. Who has answered is visited, told to
//! begin anew and asked again, so that no conversation grows; what grows all the same is kept by mistake. Exit code 1 where it does.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]
#![expect(clippy::unwrap_used, reason = "a step that fails has no figures")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tine_testkit::memory::Memory;
use tine_testkit::pty::{Place, Terminal, beside_example};

/// How often memory is read.
const SAMPLE: Duration = Duration::from_secs(15);

/// Growth that still counts as none, in MiB a minute. Allocators and caches breathe by some MiB; over ten minutes this is less
/// than that.
const FLAT_MIB_MINUTE: f64 = 0.3;

/// Tokens of an answer, and how many come in a second: a minute each.
const ANSWER_TOKENS: usize = 600;
const TOKENS_A_SECOND: usize = 10;

/// Agents of one model: no more requests to one are in flight at a time, and all are to stream.
const AGENTS_A_MODEL: usize = 100;

/// A word of one token, as the simulator counts.
const WORD: &str = "word";

/// What the screen says while an agent runs, and where a conversation was begun anew.
const RUNS: &str = "Esc interrupts";
const ANEW: &str = "starts anew";
const ASKED: &str = "▌ go on";

struct Home {
    program: PathBuf,
    directory: tempfile::TempDir,
}

impl Place for Home {
    fn program(&self) -> PathBuf {
        self.program.clone()
    }

    fn home(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    fn work(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let agents: usize = arguments.next().unwrap().parse().unwrap();
    let minutes: u64 = arguments.next().unwrap().parse().unwrap();
    let home = Home { program: beside_example("tine"), directory: tempfile::tempdir().unwrap() };
    prepare(&home, agents);
    let mut terminal = Terminal::start(&home, &["--resume", &name(0)]);
    terminal.screen(&title(0));
    let (start, mut due, mut asked) = (Instant::now(), SAMPLE, 0);
    let (mut samples, mut agent) = (Vec::new(), 0);
    while start.elapsed() < Duration::from_secs(minutes * 60) {
        asked += usize::from(visit(&mut terminal, agent));
        agent = (agent + 1) % agents;
        if start.elapsed() >= due {
            due += SAMPLE;
            let Some(memory) = Memory::of(terminal.process_id()) else {
                println!("not measured: this system has no /proc/PID/smaps_rollup");
                return ExitCode::FAILURE;
            };
            let minute = start.elapsed().as_secs_f64() / 60.0;
            println!(
                "{minute:>6.2} min  {:>7.1} MiB resident  {:>7.1} MiB allocated  {asked:>5} answers asked for",
                memory.rss_mib, memory.anonymous_mib
            );
            samples.push((minute, memory.rss_mib));
        }
    }
    terminal.kill();
    let Some(slope) = slope(samples.get(samples.len() / 3..).unwrap_or_default()) else {
        println!("too short for a verdict: less than two figures");
        return ExitCode::FAILURE;
    };
    let is_flat = slope <= FLAT_MIB_MINUTE;
    let verdict = if is_flat { "flat" } else { "NOT flat" };
    println!(
        "slope of the last two thirds: {slope:+.2} MiB/min; at most {FLAT_MIB_MINUTE} is flat: {verdict}"
    );
    if is_flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Models that speak slowly, and agents that have them.
fn prepare(home: &Home, agents: usize) {
    let directory = home.directory.path();
    let answer = format!("{WORD} ").repeat(ANSWER_TOKENS);
    let scenario = format!(
        "name = \"soak\"\ntokens_per_second = {TOKENS_A_SECOND}\n\n[[turn]]\ntext = \"{answer}\"\n"
    );
    let lines = [("user", "hello"), ("assistant", "hi")]
        .map(|(role, text)| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n"));
    std::fs::write(directory.join("import.jsonl"), lines.concat()).unwrap();
    for agent in 0..agents {
        let scenario_file = format!("soak-{}.toml", agent / AGENTS_A_MODEL);
        std::fs::write(directory.join(&scenario_file), &scenario).unwrap();
        import(&home.program, directory, &name(agent), &format!("sim/{scenario_file}"));
    }
}

#[expect(clippy::disallowed_methods, reason = "the real binary is what is measured")]
fn import(program: &Path, directory: &Path, name: &str, model: &str) {
    let mut command = std::process::Command::new(program);
    command.env("TINE_HOME", directory).current_dir(directory);
    command.args(["import", "import.jsonl", "--model", model, "--name", name]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Goes to an agent; one that has answered begins anew and is asked again. Whether it was.
fn visit(terminal: &mut Terminal, agent: usize) -> bool {
    terminal.type_in(&format!("/resume {}\r", name(agent)));
    let title = title(agent);
    let screen = terminal.screen(&title);
    if screen.contains(RUNS) {
        return false;
    }
    terminal.type_in("/clear\r");
    terminal.screen_where(ANEW, |screen| screen.contains(ANEW) && !screen.contains(ASKED));
    terminal.type_in("go on\r");
    terminal.screen(ASKED);
    true
}

fn name(agent: usize) -> String {
    format!("agent-{agent:03}")
}

/// As it stands above the line that is written.
fn title(agent: usize) -> String {
    format!("── {} ──", name(agent))
}

/// MiB a minute, of the straight line that is nearest to all figures.
fn slope(samples: &[(f64, f64)]) -> Option<f64> {
    let count = u32::try_from(samples.len()).ok().filter(|count| *count > 1).map(f64::from)?;
    let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (minute, mib) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let both: f64 = samples.iter().map(|(x, y)| (x - minute) * (y - mib)).sum();
    let spread: f64 = samples.iter().map(|(x, _)| (x - minute).powi(2)).sum();
    Some(both / spread)
}
