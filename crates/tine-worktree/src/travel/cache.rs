//! Repositories of projects that are not at home on this machine: their objects, and worktrees of them.
//!
//! `<root>/<project>/checkout` is a repository whose own checkout stays empty; worktrees are made of it as of any other. It has no branches.
//! Refs below `refs/tine-cache/` hold the states that came last, so that a later bundle brings only what is new.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::conventions::Conventions;
use super::{Arrived, TravelError};
use crate::error::WorktreeError;
use crate::fault;
use crate::git::Git;
use crate::ids::Commit;
use crate::making::make_folder;
use crate::repository::Repository;
use crate::wary;

/// Most states of a project that are held for those that come later. Each says a line at the beginning of a bundle.
const STATES_MAX: usize = 16;

/// Most states that came whole that are held, beside those.
const WHOLES_MAX: usize = 4;

/// Refs of what is held.
const HELD: &str = "refs/tine-cache/";

/// The kind of those that came whole.
const WHOLE: &str = "whole";

/// The repository in the directory of a project.
const CHECKOUT: &str = "checkout";

/// The file in it that says when the project was last used, in milliseconds since the Unix epoch.
const USED: &str = "used";

/// Characters of the name of a project: a hash in hexadecimal.
const PROJECT_CHARACTERS: usize = 64;

/// The objects of one project. While it is held, [`Cache::trim`] waits.
#[derive(Debug)]
pub struct Cache {
    repository: Repository,
    _lock: File,
}

/// Limits of all projects together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Most projects.
    pub projects_max: usize,
    /// Most bytes on disk.
    pub bytes_max: u64,
}

impl Repository {
    /// The name by which other machines know the project that `base` is a commit of: the same for all clones of one user, whatever they
    /// are called. A history with several roots is one project; another begins with other roots.
    pub fn project(
        &self,
        base: &Commit,
        conventions: &Conventions,
    ) -> Result<String, WorktreeError> {
        self.refuse_to_travel()?;
        let git = self.git().within(super::TRAVEL_TIME_MAX);
        let said = git.text(["rev-list", "--max-parents=0", base.as_str()])?;
        let mut roots: Vec<&str> = said.lines().collect();
        roots.sort_unstable();
        let text = format!("tine project 1\n{}\n{}", roots.join("\n"), conventions.identity());
        Ok(blake3::hash(text.as_bytes()).to_hex().to_string())
    }
}

impl Cache {
    /// Opens the repository of a project below `root`; it is made where it is not there. `like`: a commit of it, for git has two kinds of
    /// names.
    pub fn open(
        root: &Path,
        project: &str,
        (like, conventions): (&Commit, &Conventions),
        now_ms: i64,
    ) -> Result<Self, WorktreeError> {
        make_folder(root)?;
        let held = lock(root, File::lock_shared)?;
        let folder = place(root, project)?;
        let checkout = folder.join(CHECKOUT);
        make_folder(&checkout)?;
        // Others may want the same project at the same time; git refuses two that write its settings.
        let _alone = lock(&folder, File::lock)?;
        let format = match like.as_str().len() {
            64 => "--object-format=sha256",
            _ => "--object-format=sha1",
        };
        // Where it is there already, git leaves it as it is.
        let git = Git::at(&checkout);
        git.require_version()?;
        git.run(["init", "--quiet", "--template=", "--initial-branch=tine", format])?;
        let repository = Repository::at(&checkout)?;
        conventions.set(&repository)?;
        let used = folder.join(USED);
        fault::step()
            .and_then(|()| fs::write(&used, now_ms.to_string()))
            .map_err(|source| WorktreeError::file("write", &used, source))?;
        Ok(Self { repository, _lock: held })
    }

    /// The repository, of which worktrees are made.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Commits of a project that this machine has, with all that they stand on; none where it knows nothing of it.
    pub fn commits(root: &Path, project: &str) -> Result<Vec<Commit>, WorktreeError> {
        let checkout = place(root, project)?.join(CHECKOUT);
        if !checkout.exists() {
            return Ok(Vec::new());
        }
        let _lock = lock(root, File::lock_shared)?;
        held(&Repository::at(&checkout)?)?.into_iter().map(|(_, commit)| Ok(commit)).collect()
    }

    /// Holds what came for those that come later, and lets go of the oldest.
    pub fn hold(&self, came: &Arrived) -> Result<(), WorktreeError> {
        self.hold_as("base", &came.end.base)?;
        self.hold_as("state", &came.carrier)?;
        self.let_go(|name| !is_whole(name), 2 * STATES_MAX, &came.end.base)
    }

