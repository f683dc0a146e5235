//! A child process, the group it leads, and the pipe it prints to.
//!
//! The group is ended on every way out: by asking and then killing where somebody waits, by killing
//! at once where the future is dropped. What has left the group is found by its mark. Nothing here knows about tools.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tine_guard::redact;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::git;
use super::strays::Mark;
use crate::linked::Linked;
use crate::place::Place;
use crate::wall::{
    CommandLimit, ControlGroup, Enclosure, Network, Refusals, Reports, StageEnd, Warden, stages,
    start,
};
use crate::watchdog::{Supervised, Supervisor};

/// Shells in the order in which they are tried; `sh` serves small systems without bash.
pub(super) const SHELLS: [&str; 2] = ["bash", "sh"];

/// Bytes taken from the pipe at once: its usual size on Linux.
const READ_BYTES: usize = 64 * 1024;

/// What is still read from the pipe after the command has ended: the largest pipe an ordinary user
/// can have. A process that has left the group and goes on printing cannot hold the tool.
const REST_BYTES_MAX: usize = 1024 * 1024;

/// Looks for what has lost its supervisor, and the pause behind each.
const ORPHAN_LOOKS: u32 = 3;
const ORPHAN_LOOK: Duration = Duration::from_millis(10);

/// How often a group that was asked to end is looked at.
const GRACE_STEP: Duration = Duration::from_millis(10);

/// How long a killed process may take to disappear before its remains are left to the runtime.
const REAP_TIME_MAX: Duration = Duration::from_secs(2);

/// Why no process was started.
#[derive(Debug)]
pub(super) enum StartError {
    Directory,
    NoShell,
    System(io::Error),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// How a command ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// By itself; `left_behind` says that processes of it were still there and were ended. `stay` names those that could not be.
    Exited {
        status: ExitStatus,
        left_behind: bool,
        stay: Vec<String>,
    },
    TimedOut,
    /// Its processes passed a limit together, and were ended.
    Exceeded(CommandLimit),
    Cancelled,
    /// The system did not tell.
    Lost(io::Error),
}

/// A running command.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Group,
    output: Receiver,
    /// What the stages of a view say of the command's end.
    reports: Option<Reports>,
    /// The network of a command behind a wall. It is there as long as a command is in it.
    network: Option<Arc<Network>>,
    /// The control group of a confined command, where there can be one.
    control: Option<ControlGroup>,
}

/// A command that is put together, and the reading end of what it will print.
struct Prepared {
    builder: Command,
    output: Receiver,
}

impl Process {
    /// Starts `command` with the first shell that exists, behind the wall of the place if it has one.
    pub(super) fn start(shells: &[&str], command: &str, place: &Place) -> Result<Self, StartError> {
        if !place.directory().is_dir() {
            return Err(StartError::Directory);
        }
        for shell in shells {
            let started = match place.enclosure() {
                None => Self::start_open(shell, command, place),
                Some(enclosure) => Self::start_confined(shell, command, place, enclosure),
            };
            match started {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                result => return Ok(result?),
            }
        }
        Err(StartError::NoShell)
    }

    fn without_network(child: Child, group: Group, output: Receiver) -> Self {
        Self { child, group, output, reports: None, network: None, control: None }
    }

    /// The hosts that the command is refused. It grows while the command runs.
    pub(super) fn refusals(&self) -> Refusals {
        self.network.as_ref().map(|network| network.refusals()).unwrap_or_default()
    }

    /// The network that the command has made or joined.
    pub(super) fn network(&self) -> Option<&Arc<Network>> {
        self.network.as_ref()
    }

    fn start_open(shell: &str, command: &str, place: &Place) -> io::Result<Self> {
        let mark = Mark::new();
        let watchdog = place.watchdog();
        let mut builder = match &watchdog {
            Some(_) if !is_on_search_path(shell) => return Err(ErrorKind::NotFound.into()),
            Some(program) => Supervisor::command(program, &mark, (shell, command)),
            None => {
                let mut builder = Command::new(shell);
                builder.arg("-c").arg(command);
                builder
            }
        };
        for (name, value) in std::env::vars_os() {
            if is_withheld_variable(&name.to_string_lossy(), &value.to_string_lossy()) {
                builder.env_remove(name);
            }
        }
        let git_count = std::env::var(git::COUNT).ok();
        let Prepared { mut builder, output } = prepare(builder, place, &mark, git_count)?;
        let (child, group) = match watchdog {
            Some(_) => {
                builder.env_remove(Mark::VARIABLE);
                let (child, supervisor) = Supervisor::start(builder)?;
                (child, Group { id: None, supervisor: Some(supervisor), mark, warden: None })
            }
            None => {
                let child = builder.spawn()?;
                // The builder holds the writing ends; while it lives the pipe would never end.
                drop(builder);
                let group = Group::led_by(&child, mark, None);
                (child, group)
            }
        };
        Ok(Self::without_network(child, group, output))
    }

