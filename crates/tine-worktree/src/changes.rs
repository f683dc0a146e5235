//! What the work in a worktree changed since its start: files, commits, and the patch. Only reads.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use crate::diff::{differences, file_changes, paths_between};
use crate::error::WorktreeError;
use crate::ids::Commit;
use crate::repository::Repository;
use crate::snapshot::Snapshot;

/// What changed between the start of a worktree and what it held later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Every changed file, by path.
    pub files: Vec<FileChange>,
    /// The commits that were made, the oldest first.
    pub commits: Vec<MadeCommit>,
    /// Files that changed and are not committed as they stand.
    pub uncommitted: Vec<PathBuf>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Where it is, or was, relative to the top of the checkout.
    pub path: PathBuf,
    /// Where it was, if it was renamed.
    pub from: Option<PathBuf>,
    /// What became of it.
    pub status: Status,
    /// How much changed in it; `None` where that is not text.
    pub lines: Option<Lines>,
    /// What it was; `None` if it was not there.
    pub mode_before: Option<Mode>,
    /// What it is; `None` if it is gone.
    pub mode: Option<Mode>,
    /// The target of a link that is new or leads elsewhere than before; `None` for all others, and for a target that no system
    /// could follow.
    pub link: Option<PathBuf>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is new.
    Added,
    /// Its content changed, and perhaps whether it can be run.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path, and perhaps another content.
    Renamed,
    /// It became a link, or a link became a file.
    TypeChanged,
    /// Nothing but whether it can be run changed.
    ModeChanged,
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::TypeChanged => "type changed",
            Self::ModeChanged => "mode changed",
        })
    }
}

/// What a path is, as git tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A file.
    File,
    /// A file that can be run.
    Program,
    /// A symbolic link.
    Link,
    /// Another repository.
    Submodule,
}

impl Mode {
    /// Reads git's six digits; `None` for all zeros, which stand for no file.
    pub(crate) fn read(digits: &str) -> Option<Self> {
        match digits {
            "100755" => Some(Self::Program),
            "120000" => Some(Self::Link),
            "160000" => Some(Self::Submodule),
            "000000" => None,
            // Old versions of git wrote 100664, too.
            _ => Some(Self::File),
        }
    }

    pub(crate) fn is_regular(self) -> bool {
        matches!(self, Self::File | Self::Program)
    }
}

/// How many lines came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// Lines that were not there.
    pub added: u64,
    /// Lines that are gone.
    pub removed: u64,
}

/// One commit that was made in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCommit {
    /// Its name.
    pub commit: Commit,
    /// The first line of its message.
    pub subject: String,
    /// Its author: `name <address>`.
    pub author: String,
}

impl Repository {
    /// What changed between two states of a worktree of this repository, there or removed.
    pub fn changes(&self, start: &Snapshot, end: &Snapshot) -> Result<Changes, WorktreeError> {
        let files = file_changes(&self.git(), &start.work_tree, &end.work_tree)?;
        let commits = self.commits_since(start, end)?;
        let uncommitted = self.uncommitted(start, end)?;
        Ok(Changes { files, commits, uncommitted })
    }

    /// The same as a patch that `git apply` takes, binary files included, whatever the user's settings say of diffs. Not always text.
    /// Of some files, and of those in some directories, relative to the top of the checkout; of all without any.
    pub fn patch_of(
        &self,
        start: &Snapshot,
        end: &Snapshot,
        paths: &[PathBuf],
    ) -> Result<Vec<u8>, WorktreeError> {
        let form = ["-p", "--binary", "--full-index", "--submodule=short"];
        self.difference_as(&form, (start, end), paths)
    }

    /// The same as a list of files with a bar for each, as `git diff --stat` shows it. Of some files, and of those in some directories,
    /// relative to the top of the checkout; of all without any.
    pub fn stat_of(
        &self,
        start: &Snapshot,
        end: &Snapshot,
        paths: &[PathBuf],
    ) -> Result<String, WorktreeError> {
        let said = self.difference_as(&["--stat", "--summary"], (start, end), paths)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    fn difference_as(
        &self,
        form: &[&str],
        (start, end): (&Snapshot, &Snapshot),
        paths: &[PathBuf],
    ) -> Result<Vec<u8>, WorktreeError> {
        let plain = [
            "diff-tree",
            "-r",
            "--find-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
        ];
        let trees = [start.work_tree.as_str(), end.work_tree.as_str()];
        let options = plain.iter().chain(form).copied().chain(trees).chain(["--"]);
        let arguments = options.map(OsStr::new).chain(paths.iter().map(|path| path.as_os_str()));
        // A path is a path, whatever signs are in it.
        self.git().with("GIT_LITERAL_PATHSPECS", "1".as_ref()).run(arguments)
    }

    /// Commits that `end` has and `start` has not, the oldest first.
    pub(crate) fn commits_since(
        &self,
        start: &Snapshot,
        end: &Snapshot,
    ) -> Result<Vec<MadeCommit>, WorktreeError> {
        let range = format!("{}..{}", start.base, end.base);
        let said = self.git().run([
            "rev-list",
            "--reverse",
            "--topo-order",
            "--no-commit-header",
            "--encoding=UTF-8",
            // No field can hold a zero byte, and each has its place.
            "--format=%H%x00%s%x00%an <%ae>%x00",
            &range,
            "--",
        ])?;
        let text = String::from_utf8_lossy(&said);
        let fields: Vec<&str> = text.split('\0').collect();
        fields
            .chunks_exact(3)
            .map(|fields| {
                Ok(MadeCommit {
                    commit: Commit::parse(fields[0].trim_start())?,
                    subject: fields[1].to_owned(),
                    author: fields[2].to_owned(),
                })
            })
            .collect()
    }

    /// Files that changed since the start and are not committed as they stand.
    pub(crate) fn uncommitted(
        &self,
        start: &Snapshot,
        end: &Snapshot,
    ) -> Result<Vec<PathBuf>, WorktreeError> {
        let git = self.git();
        let changed = paths_between(&git, &start.work_tree, &end.work_tree)?;
        let open = differences(&git, &end.base_tree, &end.work_tree)?;
        Ok(open.into_iter().map(|found| found.path).filter(|path| changed.contains(path)).collect())
    }
}
