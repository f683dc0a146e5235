//! What one command may use of the machine.

/// Limits of each process of a confined command. They stop accidents, and slow down what is meant: a command of many
/// processes can use each limit many times. The time limit of the call ends them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    };

    /// For a maintenance run, which looks things up and writes notes.
    pub const MAINTENANCE: Self = Self {
        processor_seconds: 120,
        memory_bytes: 4 << 30,
        address_bytes: Some(16 << 30),
        processes: 4_096,
        file_bytes: 256 << 20,
        open_files: 1_024,
    };
}
