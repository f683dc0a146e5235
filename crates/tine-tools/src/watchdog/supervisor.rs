//! The parent of a command without a wall, on both sides of its socket.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, kill_process_group, wait, waitid,
};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};

use super::descendants::{Left, end_descendants, end_left_behind, outlast_descendants};
use super::{block_signals, socket};
use crate::bash::Mark;
use crate::wall::{STAGE_ARGUMENT, StageProgram};

/// The argument that asks for a supervisor.
pub(super) const NAME: &str = "supervise";

/// The byte by which tine says that nothing of the command is to be left when it ends.
const END_ALL: u8 = b'e';

/// A report of a supervisor, on a line of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Report {
    /// The shell runs; it leads a group of its own.
    Started {
        process: i32,
    },
    /// The shell has ended.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        /// Processes of it were alive, and were ended.
        left_behind: bool,
        /// Those that could not be ended: names and numbers.
        stay: Vec<String>,
    },
    Failed {
        error: String,
    },
}

/// The end of a supervised command.
#[derive(Debug)]
pub(crate) enum Supervised {
    /// With what it has left behind.
    Ended {
        status: ExitStatus,
        left_behind: bool,
        stay: Vec<String>,
    },
    Failed(io::Error),
}

/// tine's end of the socket. Dropping it ends the command and all below it.
#[derive(Debug)]
pub(crate) struct Supervisor {
    socket: UnixStream,
    received: Vec<u8>,
    shell: Option<Pid>,
    end: Option<Supervised>,
}

impl Supervisor {
    /// The mark in the arguments of a supervisor; `None` for those of other programs.
    pub(crate) fn mark_in(arguments: &[&[u8]]) -> Option<Mark> {
        match arguments {
            [_, stage, name, mark, ..]
                if *stage == STAGE_ARGUMENT.as_bytes() && *name == NAME.as_bytes() =>
            {
                Some(Mark::of(&String::from_utf8_lossy(mark)))
            }
            _ => None,
        }
    }

    /// The supervisor of a command that `shell` runs. Its environment and its directory are the command's, but for the mark, which it
    /// must not carry itself: who looks for the mark looks for what is to be ended.
    pub(crate) fn command(
        program: &StageProgram,
        mark: &Mark,
        (shell, command): (&str, &str),
    ) -> Command {
        let mut builder = Command::new(program.path());
        builder.args([STAGE_ARGUMENT, NAME, mark.value(), shell, command]);
        builder
    }

    /// Starts it.
    pub(crate) fn start(mut builder: Command) -> io::Result<(Child, Self)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // A supervisor that is killed could end nothing any more.
        builder.kill_on_drop(false).stdin(Stdio::from(OwnedFd::from(theirs)));
        let child = builder.spawn()?;
        Ok((child, Self { socket: ours, received: Vec::new(), shell: None, end: None }))
    }

    /// The shell, which leads the group of the command; `None` while it has not started.
    pub(crate) fn shell(&mut self) -> Option<Pid> {
        self.read();
        self.shell
    }

    /// The end of the command, once the supervisor has ended; `None` if it was ended itself.
    pub(crate) fn end(&mut self) -> Option<Supervised> {
        self.read();
        self.end.take()
    }

    /// Says that nothing of the command is to be left when it ends: it is being stopped.
    pub(crate) fn leave_nothing(&mut self) {
        // One that is gone has nothing left to end.
        let _ = self.socket.write_all(&[END_ALL]);
    }

    /// Takes what was said so far, without waiting for more.
    fn read(&mut self) {
        let mut buffer = [0; 512];
        loop {
            match self.socket.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => self.received.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        while let Some(at) = self.received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=at).collect();
            match serde_json::from_slice(&line) {
                Ok(Report::Started { process }) => self.shell = Pid::from_raw(process),
                Ok(Report::Ended { code, signal, left_behind, stay }) => {
                    let raw = code.map(|code| code << 8).or(signal).unwrap_or_default();
                    let status = ExitStatus::from_raw(raw);
                    self.end = Some(Supervised::Ended { status, left_behind, stay });
                }
                Ok(Report::Failed { error }) => {
                    self.end = Some(Supervised::Failed(io::Error::other(error)));
                }
                Err(error) => self.end = Some(Supervised::Failed(error.into())),
            }
        }
    }
}

