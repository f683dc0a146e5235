//! Processes of a command that have left its group.
//!
//! `setsid` takes a process out of reach of signals to the group, and a parent that ends takes it out of the tree.
//! What stays with it is its environment, so every command carries a mark there, and a command that is stopped is looked
//! for by its mark. On systems without `/proc` the group is all that is ended.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};

/// The variable that holds the mark.
pub(super) const VARIABLE: &str = "TINE_COMMAND";

/// How often the processes are looked through: one that is killed may have started another just before.
const ROUNDS_MAX: usize = 3;

static STARTED: AtomicU64 = AtomicU64::new(0);

/// The mark of one command: unique among those that run at the same time on this machine.
#[derive(Debug)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{number}", std::process::id()))
    }

    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Kills every process that carries the mark.
    pub(super) fn kill(&self) {
        for _ in 0..ROUNDS_MAX {
            let found = self.processes();
            if found.is_empty() {
                return;
            }
            for process in found {
                // It may have ended by itself meanwhile.
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }

    fn processes(&self) -> Vec<Pid> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let numbers =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|id| self.is_carried_by(*id)).filter_map(Pid::from_raw).collect()
    }

    /// A process that is dead and not yet reaped has no environment, and other users' cannot be read.
    fn is_carried_by(&self, id: i32) -> bool {
        let wanted = format!("{VARIABLE}={}", self.0);
        std::fs::read(format!("/proc/{id}/environ"))
            .is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()))
    }
}
