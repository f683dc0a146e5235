//! Taking a bundle that came from another machine.
//!
//! In this order: its text is read here, not by git; the commits that it builds on must be here, and lead to all that they stand on; its
//! objects come into a directory of their own, and git checks the form of each, names in directories among it; then the state
//! is read, and what git does not check of it is checked. Only then the objects come to the others, and a ref leads to them. No
//! ref of the sender's counts, no hook runs, and nothing is checked out.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::carrier::Carrier;
use super::header::Header;
use super::{BUNDLE_BYTES_MAX, FILES_BYTES_MAX, TRAVEL_TIME_MAX, TravelError};
use crate::error::WorktreeError;
use crate::exact::Exact;
use crate::fault;
use crate::git::{Git, parts, path};
use crate::ids::{Commit, Name, Tree};
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::wary;

/// Deviations of old objects that do no harm, which real histories have. Names: git-fsck(1).
const HARMLESS: &str = "--strict=zeroPaddedFilemode=ignore,zeroPaddedDate=ignore,missingSpaceBeforeDate=ignore,\
missingSpaceBeforeEmail=ignore,missingNameBeforeEmail=ignore,missingEmail=ignore,badEmail=ignore,badName=ignore,\
badDate=ignore,badDateOverflow=ignore,badTimezone=ignore,multipleAuthors=ignore,nulInCommit=ignore";

/// Bits of a mode by which a program runs as its owner: nothing that comes from outside has them.
const AS_OWNER: u32 = 0o6000;

/// The first letters of a directory that git itself removes when it is left behind.
const INCOMING: &str = "tmp_objdir-tine-";

/// A state that came from another machine, and is held by a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// The commit that it came by.
    pub carrier: Commit,
    /// The start of the worktree.
    pub start: Snapshot,
    /// The content of the worktree.
    pub end: Snapshot,
}

impl Repository {
    /// Takes the bundle at `bundle`, which must be for the commit `carrier`, and holds it by [`Name::arrived_ref`]. Nothing of a
    /// bundle that is refused stays. Its file must be the caller's own: nobody else may write to it meanwhile.
    pub fn arrive(
        &self,
        name: &Name,
        bundle: &Path,
        carrier: &Commit,
    ) -> Result<Arrived, WorktreeError> {
        let bundle = std::path::absolute(bundle)
            .map_err(|source| WorktreeError::file("find", bundle, source))?;
        let mut file =
            wary::open(&bundle, BUNDLE_BYTES_MAX).map_err(|source| match source.kind() {
                ErrorKind::FileTooLarge => TravelError::refused(source.to_string()).into(),
                _ => WorktreeError::file("read", &bundle, source),
            })?;
        let header = Header::read(&mut file)?;
        if header.head != *carrier {
            return Err(TravelError::refused("it is for another state").into());
        }
        if !(header.reference.starts_with("refs/tine/") && header.reference.ends_with("/sent")) {
            let why = format!("it is for the ref `{}`", header.reference.escape_debug());
            return Err(TravelError::refused(why).into());
        }
        let git = self.git().within(TRAVEL_TIME_MAX);
        let missing = missing(&git, &header.needed)?;
        if !missing.is_empty() {
            return Err(TravelError::Missing(missing).into());
        }
        let verify = ["bundle", "verify", "--quiet"].map(OsString::from);
        git.run(verify.into_iter().chain([bundle.into_os_string()])).map_err(damaged)?;
        let incoming = Incoming::new(self.common_dir())?;
        let inside = incoming.git(&git);
        let most = format!("--max-input-size={BUNDLE_BYTES_MAX}");
        let take = ["index-pack", "--stdin", "--fix-thin", HARMLESS, &most];
        inside.holding(&Arc::new(file)).run(take).map_err(damaged)?;
        let Carrier { commit, start, end } =
            Carrier::read(&inside, carrier.clone()).map_err(damaged)?;
        for state in [&start, &end] {
            check(&inside, state)?;
        }
        incoming.keep()?;
        self.set_ref(&name.arrived_ref(), &commit)?;
        Ok(Arrived { carrier: commit, start, end })
    }

    /// The state that last came for a worktree of this name, and is held still.
    pub fn arrived(&self, name: &Name) -> Result<Option<Arrived>, WorktreeError> {
        self.carried(&name.arrived_ref())
    }

    /// The state of a worktree of this name that was packed last.
    pub fn sent(&self, name: &Name) -> Result<Option<Arrived>, WorktreeError> {
        self.carried(&name.sent_ref())
    }

    fn carried(&self, reference: &str) -> Result<Option<Arrived>, WorktreeError> {
        let Some(commit) = self.ref_at(reference)? else { return Ok(None) };
        let Carrier { commit, start, end } = Carrier::read(&self.git(), commit)?;
        Ok(Some(Arrived { carrier: commit, start, end }))
    }
}

/// A failure of git on the objects of a bundle.
fn damaged(error: WorktreeError) -> WorktreeError {
    match error {
        WorktreeError::Git { said, .. } => TravelError::Refused(said).into(),
        WorktreeError::Output { what, .. } => {
            TravelError::Refused(format!("it holds no {what} where one belongs")).into()
        }
        other => other,
    }
}

/// Those of these commits that are not here.
pub(super) fn missing(git: &Git, commits: &[Commit]) -> Result<Vec<Commit>, WorktreeError> {
    if commits.is_empty() {
        return Ok(Vec::new());
    }
    let asked: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    let said = git.fed(["cat-file", "--batch-check=%(objecttype)"], asked.as_bytes())?;
    let said = String::from_utf8_lossy(&said).into_owned();
    let found = commits.iter().zip(said.lines());
    Ok(found.filter(|(_, kind)| *kind != "commit").map(|(commit, _)| commit.clone()).collect())
}

