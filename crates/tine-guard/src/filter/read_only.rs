//! The filter of runs that only look, such as the summary for somebody who was away.

use std::path::Path;

use tine_model::RawJson;

use super::denial::Denial;
use super::fields::{Fields, refused};
use super::reads::Reads;
use super::{Judgement, bash};

const HINT: &str = "Use FileRead, Glob, Grep, or Bash with a command that only reads.";

/// `FileRead`, `Glob` and `Grep` except for secrets, `Bash` if the command only reads, and nothing else.
#[derive(Clone, Debug, Default)]
pub struct ReadOnlyFilter {
    reads: Reads,
}

impl ReadOnlyFilter {
    /// The filter, with relative paths beginning in the process's own directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same filter, where relative paths begin in `directory`.
    pub fn in_directory(self, directory: &Path) -> Self {
        Self { reads: self.reads.in_directory(directory) }
    }

    /// The same filter for a user whose home is `home` instead of the process's own: there are key stores in it.
    pub fn in_home(self, home: &Path) -> Self {
        Self { reads: self.reads.in_home(home) }
    }
}

impl Judgement for ReadOnlyFilter {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        let judged = match tool {
            "Bash" => Fields::parse(input).and_then(|fields| bash::judge(fields, &self.reads)),
            tool if Reads::knows(tool) => self.reads.judge(tool, input),
            other => Err(refused(other, HINT)),
        };
        judged.map_err(|denial| denial.or_hint(HINT))
    }
}
