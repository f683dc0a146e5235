//! The processes below this one, found by their parents.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, getpid, kill_process, wait};

use crate::processes::{all_processes, below};

/// Most looks at whether all that were killed are gone, and the time between two looks. A process that writes to a slow disk
/// may take that long; it does nothing more for its command.
const LOOKS_MAX: usize = 2_500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Kills every process below this one until there is none, and reaps those that have become its children. Each look may find new ones:
/// those that a killed process has just started. Returns false if some are left: this process may not kill another user's.
pub(super) fn end_descendants() -> bool {
    for _ in 0..LOOKS_MAX {
        let mut found = below(getpid().as_raw_nonzero().get(), &all_processes());
        let are_none = found.is_empty();
        // One that has ended by itself meanwhile is killed.
        found.retain(|process| {
            process.pid().is_some_and(|pid| kill_process(pid, Signal::KILL) != Err(Errno::PERM))
        });
        reap();
        if are_none || found.is_empty() {
            return are_none;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    false
}

/// Waits until nothing is below this process. What it may not kill stays its descendant meanwhile, so that recovery finds it.
pub(super) fn outlast_descendants() {
    // The end of a child is when others may be left that can be killed.
    while !end_descendants() && wait(WaitOptions::empty()).is_ok() {}
}

fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}
