//! The user's own command that makes a new worktree ready to build and run.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::WorktreeError;

/// Most characters of what the command said that a message repeats: its end, where the reason stands.
const SAID_CHARACTERS_MAX: usize = 1000;

/// A command to be run in a new worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// What `sh -c` is to run.
    pub command: String,
    /// How long it may take.
    pub time_max: Duration,
    /// Variables that it finds beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
}

impl Setup {
    /// Runs it in `directory` and waits. Its status must be zero. What it started in the background ends with it.
    pub fn run(&self, directory: &Path) -> Result<(), WorktreeError> {
        use std::os::unix::process::CommandExt as _;
        let mut command = shell();
        command
            .args(["-c", &self.command])
            .current_dir(directory)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let failed = |source| WorktreeError::file("run the setup command in", directory, source);
        let mut child = command.spawn().map_err(failed)?;
        let group = Pid::from_child(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (over, waits) = std::sync::mpsc::channel::<()>();
        let time_max = self.time_max;
        let (late, said) = thread::scope(|scope| {
            let watchdog = scope.spawn(move || {
                let late =
                    waits.recv_timeout(time_max) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
                // Also what it left running, which holds its output open.
                kill_process_group(group, Signal::KILL).ok();
                late
            });
            let printed = scope.spawn(move || text_of(stdout));
            let said = scope.spawn(move || text_of(stderr));
            let status = child.wait();
            drop(over);
            let late = watchdog.join().unwrap_or(false);
            let mut text = printed.join().unwrap_or_default();
            text.push_str(&said.join().unwrap_or_default());
            (late, status.map(|status| (status, text)))
        });
        let (status, text) = said.map_err(failed)?;
        let said = end_of(&text);
        match (late, status.success()) {
            (true, _) => Err(WorktreeError::Setup {
                how: format!("took longer than {} s", time_max.as_secs()),
                said,
            }),
            (false, false) => Err(WorktreeError::Setup { how: format!("failed ({status})"), said }),
            (false, true) => Ok(()),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user's own command of the settings (invariant 3)"
)]
fn shell() -> Command {
    Command::new("sh")
}

fn text_of(stream: Option<impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        stream.read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn end_of(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(SAID_CHARACTERS_MAX);
    let end: String = text.chars().skip(skipped).collect();
    if skipped == 0 { end } else { format!("… {end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, time_max: Duration) -> Result<(), String> {
        let home = tempfile::tempdir().unwrap();
        let environment = vec![("TINE_PORT".into(), "47000".into())];
        let setup = Setup { command: command.to_owned(), time_max, environment };
        setup.run(home.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_setup_command_has_its_variables_and_must_succeed() {
        let minute = Duration::from_secs(60);
        assert_eq!(
            run("test \"$TINE_PORT\" = 47000 && touch made && test -f made", minute),
            Ok(())
        );
        let said = run("echo begun; echo no package >&2; exit 3", minute).unwrap_err();
        assert_eq!(said, "the setup command failed (exit status: 3): begun\nno package");
        assert_eq!(run("sleep 1000 & true", minute), Ok(()), "what it leaves running ends with it");
        let said = run("echo waits; sleep 1000", Duration::from_millis(100)).unwrap_err();
        assert_eq!(said, "the setup command took longer than 0 s: waits");
    }
}
