//! Starting a command through the stages, and what they report.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::Interest;
use tokio::process::{Child, Command};

use super::network::Namespaces;
use super::order::{Job, PathText, Report, Rules, Setup};
use super::{
    JOINED_NETWORK, OWN_NETWORK, STAGE_ARGUMENT, STAGES, StageProgram, WITH_INPUT, handover,
};
use crate::wall::{CommandLimit, ControlGroup, Proxy, Refusals, ResourceLimits};

/// The time limit for the stages to read the order. They do nothing else then, so a machine that needs this long starts no command.
const ORDER_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a trial may take. It takes a few milliseconds; a machine that needs this long gets no view.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(10);

/// This end of the stages' input. While it is open, the command may run.
#[derive(Debug)]
pub(crate) struct Reports(UnixStream);

/// How the stages ended.
#[derive(Debug)]
pub(crate) enum StageEnd {
    /// The command ended by itself. `left_behind` says that processes of it were still alive.
    Ended {
        status: ExitStatus,
        left_behind: bool,
    },
    /// Its processes passed a limit together, and were ended.
    Exceeded(CommandLimit),
    NoShell,
    Failed(io::Error),
    /// They were killed before they could say anything.
    Silent,
}

impl Reports {
    /// Serves the command's network as soon as the stages have made it, until the future is dropped.
    pub(super) fn serve(
        &self,
        proxy: Option<Arc<Proxy>>,
        refusals: Refusals,
        namespaces: Arc<OnceLock<Namespaces>>,
    ) -> io::Result<impl Future<Output = io::Result<()>> + Send + use<>> {
        let socket = self.0.try_clone()?;
        // Both ends of a copied descriptor share this; `read` takes it back.
        socket.set_nonblocking(true)?;
        let socket = tokio::net::UnixStream::from_std(socket)?;
        Ok(async move {
            let listeners = loop {
                socket.readable().await?;
                let lent = || handover::receive_namespaces(&socket);
                if let Ok(Some(lent)) = socket.try_io(Interest::READABLE, lent) {
                    let _ = namespaces.set(lent);
                    if proxy.is_none() {
                        return Ok(());
                    }
                    continue;
                }
                match socket.try_io(Interest::READABLE, || handover::receive_listeners(&socket)) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    received => break received?,
                }
            };
            drop(socket);
            match proxy {
                Some(proxy) => proxy.serve(listeners, refusals).await,
                None => Ok(()),
            }
        })
    }

    /// Reads what the stages said before they ended. Call it when they have ended; it does not wait for more.
    pub(crate) fn end(self) -> StageEnd {
        match self.read() {
            Ok(Some(Report::Ended { code, signal, left_behind })) => {
                use std::os::unix::process::ExitStatusExt;
                let raw = code.map(|code| code << 8).or(signal).unwrap_or_default();
                StageEnd::Ended { status: ExitStatus::from_raw(raw), left_behind }
            }
            Ok(Some(Report::Exceeded(limit))) => StageEnd::Exceeded(limit),
            Ok(Some(Report::NoShell)) => StageEnd::NoShell,
            Ok(Some(Report::Failed { step, error })) => {
                StageEnd::Failed(io::Error::other(format!("the wall: {step}: {error}")))
            }
            Ok(Some(Report::Stands) | None) => StageEnd::Silent,
            Err(error) => StageEnd::Failed(error),
        }
    }

    fn read(self) -> io::Result<Option<Report>> {
        self.0.set_nonblocking(false)?;
        // A stage that is alive all the same must not hold anybody up.
        self.0.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut line = Vec::new();
        BufReader::new(self.0).read_until(b'\n', &mut line)?;
        Ok(match handover::without_marks(&line) {
            [] => None,
            report => Some(serde_json::from_slice(report)?),
        })
    }
}

/// The stages of `program` as a command to be put together further. They become part of the control group.
pub(crate) fn stages(
    program: &StageProgram,
    group: Option<&ControlGroup>,
    joined: Option<&Namespaces>,
) -> Command {
    let way = if joined.is_some() { JOINED_NETWORK } else { OWN_NETWORK };
    let mut builder = called(program, way);
    builder.args(group.map(ControlGroup::processes));
    builder
}

fn called(program: &StageProgram, way: &str) -> Command {
    let mut builder = Command::new(program.path());
    builder.args([STAGE_ARGUMENT, STAGES, way]);
    builder
}

