//! The filter of workers in a worktree of their own.

use std::path::{Path, PathBuf};

use tine_model::RawJson;

use super::denial::{Denial, DenialCode};
use super::directory::{Directory, FilterError, Holds};
use super::fields::{Fields, misspelled};
use super::{Judgement, bash, git};
use crate::call::shown;
use crate::paths::normalise;
use crate::protected::is_picked_up_path;
use crate::real_path::real_path;
use crate::shell::ShellText;

/// For a worker in a worktree: `FileEdit` and `FileWrite` inside the worktree only, and in `Bash` no
/// git command that changes what all worktrees of the repository share: stashes, branches, tags,
/// remotes, configuration. Other tools are left to the permission rules.
///
/// Of `Bash` only git is judged here; what else a command writes is the wall's part.
#[derive(Clone, Debug)]
pub struct WorkerFilter {
    worktree: Directory,
    /// The directory that the worktree was made of, as it is written and as it really is.
    origin: Vec<PathBuf>,
}

impl WorkerFilter {
    /// The filter for a worktree, which must be absolute and exist. Links in its path are resolved now.
    pub fn new(worktree: impl AsRef<Path>) -> Result<Self, FilterError> {
        Ok(Self { worktree: Directory::open(worktree.as_ref())?, origin: Vec::new() })
    }

    /// The same filter, which says of a file in `origin` where it is in the worktree. `origin` is the directory that the
    /// worktree's directory was made of: the same path below each of them is the same file, twice.
    pub fn with_origin(self, origin: impl AsRef<Path>) -> Self {
        let written = normalise(origin.as_ref());
        let real = real_path(&written).ok();
        let mut origin: Vec<PathBuf> = [written].into_iter().chain(real).collect();
        origin.dedup();
        Self { origin, ..self }
    }

    /// Where a file of the origin is in the worktree; `None` for paths elsewhere.
    fn own(&self, written: &str) -> Option<PathBuf> {
        let path = normalise(&self.worktree.path().join(written));
        let places = [Some(path.clone()), real_path(&path).ok()];
        if places.iter().flatten().any(|place| place.starts_with(self.worktree.path())) {
            return None;
        }
        let below = places.iter().flatten().find_map(|place| {
            self.origin.iter().find_map(|origin| place.strip_prefix(origin).ok())
        })?;
        (!is_picked_up_path(below)).then(|| normalise(&self.worktree.path().join(below)))
    }

    /// A refusal with the path of the same file in the worktree, where there is one.
    fn translated(&self, denial: Denial, input: &RawJson) -> Denial {
        if denial.code() != DenialCode::Outside {
            return denial;
        }
        let written = Fields::parse(input)
            .ok()
            .and_then(|fields| fields.required("file_path").ok().map(ToOwned::to_owned));
        match written.and_then(|written| self.own(&written)) {
            Some(own) => denial.with_hint(format!(
                "In your worktree this file is `{}`; read it there before you change it.",
                shown(&own.to_string_lossy())
            )),
            None => denial,
        }
    }
}

impl Judgement for WorkerFilter {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        let judged = match tool {
            "FileEdit" | "FileWrite" => self
                .worktree
                .judge_write(tool, input, Holds::Source)
                .map_err(|denial| self.translated(denial, input)),
            "Bash" => {
                let fields = Fields::parse(input)?.only("Bash", &bash::ALL_FIELDS)?;
                git::judge(self.worktree.path(), &ShellText::new(fields.required("command")?))
            }
            other => misspelled(other).map_or(Ok(()), Err),
        };
        judged.map_err(|denial| denial.or_hint(&self.worktree.hint()))
    }
}
