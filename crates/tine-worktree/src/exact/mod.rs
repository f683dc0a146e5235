//! The part of a snapshot beside git's own commits by which a checkout comes back to the byte.
//!
//! Git keeps what its filters leave of a file, and of its permissions whether it can be run. A commit of its own, the third parent of a
//! snapshot's last one, holds the rest: its tree has every file as bytes, which differs from the snapshot's where git would give
//! others back, and its message is a [`Note`] of permissions, of what the index was told, and of what git does not know at all. Where there is
//! nothing of the kind, as in most checkouts, there is no such commit.

mod bytes;
mod make;
mod note;
mod others;
mod sparse;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

pub(crate) use note::{Flags, Intended, Note, Usual};
pub(crate) use others::Others;
pub use others::{LeftOut, LeftOutKind};
pub(crate) use sparse::Sparse;

use bytes::{FILE_BYTES_MAX, Regular, lost};

use crate::apply::with_differences;
use crate::changes::Mode;
use crate::diff::{differences, next_object, paths_between};
use crate::error::WorktreeError;
use crate::fault;
use crate::git::{Git, index_line, parts};
use crate::ids::{Commit, Tree};
use crate::index;
use crate::repository::Repository;
use crate::scratch::{Scratch, copy_index};
use crate::snapshot::{Entry, Snapshot, entry, message_commit};
use crate::wary;

/// Bits of a mode that say as whom a program runs. Only files of one's own keep them: on a copy of another's they would say another.
const AS_OWNER: u32 = 0o6000;

/// The part of a checkout that git's commits do not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    pub(crate) commit: Commit,
    /// Every file as bytes.
    pub(crate) tree: Tree,
    pub(crate) note: Note,
}

/// A checkout that is looked at.
pub(crate) struct Look<'a> {
    /// Git with the index that has every file.
    pub(crate) work: &'a Git,
    pub(crate) scratch: &'a Scratch,
    /// The index of the checkout, as lines.
    pub(crate) listed: &'a [u8],
    /// The entries of the index that has every file.
    pub(crate) entries: &'a [Entry],
    /// Things that git knows nothing of.
    pub(crate) others: &'a Others,
    pub(crate) base: &'a Commit,
    pub(crate) work_tree: &'a Tree,
    pub(crate) now_ms: i64,
}

impl Repository {
    /// Returns what git's commits do not hold of this checkout; `None` where they hold all of it.
    pub(crate) fn exact(&self, look: &Look<'_>) -> Result<Option<Exact>, WorktreeError> {
        let there = self.there(look.entries);
        let (pipes, links) = (look.others.pipes.clone(), look.others.links.clone());
        let mut note = Note { sparse: self.sparse(), pipes, links, ..Note::default() };
        (note.usual, note.modes) = modes(&there);
        let regular: Vec<Regular<'_>> = there
            .iter()
            .filter(|(_, about)| about.is_file())
            .map(|(entry, about)| Regular { entry, bytes: about.size() })
            .collect();
        let is_attributes = |line: &[u8]| line.ends_with(b".gitattributes");
        let had_others = parts(look.listed).any(is_attributes)
            || look.entries.iter().any(|entry| entry.path.ends_with(".gitattributes"));
        let lost = lost(self, look.work, look.scratch, (&regular, had_others))?;
        note.flags = self.flags(look, &regular)?;
        let tree = if lost.is_empty() {
            look.work_tree.clone()
        } else {
            self.tree_of_bytes(look, &lost, &mut note.verbatim)?
        };
        if tree == *look.work_tree && note == Note::default() {
            return Ok(None);
        }
        let commit = message_commit(&self.git(), &tree, look.base, &note.text(), look.now_ms)?;
        Ok(Some(Exact { commit, tree, note }))
    }

