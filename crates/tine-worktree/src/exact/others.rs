//! Things in a checkout that git knows nothing of: named pipes, sockets, devices, and `.git` files that lead nowhere.
//!
//! Git lists none of these. So the directories that it has files of are gone through, and of the others those that it does not ignore.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::permissions;
use crate::error::WorktreeError;
use crate::git::{Git, joined, parts, path};
use crate::making::DOT_GIT;
use crate::repository::Repository;
use crate::snapshot::Entry;
use crate::wary;

/// Most directories without a file of git's that are gone through one below the other.
const DEPTH_MAX: usize = 64;

/// Something of a checkout that a worktree does not get.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Relative to the top of the checkout.
    pub path: PathBuf,
    /// The kind of thing that it is.
    pub kind: LeftOutKind,
}

/// A kind of thing that a worktree does not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutKind {
    /// It belongs to a program that runs.
    Socket,
    /// Only root could make another one.
    Device,
    /// A `.git` directory that is no repository.
    GitFolder,
    /// HEAD is a branch without a commit; a worktree begins with an empty commit.
    UnbornHead,
}

impl fmt::Display for LeftOutKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::GitFolder => "a directory that is no repository",
            Self::UnbornHead => "a branch without a commit",
        })
    }
}

/// Things that git knows nothing of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Others {
    /// Named pipes, and their permissions.
    pub(crate) pipes: BTreeMap<PathBuf, u32>,
    /// `.git` files that lead to no repository, and what they say.
    pub(crate) links: BTreeMap<PathBuf, Vec<u8>>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A walk through a checkout.
struct Walk<'a> {
    top: &'a Path,
    /// Directories in which git has files.
    known: BTreeSet<PathBuf>,
    /// Other repositories.
    repositories: BTreeSet<&'a Path>,
    found: Others,
}

impl Repository {
    /// Returns the things here that git knows nothing of. `entries`: all that it has; `left_out`: repositories inside.
    pub(crate) fn others(
        &self,
        git: &Git,
        entries: &[Entry],
        left_out: &[PathBuf],
    ) -> Result<Others, WorktreeError> {
        let mut known: BTreeSet<PathBuf> = [PathBuf::new()].into();
        for entry in entries {
            // What is above a directory that is known is known.
            for folder in entry.path.ancestors().skip(1) {
                if !known.insert(folder.to_owned()) {
                    break;
                }
            }
        }
        let inside = entries.iter().filter(|entry| entry.is_repository());
        let repositories = inside.map(|entry| entry.path.as_path());
        let repositories = repositories.chain(left_out.iter().map(PathBuf::as_path)).collect();
        let mut walk = Walk { top: self.top(), known, repositories, found: Others::default() };
        let folders: Vec<PathBuf> = walk.known.iter().cloned().collect();
        let mut next = folders.iter().flat_map(|folder| walk.go(folder)).collect::<Vec<_>>();
        for _ in 0..DEPTH_MAX {
            let ignored = ignored(git, &next)?;
            next.retain(|folder| !ignored.contains(folder));
            if next.is_empty() {
                break;
            }
            next = next.iter().flat_map(|folder| walk.go(folder)).collect();
        }
        let mut found = walk.found;
        let paths: Vec<PathBuf> = found.pipes.keys().cloned().collect();
        let others = found.left_out.iter().map(|left| left.path.clone());
        let ignored = ignored(git, &paths.into_iter().chain(others).collect::<Vec<_>>())?;
        found.pipes.retain(|path, _| !ignored.contains(path));
        found.left_out.retain(|left| !ignored.contains(&left.path));
        found.left_out.sort();
        Ok(found)
    }
}

impl Walk<'_> {
    /// Goes through one directory. Returns those in it that git has no file of.
    fn go(&mut self, folder: &Path) -> Vec<PathBuf> {
        // One that is not there, or that a link took the place of, has nothing.
        let place = self.top.join(folder);
        let is_folder = fs::symlink_metadata(&place).is_ok_and(|about| about.is_dir());
        let Some(entries) = is_folder.then(|| fs::read_dir(&place).ok()).flatten() else {
            return Vec::new();
        };
        let mut unknown = Vec::new();
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if entry.file_name() == DOT_GIT {
                if !folder.as_os_str().is_empty() {
                    self.dot_git(path, kind.is_dir(), kind.is_file());
                }
            } else if kind.is_fifo() {
                if let Ok(about) = entry.metadata() {
                    self.found.pipes.insert(path, permissions(&about));
                }
            } else if kind.is_socket() {
                self.leave(path, LeftOutKind::Socket);
            } else if kind.is_block_device() || kind.is_char_device() {
                self.leave(path, LeftOutKind::Device);
            } else if kind.is_dir()
                && !self.known.contains(&path)
                && !self.repositories.contains(path.as_path())
            {
                unknown.push(path);
            }
        }
        unknown
    }

    fn leave(&mut self, path: PathBuf, kind: LeftOutKind) {
        self.found.left_out.push(LeftOut { path, kind });
    }

    fn dot_git(&mut self, path: PathBuf, is_folder: bool, is_file: bool) {
        if is_folder {
            return self.leave(path, LeftOutKind::GitFolder);
        }
        if let Some(content) = is_file.then(|| wary::note(&self.top.join(&path)).ok()).flatten() {
            self.found.links.insert(path, content);
        }
    }
}

fn ignored(git: &Git, paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, WorktreeError> {
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    let names = joined(paths);
    let (_, said) = git.answer(["check-ignore", "-z", "--stdin"], &names)?;
    Ok(parts(&said).map(path).collect())
}
