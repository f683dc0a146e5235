//! `cargo xtask hosts engine`: a fan of four from a warm parent, against a real llama-server with real weights on this machine.
//!
//! Each worker must read at least 99 % of the prefix from the server's cache, and the fan may take at most a fifth longer than
//! four workers that are forked one after the other.
//!
//! It is not part of `cargo xtask test`: to compute a prefix and to answer takes a small model on one core most of a minute,
//! and times are compared, which a machine that is at work with something else disturbs. The simulator keeps to the same
//! rules to the token, and its tests run with all others (`tine-runtime/tests/engine/slots.rs`).

mod files;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::hosts::Ran;
use crate::{process, test, world};
use server::Server;

/// Workers of the fan, and workers one after the other that they are compared with.
const CHILDREN: usize = 4;

/// Least share of the prefix that each worker reads, in percent.
const READ_MIN_PERCENT: f64 = 99.0;

/// Most time of a fan, as a part of that of workers one after the other.
const TIME_MAX: f64 = 1.2;

/// The fastest of so many tries counts, of both: what else the machine does only adds.
const ROUNDS: usize = 3;

/// Tokens of each answer: enough to compute something, and the same for all.
const OUTPUT_TOKENS: u32 = 24;

/// Fetches what is needed, runs all of it, and prints a table.
pub(crate) fn check(root: &Path, target: &Path) -> Result<Ran> {
    let engine = match files::fetched(root, &world::cache().join("engine")) {
        Ok(engine) => engine,
        Err(error) => return Ok(Ran::NotRun(format!("{error:#}"))),
    };
    let mut build = test::judged(test::whole("build"));
    build.args(["--bin", "tine"]);
    process::step("the program", root, build)?;
    let server = match Server::start(&engine) {
        Ok(server) => server,
        Err(error) => return Ok(Ran::NotRun(format!("{error:#}"))),
    };
    let trial = Trial::new(target.join("debug").join("tine"), target, server.port())?;
    let result = trial.run();
    drop(server);
    result.map(|()| Ran::Passed)
}

/// tine with a home of its own, whose models the server serves.
struct Trial {
    tine: PathBuf,
    home: PathBuf,
    base_url: String,
}

/// Tokens of one worker's first request: those that came from a cache, and all of its prompt.
struct Child {
    read: u64,
    prompt: u64,
}

impl Trial {
    fn new(tine: PathBuf, target: &Path, port: u16) -> Result<Self> {
        let home = target.join("engine").join("home");
        if home.exists() {
            fs::remove_dir_all(&home).context("cannot remove what the last run left")?;
        }
        fs::create_dir_all(home.join("tine"))?;
        let settings = format!("max_output_tokens = {OUTPUT_TOKENS}\n");
        fs::write(home.join("tine").join("config.toml"), settings)?;
        Ok(Self { tine, home, base_url: format!("http://127.0.0.1:{port}/v1") })
    }

    fn run(&self) -> Result<()> {
        let start = Instant::now();
        let parent = self.tine(&["run", "--system", &handbook(), "Say that you are ready."])?;
        let agent = parent["agent"].as_str().context("the parent has no id")?.to_owned();
        let prefix = tokens(&parent["usage"], &["uncached", "read", "output"]);
        println!(
            "a parent of {prefix} tokens was computed in {:.1} s",
            start.elapsed().as_secs_f64()
        );
        let (mut fan_best, mut forks_best) = (Duration::MAX, Duration::MAX);
        for round in 1..=ROUNDS {
            let (children, fan) = self.fan(&agent, round)?;
            let forks = self.forks(&agent, round)?;
            for (number, child) in children.iter().enumerate() {
                let share = 100.0 * child.read as f64 / prefix as f64;
                println!(
                    "round {round}, worker {}: read {} of {prefix} tokens of the prefix ({share:.1} %), prompt {}",
                    number + 1,
                    child.read,
                    child.prompt
                );
                ensure!(
                    share >= READ_MIN_PERCENT,
                    "a worker read {share:.1} % of the prefix, and {READ_MIN_PERCENT} % are asked for"
                );
            }
            let (fan_s, forks_s) = (fan.as_secs_f64(), forks.as_secs_f64());
            println!(
                "round {round}: fan of {CHILDREN} {fan_s:.2} s, {CHILDREN} one after the other {forks_s:.2} s"
            );
            fan_best = fan_best.min(fan);
            forks_best = forks_best.min(forks);
        }
        let ratio = fan_best.as_secs_f64() / forks_best.as_secs_f64();
        println!(
            "best of {ROUNDS}: fan {:.2} s, one after the other {:.2} s, ratio {ratio:.2}",
            fan_best.as_secs_f64(),
            forks_best.as_secs_f64()
        );
        ensure!(
            ratio <= TIME_MAX,
            "the fan took {ratio:.2} times as long as workers one after the other"
        );
        Ok(())
    }