    /// The files that are there.
    fn there<'a>(&self, entries: &'a [Entry]) -> Vec<(&'a Entry, Metadata)> {
        let about = |entry: &'a Entry| {
            let about = fs::symlink_metadata(self.top().join(&entry.path)).ok()?;
            (!entry.is_repository()).then_some((entry, about))
        };
        entries.iter().filter_map(about).collect()
    }

    /// Returns what the index was told of files.
    fn flags(
        &self,
        look: &Look<'_>,
        there: &[Regular<'_>],
    ) -> Result<BTreeMap<PathBuf, Flags>, WorktreeError> {
        let mut flags: BTreeMap<PathBuf, Flags> = BTreeMap::new();
        for line in parts(look.listed) {
            let Some((&[tag, b' '], rest)) = line.split_first_chunk() else { continue };
            let is_skipped = tag.eq_ignore_ascii_case(&b'S');
            let is_assumed = tag.is_ascii_lowercase();
            if is_skipped || is_assumed {
                let path = entry(rest)?.path;
                let is_there = is_skipped && fs::symlink_metadata(self.top().join(&path)).is_ok();
                flags.insert(path, Flags { is_skipped, is_there, is_assumed, ..Flags::default() });
            }
        }
        let file = look.scratch.index();
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(flags),
            Err(source) => return Err(WorktreeError::file("read the index", &file, source)),
        };
        let hash_bytes = look.base.as_str().len() / 2;
        let there: HashMap<&Path, &Regular<'_>> =
            there.iter().map(|file| (file.entry.path.as_path(), file)).collect();
        let bytes_of = |path: &Path| there.get(path).map(|file| file.bytes);
        for (path, said) in index::said(&bytes, hash_bytes, bytes_of) {
            let is_same = |object: &String| {
                there.get(path.as_path()).is_some_and(|file| file.entry.object == *object)
            };
            let is_stale = said.resized.as_ref().is_some_and(is_same);
            if is_stale || said.intended.is_some() {
                let told = flags.entry(path).or_default();
                (told.is_stale, told.intended) = (is_stale, said.intended);
            }
        }
        Ok(flags)
    }

    /// The tree in which these files are as bytes. `verbatim` gets those of which git has the same bytes, which no tree shows.
    fn tree_of_bytes(
        &self,
        look: &Look<'_>,
        lost: &[Regular<'_>],
        verbatim: &mut BTreeSet<PathBuf>,
    ) -> Result<Tree, WorktreeError> {
        let paths: Vec<&Path> = lost.iter().map(|file| file.entry.path.as_path()).collect();
        let objects = self.keep_bytes(look.scratch, &paths)?;
        let mut lines = Vec::new();
        for (file, object) in lost.iter().zip(objects) {
            // One that is gone by now is as git has it.
            let Some(object) = object else { continue };
            if object == file.entry.object {
                verbatim.insert(file.entry.path.clone());
            }
            lines.extend(index_line(&file.entry.mode, &object, &file.entry.path));
        }
        let index = look.scratch.place("bytes");
        copy_index(&look.scratch.work(), &index)?;
        let git = look.work.with_index(&index);
        git.fed(["update-index", "-z", "--index-info"], &lines)?;
        Tree::parse(&git.text(["write-tree"])?)
    }

    /// Brings the bytes of files into the objects as they are, through no filter; of links, where they lead. `None` of what is no file.
    pub(crate) fn keep_bytes(
        &self,
        scratch: &Scratch,
        paths: &[&Path],
    ) -> Result<Vec<Option<String>>, WorktreeError> {
        let folder = scratch.place("kept");
        let failed = |source| WorktreeError::file("write in", &folder, source);
        fault::step().and_then(|()| fs::create_dir(&folder)).map_err(failed)?;
        let mut names = String::new();
        let mut is_kept = Vec::with_capacity(paths.len());
        for (number, path) in paths.iter().enumerate() {
            let copied = copy_content(&self.top().join(path), &folder.join(number.to_string()));
            if copied.is_ok() {
                names.push_str(&format!("{number}\n"));
            }
            is_kept.push(copied.is_ok());
        }
        let git = Git::at(&folder).with("GIT_DIR", self.common_dir().as_os_str());
        let said = if names.is_empty() {
            Vec::new()
        } else {
            git.fed(["hash-object", "-w", "--no-filters", "--stdin-paths"], names.as_bytes())?
        };
        fault::step().and_then(|()| fs::remove_dir_all(&folder)).map_err(failed)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut objects = said.lines().map(str::to_owned);
        Ok(is_kept.into_iter().map(|is_kept| is_kept.then(|| objects.next()).flatten()).collect())
    }
}