    /// Holds a state that came whole, and that others which come later build on.
    pub fn hold_whole(&self, came: &Arrived) -> Result<(), WorktreeError> {
        self.hold_as(WHOLE, &came.carrier)?;
        self.let_go(is_whole, WHOLES_MAX, &came.carrier)
    }

    fn hold_as(&self, kind: &str, commit: &Commit) -> Result<(), WorktreeError> {
        self.repository.set_ref(&format!("{HELD}{kind}-{commit}"), commit)
    }

    /// Lets go of the oldest of some, but for one commit.
    fn let_go(
        &self,
        among: impl Fn(&str) -> bool,
        most: usize,
        kept: &Commit,
    ) -> Result<(), WorktreeError> {
        let some = held(&self.repository)?.into_iter().filter(|(name, _)| among(name));
        for (name, _) in some.skip(most).filter(|(_, commit)| commit != kept) {
            self.repository.delete_ref(&name)?;
        }
        Ok(())
    }

    /// Removes the projects that were used least recently, until the rest is within the limits. One that a worktree is made of stays, and
    /// so it may be that more is left. Returns how many went.
    pub fn trim(root: &Path, limits: CacheLimits) -> Result<usize, WorktreeError> {
        if !root.exists() {
            return Ok(0);
        }
        let _lock = lock(root, File::lock)?;
        let failed = |source| WorktreeError::file("read", root, source);
        let mut projects = Vec::new();
        for entry in fs::read_dir(root).map_err(failed)? {
            let folder = entry.map_err(failed)?.path();
            if folder.file_name().and_then(|name| name.to_str()).is_some_and(is_project) {
                let bytes = bytes_of(&folder).map_err(failed)?;
                projects.push((used_ms(&folder), bytes, folder));
            }
        }
        projects.sort();
        let mut count = projects.len();
        let mut bytes: u64 = projects.iter().map(|(_, bytes, _)| bytes).sum();
        let mut gone = 0;
        for (_, size, folder) in projects {
            if count <= limits.projects_max && bytes <= limits.bytes_max {
                break;
            }
            if has_worktrees(&folder) {
                continue;
            }
            fault::step()
                .and_then(|()| fs::remove_dir_all(&folder))
                .map_err(|source| WorktreeError::file("remove", &folder, source))?;
            (count, bytes, gone) = (count - 1, bytes.saturating_sub(size), gone + 1);
        }
        Ok(gone)
    }
}

/// Names come from outside, and become paths.
fn is_project(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == PROJECT_CHARACTERS && name.bytes().all(is_digit)
}

fn place(root: &Path, project: &str) -> Result<PathBuf, WorktreeError> {
    if !is_project(project) {
        return Err(TravelError::refused("its project has no name that can be one").into());
    }
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    Ok(root.join(project))
}

fn lock(root: &Path, how: fn(&File) -> io::Result<()>) -> Result<File, WorktreeError> {
    let failed = |source| WorktreeError::file("lock", root, source);
    let open = File::open(root).map_err(failed)?;
    match how(&open) {
        // There are file systems without locks.
        Err(error) if error.kind() != ErrorKind::Unsupported => Err(failed(error)),
        Ok(()) | Err(_) => Ok(open),
    }
}

/// Refs of states that are held, the newest first.
fn held(repository: &Repository) -> Result<Vec<(String, Commit)>, WorktreeError> {
    let list = ["for-each-ref", "--sort=-creatordate", "--format=%(objectname) %(refname)"];
    let said = repository.git().text(list.into_iter().chain([HELD]))?;
    let lines = said.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(commit, name)| Ok((name.to_owned(), Commit::parse(commit)?))).collect()
}

fn is_whole(name: &str) -> bool {
    name.strip_prefix(HELD).is_some_and(|kind| kind.starts_with(WHOLE))
}

fn used_ms(folder: &Path) -> i64 {
    let text = wary::note(&folder.join(USED)).ok().and_then(|text| String::from_utf8(text).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Returns true where git knows of a worktree that is there, or half made. Those of runs whose worker died are gone with all that it had.
fn has_worktrees(folder: &Path) -> bool {
    let known = fs::read_dir(folder.join(CHECKOUT).join(".git").join("worktrees"));
    known.into_iter().flatten().flatten().any(|entry| {
        let place = wary::note(&entry.path().join("gitdir")).ok();
        place.is_none_or(|place| crate::git::path(place.trim_ascii_end()).exists())
    })
}

fn bytes_of(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0_u64;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        let size = if about.is_dir() { bytes_of(&entry.path())? } else { about.len() };
        bytes = bytes.saturating_add(size);
    }
    Ok(bytes)
}
