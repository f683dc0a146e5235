//! Cassettes: exchanges with a model on a tape, one a line, and a client that answers from it.
//!
//! The first line of a tape says what it is. Every other line is an exchange: which model in which format, the request's body and
//! its hash, and the reply. A request is found by its hash, so whoever repeats a run must send the same bytes: nothing that
//! differs from run to run may be in them. Requests that are equal are answered in the order in which they were recorded.
//!
//! Keys never land on a tape: headers are not recorded, and what looks like a secret in a body or a reply is replaced *before* it
//! is hashed and before the reply is given to the run. So the run that is recorded sees what the repeated one will see.
//!
//! What is not recorded: a request that got no reply (a refusal, a broken connection, a stop). A run with one cannot be repeated.

mod line;
mod record;
mod replay;
mod reply;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tine_model::ModelRef;

pub use record::{Recorder, TapeWriter};
pub use replay::Replayer;

use line::Exchange;

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 1;

/// Largest tape, in bytes: all of it is held in memory.
const TAPE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    /// The version of the format.
    tine_tape: u32,
    /// The suite that was recorded.
    suite: String,
    /// The model that all its cases were given, where one was.
    model: Option<String>,
    /// The model of the cases that name none.
    fallback: Option<String>,
}

/// A tape that was read.
#[derive(Debug, Clone)]
pub struct Tape {
    /// The suite that was recorded.
    pub suite: String,
    /// The model that all its cases were given instead of their own, where one was.
    pub model: Option<ModelRef>,
    /// The model of the cases that name none.
    pub fallback: Option<ModelRef>,
    exchanges: Vec<Exchange>,
}

/// Why a tape cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The file cannot be read.
    #[error("cannot read the tape {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the tape {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is no tape.
    #[error("{} is not a tape of `tine eval --record`", .0.display())]
    NoTape(PathBuf),
    /// Another version wrote it.
    #[error("{} is a tape of version {version}, and this tine reads version {VERSION}", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A line cannot be read.
    #[error("{}:{line}: {what}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

impl Tape {
    /// Reads a tape from a file.
    pub fn load(path: &Path) -> Result<Self, TapeError> {
        let read = |source| TapeError::Read { path: path.to_owned(), source };
        if std::fs::metadata(path).map_err(read)?.len() > TAPE_BYTES_MAX {
            return Err(TapeError::NoTape(path.to_owned()));
        }
        Self::parse(&std::fs::read(path).map_err(read)?, path)
    }

    /// Reads a tape from its bytes; `origin` is what errors call it.
    pub fn parse(bytes: &[u8], origin: &Path) -> Result<Self, TapeError> {
        let no_tape = || TapeError::NoTape(origin.to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| no_tape())?;
        let mut lines = (1..).zip(text.lines());
        let (_, first) = lines.next().ok_or_else(no_tape)?;
        let header: Header = serde_json::from_str(first).map_err(|_| no_tape())?;
        if header.tine_tape != VERSION {
            let version = header.tine_tape;
            return Err(TapeError::Version { path: origin.to_owned(), version });
        }
        let wrong = |line: usize, what: String| {
            let what = what.lines().next().unwrap_or_default().to_owned();
            TapeError::Line { path: origin.to_owned(), line, what }
        };
        let model = |name: Option<String>| {
            let model = name.map(|name| name.parse::<ModelRef>()).transpose();
            model.map_err(|error| wrong(1, error.to_string()))
        };
        let mut exchanges = Vec::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let exchange = Exchange::parse(line, number);
            exchanges.push(exchange.map_err(|what| wrong(number, what))?);
        }
        let (forced, fallback) = (model(header.model)?, model(header.fallback)?);
        Ok(Self { suite: header.suite, model: forced, fallback, exchanges })
    }

    /// How many exchanges are on it.
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether there is no exchange on it.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }
}
