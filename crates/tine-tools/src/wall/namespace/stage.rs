//! The two stages between tine and a confined command, each a process of its own. The outer one is tine's own program, started once
//! more, and the inner one its fork.
//!
//! The outer stage makes the namespaces, forks and waits. The inner stage is the first process of the
//! new process namespace: it builds the view, restricts itself, starts the shell, and reaps every process of the command.
//! When its input ends, because tine is gone, it ends, and everything with it.

#![expect(
    clippy::disallowed_methods,
    reason = "a stage is a process of its own: it starts the next one and ends itself"
)]

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use fork::Fork;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::SigSet;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, WaitOptions, WaitStatus, getgid, getpgid, getppid,
    getrlimit, getuid, set_dumpable_behavior, setpgid, setrlimit, wait, waitpid,
};
use rustix::thread::{CapabilitySet, capabilities};

use super::network::Namespaces;
use super::order::{Job, Report, Rules, Setup};
use super::start::code_of;
use super::{JOINED_NETWORK, STAGES, WITH_INPUT, handover, loopback, mounts};
use crate::wall::kernel::Restriction;
use crate::wall::support::Support;
use crate::wall::usage::Usage;
use crate::wall::{CommandLimits, Metadata, ResourceLimits};
use crate::watchdog::{OWN_END, are_gone_within};

/// The exit code of a stage that could not do its work. Its report says why.
const FAILED: u8 = 125;

/// The largest order. Lists of paths are bounded where they are made; this is far above.
const ORDER_BYTES_MAX: u64 = 64 << 20;

/// The things that the command gets beside the order.
#[derive(Clone, Copy)]
struct Way {
    /// The network is another command's, whose namespaces come first.
    joins: bool,
    /// The command has an input, which comes before the order.
    reads: bool,
}

/// Runs the stages that the arguments ask for: the outer one, and in its fork the inner one.
pub(super) fn run_stages(arguments: &[String]) -> ExitCode {
    let done = match arguments.split_first() {
        Some((stages, [network, rest @ ..])) if stages == STAGES => {
            let way = Way { joins: network == JOINED_NETWORK, reads: network == WITH_INPUT };
            outer(way, rest.first())
        }
        _ => Err(failed("start", io::Error::other("no stage is named"))),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(report) => {
            // Whoever is to read it may be gone.
            let _ = send(&report);
            ExitCode::from(FAILED)
        }
    }
}

fn failed(step: &str, error: impl Into<io::Error>) -> Report {
    Report::Failed { step: step.to_owned(), error: error.into().to_string() }
}

/// Makes the namespaces and waits for the inner stage, which returns from here as well. `group` is the file by which both stages become part of a control group. The calling process must have one
/// thread.
fn outer(way: Way, group: Option<&String>) -> Result<u8, Report> {
    // Who asks the command to end must not end this stage, which waits until all of it is gone.
    SigSet::all().thread_block().map_err(|error| failed("block signals", error))?;
    close_inherited().map_err(|error| failed("close descriptors", error))?;
    if let Some(group) = group {
        // Where this fails, tine counts all the same.
        let _ = std::fs::write(group, "0");
    }
    let (user, group, joins) = (getuid().as_raw(), getgid().as_raw(), way.joins);
    let mut flags = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    let is_privileged =
        capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN));
    flags.set(CloneFlags::CLONE_NEWUSER, !is_privileged && !joins);
    flags.set(CloneFlags::CLONE_NEWNET, !joins);
    if joins {
        join().map_err(|error| failed("join the network", error))?;
    }
    unshare(flags).map_err(|error| failed("make namespaces", error))?;
    if !is_privileged && !joins {
        map((0, user), (0, group)).map_err(|error| failed("map the user", error))?;
    }
    let inner_stage = match fork::fork().map_err(|error| failed("start the inner stage", error))? {
        Fork::Child => return inner((!is_privileged).then_some((user, group)), way),
        Fork::Parent(process) => Pid::from_raw(process),
    };
    // What is killed is the group of the command; this stage sees the end of it.
    if let Ok(group) = getpgid(getppid()) {
        let _ = setpgid(None, Some(group));
    }
    loop {
        match waitpid(inner_stage, WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(code_in(status)),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("wait for the inner stage", error)),
        }
    }
}