    /// Starts the command through the stages that build its view.
    fn start_in_view(
        (shell, name): (&Path, &str),
        command: &str,
        place: &Place,
        enclosure: &Enclosure,
    ) -> io::Result<Option<Self>> {
        let Some((program, setup)) = enclosure.view() else { return Ok(None) };
        let control = enclosure.control_group();
        // Of the commands in the background, so that one reaches what they serve.
        let proxy = enclosure.proxy();
        let shared = place.background().and_then(|background| background.network());
        let shared = shared.filter(|network| network.open_to(proxy).is_some());
        let joined = shared.as_ref().and_then(|shared| shared.open_to(proxy));
        let mut builder = stages(program, control.as_ref(), joined);
        builder.env_clear().envs(enclosure.environment().iter().map(|(name, value)| (name, value)));
        let mark = Mark::new();
        let Prepared { builder, output } = prepare(builder, place, &mark, count_in(enclosure))?;
        let lends = place.background().is_some() && enclosure.has_loopback() && joined.is_none();
        let (child, reports) = start(builder, &setup?, (shell, name), command, (joined, lends))?;
        let group = Group::led_by(&child, mark, None);
        let network = match shared {
            None if lends || proxy.is_some() => Some(Arc::new(Network::of(&reports, proxy)?)),
            shared => shared,
        };
        let reports = Some(reports);
        Ok(Some(Self { child, group, output, reports, network, control }))
    }

    fn start_confined(
        shell: &str,
        command: &str,
        place: &Place,
        enclosure: &Enclosure,
    ) -> io::Result<Self> {
        // By its full path, because a search behind the wall could not tell what is missing from what is out of reach.
        let program = enclosure.find(shell).ok_or(ErrorKind::NotFound)?;
        if let Some(started) = Self::start_in_view((&program, shell), command, place, enclosure)? {
            return Ok(started);
        }
        let mut builder = Command::new(program);
        builder.arg0(shell).args(enclosure.arguments(shell, command).iter().map(|part| &**part));
        builder.env_clear().envs(enclosure.environment().iter().map(|(name, value)| (name, value)));
        let mark = Mark::new();
        let Prepared { mut builder, output } = prepare(builder, place, &mark, count_in(enclosure))?;
        let (held, mut gate) = io::pipe()?;
        builder.stdin(held);
        let (child, warden) = Warden::start(enclosure, builder, place.watchdog(), mark.value())?;
        let control = enclosure.control_group();
        if let (Some(control), Some(id)) = (&control, child.id()) {
            // Where this fails, tine counts all the same.
            let _ = control.take(id);
        }
        gate.write_all(b"\n")?;
        let group = Group::led_by(&child, mark, Some(warden));
        Ok(Self { control, ..Self::without_network(child, group, output) })
    }

