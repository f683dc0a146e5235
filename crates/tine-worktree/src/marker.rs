//! The note that tine leaves with each worktree it has made: which one it is, and what it started from.
//!
//! It lies where git keeps what belongs to the worktree alone, so it goes with it. A worktree without one is unfinished; one whose
//! note has its second name is being removed, and what it held is kept already.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::WorktreeError;
use crate::fault;
use crate::ids::{Commit, Name, Tree};
use crate::snapshot::Snapshot;
use crate::wary;

const READY: &str = "tine.json";
const LEAVING: &str = "tine-leaving.json";

/// What the note says. Its start is what the worktree was made from: it may begin later, which its ref says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) name: Name,
    pub(crate) origin: PathBuf,
    pub(crate) inside: PathBuf,
    pub(crate) start: Snapshot,
    pub(crate) made_ms: i64,
}

/// Where a worktree stands in its life, by its note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Marked {
    Ready(Marker),
    Leaving(Marker),
    Not,
}

#[derive(Serialize, Deserialize)]
struct Row {
    version: u32,
    name: String,
    origin: PathBuf,
    inside: PathBuf,
    base: String,
    index: String,
    work: String,
    base_tree: String,
    index_tree: String,
    work_tree: String,
    made_ms: i64,
}

const VERSION: u32 = 1;

impl Marker {
    /// Writes the note, whole or not at all.
    pub(crate) fn write(&self, git_dir: &Path) -> Result<(), WorktreeError> {
        let (path, half) = (git_dir.join(READY), git_dir.join("tine.json.half"));
        let write = || {
            fault::step()?;
            let mut file = File::create(&half)?;
            file.write_all(&self.text()?)?;
            // Otherwise a power cut could leave its name with nothing in it.
            file.sync_all()?;
            fault::step()?;
            fs::rename(&half, &path)?;
            File::open(git_dir)?.sync_all()
        };
        write().map_err(|source| WorktreeError::file("write", &path, source))
    }

    /// The text of the note.
    pub(crate) fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        // What those do not hold is found by the last commit's parents.
        let Snapshot { base, index, work, base_tree, index_tree, work_tree, exact: _ } =
            &self.start;
        serde_json::to_vec_pretty(&Row {
            version: VERSION,
            name: self.name.to_string(),
            origin: self.origin.clone(),
            inside: self.inside.clone(),
            base: base.to_string(),
            index: index.to_string(),
            work: work.to_string(),
            base_tree: base_tree.to_string(),
            index_tree: index_tree.to_string(),
            work_tree: work_tree.to_string(),
            made_ms: self.made_ms,
        })
    }

    /// Reads the note of the worktree whose own part of git is this.
    pub(crate) fn read(git_dir: &Path) -> Result<Marked, WorktreeError> {
        if let Some(marker) = Self::read_one(&git_dir.join(READY))? {
            return Ok(Marked::Ready(marker));
        }
        Ok(Self::read_one(&git_dir.join(LEAVING))?.map_or(Marked::Not, Marked::Leaving))
    }

    fn read_one(path: &Path) -> Result<Option<Self>, WorktreeError> {
        let text = match wary::note(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(WorktreeError::file("read", path, source)),
        };
        let not_ours = |error: serde_json::Error| WorktreeError::file("read", path, error.into());
        Self::parse(&text).map_err(not_ours)?.map(Some)
    }

    /// The text of a note.
    pub(crate) fn parse(text: &[u8]) -> Result<Result<Self, WorktreeError>, serde_json::Error> {
        let row: Row = serde_json::from_slice(text)?;
        Ok(Self::from_row(row))
    }

    fn from_row(row: Row) -> Result<Self, WorktreeError> {
        let start = Snapshot {
            base: Commit::parse(&row.base)?,
            index: Commit::parse(&row.index)?,
            work: Commit::parse(&row.work)?,
            base_tree: Tree::parse(&row.base_tree)?,
            index_tree: Tree::parse(&row.index_tree)?,
            work_tree: Tree::parse(&row.work_tree)?,
            exact: None,
        };
        let name = Name::new(&row.name)?;
        Ok(Self { name, origin: row.origin, inside: row.inside, start, made_ms: row.made_ms })
    }

    /// From now on the worktree is being removed.
    pub(crate) fn leave(git_dir: &Path) -> Result<(), WorktreeError> {
        let path = git_dir.join(READY);
        fault::step()
            .and_then(|()| fs::rename(&path, git_dir.join(LEAVING)))
            .map_err(|source| WorktreeError::file("rename", &path, source))
    }
}
