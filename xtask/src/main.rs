//! Developer automation: what a developer or a CI job runs on this repository, in one place and without shell scripts.
//!
//! It ships nothing and no crate depends on it. It changes no tracked file but those that `cast` records.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program: results on stdout, progress and errors on stderr"
)]

mod arguments;
mod attack;
mod bench;
mod cast;
mod checklist;
mod crash;
mod day;
mod debian;
mod embed;
mod engine;
mod foreign;
mod fuzz;
mod gateway;
mod git_version;
mod guests;
mod hosts;
mod mcp;
mod nats;
mod npm;
mod opencode;
mod process;
mod soak;
mod strangers;
mod test;
mod tidy;
mod times;
mod wire;
mod workspace;
mod world;

use std::process::ExitCode;

use arguments::{HELP, Task};

/// Exit code of a command line that cannot be understood, as everywhere in tine.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = match Task::parse(&arguments) {
        Ok(task) => task,
        Err(cause) => {
            eprintln!("error: {cause}\nhint: see `cargo xtask --help`");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    match run(task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<ExitCode> {
    match task {
        Task::Help => print!("{HELP}"),
        Task::Timed { arguments } => return times::timed(&arguments),
        Task::Tidy => tidy::run()?,
        Task::Test(options) => test::run(&options)?,
        Task::Hosts { name } => hosts::run(name.as_deref())?,
        Task::Fetch => hosts::fetch()?,
        Task::Attack { every_case } => attack::run(every_case)?,
        Task::Bench { filter } => bench::run(filter.as_deref())?,
        Task::Soak { agents, minutes } => soak::run(agents, minutes)?,
        Task::Strangers => strangers::run()?,
        Task::Cast => cast::run()?,
        Task::Day { part } => day::run(part)?,
        Task::Checklist => checklist::print()?,
        Task::Crash { times, seed } => crash::run(times, seed)?,
        Task::Embed => embed::clean()?,
        Task::Fuzz { target, seconds } => fuzz::run(target.as_deref(), seconds)?,
    }
    Ok(ExitCode::SUCCESS)
}