    /// Waits for the end, whichever comes first, and hands on what is printed until then.
    pub(super) async fn run(
        mut self,
        limit: Duration,
        grace: Duration,
        cancel: &CancellationToken,
        mut printed: impl FnMut(&[u8]),
    ) -> Ending {
        let deadline = tokio::time::sleep(limit);
        tokio::pin!(deadline);
        let mut buffer = vec![0; READ_BYTES];
        let mut open = true;
        let ending = loop {
            // Every branch may be dropped without loss: a read that is not ready has taken nothing.
            tokio::select! {
                biased;
                () = cancel.cancelled() => break Ending::Cancelled,
                () = &mut deadline => break Ending::TimedOut,
                status = self.child.wait() => break match status {
                    Ok(status) => Ending::Exited { status, left_behind: false, stay: Vec::new() },
                    Err(error) => Ending::Lost(error),
                },
                read = self.output.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(length) => printed(&buffer[..length]),
                },
            }
        };
        let (ending, is_orphan) = self.group.supervised(ending).await;
        let is_over = matches!(ending, Ending::Exited { .. });
        let is_supervised = self.group.supervisor.is_some();
        let mut stopped = self.group.stop(&mut self.child, grace, is_over).await;
        // A supervisor, and a view, have seen to what has left the group.
        if !is_over || !is_supervised && self.reports.is_none() {
            stopped |= self.group.mark.kill();
        }
        drop(self.network.take());
        // Behind a wall nothing outlives its command.
        let left = self.group.warden.take().map(|warden| warden.end_all()).unwrap_or_default();
        let killed = self.control.as_ref().and_then(ControlGroup::exceeded);
        self.read_rest(&mut buffer, printed);
        match ending {
            Ending::Exited { status, left_behind, stay } => match self.reports.map(Reports::end) {
                Some(StageEnd::Ended { status, left_behind }) => {
                    Ending::Exited { status, left_behind, stay }
                }
                Some(StageEnd::Failed(error)) => Ending::Lost(error),
                Some(StageEnd::NoShell) => Ending::Lost(ErrorKind::NotFound.into()),
                Some(StageEnd::Exceeded(limit)) => Ending::Exceeded(limit),
                Some(StageEnd::Silent) | None => match left.exceeded.or(killed) {
                    Some(limit) => Ending::Exceeded(limit),
                    // What is left of an orphan is the command itself.
                    None => {
                        let left_behind = left_behind || (stopped && !is_orphan) || left.any;
                        Ending::Exited { status, left_behind, stay }
                    }
                },
            },
            Ending::TimedOut | Ending::Exceeded(_) | Ending::Cancelled | Ending::Lost(_) => ending,
        }
    }

    /// Takes what is left in the pipe, without waiting for more.
    fn read_rest(&mut self, buffer: &mut [u8], mut printed: impl FnMut(&[u8])) {
        let mut total = 0;
        while total < REST_BYTES_MAX {
            match self.output.try_read(buffer) {
                Ok(length) if length > 0 => {
                    printed(&buffer[..length]);
                    total += length;
                }
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// The `GIT_CONFIG_COUNT` that commands behind a wall begin with.
fn count_in(enclosure: &Enclosure) -> Option<String> {
    let mut passed = enclosure.environment().iter();
    let count = passed.find(|(name, _)| name == git::COUNT);
    count.map(|(_, value)| value.to_string_lossy().into_owned())
}

/// What every command gets: its directory, its end of a pipe, a group of its own, quiet variables and a mark.
/// `git_count` is the `GIT_CONFIG_COUNT` that it has already.
fn prepare(
    mut builder: Command,
    place: &Place,
    mark: &Mark,
    git_count: Option<String>,
) -> io::Result<Prepared> {
    // One pipe for both streams, so that their order is the order in which they were written.
    let (reader, writer) = io::pipe()?;
    let output = Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let is_linked = Linked::around(place.real_directory()).is_some();
    builder
        .current_dir(place.directory())
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true)
        .envs(SET_VARIABLES)
        .envs(git::variables(git_count.as_deref(), (is_linked, place.enclosure().is_some())))
        .envs(place.variables().iter().map(|(name, value)| (name, value)))
        .env(Mark::VARIABLE, mark.value());
    Ok(Prepared { builder, output })
}

/// Directories in which programs are looked for if `PATH` is not set, as the system does.
const SEARCH_PATH_DEFAULT: &str = "/usr/bin:/bin";

/// Returns true if a program of this name can be found. A supervisor could say only later that it cannot.
fn is_on_search_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| SEARCH_PATH_DEFAULT.into());
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// The process group that a child leads, and the mark of all it starts. Dropping it kills what is left of both.
#[derive(Debug)]
struct Group {
    /// The group; `None` before the supervisor has named it, and once nothing is left of it.
    id: Option<Pid>,
    /// The parent of a command without a wall. It goes with this, and ends what is left.
    supervisor: Option<Supervisor>,
    mark: Mark,
    /// Of a confined command; gone once it has ended what was left.
    warden: Option<Warden>,
}

impl Group {
    fn led_by(child: &Child, mark: Mark, warden: Option<Warden>) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { id: id.and_then(Pid::from_raw), supervisor: None, mark, warden }
    }

    /// The ending as the supervisor has seen it, and true if the supervisor was killed itself and has seen none: then the command goes on
    /// without it, and is killed.
    async fn supervised(&mut self, ending: Ending) -> (Ending, bool) {
        let (Some(supervisor), Ending::Exited { .. }) = (&mut self.supervisor, &ending) else {
            return (ending, false);
        };
        match supervisor.end() {
            Some(Supervised::Ended { status, left_behind, stay }) => {
                (Ending::Exited { status, left_behind, stay }, false)
            }
            Some(Supervised::Failed(error)) => (Ending::Lost(error), false),
            None => {
                // A process that becomes another program carries no mark for a moment.
                for _ in 0..ORPHAN_LOOKS {
                    self.mark.kill();
                    tokio::time::sleep(ORPHAN_LOOK).await;
                }
                (ending, true)
            }
        }
    }

    /// Asks the group to end, and kills it when it has not after `grace`. Returns whether anything
    /// was left. The leader is reaped meanwhile, because a dead leader still counts as a member. `is_over` says that the command has
    /// ended by itself; else nothing of it is left.
    async fn stop(&mut self, child: &mut Child, grace: Duration, is_over: bool) -> bool {
        let mut supervisor = self.supervisor.take();
        if let Some(supervisor) = &mut supervisor {
            self.id = supervisor.shell();
            if !is_over {
                supervisor.leave_nothing();
            }
        }
        let stopped = self.stop_group(child, grace).await;
        if let Some(supervisor) = supervisor
            && !is_over
        {
            // It ends what has left the group, and then itself.
            drop(supervisor);
            drop(tokio::time::timeout(REAP_TIME_MAX, child.wait()).await);
        }
        stopped
    }

    async fn stop_group(&mut self, child: &mut Child, grace: Duration) -> bool {
        let Some(id) = self.id else { return false };
        if test_kill_process_group(id).is_err() {
            self.id = None;
            return false;
        }
        // Errors mean that the group is gone or belongs to another user; both are seen below.
        let _ = kill_process_group(id, Signal::TERM);
        let mut waited = Duration::ZERO;
        while waited < grace {
            tokio::time::sleep(GRACE_STEP).await;
            waited += GRACE_STEP;
            drop(child.try_wait());
            if test_kill_process_group(id).is_err() {
                self.id = None;
                return true;
            }
        }
        let _ = kill_process_group(id, Signal::KILL);
        self.id = None;
        drop(tokio::time::timeout(REAP_TIME_MAX, child.wait()).await);
        true
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let supervised = self.supervisor.take();
        if let Some(id) = self.id {
            let _ = kill_process_group(id, Signal::KILL);
        }
        if self.id.is_some() || supervised.is_some() {
            self.mark.kill();
        }
        if let Some(warden) = self.warden.take() {
            warden.end_all();
        }
    }
}

