//! The thread in front of the wall: it has one command started behind it, and afterwards ends what is left of that command.
//!
//! A process can leave its group, its session and its environment, but not the wall. The thread stands where it can signal
//! nobody but whom is behind the wall, and nobody there can reach it: it is another thread, gone before the command begins, that
//! enters the wall and starts the command.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::usage::{Usage, processes};
use super::{CommandLimit, Enclosure, Layer, Restriction, StageProgram};
use crate::watchdog::Guard;

/// How often it is looked whether what was killed is gone, and how long between two looks. A process that is writing to a slow disk
/// may take that second; it does nothing more for its command.
const LOOKS_MAX: usize = 500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// A request to end everything behind the wall, and the way to say what there was.
type Request = Sender<Left>;

/// The rest of a command that was ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// True if there was a process.
    pub(crate) any: bool,
    /// The limit that all processes passed together, for which they were ended before.
    pub(crate) exceeded: Option<CommandLimit>,
}

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Warden {
    /// `None` where signals are not confined, so that they would reach others.
    requests: Option<Sender<Request>>,
    /// Ends the command when this process dies; `None` where no program is registered for it.
    guard: Option<Guard>,
}

impl Warden {
    /// Starts `command` inside; it waits for a line on its input. Must be called within a tokio runtime; blocks about as long as
    /// starting a command takes.
    /// `watchdog` is the program of the guard, and `mark` what the command's processes carry.
    pub(crate) fn start(
        enclosure: &Enclosure,
        command: Command,
        watchdog: Option<StageProgram>,
        mark: &str,
    ) -> io::Result<(Child, Self)> {
        let runtime = Handle::current();
        let enclosure = enclosure.clone();
        let is_scoped = enclosure.0.is_scoped;
        let usage = Usage::new(enclosure.0.limits);
        let (started, start) = channel();
        let (requests, asked) = channel::<Request>();
        let mark = mark.to_owned();
        let body = move || {
            let begun = begin(enclosure, command, runtime.clone()).and_then(|child| {
                // From this thread, because it stands just outside of the wall.
                let _runtime = runtime.enter();
                let guard =
                    watchdog.map(|program| Guard::start(&program, (child.id(), &mark), is_scoped));
                Ok((child, guard.transpose()?))
            });
            let guard = begun.as_ref().ok().and_then(|(_, guard)| guard.as_ref()?.process());
            if started.send(begun).is_ok() {
                answer(&asked, usage, guard);
            }
        };
        std::thread::Builder::new().name("tine-warden".to_owned()).spawn(body)?;
        let (child, guard) = start.recv().map_err(io::Error::other)??;
        Ok((child, Self { requests: is_scoped.then_some(requests), guard }))
    }

    /// Ends every process of the command that is left.
    pub(crate) fn end_all(self) -> Left {
        let left = self.request_end();
        self.guard.into_iter().for_each(Guard::stand_down);
        left
    }

    fn request_end(&self) -> Left {
        let Some(requests) = &self.requests else { return Left::default() };
        let (reply, answer) = channel();
        match requests.send(reply) {
            Ok(()) => answer.recv().unwrap_or_default(),
            Err(_) => Left::default(),
        }
    }
}

/// Takes this thread to its place and has the command started.
fn begin(enclosure: Enclosure, command: Command, runtime: Handle) -> io::Result<Child> {
    if enclosure.0.is_scoped {
        restriction(&enclosure)?.enter_outer()?;
    }
    start_inside(enclosure, command, runtime)
}

/// Starts the command from a thread that has entered the wall, and is gone when this returns: the command could look into it.
fn start_inside(enclosure: Enclosure, mut command: Command, runtime: Handle) -> io::Result<Child> {
    let body = move || {
        let _runtime = runtime.enter();
        // The command holds the writing ends of its pipe; while it lived on here the pipe would never end.
        restriction(&enclosure)?.enter().and_then(|()| command.spawn())
    };
    let thread = std::thread::Builder::new().name("tine-wall".to_owned()).spawn(body)?;
    thread.join().map_err(|_| io::Error::other("the thread behind the wall failed"))?
}

fn restriction(enclosure: &Enclosure) -> io::Result<&Restriction> {
    match &enclosure.0.layer {
        Layer::Restriction(restriction, _) => Ok(restriction),
        Layer::View(_) => Err(io::Error::other("the stages restrict the commands of a view")),
    }
}

/// Answers requests, and meanwhile counts what the processes use together. The guard stands outside of the wall, where this thread stands,
/// and is none of them.
fn answer(requests: &Receiver<Request>, mut usage: Usage, guard: Option<Pid>) {
    let mut exceeded = None;
    loop {
        match requests.recv_timeout(usage.pause()) {
            Ok(reply) => {
                // Whoever asked may be gone.
                let _ = reply.send(Left { any: end_everything_inside(guard), exceeded });
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(limit) = usage.look_at(processes_inside(guard)) {
                    exceeded = Some(limit);
                    end_everything_inside(guard);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Ends all that this thread may signal, at once, so that nothing can slip away by starting others. First it looks at all of it, so
/// that a kernel that confined signals less than it said could not make tine end the user's programs. A guard goes with it: what it would
/// end is over.
pub(crate) fn end_everything_inside(guard: Option<Pid>) -> bool {
    let mut any = false;
    for _ in 0..LOOKS_MAX {
        let states: Vec<State> = processes_inside(guard).map(State::of).collect();
        if states.contains(&State::Outside) {
            break;
        }
        // The group of the first process stands for all processes that may be signalled.
        let _ = kill_process_group(Pid::INIT, Signal::KILL);
        if !states.contains(&State::Inside) {
            break;
        }
        any = true;
        std::thread::sleep(BETWEEN_LOOKS);
    }
    any
}

/// Those that this thread may signal, without the guard.
fn processes_inside(guard: Option<Pid>) -> impl Iterator<Item = Pid> {
    let own = rustix::process::getpid();
    processes().into_iter().filter(move |process| {
        *process != own && Some(*process) != guard && test_kill_process(*process).is_ok()
    })
}

/// What a process is, by its threads: the first of them may have ended before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Dead, and not yet looked at by who started it.
    Dead,
    /// Alive, and restricted as a wall's are.
    Inside,
    Outside,
}

impl State {
    fn of(process: Pid) -> Self {
        let path = format!("/proc/{}/task", process.as_raw_nonzero());
        let Ok(threads) = std::fs::read_dir(path) else { return Self::Dead };
        let texts = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
        let mut state = Self::Dead;
        for status in texts {
            let field = |name: &str| {
                let line =
                    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                line.map(str::trim).unwrap_or_default()
            };
            if field("State").starts_with(['Z', 'X']) {
                continue;
            }
            if field("NoNewPrivs") != "1" || field("Seccomp") != "2" {
                return Self::Outside;
            }
            state = Self::Inside;
        }
        state
    }
}