/// Enters the namespaces that come over the input, in their order.
fn join() -> io::Result<()> {
    let namespaces = handover::await_namespaces(socket()?)?;
    let mut handles = namespaces.handles().peekable();
    if handles.peek().is_none() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    handles.try_for_each(|handle| Ok(nix::sched::setns(handle, CloneFlags::empty())?))
}

/// The namespaces of this process's network: what another stage joins.
fn own_network(is_privileged: bool) -> io::Result<Namespaces> {
    let names = if is_privileged { &["net"][..] } else { &["user", "net"] };
    let open = |name: &&str| Ok(std::fs::File::open(format!("/proc/self/ns/{name}"))?.into());
    names.iter().map(open).collect::<io::Result<Vec<_>>>().map(Namespaces::new)
}

/// Closes the descriptors that tine was started with, and that a command would get otherwise.
fn close_inherited() -> io::Result<()> {
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let left: Vec<i32> = numbers.filter(|number| *number > 2).collect();
    for number in left {
        // The one with which the directory was read is closed by now.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

/// Gives this process's user and group other numbers in its own user namespace: inside, outside.
fn map(user: (u32, u32), group: (u32, u32)) -> io::Result<()> {
    let write = |file: &str, text: String| {
        let path = format!("/proc/self/{file}");
        std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{} {} 1", user.0, user.1))?;
    write("gid_map", format!("{} {} 1", group.0, group.1))
}

/// Builds the view, restricts itself, and runs the command. `mapped` is the user and group that have another number in the namespaces.
/// Where the network is another command's, all is done there.
fn inner(mapped: Option<(u32, u32)>, way: Way) -> Result<u8, Report> {
    let input = if way.reads {
        let input = socket().and_then(handover::await_input);
        Some(input.map_err(|error| failed("take the input", error))?)
    } else {
        None
    };
    let (setup, job) = read_order().map_err(|error| failed("read the order", error))?;
    let listeners = if setup.rules.has_loopback && !way.joins {
        let listening = loopback::listen(&setup.listen);
        listening.map_err(|error| failed("open the network", error))?
    } else {
        Vec::new()
    };
    let lent = match &job {
        Job::Command { lends_network: true, .. } => {
            Some(own_network(mapped.is_none()).map_err(|error| failed("lend the network", error))?)
        }
        Job::Command { .. } | Job::Trial => None,
    };
    mounts::build(&setup).map_err(|failure| failed(&failure.step, failure.error))?;
    if let Some((user, group)) = mapped.filter(|(user, _)| *user != 0) {
        unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| failed("leave the user", error))?;
        map((user, 0), (group, 0)).map_err(|error| failed("map the user back", error))?;
    }
    // Nobody behind the wall may look into this process, which has read the whole order.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| failed("hide the stage", error))?;
    if matches!(job, Job::Command { .. }) {
        // Before the restrictions: a thread of the stage looks at the processes of the command, which nobody inside may.
        watch(setup.rules.limits.command).map_err(|error| failed("watch", error))?;
    }
    restrict(&setup.rules).map_err(|error| failed("restrict", error))?;
    match job {
        Job::Trial => {
            let _ = send(&Report::Stands);
            Ok(0)
        }
        Job::Command { program, name, command, .. } => {
            let hand_over = |socket| {
                lent.as_ref()
                    .map_or(Ok(()), |lent| handover::hand_over_namespaces(&socket, lent))?;
                handover::hand_over_listeners(&socket, &listeners)
            };
            socket().and_then(hand_over).map_err(|error| failed("hand over the network", error))?;
            drop((lent, listeners));
            limit(setup.rules.limits).map_err(|error| failed("set limits", error))?;
            run(&program.path(), &name, &command.path(), input)
        }
    }
}

/// Two lines: the wall, and what is to run.
fn read_order() -> io::Result<(Setup, Job)> {
    let mut input = BufReader::new(socket()?.take(ORDER_BYTES_MAX));
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let setup = serde_json::from_slice(&line)?;
    line.clear();
    input.read_until(b'\n', &mut line)?;
    Ok((setup, serde_json::from_slice(&line)?))
}

/// The standard input, which is a socket, as one.
fn socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?))
}

fn send(report: &Report) -> io::Result<()> {
    let mut text = serde_json::to_vec(report)?;
    text.push(b'\n');
    socket()?.write_all(&text)
}