/// Endings of names of variables that hold keys or passwords.
const WITHHELD_ENDINGS: [&str; 25] = [
    "_APIKEY",
    "_AUTH",
    "_AUTHORIZATION",
    "_AUTH_HEADER",
    "_COOKIE",
    "_CREDENTIAL",
    "_CREDENTIALS",
    "_CREDS",
    "_DSN",
    "_KEY",
    "_KEYS",
    "_KEY_ID",
    "_PASS",
    "_PASSPHRASE",
    "_PASSWD",
    "_PASSWORD",
    "_PASSWORDS",
    "_PAT",
    "_PGPASSWORD",
    "_PSK",
    "_PWD",
    "_SECRET",
    "_SECRETS",
    "_TOKEN",
    "_TOKENS",
];

/// Endings of those among them that hold none, or that a shell needs.
const OPEN_ENDINGS: [&str; 2] = ["_PUBLIC_KEY", "_PUBLISHABLE_KEY"];

/// Variables that make a shell run or change something before the command begins.
const STARTUP_VARIABLES: [&str; 4] = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS"];

/// Variables that are set for every command.
const SET_VARIABLES: [(&str, &str); 7] = [
    // Lets a script know that an agent runs it.
    ("TINE", "1"),
    // Nobody can turn a page, answer a question or leave an editor.
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // A command that is asked to look, such as `git status`, does not refresh the index on the way.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_EDITOR", "true"),
    // No colours and no cursor movements in the output.
    ("TERM", "dumb"),
];

/// Returns true for a variable that is kept from commands: one whose name ends like that of a secret (`_KEY`, `_TOKEN`,
/// `_PASSWORD`, …, in any case), one whose value has the shape of a key or is an address with a password, and those that would
/// change how the shell starts (`BASH_ENV`, `ENV`, `SHELLOPTS`, `BASHOPTS`).
pub fn is_withheld_variable(name: &str, value: &str) -> bool {
    let upper = name.to_uppercase();
    let ends = |ending: &&str| -> bool {
        upper.ends_with(*ending) || Some(upper.as_str()) == ending.strip_prefix('_')
    };
    // The shell's own variable.
    let is_directory = matches!(name, "PWD" | "OLDPWD");
    STARTUP_VARIABLES.contains(&name)
        || !is_directory && WITHHELD_ENDINGS.iter().any(&ends) && !OPEN_ENDINGS.iter().any(ends)
        || matches!(redact(value), Cow::Owned(_))
}
