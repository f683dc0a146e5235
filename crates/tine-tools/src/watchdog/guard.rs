//! The process beside a command behind Landlock alone, on both sides of its socket.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::{block_signals, socket};
use crate::bash::Mark;
use crate::wall::{STAGE_ARGUMENT, StageProgram, end_everything_inside};

/// The argument that asks for a guard.
pub(super) const NAME: &str = "guard";

/// The argument that says that it stands where its signals reach the command and nobody else.
const SCOPED: &str = "scoped";

/// The line by which tine says that the command is over.
const OVER: &str = "over";

/// tine's end of the socket. Dropping it ends the command.
#[derive(Debug)]
pub(crate) struct Guard {
    socket: UnixStream,
    process: Option<Pid>,
}

impl Guard {
    /// Starts a guard of a command that has been started. Must be called within a tokio runtime, on a thread that stands just outside of
    /// the command's wall if `is_scoped`.
    pub(crate) fn start(
        program: &StageProgram,
        (group, mark): (Option<u32>, &str),
        is_scoped: bool,
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut builder = Command::new(program.path());
        let group = group.unwrap_or_default().to_string();
        builder.args([STAGE_ARGUMENT, NAME, &group, mark]);
        builder.args(is_scoped.then_some(SCOPED)).env_clear().process_group(0);
        builder.stdin(Stdio::from(OwnedFd::from(theirs)));
        builder.stdout(Stdio::null()).stderr(Stdio::null());
        // The runtime reaps it.
        let id = builder.spawn()?.id();
        let process = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { socket: ours, process })
    }

    /// The process that stands beside the command.
    pub(crate) fn process(&self) -> Option<Pid> {
        self.process
    }

    /// Says that the command is over, and that nothing is to be ended.
    pub(crate) fn stand_down(mut self) {
        // One that is gone ends nothing.
        let _ = writeln!(self.socket, "{OVER}");
    }
}

/// The guard itself: ends the command when its socket ends. The arguments are the group and the mark of the command.
pub(super) fn stand(arguments: &[OsString]) -> io::Result<u8> {
    let [group, mark, rest @ ..] = arguments else { return Err(ErrorKind::InvalidInput.into()) };
    block_signals()?;
    let mut line = String::new();
    // Whatever comes but this word is an end.
    let _ = BufReader::new(socket()?).read_line(&mut line);
    if line.trim() == OVER {
        return Ok(0);
    }
    let group = group.to_str().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    if rest.first().is_some_and(|word| word == SCOPED) {
        end_everything_inside(None);
    }
    Mark::of(&mark.to_string_lossy()).kill();
    Ok(0)
}
