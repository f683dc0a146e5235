//! Processes of a command that have left its group.
//!
//! `setsid` takes a process out of reach of signals to the group, and a parent that ends takes it out of the tree.
//! What stays with it is its environment, so every command carries a mark there, and a command that is stopped is looked
//! for by its mark. On systems without `/proc` the group is all that is ended.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::Process;

/// How often the processes are looked through: one that is killed may have started another just before.
const ROUNDS_MAX: usize = 3;

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

    /// A process that is dead and not yet reaped has no environment, and other users' cannot be read.
    fn is_carried_by(&self, id: i32) -> bool {
        let wanted = format!("{}={}", Self::VARIABLE, self.0);
        std::fs::read(format!("/proc/{id}/environ"))
            .is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()))
    }
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

    fn own_id() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }
}
