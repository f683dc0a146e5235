//! A program of the user's at this process's terminal, started at the user's wish. Nothing that an agent says becomes part of the command.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use tokio::signal::unix::{SignalKind, signal};

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEnd {
    /// It ended by itself, with this exit code.
    Code(i32),
    /// A signal of this number ended it.
    Signal(i32),
}

/// Runs a program with these further variables, in another directory where one is given, until it has ended. The terminal, Ctrl+C and Ctrl+Z are the program's: where it stops,
/// this process stops as well, so that the shell takes over, and both go on together. A signal that asks this process to end is handed on.
///
/// # Errors
///
/// *Not found* where there is no such program; what the system says where it cannot be started or waited for.
#[expect(
    clippy::disallowed_methods,
    reason = "a child whose stops are seen; tokio's waits for its end alone"
)]
pub async fn run_in_foreground(
    program: &OsStr,
    arguments: &[OsString],
    variables: &[(OsString, OsString)],
    directory: Option<&Path>,
) -> io::Result<ProgramEnd> {
    // Before it starts: no end of it is missed, and what is typed meanwhile ends nothing.
    let mut changes = signal(SignalKind::child())?;
    let _typed = [signal(SignalKind::interrupt())?, signal(SignalKind::quit())?];
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    let child = command.spawn()?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::Other)?;
    loop {
        tokio::select! {
            _ = changes.recv() => {
                if let Some(end) = look(id)? {
                    return Ok(end);
                }
            }
            // It may have ended by itself.
            _ = terminate.recv() => drop(kill_process(id, Signal::TERM)),
            _ = hang_up.recv() => drop(kill_process(id, Signal::HUP)),
        }
    }
}

/// The end of a child, if it has come. Stops with it where it has stopped.
fn look(id: Pid) -> io::Result<Option<ProgramEnd>> {
    while let Some((_, status)) = waitpid(Some(id), WaitOptions::NOHANG | WaitOptions::UNTRACED)? {
        if let Some(code) = status.exit_status() {
            return Ok(Some(ProgramEnd::Code(code)));
        }
        if let Some(signal) = status.terminating_signal() {
            return Ok(Some(ProgramEnd::Signal(signal)));
        }
        if status.stopped() {
            kill_process(getpid(), Signal::STOP)?;
            // The shell has woken both, or somebody this one alone.
            let _ = kill_process(id, Signal::CONT);
        }
    }
    Ok(None)
}
