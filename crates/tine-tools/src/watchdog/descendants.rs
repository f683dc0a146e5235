//! The processes below this one, found by their parents.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, getpid, kill_process, wait};

use crate::processes::{all_processes, below};

/// Most looks at whether all that were killed are gone, and the time between two looks. A process that writes to a slow disk
/// may take that long; it does nothing more for its command.
const LOOKS_MAX: usize = 2_500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// How long processes below may take to end by themselves once the command has: the rest of a pipe, a `tee` behind the output.
pub(crate) const OWN_END: Duration = Duration::from_millis(100);

/// How long they may tidy up after they were asked to end, before they are killed.
const GRACE: Duration = Duration::from_millis(500);

/// What a command has left behind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// Processes were alive, and were ended.
    pub(super) any: bool,
    /// Those that could not be ended, because they are another user's: names and numbers.
    pub(super) stay: Vec<String>,
}

/// Ends what a command has left behind below this process, wherever it has gone: it is asked first, and killed where that does not help.
pub(super) fn end_left_behind() -> Left {
    if are_gone_within(OWN_END) {
        return Left::default();
    }
    for process in below(getpid().as_raw_nonzero().get(), &all_processes()) {
        let _ = process.pid().map(|pid| kill_process(pid, Signal::TERM));
    }
    if are_gone_within(GRACE) || end_descendants() {
        return Left { any: true, stay: Vec::new() };
    }
    let stay = below(getpid().as_raw_nonzero().get(), &all_processes());
    let named = stay.iter().map(|process| {
        let name =
            std::fs::read_to_string(format!("/proc/{}/comm", process.id)).unwrap_or_default();
        format!("{} ({})", name.trim_end(), process.id)
    });
    Left { any: true, stay: named.collect() }
}

/// Reaps, and returns true once nothing is below this process: orphans come here, so that who has no child has nobody below it.
pub(crate) fn are_gone_within(time: Duration) -> bool {
    let start = Instant::now();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => return true,
            Ok(None) if start.elapsed() >= time => return false,
            Ok(None) => std::thread::sleep(BETWEEN_LOOKS),
        }
    }
}

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
