//! The processes of this machine, as `/proc` shows them. Elsewhere there are none to see.

use rustix::process::Pid;

/// A process and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) parent: i32,
    /// In ticks since the machine started. With the number it names a process for good: numbers are used again.
    pub(crate) start: u64,
    /// Ended, and not yet reaped.
    pub(crate) is_dead: bool,
}

impl Process {
    /// Reads a line of `/proc/PID/stat`. The name in it may hold anything, brackets and blanks too.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let id = stat.split_once(' ')?.0.parse().ok()?;
        let mut rest = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = rest.next()?;
        let parent = rest.next()?.parse().ok()?;
        // The 20th field behind the name.
        let start = rest.nth(17)?.parse().ok()?;
        Some(Self { id, parent, start, is_dead: matches!(state, "Z" | "X") })
    }

    /// The process with this number at this moment.
    pub(crate) fn now(id: i32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
        // The kernel cuts a name at 15 bytes, in the middle of a letter too.
        Self::parse(&String::from_utf8_lossy(&stat))
    }

    pub(crate) fn pid(self) -> Option<Pid> {
        Pid::from_raw(self.id)
    }
}

/// Lists all processes.
pub(crate) fn all_processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(Process::now).collect()
}

/// Those of `all` that live and have `top` above them.
pub(crate) fn below(top: i32, all: &[Process]) -> Vec<Process> {
    let mut found = vec![top];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let children = all.iter().filter(|one| one.parent == parent && one.id != parent);
        let new: Vec<i32> = children.map(|one| one.id).collect();
        found
            .extend(new.into_iter().filter(|process| !found.contains(process)).collect::<Vec<_>>());
    }
    let is_below = |process: &&Process| found[1..].contains(&process.id) && !process.is_dead;
    all.iter().filter(is_below).copied().collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a process with an odd name has to be there")]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_a_name_that_is_cut_in_a_letter_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        // The kernel keeps 15 bytes of it: seven letters and a half.
        let program = folder.path().join("помощник");
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut child = std::process::Command::new(&program).arg("1000").spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        assert_eq!(Process::now(id).map(|one| one.id), Some(id));
        assert!(all_processes().iter().any(|one| one.id == id));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_living_below_a_process_are_found_at_any_depth() {
        let lines = [
            "7 (top) S 1 7 7 0",
            "8 (a) b ( c)) S 7 8 8 0",
            "9 (gone) Z 8 8 8 0",
            "10 (deep) R 8 10 10 0",
            "11 (other) S 1 11 11 0",
            "12 (own) S 12 12 12 0",
        ];
        let rest = "-1 4194560 90 0 0 0 11 4 30 2 20 0 3 0 5555 9000 60 1 1";
        let parse = |line: &&str| Process::parse(&format!("{line} {rest}"));
        let all: Vec<Process> = lines.iter().filter_map(parse).collect();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|process| process.start == 5555));
        let found: Vec<i32> = below(7, &all).into_iter().map(|one| one.id).collect();
        assert_eq!(found, [8, 10]);
        assert_eq!(Process::parse("garbage"), None);
    }
}
