//! The `tine` binary: parse, wire up, run, exit code. It holds no rules; those are in `tine-runtime`.

mod ask;
mod away;
mod borrow;
mod budget;
mod caching;
mod cli;
mod cluster;
mod commands;
mod completion;
mod config;
mod confine;
mod connect;
mod context;
mod credentials;
mod crew;
mod detached;
mod dirs;
mod durations;
mod editor;
mod ending;
mod environment;
mod fail;
mod history;
mod inside;
mod install;
mod instructions;
mod interrupt;
mod keep_model;
mod keep_rule;
mod limits;
mod local;
mod manual;
mod mcp;
mod memory;
mod model;
mod open;
mod output;
mod prompt;
mod render;
mod run_options;
mod servers;
mod talk;
mod trust;
mod watch;
mod whole_file;
mod worktree;

use std::io::Write as _;
use std::process::ExitCode;

use clap_complete::CompleteEnv;

use crate::fail::Failure;

fn main() -> ExitCode {
    // A stage of the wall is this program once more; it must be alone in its process.
    if let Some(code) = tine_tools::stage_of(std::env::args_os().skip(1)) {
        return code;
    }
    tine_tools::StageProgram::register_this_program();
    // A shell asks what can stand where Tab was pressed.
    CompleteEnv::with_factory(completion::command).var(completion::VARIABLE).complete();
    let cli = match cli::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(cli::Refused::Word(failure)) => return failed(failure),
        Err(cli::Refused::Clap(error)) => return refused(&error),
    };
    // Before anything runs: from here on no command finds the keys of providers in `/proc`. A system that refuses it hides nothing, and
    // works as before.
    let _ = tine_tools::hide_environment();
    commands::run(cli).map_or_else(failed, ExitCode::from)
}

/// Clap writes help and version to stdout and mistakes to stderr, and knows which code belongs to which.
fn refused(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if !error.use_stderr() {
        return output::ignore_closed_pipe(printed).map_or_else(failed, |()| ExitCode::SUCCESS);
    }
    if let Some(hint) = cli::hint(error) {
        fail::print_hint(hint);
    }
    ExitCode::from(fail::USAGE)
}

fn failed(failure: Failure) -> ExitCode {
    failure.print();
    ExitCode::from(failure.code)
}
