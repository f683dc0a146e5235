//! The filter of maintenance runs: they look at everything but secrets, and write only their memory.

use std::path::Path;

use tine_model::RawJson;

use super::denial::Denial;
use super::directory::{Directory, FilterError, Holds};
use super::fields::{Fields, refused};
use super::reads::Reads;
use super::tool_names::{BASH, FILE_EDIT, FILE_READ, FILE_WRITE, GLOB, GREP, REPL};
use super::{Judgement, bash};

/// For runs that tidy up a memory directory: `FileRead`, `Glob` and `Grep` except for secrets, `Bash`
/// if the command only reads, `FileEdit` and `FileWrite` inside the memory directory, and `REPL`, whose
/// inner calls must pass the same filter. Everything else is refused.
#[derive(Clone, Debug)]
pub struct AutoMemFilter {
    memory: Directory,
    reads: Reads,
}

impl AutoMemFilter {
    /// The filter for a memory directory, which must be absolute and exist. Links in its path are
    /// resolved now; if another directory stands there later, nothing may be written any more.
    pub fn new(memory_dir: impl AsRef<Path>) -> Result<Self, FilterError> {
        let memory = Directory::open(memory_dir.as_ref())?;
        let reads = Reads::default().with_notes(memory.path());
        Ok(Self { memory, reads })
    }

    /// The same filter, where relative paths of reads begin in `directory` instead of the process's own.
    pub fn in_directory(self, directory: &Path) -> Self {
        Self { reads: self.reads.in_directory(directory), ..self }
    }

    /// The same filter for a user whose home is `home` instead of the process's own: there are key stores in it.
    pub fn in_home(self, home: &Path) -> Self {
        Self { reads: self.reads.in_home(home), ..self }
    }

    /// The memory directory without links.
    pub fn memory_dir(&self) -> &Path {
        self.memory.path()
    }

    fn hint(&self) -> String {
        format!(
            "Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `{}`.",
            self.memory.path().display()
        )
    }
}

impl Judgement for AutoMemFilter {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        let judged = match tool {
            FILE_READ | GLOB | GREP => self.reads.judge(tool, input),
            FILE_EDIT | FILE_WRITE => self.memory.judge_write(tool, input, Holds::Notes),
            BASH => Fields::parse(input).and_then(|fields| bash::judge(fields, &self.reads)),
            REPL => Fields::parse(input).map(|_| ()),
            other => Err(refused(other, "")),
        };
        judged.map_err(|denial| denial.or_hint(&self.hint()))
    }
}
