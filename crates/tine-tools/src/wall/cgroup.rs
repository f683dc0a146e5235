//! A control group of the kernel around a command, where a part of the tree of version 2 was given to this user: it holds while
//! `usage.rs` does not look.
//!
//! Facts: the kernel's documentation of control groups (`admin-guide/cgroup-v2`). Limits: only the group that tine itself is in,
//! and the one above it, are looked at, and nothing is moved but the command.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{Access, access};

use super::{CommandLimit, CommandLimits};

/// What the names of groups begin with; the number of the process that made it comes next.
const BEGINNING: &str = "tine-";

/// The file that lists the processes of a group, and takes new ones.
const PROCESSES: &str = "cgroup.procs";

/// Processes above the limit at which tine stops the command, so that it is tine that says so.
const PROCESSES_MORE: u64 = 64;

/// Looks at a group that was killed until it is empty, and the time between two.
const LOOKS_MAX: usize = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A group that was made for one command. It is killed and removed when this is dropped.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    directory: PathBuf,
    memory_bytes_max: u64,
}

/// Returns true if this user may make control groups that limit commands here.
pub fn has_control_groups() -> bool {
    place().is_some()
}

impl ControlGroup {
    /// Makes a group with these limits; `None` where this user may not.
    pub(crate) fn new(limits: CommandLimits) -> Option<Self> {
        Self::below(&place()?, limits).ok()
    }

    fn below(parent: &Path, limits: CommandLimits) -> io::Result<Self> {
        clear(parent);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = parent.join(format!("{BEGINNING}{}-{number}", std::process::id()));
        std::fs::create_dir(&directory)?;
        // Dropped, and so removed, where one of the limits is refused.
        let group = Self { directory, memory_bytes_max: limits.memory_bytes_max() };
        group.write("memory.max", group.memory_bytes_max)?;
        // Without swap there is no such file.
        let _ = group.write("memory.swap.max", 0);
        // One process that is killed for its memory takes the others along.
        group.write("memory.oom.group", 1)?;
        group.write("pids.max", limits.processes.saturating_add(PROCESSES_MORE))?;
        Ok(group)
    }

    fn write(&self, file: &str, value: u64) -> io::Result<()> {
        std::fs::write(self.directory.join(file), value.to_string())
    }

    /// The file to which a process writes `0` to be a part of the group.
    pub(crate) fn processes(&self) -> PathBuf {
        self.directory.join(PROCESSES)
    }

    /// Takes another process in.
    pub(crate) fn take(&self, process: u32) -> io::Result<()> {
        self.write(PROCESSES, process.into())
    }

    /// The limit for which the kernel has ended the command.
    pub(crate) fn exceeded(&self) -> Option<CommandLimit> {
        let events = std::fs::read_to_string(self.directory.join("memory.events")).ok()?;
        let killed = events.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
        (killed.trim() != "0").then_some(CommandLimit::MemoryBytes(self.memory_bytes_max))
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        remove(&self.directory);
    }
}

/// Kills what is left in a group and removes it. A group that stays is removed by a later run.
fn remove(directory: &Path) {
    // Kernels before 5.14 have no such file; tine ends the processes of a command anyway.
    let _ = std::fs::write(directory.join("cgroup.kill"), "1");
    for _ in 0..LOOKS_MAX {
        match std::fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(BETWEEN_LOOKS);
            }
            Ok(()) | Err(_) => return,
        }
    }
}

/// Removes the groups of processes of tine that were killed.
fn clear(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(BEGINNING)?.split('-').next());
        let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if maker.filter(is_number).is_some_and(|maker| !Path::new("/proc").join(maker).exists()) {
            // It is empty: what runs in it ends with tine. One that is not is somebody's whose processes are not seen here.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// The group below which groups of commands can be made.
fn place() -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let directory = own_group(&own, &mounts)?;
    let candidates = [Some(directory.as_path()), directory.parent()];
    candidates.into_iter().flatten().find(|group| limits_children(group)).map(Path::to_owned)
}

