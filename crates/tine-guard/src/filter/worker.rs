//! The filter of workers in a worktree of their own.

use std::path::Path;

use tine_model::RawJson;

use super::denial::Denial;
use super::directory::{Directory, FilterError, Holds};
use super::fields::{Fields, misspelled};
use super::{Judgement, bash, git};

/// For a worker in a worktree: `FileEdit` and `FileWrite` inside the worktree only, and in `Bash` no
/// git command that changes what all worktrees of the repository share: stashes, other branches, tags,
/// remotes, configuration. Other tools are left to the permission rules.
///
/// Of `Bash` only git is judged here; what else a command writes is the wall's part.
#[derive(Clone, Debug)]
pub struct WorkerFilter {
    worktree: Directory,
}

impl WorkerFilter {
    /// The filter for a worktree, which must be absolute and exist. Links in its path are resolved now.
    pub fn new(worktree: impl AsRef<Path>) -> Result<Self, FilterError> {
        Ok(Self { worktree: Directory::open(worktree.as_ref())? })
    }
}

impl Judgement for WorkerFilter {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        let judged = match tool {
            "FileEdit" | "FileWrite" => self.worktree.judge_write(tool, input, Holds::Source),
            "Bash" => {
                let fields = Fields::parse(input)?.only("Bash", &bash::FIELDS)?;
                git::judge(self.worktree.path(), fields.required("command")?)
            }
            other => misspelled(other).map_or(Ok(()), Err),
        };
        judged.map_err(|denial| denial.or_hint(&self.worktree.hint()))
    }
}