/// Copies what a file holds, or where a link leads. Waits for nothing and follows nothing.
fn copy_content(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() {
        return fs::write(to, fs::read_link(from)?.as_os_str().as_encoded_bytes());
    }
    let mut source = wary::open(from, FILE_BYTES_MAX)?;
    io::copy(&mut source, &mut File::create_new(to)?).map(drop)
}

/// The permissions that a copy of a file has.
pub(crate) fn permissions(about: &Metadata) -> u32 {
    let is_own = about.uid() == rustix::process::geteuid().as_raw()
        && (about.mode() & 0o2000 == 0 || about.gid() == rustix::process::getegid().as_raw());
    let mode = about.permissions().mode() & 0o7777;
    if is_own { mode } else { mode & !AS_OWNER }
}

/// Permissions that most files have, and all others.
fn modes(there: &[(&Entry, Metadata)]) -> (Usual, BTreeMap<PathBuf, u32>) {
    let mut counts: [BTreeMap<u32, usize>; 2] = Default::default();
    let files = || there.iter().filter(|(_, about)| about.is_file());
    let kind = |entry: &Entry| usize::from(Mode::read(&entry.mode) == Some(Mode::Program));
    for (entry, about) in files() {
        *counts[kind(entry)].entry(permissions(about)).or_default() += 1;
    }
    let most = |counts: &BTreeMap<u32, usize>, usual: u32| {
        // Of several that are as many, the usual one, so that nothing is written down without need.
        let most = counts.iter().max_by_key(|(mode, count)| (**count, **mode == usual));
        most.map_or(usual, |(mode, _)| *mode)
    };
    let default = Usual::default();
    let usual =
        Usual { file: most(&counts[0], default.file), program: most(&counts[1], default.program) };
    let mut modes = BTreeMap::new();
    for (entry, about) in files() {
        let expected = if kind(entry) == 1 { usual.program } else { usual.file };
        if permissions(about) != expected {
            modes.insert(entry.path.clone(), permissions(about));
        }
    }
    (usual, modes)
}

impl Exact {
    /// Reads the commit; `None` where it is another one of tine's, or of a version to come.
    pub(crate) fn read(git: &Git, commit: Commit) -> Result<Option<Self>, WorktreeError> {
        let text = git.run(["cat-file", "commit", commit.as_str()])?;
        let wrong = || WorktreeError::Output { what: "commit", text: commit.to_string() };
        let end = text.windows(2).position(|two| two == b"\n\n").ok_or_else(wrong)?;
        let head = String::from_utf8_lossy(&text[..end]).into_owned();
        let tree = head.lines().find_map(|line| line.strip_prefix("tree ")).ok_or_else(wrong)?;
        let Some(note) = Note::parse(&text[end + 2..]) else { return Ok(None) };
        Ok(Some(Self { tree: Tree::parse(tree)?, note, commit }))
    }
}

impl Snapshot {
    /// Files that git would not give back, with the objects that hold their bytes.
    pub(crate) fn lost(&self, git: &Git) -> Result<BTreeMap<PathBuf, String>, WorktreeError> {
        let Some(exact) = &self.exact else { return Ok(BTreeMap::new()) };
        let found = differences(git, &self.work_tree, &exact.tree)?;
        let mut lost: BTreeMap<PathBuf, String> =
            found.into_iter().map(|found| (found.path, found.after.object)).collect();
        if !exact.note.verbatim.is_empty() {
            for (path, (_, object)) in files_of(git, &exact.tree)? {
                if exact.note.verbatim.contains(&path) {
                    lost.insert(path, object);
                }
            }
        }
        Ok(lost)
    }

    /// Every file as bytes.
    pub(crate) fn bytes_tree(&self) -> &Tree {
        self.exact.as_ref().map_or(&self.work_tree, |exact| &exact.tree)
    }

    /// Returns true if two snapshots hold the same beside what git's own commits hold.
    pub(crate) fn is_exactly(&self, other: &Self) -> bool {
        let (mine, theirs) = notes(self, other);
        mine == theirs && self.bytes_tree() == other.bytes_tree()
    }
}