/// Returns true if groups can be made in this one whose memory and processes are limited.
fn limits_children(group: &Path) -> bool {
    let enabled = std::fs::read_to_string(group.join("cgroup.subtree_control"));
    let enabled = enabled.unwrap_or_default();
    let has = |controller: &str| enabled.split_whitespace().any(|word| word == controller);
    let may_write = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    has("memory") && has("pids") && may_write(group) && may_write(&group.join(PROCESSES))
}

/// The directory of this process's group, from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo` (cgroups(7),
/// proc_pid_mountinfo(5)).
fn own_group(own: &str, mounts: &str) -> Option<PathBuf> {
    let own = Path::new(own.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let fields: Vec<&str> = mount.split(' ').collect();
        let (root, at) = (fields.get(3)?, fields.get(4)?);
        let below = own.strip_prefix(root).ok()?;
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        (kind.starts_with("cgroup2 ") && is_plain).then(|| Path::new(at).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::super::ResourceLimits;
    use super::*;

    #[test]
    fn the_own_group_is_found_where_the_tree_is_mounted() {
        let mounts = "24 30 0:22 / /proc rw,nosuid - proc proc rw\n\
            31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = |own: &str, mounts: &str| own_group(own, mounts);
        let own = "1:name=systemd:/x\n0::/user.slice/app.slice/a.scope\n";
        let expected = PathBuf::from("/sys/fs/cgroup/user.slice/app.slice/a.scope");
        assert_eq!(found(own, mounts), Some(expected));
        let part = "31 23 0:27 /user.slice /sys/fs/cgroup rw - cgroup2 none rw\n";
        assert_eq!(found(own, part), Some(PathBuf::from("/sys/fs/cgroup/app.slice/a.scope")));
        // Another part of the tree is mounted, or none, or the group lies outside of what is seen.
        for (own, mounts) in [
            (own, "31 23 0:27 /other /sys/fs/cgroup rw - cgroup2 none rw\n"),
            (own, "31 23 0:27 / /sys/fs/cgroup rw - cgroup cgroup rw,pids\n"),
            ("0::/../../a\n", mounts),
            ("4:memory:/a\n", mounts),
            ("", ""),
        ] {
            assert_eq!(found(own, mounts), None, "{own} {mounts}");
        }
    }

    #[test]
    fn a_group_has_the_limits_and_those_of_dead_processes_go() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join("tine-4194305-0");
        let (other, own) = ("tine-notes", format!("tine-{}-x", std::process::id()));
        for name in [dead.to_str().unwrap(), other, own.as_str()] {
            std::fs::create_dir(parent.path().join(name)).unwrap();
        }
        let limits = CommandLimits {
            memory_bytes: Some(1 << 20),
            processes: 10,
            ..ResourceLimits::WORKER.command
        };
        let group = ControlGroup::below(parent.path(), limits).unwrap();
        let written = |name: &str| std::fs::read_to_string(group.directory.join(name)).unwrap();
        assert_eq!(
            (written("memory.max").as_str(), written("pids.max").as_str()),
            ("1048576", "74")
        );
        assert_eq!(group.exceeded(), None);
        std::fs::write(group.directory.join("memory.events"), "oom 1\noom_kill 0\n").unwrap();
        assert_eq!(group.exceeded(), None);
        std::fs::write(group.directory.join("memory.events"), "oom 1\noom_kill 3\n").unwrap();
        assert_eq!(group.exceeded(), Some(CommandLimit::MemoryBytes(1 << 20)));
        assert!(!limits_children(parent.path()));
        for file in [PROCESSES, "cgroup.subtree_control"] {
            std::fs::write(parent.path().join(file), "cpu memory pids\n").unwrap();
        }
        assert!(limits_children(parent.path()));
        assert!(!dead.exists());
        assert!(parent.path().join(other).exists() && parent.path().join(own).exists());
    }
}
