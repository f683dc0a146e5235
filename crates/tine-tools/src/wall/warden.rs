//! The thread behind the wall: it starts one command there, and afterwards tells which processes are of that command.
//!
//! A process can leave its group, its session and its environment, but not the wall. Where the kernel confines signals to the wall, a
//! process that this thread may signal is one that the command has started.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::Enclosure;

/// How often processes are looked through: each round ends those it finds, and what those have started meanwhile comes in the next.
const ROUNDS_MAX: usize = 64;

/// A question: which of these may be signalled from inside.
type Question = (Vec<Pid>, Sender<Vec<Pid>>);

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Warden {
    /// `None` where signals are not confined, so that the answer would mean nothing.
    questions: Option<Sender<Question>>,
}

impl Warden {
    /// Starts `command` inside. Must be called within a tokio runtime; blocks until the command runs, about as long as
    /// starting it takes.
    pub(crate) fn start(enclosure: &Enclosure, mut command: Command) -> io::Result<(Child, Self)> {
        let runtime = Handle::current();
        let enclosure = enclosure.clone();
        let is_scoped = enclosure.0.is_scoped;
        let (started, start) = channel();
        let (questions, asked) = channel::<Question>();
        let body = move || {
            let _runtime = runtime.enter();
            let child = enclosure.0.restriction.enter().and_then(|()| command.spawn());
            // The command holds the writing ends of its pipe; while it lives the pipe would never end.
            drop((command, enclosure));
            if started.send(child).is_ok() {
                answer(&asked);
            }
        };
        std::thread::Builder::new().name("tine-warden".to_owned()).spawn(body)?;
        let child = start.recv().map_err(io::Error::other)??;
        Ok((child, Self { questions: is_scoped.then_some(questions) }))
    }

    /// Ends every process of the command that is left. Returns whether there was one.
    pub(crate) fn end_all(&self) -> bool {
        let mut any = false;
        for _ in 0..ROUNDS_MAX {
            let found = self.left();
            if found.is_empty() {
                break;
            }
            any = true;
            for process in found {
                // It may have ended by itself meanwhile.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        any
    }

    fn left(&self) -> Vec<Pid> {
        let Some(questions) = &self.questions else { return Vec::new() };
        let own = rustix::process::getpid();
        let others = processes().into_iter().filter(|process| *process != own).collect();
        let (reply, answer) = channel();
        if questions.send((others, reply)).is_err() {
            return Vec::new();
        }
        let signalled = answer.recv().unwrap_or_default();
        signalled.into_iter().filter(|process| is_behind_a_wall(*process)).collect()
    }
}

fn answer(questions: &Receiver<Question>) {
    while let Ok((processes, reply)) = questions.recv() {
        let own = processes.into_iter().filter(|process| test_kill_process(*process).is_ok());
        // Whoever asked may be gone.
        let _ = reply.send(own.collect());
    }
}

fn processes() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).collect()
}

/// Whether a process is alive and restricted as a wall's are. A second look, so that a kernel that confined signals less than
/// it said could not make tine end the user's programs.
fn is_behind_a_wall(process: Pid) -> bool {
    let path = format!("/proc/{}/status", process.as_raw_nonzero());
    let Ok(status) = std::fs::read_to_string(path) else { return false };
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim).unwrap_or_default()
    };
    let is_dead = field("State").starts_with(['Z', 'X']);
    !is_dead && field("NoNewPrivs") == "1" && field("Seccomp") == "2"
}
