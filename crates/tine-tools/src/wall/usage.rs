//! What the processes of a command use together, counted by looking at them from time to time.
//!
//! Limits. Between two looks a limit can be passed. Memory that processes share (mapped files, shared memory) does not count, and
//! what a forked process has in common with its parent counts twice. The time of a process that nobody waits for counts as it
//! was last seen.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::{CommandLimit, CommandLimits};

/// The time between two looks. A look at some dozen processes takes under a millisecond.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks take at most one of so many parts of the time.
const PARTS: u32 = 20;

/// Processes above one that are looked at. Numbers that are used again could go round.
const ABOVE_MAX: usize = 64;

/// Where the kernel shows processes.
const PROCESSES: &str = "/proc";

/// Counts what processes use together.
pub(super) struct Usage {
    limits: CommandLimits,
    memory_bytes_max: u64,
    seen: HashMap<(i32, u64), Process>,
    /// Time of processes that are gone, and that no process counts as that of a child.
    gone_ticks: u64,
    pause: Duration,
}

/// What one process uses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    /// The time of its start, which tells it from others of its number.
    started: u64,
    ticks: u64,
    /// Time of its children that have ended and that it has waited for.
    waited_ticks: u64,
    threads: u64,
    memory_bytes: u64,
}

impl Usage {
    pub(super) fn new(limits: CommandLimits) -> Self {
        let memory_bytes_max = limits.memory_bytes_max();
        let seen = HashMap::new();
        Self { limits, memory_bytes_max, seen, gone_ticks: 0, pause: PAUSE }
    }

    /// The time until the next look.
    pub(super) fn pause(&self) -> Duration {
        self.pause
    }

    /// Looks at all processes but this one, which is the first of their process namespace. Returns the limit that they pass.
    pub(super) fn look_from_within(&mut self) -> Option<CommandLimit> {
        self.look_at(processes().into_iter())
    }

    /// Looks at these processes. Returns the limit that they pass. Of this process itself nothing counts but the time of the
    /// children that it has waited for.
    pub(super) fn look_at(&mut self, all: impl Iterator<Item = Pid>) -> Option<CommandLimit> {
        let began = Instant::now();
        let all: Vec<Pid> = all.collect();
        // So many are not looked at one by one: meanwhile they would become more.
        if all.len() as u64 > self.limits.processes {
            return Some(CommandLimit::Processes(self.limits.processes));
        }
        let own = rustix::process::getpid();
        let shown = all.into_iter().filter_map(|id| {
            let process = Process::read(Path::new(PROCESSES), id.as_raw_nonzero().get())?;
            Some(if id == own { process.as_reaper() } else { process })
        });
        let shown = shown.collect();
        let exceeded = self.count(shown, rustix::param::clock_ticks_per_second());
        self.pause = PAUSE.max(began.elapsed() * PARTS);
        exceeded
    }

    fn count(&mut self, processes: Vec<Process>, ticks_per_second: u64) -> Option<CommandLimit> {
        let sum = |of: fn(&Process) -> u64| processes.iter().map(of).sum::<u64>();
        let (threads, memory_bytes) = (sum(|one| one.threads), sum(|one| one.memory_bytes));
        let ids: HashSet<i32> = processes.iter().map(|one| one.id).collect();
        let now: HashMap<_, _> =
            processes.into_iter().map(|one| ((one.id, one.started), one)).collect();
        // Where a process above it lives, the time of one that is gone has become that of a child which was waited for.
        let parents: HashMap<i32, i32> =
            self.seen.values().map(|one| (one.id, one.parent)).collect();
        let is_lost = |(key, one): &(&(i32, u64), &Process)| {
            let above = std::iter::successors(Some(one.parent), |id| parents.get(id).copied());
            !now.contains_key(*key) && !above.take(ABOVE_MAX).any(|id| ids.contains(&id))
        };
        let lost = self.seen.iter().filter(is_lost).map(|(_, one)| one.ticks + one.waited_ticks);
        self.gone_ticks += lost.sum::<u64>();
        self.seen = now;
        let ticks = self.seen.values().map(|one| one.ticks + one.waited_ticks).sum::<u64>();
        let seconds = (ticks + self.gone_ticks) / ticks_per_second.max(1);
        let CommandLimits { processor_seconds, processes, .. } = self.limits;
        if threads > processes {
            Some(CommandLimit::Processes(processes))
        } else if memory_bytes > self.memory_bytes_max {
            Some(CommandLimit::MemoryBytes(self.memory_bytes_max))
        } else if seconds > processor_seconds {
            Some(CommandLimit::ProcessorSeconds(processor_seconds))
        } else {
            None
        }
    }
}

