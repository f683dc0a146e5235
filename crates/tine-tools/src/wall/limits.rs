//! What one command may use of the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Limits of a confined command: of each of its processes, which the kernel keeps, and of all of them together, which tine
/// counts. The time limit of the call ends them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Seconds of processor time of one process.
    pub processor_seconds: u64,
    /// Bytes that one process may write to.
    pub memory_bytes: u64,
    /// Bytes of addresses that one process may reserve; `None` does not limit them, because some runtimes reserve far more
    /// than they ever use.
    pub address_bytes: Option<u64>,
    /// Processes and threads of the user, all programs together. The kernel does not hold root to it.
    pub processes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Descriptors that one process has open.
    pub open_files: u64,
    /// What all processes of the command may use together.
    pub command: CommandLimits,
}

/// Limits of all processes of a command together. Where one is passed, the command is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Seconds of processor time, those of processes that have ended included.
    pub processor_seconds: u64,
    /// Bytes of memory that each process has for itself; `None` for three quarters of the machine's.
    pub memory_bytes: Option<u64>,
    /// Processes and their threads that exist at one time.
    pub processes: u64,
}

/// A limit of a whole command, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandLimit {
    /// Seconds of processor time.
    ProcessorSeconds(u64),
    /// Bytes of memory.
    MemoryBytes(u64),
    /// Processes and threads.
    Processes(u64),
}

impl fmt::Display for CommandLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProcessorSeconds(most) => write!(f, "{most} s of processor time"),
            Self::MemoryBytes(most) => write!(f, "{} MiB of memory", most >> 20),
            Self::Processes(most) => write!(f, "{most} processes and threads at a time"),
        }
    }
}

impl CommandLimit {
    /// The setting below `[confine]` that changes it.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::ProcessorSeconds(_) => "command_cpu_seconds",
            Self::MemoryBytes(_) => "command_memory_mib",
            Self::Processes(_) => "command_processes",
        }
    }
}

/// Limits of a whole command that a person has set; what is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandLimitsSet {
    /// Seconds of processor time.
    pub processor_seconds: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
}

impl CommandLimits {
    /// Bytes of memory, also where none are named.
    pub(super) fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes.or_else(three_quarters).unwrap_or(u64::MAX)
    }

    /// The same, with what is set.
    pub fn with(self, set: CommandLimitsSet) -> Self {
        Self {
            processor_seconds: set.processor_seconds.unwrap_or(self.processor_seconds),
            memory_bytes: set.memory_bytes.or(self.memory_bytes),
            processes: set.processes.unwrap_or(self.processes),
        }
    }
}

/// Three quarters of the machine's memory, in bytes.
fn three_quarters() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024 / 4 * 3)
}

impl ResourceLimits {
    /// For a worker, which builds and tests.
    pub const WORKER: Self = Self {
        // Ten minutes, the longest a call may take, on six cores at once.
        processor_seconds: 3_600,
        // The largest linkers and compilers stay below.
        memory_bytes: 16 << 30,
        address_bytes: None,
        // A desktop has one or two thousand of its own; a runaway is stopped before the machine is.
        processes: 8_192,
        // Larger than any build product, smaller than most disks' free space.
        file_bytes: 16 << 30,
        // Watchers and bundlers open many; more than the usual 1,024 must be possible.
        open_files: 16_384,
        command: CommandLimits {
            // Ten minutes on sixty cores.
            processor_seconds: 36_000,
            memory_bytes: None,
            // A build on many cores, or a browser with its tests, has some hundred.
            processes: 4_096,
        },
    };

    /// For a maintenance run, which looks things up and writes notes.
    pub const MAINTENANCE: Self = Self {
        processor_seconds: 120,
        memory_bytes: 4 << 30,
        address_bytes: Some(16 << 30),
        processes: 4_096,
        file_bytes: 256 << 20,
        open_files: 1_024,
        command: CommandLimits {
            processor_seconds: 600,
            memory_bytes: Some(8 << 30),
            processes: 512,
        },
    };
}
