//! Processes of a command that have left its group.
//!
//! `setsid` takes a process out of reach of signals to the group, and a parent that ends takes it out of the tree.
//! What stays with it is its environment, so every command carries a mark there, and a command that is stopped is looked
//! for by its mark. On systems without `/proc` the group is all that is ended.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::Process;

/// How often the processes are looked through: one that is killed may have started another just before.
const ROUNDS_MAX: usize = 3;

/// Most looks at a process that has no environment, and the pause after each.
const EMPTY_LOOKS: usize = 100;
const EMPTY_PAUSE: Duration = Duration::from_micros(50);

/// More than the environments that are met.
const ENVIRONMENT_BYTES: usize = 128 * 1024;

static STARTED: AtomicU64 = AtomicU64::new(0);

/// The mark of one command: no other command of this machine has it, also when the number of a process is used again.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// The variable that holds the mark.
    pub(crate) const VARIABLE: &'static str = "TINE_COMMAND";

    pub(crate) fn new() -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{}-{number}", std::process::id(), own_start()))
    }

    /// The mark that has this text.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    /// Returns true if the tine that started the command is one of these processes and lives.
    pub(crate) fn has_living_tine(&self, all: &[Process]) -> bool {
        let mut parts = self.0.split('-');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (id, start) = (number(), number());
        let is_tine = |process: &Process| {
            u64::try_from(process.id).ok() == id && Some(process.start) == start
        };
        all.iter().any(|process| is_tine(process) && !process.is_dead)
    }

    /// Kills every process that carries the mark. Returns true if there were some.
    pub(crate) fn kill(&self) -> bool {
        let mut were_some = false;
        for _ in 0..ROUNDS_MAX {
            let found = self.processes();
            if found.is_empty() {
                break;
            }
            were_some = true;
            for process in found {
                // It may have ended by itself meanwhile.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        were_some
    }

    fn processes(&self) -> Vec<Pid> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let numbers =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|id| self.is_carried_by(*id)).filter_map(Pid::from_raw).collect()
    }

    /// A process that is dead and not yet reaped has no environment, and other users' cannot be read. One that is replacing
    /// its program has none for some microseconds, but a program, unlike the dead and the kernel's threads.
    fn is_carried_by(&self, id: i32) -> bool {
        let wanted = format!("{}={}", Self::VARIABLE, self.0);
        for _ in 0..EMPTY_LOOKS {
            match environment(id) {
                Ok(text) if !text.is_empty() => {
                    return text.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes());
                }
                Ok(_) if std::fs::read_link(format!("/proc/{id}/exe")).is_ok() => {
                    std::thread::sleep(EMPTY_PAUSE);
                }
                _ => return false,
            }
        }
        false
    }
}

/// The environment that a process was started with, its entries ended by NUL. It is read at once where it fits: what is
/// read in pieces ends early if the process replaces its program meanwhile.
fn environment(id: i32) -> io::Result<Vec<u8>> {
    let mut file = File::open(format!("/proc/{id}/environ"))?;
    let mut text = vec![0; ENVIRONMENT_BYTES];
    let read = file.read(&mut text)?;
    text.truncate(read);
    if read == ENVIRONMENT_BYTES {
        file.read_to_end(&mut text)?;
    }
    Ok(text)
}

/// When this process started, in ticks since the machine did; 0 where the system does not tell.
fn own_start() -> u64 {
    static START: OnceLock<u64> = OnceLock::new();
    *START.get_or_init(|| {
        let own = i32::try_from(std::process::id()).ok().and_then(Process::now);
        own.map_or(0, |process| process.start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_tine_for_good() {
        let (first, second) = (Mark::new(), Mark::new());
        assert_ne!(first.value(), second.value());
        let own = Process { parent: 1, is_dead: false, start: own_start(), id: own_id() };
        assert!(first.has_living_tine(&[own]));
        assert!(!first.has_living_tine(&[Process { is_dead: true, ..own }]));
        assert!(!first.has_living_tine(&[Process { start: own.start + 1, ..own }]), "used again");
        assert!(!first.has_living_tine(&[]));
    }

    #[cfg(target_os = "linux")] // for `/proc`
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process that only replaces itself")]
    fn a_process_that_is_replacing_its_program_is_found() {
        let mark = Mark::new();
        let mut child = std::process::Command::new("/bin/sh");
        child.args(["-c", "exec /bin/sh -c \"$0\" \"$0\"", "exec /bin/sh -c \"$0\" \"$0\""]);
        let mut child = child.env(Mark::VARIABLE, mark.value()).spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let missed = (0..3000).filter(|_| !mark.is_carried_by(id)).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(missed, 0, "of 3000 looks");
    }

    fn own_id() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }
}
