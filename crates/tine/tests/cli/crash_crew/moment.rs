//! When a run is killed, and the killing.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::check::Books;
use super::scenario::Chance;

/// How often the store is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// A run that has not come to its moment after so many looks never will: it hangs, and is killed like all.
const LOOKS_MAX: u32 = 30_000;

/// What is waited for.
enum Until {
    /// So many records on its output.
    Records(u64),
    /// So many changes of the store.
    Changes(u64),
    /// The first notice in the root's mailbox: from here on the root delivers.
    Mail,
    /// The first worker's end on the output.
    WorkerEnded,
}

/// A moment, and how long after it.
pub(super) struct Moment {
    until: Until,
    after: Duration,
}

/// How a run that was to be killed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Killed,
    KilledAtDelivery,
    ByItself,
}

impl Ending {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::KilledAtDelivery => "killed around a delivery",
            Self::ByItself => "ended before their moment",
        }
    }
}

impl Moment {
    pub(super) fn new(chance: &mut Chance) -> Self {
        let until = match chance.below(5) {
            0 => Until::Records(1 + chance.below(30)),
            1 | 2 => Until::Changes(1 + chance.below(40)),
            3 => Until::Mail,
            _ => Until::WorkerEnded,
        };
        // A delivery comes within the time in which reports are gathered.
        let within = match until {
            Until::Records(_) | Until::Changes(_) => 10_000,
            Until::Mail | Until::WorkerEnded => 300_000,
        };
        Self { until, after: Duration::from_micros(chance.below(within)) }
    }

    /// Kills at the moment, or finds the run at its end before.
    pub(super) fn kill(&self, mut child: Child, books: &Books<'_>) -> Ending {
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let is_alive = self.comes(&lines, books);
        if is_alive {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        reader.join().unwrap();
        match (is_alive, &self.until) {
            (false, _) => Ending::ByItself,
            (true, Until::Records(_) | Until::Changes(_)) => Ending::Killed,
            (true, Until::Mail | Until::WorkerEnded) => Ending::KilledAtDelivery,
        }
    }

    /// Waits for the moment; `false` when the run was over before.
    fn comes(&self, lines: &Receiver<String>, books: &Books<'_>) -> bool {
        let (mut records, mut changes, mut version) = (0, 0, books.version());
        let mut looks = 0;
        loop {
            let is_here = match self.until {
                Until::Records(count) => records >= count,
                Until::Changes(count) => changes >= count,
                Until::Mail => books.has_mail(),
                Until::WorkerEnded => false,
            };
            if is_here || looks > LOOKS_MAX {
                return outlives(lines, self.after);
            }
            match lines.recv_timeout(LOOK) {
                Ok(line) => {
                    records += 1;
                    let ended = line.contains(r#""type":"worker_ended""#);
                    if ended && matches!(self.until, Until::WorkerEnded) {
                        return outlives(lines, self.after);
                    }
                }
                Err(RecvTimeoutError::Timeout) => looks += 1,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            let seen = books.version();
            changes += u64::from(seen != version);
            version = seen;
        }
    }
}

/// Lets time pass; whether the run is still there then.
fn outlives(lines: &Receiver<String>, time: Duration) -> bool {
    let end = std::time::Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        match lines.recv_timeout(left) {
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}
