//! A view of the machine for confined commands: a mount namespace in which everything is read-only but what may be written.
//!
//! A thread of tine cannot enter a user namespace, so tine starts itself once more. That process (`stage.rs`, the outer stage)
//! leaves the namespaces of the user and forks: its child, the inner stage, is the first process of a new process namespace. The
//! inner stage builds the view (`mounts.rs`), gives the user's number back, restricts itself as a wall without namespaces
//! does, and starts the shell. When it ends, the kernel ends every process of the command.
//!
//! What is to be built travels as one text (`order.rs`) over the standard input of the stages, and their report comes back
//! the same way. This module never judges a command.

mod handover;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod mounts;
mod network;
mod order;
#[cfg(target_os = "linux")]
mod stage;
mod start;
mod view;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::watchdog;
pub(crate) use network::Network;
pub(super) use order::{Identity, PathText, Rules, Setup};
#[cfg(target_os = "linux")]
pub(super) use stage::run_restricted;
#[cfg(target_os = "linux")]
pub(super) use start::run_on_own_input;
pub(super) use start::try_view;
pub(crate) use start::{Reports, StageEnd, stages, start};
pub(super) use view::{Anchors, Wanted, cover, cover_sockets, view};

/// The first argument of the stages, the watchdogs and the programs of git's settings: the binary hands such a call to [`stage_of`] before it does anything else.
pub const STAGE_ARGUMENT: &str = "__wall-stage";

/// The argument after it that asks for the stages.
const STAGES: &str = "view";

/// The arguments after that: the command has a network of its own, or joins the one whose namespaces come first.
const OWN_NETWORK: &str = "own";
const JOINED_NETWORK: &str = "joined";

/// Instead of those: the command has a network of its own, and reads an input that comes first.
const WITH_INPUT: &str = "input";

/// The program that builds the view: a binary that hands calls with [`STAGE_ARGUMENT`] to [`stage_of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageProgram(PathBuf);

/// Failed trials after which no further one is made.
const FAILURES_MAX: u8 = 3;

/// The facts about the registered program.
enum Trials {
    None,
    Worked,
    Failed(u8),
}

static REGISTERED: OnceLock<StageProgram> = OnceLock::new();

impl StageProgram {
    /// The program at this path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Says that this process's own program is one, for every wall that is raised from now on.
    pub fn register_this_program() {
        // The link leads to the running program, also when its file was replaced since.
        Self::at("/proc/self/exe").register();
    }

    /// Says that this program is one, for every wall that is raised from now on. The first one counts.
    pub fn register(self) {
        let _ = REGISTERED.set(self);
    }

    /// The registered program, whatever the kernel lets it do; `None` if there is none.
    pub(crate) fn registered() -> Option<Self> {
        REGISTERED.get().cloned()
    }

    /// The registered program; `None` if there is none or if this kernel lets this user make no namespaces.
    pub fn here() -> Option<Self> {
        REGISTERED.get().filter(|program| program.works()).cloned()
    }

    /// Returns true if the kernel lets this user make the namespaces. Starts two processes. For the registered program the
    /// answer is kept: a yes at once, a no when it has come several times, because a busy machine may fail for a moment.
    pub fn works(&self) -> bool {
        static TRIALS: Mutex<Trials> = Mutex::new(Trials::None);
        if REGISTERED.get() != Some(self) {
            return start::try_namespaces(self).is_ok();
        }
        let mut trials = TRIALS.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = match *trials {
            Trials::Worked => return true,
            Trials::Failed(FAILURES_MAX) => return false,
            Trials::Failed(failed) => failed,
            Trials::None => 0,
        };
        let works = start::try_namespaces(self).is_ok();
        *trials = if works { Trials::Worked } else { Trials::Failed(failed + 1) };
        works
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }
}

/// Runs a stage, a watchdog or a program of git's settings if the arguments, without the program's name, ask for one. Must be called first of all in the binary's `main`, while it
/// has one thread.
pub fn stage_of(mut arguments: impl Iterator<Item = OsString>) -> Option<std::process::ExitCode> {
    if arguments.next()? != STAGE_ARGUMENT {
        return None;
    }
    let rest: Vec<OsString> = arguments.collect();
    if let Some(code) =
        watchdog::run_watchdog(&rest).or_else(|| super::programs::run_git_program(&rest))
    {
        return Some(code);
    }
    let rest: Vec<String> =
        rest.into_iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    #[cfg(target_os = "linux")]
    {
        Some(stage::run_stages(&rest))
    }
    #[cfg(not(target_os = "linux"))]
    {
        drop(rest);
        Some(std::process::ExitCode::FAILURE)
    }
}
