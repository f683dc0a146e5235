//! What a process keeps in memory, as Linux counts it.

use std::time::Duration;

/// A process that used no processor for so long rests.
const REST: Duration = Duration::from_millis(700);

/// Nobody waits longer for a process to rest.
const RESTS_MAX: usize = 60;

/// Ticks of the processor's clock that a process at rest may use meanwhile: it looks at its own clock now and then.
const REST_TICKS_MAX: u64 = 1;

/// Kibibytes of a mebibyte.
const KIB: f64 = 1024.0;

/// The memory of a process in mebibytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Pages that are resident, those that other processes have as well among them.
    pub rss_mib: f64,
    /// The same where each page counts by the share of this process in it.
    pub pss_mib: f64,
    /// Pages of its own that no file has: what it allocated.
    pub anonymous_mib: f64,
}

impl Memory {
    /// The memory of a process now; none where the process is gone, or the system does not say.
    pub fn of(process: u32) -> Option<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?)
    }

    /// The same once the process has nothing to do. Blocks until then, for some seconds at most.
    pub fn at_rest(process: u32) -> Option<Self> {
        let mut before = ticks(process)?;
        for _ in 0..RESTS_MAX {
            std::thread::sleep(REST);
            let now = ticks(process)?;
            if now.saturating_sub(before) <= REST_TICKS_MAX {
                break;
            }
            before = now;
        }
        Self::of(process)
    }

    fn read(text: &str) -> Option<Self> {
        let mib = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: f64 = line.trim_start_matches(':').trim().strip_suffix(" kB")?.parse().ok()?;
            Some(kib / KIB)
        };
        Some(Self { rss_mib: mib("Rss")?, pss_mib: mib("Pss")?, anonymous_mib: mib("Anonymous")? })
    }
}

/// What a process used of the processor, in ticks of its clock.
fn ticks(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold blanks and brackets.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11).take(2);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_read() {
        let text = "55-7f ---p 00000000 00:00 0 [rollup]\nRss:  2048 kB\nPss:  1024 kB\nPss_Anon: 3 kB\nAnonymous:  512 kB\n";
        let expected = Memory { rss_mib: 2.0, pss_mib: 1.0, anonymous_mib: 0.5 };
        assert_eq!(Memory::read(text), Some(expected));
        assert_eq!(Memory::read("Rss: none"), None);
    }
}
