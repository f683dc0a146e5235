//! Starting a command through the stages, and what they report.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};

use super::order::{Job, Limits, PathText, Report, Rules, Setup};
use super::{STAGE_ARGUMENT, StageProgram};
use crate::wall::ResourceLimits;

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
    NoShell,
    Failed(io::Error),
    /// They were killed before they could say anything.
    Silent,
}

impl Reports {
    /// Reads what the stages said before they ended. Call it when they have ended; it does not wait for more.
    pub(crate) fn end(self) -> StageEnd {
        match self.read() {
            Ok(Some(Report::Ended { code, signal, left_behind })) => {
                use std::os::unix::process::ExitStatusExt;
                let raw = code.map(|code| code << 8).or(signal).unwrap_or_default();
                StageEnd::Ended { status: ExitStatus::from_raw(raw), left_behind }
            }
            Ok(Some(Report::NoShell)) => StageEnd::NoShell,
            Ok(Some(Report::Failed { step, error })) => {
                StageEnd::Failed(io::Error::other(format!("the wall: {step}: {error}")))
            }
            Ok(Some(Report::Stands) | None) => StageEnd::Silent,
            Err(error) => StageEnd::Failed(error),
        }
    }

    fn read(self) -> io::Result<Option<Report>> {
        // A stage that is alive all the same must not hold anybody up.
        self.0.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut line = Vec::new();
        BufReader::new(self.0).read_until(b'\n', &mut line)?;
        Ok(match line.is_empty() {
            true => None,
            false => Some(serde_json::from_slice(&line)?),
        })
    }
}

/// The stages of `program` as a command to be put together further. `is_offline` takes the network away.
pub(crate) fn stages(program: &StageProgram, is_offline: bool) -> Command {
    let mut builder = Command::new(program.path());
    builder.args([STAGE_ARGUMENT, "outer"]);
    if is_offline {
        builder.arg("offline");
    }
    builder
}

/// Starts them. `setup` is the wall as text, ended by a line break. Blocks until the stages have read the order.
pub(crate) fn start(
    mut builder: Command,
    setup: &[u8],
    (shell, name): (&Path, &str),
    command: &str,
) -> io::Result<(Child, Reports)> {
    let job = Job::Command {
        program: PathText::from(shell),
        name: name.to_owned(),
        command: command.to_owned(),
    };
    let (ours, theirs) = UnixStream::pair()?;
    let child = builder.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
    // The builder holds the other end; while it lives nobody would notice that the stages are gone.
    drop(builder);
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
pub(in crate::wall) fn try_view(
    program: &StageProgram,
    setup: &[u8],
    is_offline: bool,
) -> io::Result<()> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut builder = stages(program, is_offline).into_std();
    builder.env_clear().stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = builder.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
    drop(builder);
    ours.set_read_timeout(Some(TRIAL_TIME_MAX))?;
    let reported = tell(&ours, setup, &Job::Trial).and_then(|()| {
        let mut line = Vec::new();
        BufReader::new(&ours).read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice::<Report>(&line)?)
    });
    drop(ours);
    if reported.is_err() {
        let _ = child.kill();
    }
    child.wait()?;
    match reported? {
        Report::Stands => Ok(()),
        Report::Failed { step, error } => Err(io::Error::other(format!("{step}: {error}"))),
        Report::Ended { .. } | Report::NoShell => Err(io::Error::other("an unknown report")),
    }
}

/// Tries the smallest view there is.
pub(super) fn try_namespaces(program: &StageProgram) -> io::Result<()> {
    let setup = Setup {
        directory: PathText::from(Path::new("/")),
        writable: Vec::new(),
        protected: Vec::new(),
        masked: Vec::new(),
        visible: Vec::new(),
        private: Vec::new(),
        rules: Rules {
            grants: Vec::new(),
            has_network: false,
            may_change_metadata: false,
            landlock: 0,
            filter: false,
            limits: Limits::from(ResourceLimits::WORKER),
        },
    };
    let mut text = serde_json::to_vec(&setup)?;
    text.push(b'\n');
    try_view(program, &text, true)
}
