//! Ends the commands of a tine that is gone: killed by a signal that nobody sees, or by the system when memory runs out.
//!
//! A death signal of the kernel (`PR_SET_PDEATHSIG`) does not serve: it belongs to the thread that started the command, and threads of
//! tine end. So a process of its own holds a socket to tine and ends the command when the other end is gone, however it went. There are
//! three, by the way in which the command was started:
//!
//! - The *supervisor* (`supervisor.rs`) is the parent of a command without a wall. What loses its parent below it becomes its own child,
//!   so that a process finds no way out: neither a session of its own nor an empty environment is one.
//! - The *guard* (`guard.rs`) stands beside a command behind Landlock alone. Signals reach nobody outside of such a wall, and from just
//!   outside they reach everything behind it.
//! - Behind a wall with namespaces the first process of the command's own namespace watches (`wall/namespace/stage.rs`), and the kernel
//!   ends all with it.
//!
//! Each is tine's own program, started once more. Where none is registered, as in a program that embeds this crate, commands have no
//! watchdog. A process that has become another user's cannot be ended: its supervisor outlives it, so that recovery
//! (`leftover.rs`) finds it below the supervisor and names it.

#![expect(
    clippy::disallowed_methods,
    reason = "a watchdog is a process of its own: it starts the command and ends itself"
)]

mod descendants;
mod guard;
mod supervisor;

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

pub(crate) use descendants::{OWN_END, are_gone_within};
pub(crate) use guard::Guard;
pub(crate) use supervisor::{Supervised, Supervisor};

/// The exit code of a watchdog that could not do its work.
const FAILED: u8 = 125;

/// Runs the watchdog that the arguments ask for; `None` if they ask for none.
pub(crate) fn run_watchdog(arguments: &[OsString]) -> Option<ExitCode> {
    let (kind, rest) = arguments.split_first()?;
    let done = match kind.to_str()? {
        supervisor::NAME => supervisor::supervise(rest),
        guard::NAME => guard::stand(rest),
        _ => return None,
    };
    Some(ExitCode::from(done.unwrap_or(FAILED)))
}

/// The standard input, which is a socket, as one that the command does not inherit.
fn socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?))
}

/// Keeps signals from this process: who asks the command to end, or types Ctrl-C, does not mean its watchdog. What it starts from then on
/// has them blocked, too.
fn block_signals() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::signal::SigSet::all().thread_block()?;
    Ok(())
}