/// Starts them. `setup` is the wall as text, ended by a line break. Blocks until the stages have read the order.
pub(crate) fn start(
    mut builder: Command,
    setup: &[u8],
    (shell, name): (&Path, &str),
    command: &str,
    (joined, lends_network): (Option<&Namespaces>, bool),
) -> io::Result<(Child, Reports)> {
    let job = Job::Command {
        program: PathText::from(shell),
        name: name.to_owned(),
        command: PathText::from(Path::new(command)),
        lends_network,
    };
    let (ours, theirs) = UnixStream::pair()?;
    let child = builder.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
    // The builder holds the other end; while it lives nobody would notice that the stages are gone.
    drop(builder);
    ours.set_write_timeout(Some(ORDER_TIME_MAX))?;
    if let Some(joined) = joined {
        handover::hand_over_namespaces(&ours, joined)?;
    }
    tell(&ours, setup, &job)?;
    Ok((child, Reports(ours)))
}

fn tell(mut socket: &UnixStream, setup: &[u8], job: &Job) -> io::Result<()> {
    let mut text = serde_json::to_vec(job)?;
    text.push(b'\n');
    let told = socket.write_all(setup).and_then(|()| socket.write_all(&text));
    match told {
        // A stage that failed early has said why.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        told => told,
    }
}

/// Builds the view once, without a command in it.
pub(in crate::wall) fn try_view(program: &StageProgram, setup: &[u8]) -> io::Result<()> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut builder = stages(program, None, None).into_std();
    // The inner stage belongs to the same group, and ends with it.
    builder.env_clear().stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = builder.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
    drop(builder);
    ours.set_read_timeout(Some(TRIAL_TIME_MAX))?;
    ours.set_write_timeout(Some(TRIAL_TIME_MAX))?;
    let reported = tell(&ours, setup, &Job::Trial).and_then(|()| {
        let mut line = Vec::new();
        BufReader::new(&ours).read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice::<Report>(&line)?)
    });
    drop(ours);
    if reported.is_err() {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.kill();
    }
    child.wait()?;
    match reported? {
        Report::Stands => Ok(()),
        Report::Failed { step, error } => Err(io::Error::other(format!("{step}: {error}"))),
        Report::Ended { .. } | Report::Exceeded(_) | Report::NoShell => {
            Err(io::Error::other("an unknown report"))
        }
    }
}

/// Runs a command in a view, with this process's input and output. Returns its exit code. Blocks.
#[cfg(target_os = "linux")]
pub(in crate::wall) fn run_on_own_input(
    setup: &Setup,
    (shell, name): (&Path, &str),
    command: &OsStr,
    environment: &[(OsString, OsString)],
) -> io::Result<u8> {
    let mut text = serde_json::to_vec(setup)?;
    text.push(b'\n');
    let job = Job::Command {
        program: PathText::from(shell),
        name: name.to_owned(),
        command: PathText::from(Path::new(command)),
        lends_network: false,
    };
    let (ours, theirs) = UnixStream::pair()?;
    let mut builder = called(&StageProgram::at("/proc/self/exe"), WITH_INPUT).into_std();
    builder.env_clear().envs(environment.iter().cloned()).stdin(Stdio::from(OwnedFd::from(theirs)));
    let mut child = builder.spawn()?;
    drop(builder);
    handover::hand_over_input(&ours, rustix::stdio::stdin())?;
    // Nobody else may keep it open: who writes to it waits until the command reads no more.
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    tell(&ours, &text, &job)?;
    let status = child.wait()?;
    let ended = match Reports(ours).end() {
        StageEnd::Ended { status, .. } => code_of(status),
        StageEnd::Exceeded(limit) => {
            return Err(io::Error::other(format!("its processes passed a limit: {limit:?}")));
        }
        StageEnd::NoShell => return Err(ErrorKind::NotFound.into()),
        StageEnd::Failed(error) => return Err(error),
        StageEnd::Silent => code_of(status),
    };
    ended.ok_or_else(|| io::Error::other("it ended without a code"))
}

/// The exit code that a shell would give a program which ended so; `None` of one that no shell has.
#[cfg(target_os = "linux")]
pub(super) fn code_of(status: ExitStatus) -> Option<u8> {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(signal).and_then(|code| u8::try_from(code).ok())
}

/// Tries the smallest view there is.
pub(super) fn try_namespaces(program: &StageProgram) -> io::Result<()> {
    let setup = Setup {
        directory: PathText::from(Path::new("/")),
        writable: Vec::new(),
        protected: Vec::new(),
        pinned: Vec::new(),
        without_programs: Vec::new(),
        masked: Vec::new(),
        visible: Vec::new(),
        private: Vec::new(),
        listen: Vec::new(),
        rules: Rules {
            grants: Vec::new(),
            has_loopback: false,
            may_change_metadata: false,
            landlock: 0,
            filter: false,
            limits: ResourceLimits::WORKER,
        },
    };
    let mut text = serde_json::to_vec(&setup)?;
    text.push(b'\n');
    try_view(program, &text)
}