/// The supervisor itself: runs the command, reaps everything that becomes its child, and ends all when its socket ends. The arguments are
/// the mark, the shell and the command.
pub(super) fn supervise(arguments: &[OsString]) -> io::Result<u8> {
    let [mark, shell, command] = arguments else { return Err(ErrorKind::InvalidInput.into()) };
    #[cfg(target_os = "linux")]
    {
        // Where the system refuses it, what leaves the tree is found by its mark.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
    let mut shell = std::process::Command::new(shell);
    shell.arg("-c").arg(command).stdin(Stdio::null()).process_group(0).env(Mark::VARIABLE, mark);
    let started = shell.spawn();
    // Not before: the shell would begin with the same signals blocked.
    block_signals()?;
    let mut told = socket()?;
    let mut tell = move |report: &Report| -> io::Result<()> {
        let mut text = serde_json::to_vec(report)?;
        text.push(b'\n');
        // tine may be gone; then the watch sees it.
        let _ = told.write_all(&text);
        Ok(())
    };
    let group = match started {
        Ok(child) => i32::try_from(child.id()).ok().and_then(Pid::from_raw),
        Err(error) => {
            tell(&Report::Failed { error: error.to_string() })?;
            return Ok(super::FAILED);
        }
    };
    let Some(group) = group else { return Err(ErrorKind::InvalidData.into()) };
    tell(&Report::Started { process: group.as_raw_nonzero().get() })?;
    let shared = Arc::new(Shared::default());
    watch(group, Mark::of(&mark.to_string_lossy()), Arc::clone(&shared))?;
    let heard = socket()?;
    let status = wait_for(group, &shared)?;
    // In this order: the watch keeps a word before it takes it off the socket.
    let is_stopped = peeked(&heard, RecvFlags::DONTWAIT) == Ok(Some(END_ALL))
        || shared.leaves_nothing.load(Ordering::SeqCst);
    let Left { any: left_behind, stay } = {
        let _ending = shared.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if is_stopped {
            end_descendants();
            Left::default()
        } else {
            end_left_behind()
        }
    };
    let (code, signal) = (status.exit_status(), status.terminating_signal());
    tell(&Report::Ended { code, signal, left_behind, stay })?;
    Ok(0)
}

#[derive(Debug, Default)]
struct Shared {
    /// Held by whoever reaps or kills, so that no number that is killed belongs to another process by then.
    ending: Mutex<()>,
    leaves_nothing: AtomicBool,
}

/// Reaps until the shell has ended.
fn wait_for(shell: Pid, shared: &Shared) -> io::Result<WaitStatus> {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => {
                // The watch may have reaped the shell; then it ends this process once nothing is left.
                let _ending = shared.ending.lock().unwrap_or_else(PoisonError::into_inner);
                return Err(error.into());
            }
        }
        let _reaping = shared.ending.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
            if process == shell {
                return Ok(status);
            }
        }
    }
}

/// Returns the next byte of a socket, which stays there; `None` at its end.
fn peeked(socket: &UnixStream, flags: RecvFlags) -> rustix::io::Result<Option<u8>> {
    let mut byte = [0];
    let (length, _) = recv(socket, &mut byte, RecvFlags::PEEK | flags)?;
    Ok((length > 0).then_some(byte[0]))
}

/// Ends the command, and this process, when the other end of the socket is gone.
fn watch(group: Pid, mark: Mark, shared: Arc<Shared>) -> io::Result<()> {
    let mut input = socket()?;
    let body = move || {
        loop {
            match peeked(&input, RecvFlags::empty()) {
                Ok(None) => break,
                Ok(Some(byte)) => {
                    if byte == END_ALL {
                        shared.leaves_nothing.store(true, Ordering::SeqCst);
                    }
                    // Only now, so that the word is always in one of the two places.
                    let _ = input.read(&mut [0]);
                }
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        let _ending = shared.ending.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = kill_process_group(group, Signal::KILL);
        end_descendants();
        // On a system where orphans do not come here.
        mark.kill();
        outlast_descendants();
        std::process::exit(128 + 9);
    };
    std::thread::Builder::new().name("tine-watchdog".to_owned()).spawn(body).map(drop)
}