/// Runs a command behind the rules alone, with this process's input and output. Returns its exit code. The process must have one thread, which
/// is not restricted itself.
pub(in crate::wall) fn run_restricted(
    rules: &Rules,
    shell: &Path,
    command: &OsStr,
    environment: &[(OsString, OsString)],
) -> io::Result<u8> {
    let inside = || {
        restrict(rules)?;
        limit(rules.limits)?;
        let mut shell = Command::new(shell);
        shell.arg("-c").arg(command).env_clear().envs(environment.iter().cloned());
        Ok(code_of(shell.status()?).unwrap_or(FAILED))
    };
    let ended = std::thread::scope(|scope| scope.spawn(inside).join());
    ended.unwrap_or_else(|_| Err(io::Error::other("the thread that restricts itself failed")))
}

/// The second layer: what a wall without namespaces has as its only one.
fn restrict(rules: &Rules) -> io::Result<()> {
    let support = Support { landlock: rules.landlock, filter: rules.filter, namespaces: false };
    let settings = (rules.sockets(), rules.metadata());
    Restriction::build(&rules.grants(), settings, support)?.enter()?;
    if rules.metadata() == Metadata::Kept {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    }
    Ok(())
}

/// Sets the limits on this process, and so on all that it starts. One that is lower already stays as it is.
fn limit(limits: ResourceLimits) -> io::Result<()> {
    let set = |resource: Resource, wanted: u64| -> io::Result<()> {
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let wanted = Some(wanted.min(allowed));
        Ok(setrlimit(resource, Rlimit { current: wanted, maximum: wanted })?)
    };
    set(Resource::Core, 0)?;
    set(Resource::Cpu, limits.processor_seconds)?;
    set(Resource::Data, limits.memory_bytes)?;
    set(Resource::Fsize, limits.file_bytes)?;
    set(Resource::Nofile, limits.open_files)?;
    set(Resource::Nproc, limits.processes)?;
    match limits.address_bytes {
        Some(bytes) => set(Resource::As, bytes),
        None => Ok(()),
    }
}

/// Ends this process, and with it the command, when the other end of its input is gone, or when its processes pass a limit
/// together.
fn watch(limits: CommandLimits) -> io::Result<()> {
    let mut input = socket()?;
    let mut usage = Usage::new(limits);
    let watch = move || {
        let mut byte = [0];
        loop {
            let told =
                input.set_read_timeout(Some(usage.pause())).and_then(|()| input.read(&mut byte));
            let is_quiet = told.is_err_and(|error| {
                matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
            });
            // Nothing more comes: else tine is gone or has let go.
            if !is_quiet {
                break;
            }
            if let Some(limit) = usage.look_from_within() {
                // Tine may be gone.
                let _ = send(&Report::Exceeded(limit));
                break;
            }
        }
        std::process::exit(128 + libc::SIGKILL);
    };
    std::thread::Builder::new().name("tine-watch".to_owned()).spawn(watch).map(drop)
}

/// Runs the shell and reaps every process until it has ended.
fn run(program: &Path, name: &str, command: &Path, input: Option<OwnedFd>) -> Result<u8, Report> {
    use std::os::unix::process::CommandExt;
    // The command begins with no signal blocked. This process, the first of its namespace, gets none that it does not ask for.
    SigSet::all().thread_unblock().map_err(|error| failed("unblock signals", error))?;
    let mut shell = Command::new(program);
    shell.arg0(name).arg("-c").arg(command).stdin(input.map_or_else(Stdio::null, Stdio::from));
    let shell = match shell.spawn() {
        Ok(shell) => shell,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Report::NoShell),
        Err(error) => return Err(failed("start the shell", error)),
    };
    let shell = i32::try_from(shell.id()).ok().and_then(Pid::from_raw);
    let status = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((process, status))) if Some(process) == shell => break status,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("wait for the command", error)),
        }
    };
    let report = Report::Ended {
        code: status.exit_status(),
        signal: status.terminating_signal(),
        left_behind: !are_gone_within(OWN_END),
    };
    // Tine may be gone; then nobody waits for it.
    let _ = send(&report);
    Ok(code_in(status))
}

fn code_in(status: WaitStatus) -> u8 {
    let code =
        status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
}
