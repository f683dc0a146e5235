//! Packing a state of a worktree into a file.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::carrier::Carrier;
use super::header::Header;
use super::{BUNDLE_BYTES_MAX, TRAVEL_TIME_MAX, TravelError};
use crate::error::WorktreeError;
use crate::fault;
use crate::git::{Git, parts, path};
use crate::ids::{Commit, Name, Tree};
use crate::repository::Repository;
use crate::scratch::Scratch;
use crate::snapshot::Snapshot;

/// A state that is to go to another machine.
#[derive(Debug, Clone, Copy)]
pub struct Pack<'a> {
    /// The worktree that it is of. Until the name is forgotten or packed again, a ref holds the state.
    pub name: &'a Name,
    /// The start of the worktree.
    pub start: &'a Snapshot,
    /// The content of the worktree.
    pub end: &'a Snapshot,
    /// Commits that the receiver has, with all that they stand on. Those that are not known here are passed over.
    pub receiver_has: &'a [Commit],
    /// The file that is written; it is replaced where it exists.
    pub into: &'a Path,
    /// Milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// A state in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The commit that the bundle is for.
    pub carrier: Commit,
    /// Commits that the receiver must have.
    pub needed: Vec<Commit>,
    /// The size of the file.
    pub bytes: u64,
    /// Files that go through a filter of git's settings: they travel as git keeps them, such as pointers to large files.
    pub filtered: Vec<PathBuf>,
}

impl Repository {
    /// Refuses a repository of which no state can go to another machine.
    pub fn refuse_to_travel(&self) -> Result<(), WorktreeError> {
        let git = self.git();
        if git.text(["rev-parse", "--is-shallow-repository"])?.trim() == "true" {
            return Err(TravelError::Shallow.into());
        }
        let promised = r"^(extensions\.partialclone|remote\..*\.promisor)$";
        match git.answer(["config", "--get-regexp", promised], &[])?.0 {
            true => Err(TravelError::Partial.into()),
            false => Ok(()),
        }
    }

    /// Packs a state with all that it stands on, but for what the receiver has. Blocks for as long as git takes to compress it.
    pub fn pack(&self, pack: &Pack<'_>) -> Result<Packed, WorktreeError> {
        self.refuse_to_travel()?;
        let git = self.git().within(TRAVEL_TIME_MAX);
        let filtered = self.filtered(&pack.end.work_tree)?;
        let among: HashSet<&PathBuf> = filtered.iter().collect();
        let mut lost: Vec<PathBuf> = pack.end.lost(&git)?.into_keys().collect();
        lost.retain(|path| among.contains(path));
        if !lost.is_empty() {
            return Err(TravelError::Filtered(lost).into());
        }
        let Carrier { commit: carrier, .. } =
            Carrier::make(&git, pack.start, pack.end, pack.now_ms)?;
        let sent = pack.name.sent_ref();
        self.set_ref(&sent, &carrier)?;
        let file = std::path::absolute(pack.into)
            .map_err(|source| WorktreeError::file("find", pack.into, source))?;
        let mut arguments = ["bundle", "create", "--quiet"].map(Into::into).to_vec();
        arguments.push(file.clone().into_os_string());
        arguments.push(sent.into());
        let known = known(&git, pack.receiver_has)?;
        for commit in known.iter().filter(|commit| **commit != carrier) {
            arguments.push(format!("^{commit}").into());
            // Git leaves out the files of commits that the new ones stand on, and not those of a state beside them.
            if let Ok(Carrier { start, end, .. }) = Carrier::read(&git, commit.clone()) {
                arguments.extend(trees(&start).chain(trees(&end)));
            }
        }
        git.run(arguments)?;
        let (needed, bytes) = look_at(&file)?;
        Ok(Packed { carrier, needed, bytes, filtered })
    }

    /// Files of a tree that a filter of git's settings changes on their way.
    fn filtered(&self, tree: &Tree) -> Result<Vec<PathBuf>, WorktreeError> {
        let git = self.git();
        let drivers = drivers(&git)?;
        if drivers.is_empty() {
            return Ok(Vec::new());
        }
        let scratch = Scratch::new()?;
        let git = git.with_index(&scratch.index());
        git.run(["read-tree", tree.as_str()])?;
        let files = git.run(["ls-files", "-z"])?;
        let said = git.fed(["check-attr", "-z", "--cached", "--stdin", "filter"], &files)?;
        let mut fields = said.split(|byte| *byte == 0);
        let mut found = Vec::new();
        while let (Some(name), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next())
        {
            if drivers.contains(&*String::from_utf8_lossy(value)) {
                found.push(path(name));
            }
        }
        Ok(found)
    }
}

/// Words by which git leaves out the files of a state.
fn trees(state: &Snapshot) -> impl Iterator<Item = OsString> {
    let trees = [&state.index_tree, &state.work_tree, state.bytes_tree()];
    trees.map(|tree| format!("^{tree}").into()).into_iter()
}

/// Names of filters that have a program.
fn drivers(git: &Git) -> Result<HashSet<String>, WorktreeError> {
    let pattern = r"^filter\..*\.(clean|smudge|process)$";
    let (_, said) = git.answer(["config", "--null", "--get-regexp", pattern], &[])?;
    let mut programs = BTreeMap::new();
    for entry in parts(&said) {
        let entry = String::from_utf8_lossy(entry).into_owned();
        let (setting, command) = entry.split_once('\n').unwrap_or((&entry, ""));
        // The last one counts.
        programs.insert(setting.to_owned(), command.is_empty());
    }
    let named = programs.into_iter().filter(|(_, is_off)| !is_off).filter_map(|(setting, _)| {
        let (name, _) = setting.strip_prefix("filter.")?.rsplit_once('.')?;
        Some(name.to_owned())
    });
    Ok(named.collect())
}

/// Those of these commits that are here.
fn known(git: &Git, commits: &[Commit]) -> Result<Vec<Commit>, WorktreeError> {
    let missing = super::arrive::missing(git, commits)?;
    Ok(commits.iter().filter(|commit| !missing.contains(commit)).cloned().collect())
}

/// Returns the commits that a bundle needs which was just written, and its size. One that is too large is removed.
fn look_at(file: &Path) -> Result<(Vec<Commit>, u64), WorktreeError> {
    let failed = |source| WorktreeError::file("read", file, source);
    let mut open = fault::step().and_then(|()| File::open(file)).map_err(failed)?;
    let bytes = open.metadata().map_err(failed)?.len();
    if bytes > BUNDLE_BYTES_MAX {
        fs::remove_file(file).map_err(failed)?;
        return Err(TravelError::TooLarge { bytes, most: BUNDLE_BYTES_MAX }.into());
    }
    Ok((Header::read(&mut open)?.needed, bytes))
}