/// Refuses a state whose files would be too many, or would come to stand elsewhere than below the top of a checkout.
fn check(git: &Git, state: &Snapshot) -> Result<(), WorktreeError> {
    let mut bytes = 0_u64;
    let mut files = BTreeSet::new();
    for tree in [&state.work_tree, &state.index_tree, state.bytes_tree()] {
        let (found, sum) = files_in(git, tree)?;
        bytes = bytes.max(sum);
        if tree == &state.work_tree {
            files = found;
        }
    }
    if bytes > FILES_BYTES_MAX {
        return Err(TravelError::TooLarge { bytes, most: FILES_BYTES_MAX }.into());
    }
    state.exact.as_ref().map_or(Ok(()), |exact| check_note(exact, &files))
}

/// Paths of a tree, and how many bytes all its files have.
fn files_in(git: &Git, tree: &Tree) -> Result<(BTreeSet<PathBuf>, u64), WorktreeError> {
    let said = git.run(["ls-tree", "-r", "-l", "-z", "--full-tree", tree.as_str()]);
    let said = said.map_err(damaged)?;
    let (mut files, mut bytes) = (BTreeSet::new(), 0_u64);
    for line in parts(&said) {
        let wrong = || TravelError::refused("a directory in it cannot be read");
        let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(wrong)?;
        let (about, name) = (String::from_utf8_lossy(&line[..tab]), path(&line[tab + 1..]));
        if is_git(&name) || !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(outside(&name));
        }
        let size = about.rsplit(' ').next().and_then(|size| size.parse().ok());
        bytes = bytes.saturating_add(size.unwrap_or(0_u64));
        files.insert(name);
    }
    Ok((files, bytes))
}

/// Refuses facts about files by which something would be written where a link leads, into git's own folders, or with the rights of others.
fn check_note(exact: &Exact, files: &BTreeSet<PathBuf>) -> Result<(), WorktreeError> {
    let note = &exact.note;
    let usual = [note.usual.file, note.usual.program];
    if note.modes.values().chain(note.pipes.values()).chain(&usual).any(|mode| mode & AS_OWNER != 0)
    {
        return Err(TravelError::refused("a file in it would run as its owner").into());
    }
    let is_below_file = |name: &Path| name.ancestors().skip(1).any(|above| files.contains(above));
    for name in note.pipes.keys() {
        if is_git(name) || is_below_file(name) || files.contains(name) {
            return Err(outside(name));
        }
    }
    for name in note.links.keys() {
        let is_named = name.file_name().is_some_and(|last| last == ".git");
        let above = name.parent().unwrap_or(Path::new(""));
        if !is_named || above == Path::new("") || is_git(above) || is_below_file(name) {
            return Err(outside(name));
        }
    }
    Ok(())
}

/// Returns true for a path into git's own folders.
fn is_git(name: &Path) -> bool {
    name.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

fn outside(name: &Path) -> WorktreeError {
    let why = format!("`{}` in it would be written where it does not belong", name.display());
    TravelError::Refused(why).into()
}

/// Objects that came, apart from all others; they go when this is dropped.
struct Incoming {
    objects: PathBuf,
    directory: TempDir,
}

impl Incoming {
    fn new(common_dir: &Path) -> Result<Self, WorktreeError> {
        let objects = common_dir.join("objects");
        let make = || {
            fault::step()?;
            let directory = tempfile::Builder::new().prefix(INCOMING).tempdir_in(&objects)?;
            fs::create_dir(directory.path().join("pack"))?;
            Ok(directory)
        };
        let directory = make()
            .map_err(|source| WorktreeError::file("make a directory in", &objects, source))?;
        Ok(Self { objects, directory })
    }

    /// Git that writes here, and reads what is elsewhere as well.
    fn git(&self, git: &Git) -> Git {
        git.with("GIT_OBJECT_DIRECTORY", self.directory.path().as_os_str())
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", &quoted(&self.objects))
    }

    /// Brings the objects to the others. Git finds a pack by its index, which comes last.
    fn keep(self) -> Result<(), WorktreeError> {
        let from = self.directory.path().join("pack");
        let to = self.objects.join("pack");
        let move_all = || {
            fault::step()?;
            fs::create_dir_all(&to)?;
            let entries: Vec<fs::DirEntry> = fs::read_dir(&from)?.collect::<Result<_, _>>()?;
            let mut names: Vec<OsString> =
                entries.into_iter().map(|entry| entry.file_name()).collect();
            names.sort_by_key(|name| Path::new(name).extension() == Some("idx".as_ref()));
            for name in names {
                fs::rename(from.join(&name), to.join(&name))?;
            }
            fault::step()?;
            fs::File::open(&to)?.sync_all()
        };
        move_all().map_err(|source| WorktreeError::file("write in", &to, source))
    }
}

/// A path as git reads it in a list of directories. Source: git(1), `GIT_ALTERNATE_OBJECT_DIRECTORIES`.
fn quoted(path: &Path) -> OsString {
    let mut bytes = vec![b'"'];
    for byte in path.as_os_str().as_encoded_bytes() {
        if matches!(byte, b'"' | b'\\') {
            bytes.push(b'\\');
        }
        bytes.push(*byte);
    }
    bytes.push(b'"');
    crate::git::path(&bytes).into_os_string()
}
