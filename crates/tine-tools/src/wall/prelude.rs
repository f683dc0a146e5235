//! What the shell does before it becomes the command: it waits to be let go, closes what it has inherited, and sets the limits.
//!
//! Limits belong to a process, not to a thread, and so cannot be set before the command is started; set from outside they would
//! come too late for a quick one. The shell sets them and then becomes a second shell, which sees the command as it was
//! written.

use std::fmt::Write as _;

use rustix::process::{Resource, getrlimit};

use super::ResourceLimits;

const KIB: u64 = 1024;

/// Descriptors that every command has: its input, its output and its errors.
const STANDARD: u32 = 2;

/// Text for the shell.
pub(super) struct Prelude {
    limits: ResourceLimits,
    /// Descriptors that this process was started with, and that its children would get.
    inherited: Vec<u32>,
}

impl Prelude {
    pub(super) fn new(limits: ResourceLimits) -> Self {
        Self { limits, inherited: inherited() }
    }

    /// The text for `shell`; the command is its first argument. A limit that is lower already stays as it is. Where one cannot
    /// be set the command does not run.
    pub(super) fn text(&self, shell: &str) -> String {
        // The line comes when nobody is behind the wall but the command.
        let mut text = "read -r go&&exec </dev/null&&".to_owned();
        if !self.inherited.is_empty() {
            text.push_str("exec");
            for descriptor in &self.inherited {
                // Writing to a text cannot fail.
                let _ = write!(text, " {descriptor}>&-");
            }
            text.push_str("&&");
        }
        text.push_str("ulimit -c 0&&");
        let mut set = |flag: &str, resource: Resource, wanted: u64, unit: u64| {
            let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
            let _ = write!(text, "ulimit -{flag} {}&&", wanted.min(allowed) / unit);
        };
        let limits = &self.limits;
        // The small shells count in other blocks, and call processes what in bash is the size of pipes.
        let (block, processes) = if shell == "bash" { (KIB, "u") } else { (512, "p") };
        set("t", Resource::Cpu, limits.processor_seconds, 1);
        set("d", Resource::Data, limits.memory_bytes, KIB);
        if let Some(bytes) = limits.address_bytes {
            set("v", Resource::As, bytes, KIB);
        }
        set("f", Resource::Fsize, limits.file_bytes, block);
        set("n", Resource::Nofile, limits.open_files, 1);
        set(processes, Resource::Nproc, limits.processes, 1);
        let _ = write!(text, "exec {shell} -c \"$1\";exit 126");
        text
    }
}

/// Descriptors beyond the standard ones that are not closed when a program is started. tine's own all are; these were open when
/// tine began.
fn inherited() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut left: Vec<u32> = numbers.filter(|fd| *fd > STANDARD && !closes_itself(*fd)).collect();
    left.sort_unstable();
    left
}

/// Whether starting a program closes it; true also for one that is gone.
fn closes_itself(descriptor: u32) -> bool {
    let Ok(about) = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")) else {
        return true;
    };
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_none_or(|flags| flags & CLOSE_ON_EXEC != 0)
}

/// As `/proc` shows it, on every machine.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_shell_gets_the_words_it_knows() {
        let limits = ResourceLimits {
            processor_seconds: 5,
            memory_bytes: 1 << 20,
            address_bytes: Some(2 << 20),
            processes: 7,
            file_bytes: 4096,
            open_files: 9,
            ..ResourceLimits::WORKER
        };
        let prelude = Prelude { limits, inherited: vec![3, 10] };
        insta::assert_snapshot!(prelude.text("bash"), @r#"read -r go&&exec </dev/null&&exec 3>&- 10>&-&&ulimit -c 0&&ulimit -t 5&&ulimit -d 1024&&ulimit -v 2048&&ulimit -f 4&&ulimit -n 9&&ulimit -u 7&&exec bash -c "$1";exit 126"#);
        insta::assert_snapshot!(Prelude { limits, inherited: vec![] }.text("sh"), @r#"read -r go&&exec </dev/null&&ulimit -c 0&&ulimit -t 5&&ulimit -d 1024&&ulimit -v 2048&&ulimit -f 8&&ulimit -n 9&&ulimit -p 7&&exec sh -c "$1";exit 126"#);
    }
}