/// The notes of two states. One that has none has the usual permissions: those of the other, since older versions wrote none down.
fn notes(one: &Snapshot, other: &Snapshot) -> (Note, Note) {
    let note = |of: &Snapshot| of.exact.as_ref().map(|exact| exact.note.clone());
    let plain = |beside: &Note| Note { usual: beside.usual, ..Note::default() };
    match (note(one), note(other)) {
        (Some(mine), Some(theirs)) => (mine, theirs),
        (Some(mine), None) => (mine.clone(), plain(&mine)),
        (None, Some(theirs)) => (plain(&theirs), theirs),
        (None, None) => (Note::default(), Note::default()),
    }
}

impl Repository {
    /// Files that differ between two states of a worktree in a way that git does not see: bytes that a filter takes out, line ends,
    /// permissions. They are kept, and no way back brings them.
    pub fn unseen_changes(
        &self,
        start: &Snapshot,
        end: &Snapshot,
    ) -> Result<Vec<PathBuf>, WorktreeError> {
        let git = self.git();
        let mut found = paths_between(&git, start.bytes_tree(), end.bytes_tree())?;
        let (before, after) = notes(start, end);
        let is_other = |path: &&PathBuf| before.modes.get(*path) != after.modes.get(*path);
        found.extend(before.modes.keys().chain(after.modes.keys()).filter(is_other).cloned());
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let seen = paths_between(&git, &start.work_tree, &end.work_tree)?;
        Ok(found.into_iter().filter(|path| !seen.contains(path)).collect())
    }
}

/// Returns what is known of the files of `kept` that `work` has as they were then. `base`: the commit that `work` stands on.
pub(crate) fn over(
    git: &Git,
    kept: &Snapshot,
    (work, base): (&Tree, &Commit),
    now_ms: i64,
) -> Result<Option<Exact>, WorktreeError> {
    let Some(exact) = &kept.exact else { return Ok(None) };
    let changed = paths_between(git, &kept.work_tree, work)?;
    let mut lost = differences(git, &kept.work_tree, &exact.tree)?;
    lost.retain(|found| !changed.contains(&found.path));
    let mut note = exact.note.clone();
    note.verbatim.retain(|path| !changed.contains(path));
    note.modes.retain(|path, _| !changed.contains(path));
    let tree = with_differences(git, work, &lost)?;
    let commit = message_commit(git, &tree, base, &note.text(), now_ms)?;
    Ok(Some(Exact { commit, tree, note }))
}

/// Returns what these objects hold.
pub(crate) fn blobs(git: &Git, objects: &[&str]) -> Result<Vec<Vec<u8>>, WorktreeError> {
    let asked: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let said = git.fed(["cat-file", "--batch=%(objectsize)", "--buffer"], asked.as_bytes())?;
    let (mut found, mut rest) = (Vec::with_capacity(objects.len()), said.as_slice());
    for object in objects {
        let wrong = || WorktreeError::Output { what: "object", text: (*object).to_owned() };
        let (content, after) = next_object(rest).ok_or_else(wrong)?;
        found.push(content.to_vec());
        rest = after;
    }
    Ok(found)
}

/// The mode and the object of every file of a tree.
pub(crate) fn files_of(
    git: &Git,
    tree: &Tree,
) -> Result<HashMap<PathBuf, (Mode, String)>, WorktreeError> {
    let said = git.run(["ls-tree", "-r", "-z", "--full-tree", tree.as_str()])?;
    let wrong = |line: &[u8]| WorktreeError::Output {
        what: "line of a directory",
        text: String::from_utf8_lossy(line).into_owned(),
    };
    let mut files = HashMap::new();
    for line in parts(&said) {
        let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(|| wrong(line))?;
        let head = String::from_utf8_lossy(&line[..tab]).into_owned();
        let mut words = head.split(' ');
        let (Some(mode), Some(_), Some(object)) = (words.next(), words.next(), words.next()) else {
            return Err(wrong(line));
        };
        let mode = Mode::read(mode).ok_or_else(|| wrong(line))?;
        files.insert(crate::git::path(&line[tab + 1..]), (mode, object.to_owned()));
    }
    Ok(files)
}
