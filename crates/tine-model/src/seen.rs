//! Files whose content an agent knows, because a message of its conversation shows or makes it.
//!
//! The marks are stored with the message. A run takes those of the messages that still count into its place, so forks, later
//! runs and compactions know what their context shows, and no more.

/// A file as a call read or wrote it. Stands beside the message that answers the call, and is never sent to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Relative to the agent's directory where the file lies in it, so that a fork in another directory finds its own copy; otherwise
    /// absolute.
    pub path: String,
    /// BLAKE3 of the whole content.
    pub hash: [u8; 32],
    /// Two bytes of each line's BLAKE3, by which a later reader finds the lines that changed. Empty for files of more than
    /// [`SEEN_LINES_MAX`] lines.
    pub lines: Vec<u16>,
}

/// Most lines of a file that are told apart: four characters of the log for each, beside the line itself.
pub const SEEN_LINES_MAX: usize = 2_000;