impl Process {
    /// Reads what `root`, a directory like `/proc`, shows of a process; `None` if it is gone.
    fn read(root: &Path, id: i32) -> Option<Self> {
        let file = |name: &str| std::fs::read_to_string(root.join(id.to_string()).join(name)).ok();
        Self::parse(&file("stat")?, &file("statm")?, rustix::param::page_size() as u64)
    }

    /// Reads the texts of `stat` and `statm` (proc_pid_stat(5), proc_pid_statm(5)).
    fn parse(stat: &str, statm: &str, page_bytes: u64) -> Option<Self> {
        let (id, rest) = stat.split_once(' ')?;
        // The name may hold everything, spaces and brackets included.
        let fields: Vec<&str> = rest.rsplit_once(')')?.1.split_whitespace().collect();
        // The first field behind the name is the third of the list.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let mut pages = statm.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok());
        let (resident, shared) = (pages.next()?, pages.next()?);
        Some(Self {
            id: id.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            started: field(22)?,
            ticks: field(14)? + field(15)?,
            waited_ticks: field(16)? + field(17)?,
            threads: field(20)?,
            memory_bytes: resident.saturating_sub(shared) * page_bytes,
        })
    }

    /// The same, of which only the children count.
    fn as_reaper(&self) -> Self {
        Self { ticks: 0, threads: 0, memory_bytes: 0, ..self.clone() }
    }
}

/// All processes that this one sees.
pub(super) fn processes() -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir(PROCESSES) else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CommandLimits =
        CommandLimits { processor_seconds: 10, memory_bytes: Some(1 << 20), processes: 8 };

    fn process(id: i32, parent: i32, ticks: u64) -> Process {
        Process { id, parent, started: 7, ticks, waited_ticks: 0, threads: 1, memory_bytes: 4096 }
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = "42 (a) b ( c)) S 7 42 42 0 -1 4194560 90 0 0 0 11 4 30 2 20 0 3 0 5555 9000 60 18446744073709551615 1";
        let read = Process::parse(stat, "2000 60 20 1 0 30 0\n", 4096);
        let expected = Process {
            id: 42,
            parent: 7,
            started: 5555,
            ticks: 15,
            waited_ticks: 32,
            threads: 3,
            memory_bytes: 40 * 4096,
        };
        assert_eq!(read, Some(expected));
        for broken in ["", "42", "42 (a", "42 (a) S", "x (a) S 7 1 1 1"] {
            assert_eq!(Process::parse(broken, "1 1 1", 4096), None, "{broken}");
        }
        assert_eq!(Process::parse(stat, "2000", 4096), None);
    }

    #[test]
    fn what_all_use_together_counts() {
        let none = |processes: Vec<Process>| Usage::new(LIMITS).count(processes, 100);
        assert_eq!(none((0..8).map(|id| process(id, 1, 100)).collect()), None);
        let nine = (0..9).map(|id| process(id, 1, 0)).collect();
        assert_eq!(none(nine), Some(CommandLimit::Processes(8)));
        let large = |id| Process { memory_bytes: 600 << 10, ..process(id, 1, 0) };
        assert_eq!(none(vec![large(1)]), None);
        assert_eq!(none(vec![large(1), large(2)]), Some(CommandLimit::MemoryBytes(1 << 20)));
        let threads = Process { threads: 9, ..process(1, 1, 0) };
        assert_eq!(none(vec![threads]), Some(CommandLimit::Processes(8)));
    }

    #[test]
    fn the_time_of_processes_that_are_gone_counts_once() {
        let mut usage = Usage::new(LIMITS);
        assert_eq!(usage.count(vec![process(2, 1, 0), process(3, 2, 600)], 100), None);
        // The parent has waited for it.
        let parent = Process { waited_ticks: 600, ..process(2, 1, 0) };
        assert_eq!(usage.count(vec![parent, process(4, 1, 300)], 100), None);
        assert_eq!(usage.gone_ticks, 0);
        // One and its child go together, and the one above them has waited.
        let all = [process(2, 1, 0), process(3, 2, 0), process(4, 3, 600)];
        let mut chain = Usage::new(LIMITS);
        assert_eq!(chain.count(all.to_vec(), 100), None);
        let waited = Process { waited_ticks: 600, ..process(2, 1, 0) };
        assert_eq!((chain.count(vec![waited], 100), chain.gone_ticks), (None, 0));
        // Both go, and nobody who is seen has waited for them.
        assert_eq!(usage.count(vec![process(5, 1, 100)], 100), None);
        assert_eq!(usage.gone_ticks, 900);
        // Another process of an old number is another one.
        let other = Process { started: 8, ..process(5, 1, 100) };
        let exceeded = usage.count(vec![other], 100);
        assert_eq!(exceeded, Some(CommandLimit::ProcessorSeconds(10)));
        assert_eq!(usage.gone_ticks, 1_000);
    }
}
