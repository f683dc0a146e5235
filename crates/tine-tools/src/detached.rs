//! A program that goes on when whoever started it is gone: in a session of its own, out of reach of its terminal.
//!
//! It tells its starter one line, and what else it has to say goes into a log file. This module says nothing about what the program is;
//! it is tine itself, started again.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

/// Longest line that is told, in bytes: an id and a path.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// A program in the background. Dropping it leaves the program alone.
#[derive(Debug)]
pub struct Detached {
    child: Child,
    told: BufReader<ChildStdout>,
}

impl Detached {
    /// Starts a program in the current directory with nothing to read, its errors going to `log`. The program has to call
    /// [`leave_session`] before anything else.
    pub fn start(program: &Path, arguments: &[OsString], log: File) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn()?;
        let told = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, told: BufReader::new(told) })
    }

    /// The first line that it prints, without its end; `None` when it ended without a whole one.
    pub async fn first_line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        (&mut self.told).take(LINE_BYTES_MAX).read_line(&mut line).await?;
        Ok(line.strip_suffix('\n').map(str::to_owned))
    }

    /// Waits for its end; what it printed, of which no more than `most` bytes and one are kept, and its exit code, `None` when a signal
    /// ended it. Once `stop` is cancelled it is interrupted, as by Ctrl+C.
    pub async fn printed(
        mut self,
        most: u64,
        stop: &CancellationToken,
    ) -> io::Result<(Vec<u8>, Option<i32>)> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let read = async {
            let mut printed = Vec::new();
            (&mut self.told).take(most + 1).read_to_end(&mut printed).await?;
            // The rest is taken off its hands: a full pipe would hold it.
            tokio::io::copy(&mut self.told, &mut tokio::io::sink()).await?;
            Ok::<_, io::Error>((printed, self.child.wait().await?.code()))
        };
        tokio::pin!(read);
        tokio::select! {
            ended = &mut read => return ended,
            () = stop.cancelled() => {}
        }
        if let Some(id) = id {
            // It may have ended by itself; its number stays taken until it is waited for.
            let _ = kill_process(id, Signal::INT);
        }
        read.await
    }

    /// Waits for its end; its exit code, or `None` when a signal ended it.
    pub async fn exit_code(mut self) -> io::Result<Option<i32>> {
        Ok(self.child.wait().await?.code())
    }
}

/// Moves this process into a session of its own, so that the end of the terminal that it was started in is not its end. Fails for
/// a process that leads its group.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Closes this process's memory and first environment to other processes of the user, so that no command finds a key of a provider
/// in `/proc/PID/environ`. The process itself can no longer write to `/proc/self`, so a process that makes namespaces calls it behind
/// that. A program that is executed afterwards starts open again.
pub fn hide_environment() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}

/// Returns true if the memory and first environment of this process are closed to other processes of the user.
pub fn is_environment_hidden() -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, dumpable_behavior};
        dumpable_behavior().is_ok_and(|now| now == DumpableBehavior::NotDumpable)
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(script: &str) -> (Option<String>, Option<i32>, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let arguments = ["-c".into(), script.into()];
        let log = File::create(&path).unwrap();
        let mut child = Detached::start("/bin/sh".as_ref(), &arguments, log).unwrap();
        let line = child.first_line().await.unwrap();
        let code = child.exit_code().await.unwrap();
        (line, code, std::fs::read_to_string(path).unwrap())
    }

    #[tokio::test]
    async fn one_line_is_told_and_errors_go_into_the_log() {
        let (line, code, log) = told("echo one; echo two; echo bad >&2; exit 3").await;
        assert_eq!((line.as_deref(), code, log.as_str()), (Some("one"), Some(3), "bad\n"));
    }

    #[tokio::test]
    async fn an_end_without_a_line_is_told_as_such() {
        assert_eq!(told("printf half; exit 42").await, (None, Some(42), String::new()));
        assert_eq!(told("kill -9 $$").await, (None, None, String::new()));
        let (line, ..) = told("cat").await;
        assert_eq!(line, None, "there is nothing to read");
    }

    #[tokio::test]
    async fn all_that_is_printed_is_read_until_it_is_interrupted() {
        let printed = async |script: &str, stop: &CancellationToken| {
            let log = tempfile::tempfile().unwrap();
            let arguments = ["-c".into(), script.into()];
            let child = Detached::start("/bin/sh".as_ref(), &arguments, log).unwrap();
            let (printed, code) = child.printed(5, stop).await.unwrap();
            (String::from_utf8(printed).unwrap(), code)
        };
        let never = CancellationToken::new();
        assert_eq!(printed("echo one; exit 3", &never).await, ("one\n".to_owned(), Some(3)));
        let much = "yes | head -c 300000; exit 4";
        assert_eq!(printed(much, &never).await, ("y\ny\ny\n".to_owned(), Some(4)));
        let stop = CancellationToken::new();
        stop.cancel();
        let (_, code) = printed("trap 'exit 7' INT; while :; do :; done", &stop).await;
        assert!(matches!(code, None | Some(7)), "before or behind its trap");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_hidden_environment_is_closed_to_other_processes() {
        hide_environment().unwrap();
        assert!(is_environment_hidden());
    }
}