    /// A fan as a user starts it, and how long it took.
    fn fan(&self, parent: &str, round: usize) -> Result<(Vec<Child>, Duration)> {
        let directives: Vec<String> = (0..CHILDREN).map(|child| directive(child, round)).collect();
        let mut arguments = vec!["fan", parent];
        for directive in &directives {
            arguments.extend(["-d", directive]);
        }
        let start = Instant::now();
        let report = self.tine(&arguments)?;
        let took = start.elapsed();
        let launch = report["cache"]["launch"].as_str().unwrap_or_default();
        println!("round {round}: {}", report["cache"]["reason"].as_str().unwrap_or_default());
        ensure!(launch == "in_turn", "the plan was `{launch}` and not in turn");
        let tasks = report["tasks"].as_array().context("the fan has no tasks")?;
        ensure!(tasks.len() == CHILDREN, "{} of {CHILDREN} workers ran", tasks.len());
        let child = |task: &Value| Child {
            read: tokens(&task["first_usage"], &["read"]),
            prompt: tokens(&task["first_usage"], &["uncached", "read"]),
        };
        Ok((tasks.iter().map(child).collect(), took))
    }

    /// As many workers, each forked when the one before has reported. A fork that is no worker answers once and reports nothing.
    fn forks(&self, parent: &str, round: usize) -> Result<Duration> {
        let start = Instant::now();
        for child in 0..CHILDREN {
            self.tine(&["fan", parent, "-d", &directive(child, round)])?;
        }
        Ok(start.elapsed())
    }

    /// Returns what a command of tine's prints as JSON.
    fn tine(&self, arguments: &[&str]) -> Result<Value> {
        let mut command = process::program(&self.tine);
        command.current_dir(&self.home).args(arguments).args(["--json"]);
        for name in ["TINE_AGENT", "OPENAI_COMPAT_API_KEY"] {
            command.env_remove(name);
        }
        command.env("TINE_HOME", self.home.join("tine"));
        command.env("OPENAI_COMPAT_BASE_URL", &self.base_url);
        command.env("TINE_MODEL", "openai-compat/smollm2");
        answered(command)
    }
}

/// A small model's reply is cut at its limit, which a command reports by its exit code: what it prints counts.
fn answered(mut command: Command) -> Result<Value> {
    let output = command.output().context("cannot run tine")?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).with_context(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("tine printed no JSON ({}): {}", output.status, said.trim())
    })
}

fn tokens(usage: &Value, parts: &[&str]) -> u64 {
    parts.iter().filter_map(|part| usage[part].as_u64()).sum()
}

/// A system prompt of some thousand tokens, none of which repeats.
fn handbook() -> String {
    let rule = |number: usize| {
        format!("Rule {number}: what lies on shelf {number} is counted by {}.", number * 7)
    };
    (1..=90).map(rule).collect::<Vec<_>>().join(" ")
}

fn directive(child: usize, round: usize) -> String {
    format!("Name what lies on shelf {} of room {round}, in one short sentence.", child + 10)
}
