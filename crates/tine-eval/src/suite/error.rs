//! What is wrong with a suite, and where.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no suite.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The file cannot be read.
    #[error("cannot read the suite {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is larger than any suite.
    #[error("{} is larger than {most} bytes: it is no suite", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most.
        most: u64,
    },
    /// The text is not a suite.
    #[error("{}:{line}: {what}", .origin.display())]
    Wrong {
        /// The file.
        origin: PathBuf,
        /// Where in it, from 1.
        line: usize,
        /// What is wrong, on one line.
        what: String,
        /// What may help.
        hint: Option<String>,
    },
}

impl SuiteError {
    pub(super) fn wrong(
        origin: &Path,
        text: &str,
        offset: usize,
        what: String,
        hint: Option<String>,
    ) -> Self {
        let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let what = what.lines().collect::<Vec<_>>().join("; ");
        Self::Wrong { origin: origin.to_owned(), line, what, hint }
    }

    /// What may help, if that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Wrong { hint, .. } => hint.as_deref(),
            Self::Read { .. } | Self::TooLarge { .. } => None,
        }
    }
}
