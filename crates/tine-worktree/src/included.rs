//! Ignored files that a worktree gets all the same: which came along, what its worker made of them, and the way back.
//!
//! No snapshot has them, for git does not see them; so refs of their own hold them. Of what came along only a list is kept, with the
//! name that git gives each content: such files hold keys and passwords. What the worker made of them is kept whole once something
//! differs. All else that is ignored is made anew by whatever made it, and nobody keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::WorktreeError;
use crate::fault;
use crate::git::{Git, joined, parts, path};
use crate::ids::{Commit, Name, Tree};
use crate::repository::Repository;
use crate::scratch::Scratch;
use crate::snapshot::{commit, entry};
use crate::wary;
use crate::worktree::Worktree;

/// The patterns, as in `.gitignore`, of ignored files that a worktree gets all the same.
const INCLUDE: &str = ".worktreeinclude";

/// Most of these files that are looked at, the highest in the tree first: what people write stands there, what programs make in
/// thousands lies deep.
const FILES_MAX: usize = 1000;

/// Larger ones are not looked at: no settings file has as much, and what is held stays in the repository.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What somebody may do with a file that is written again: its owner may read and write it, and nobody else, for it may hold a secret.
const OWN: u32 = 0o700;

/// Files by their paths, each with its mode and the name of its content.
type Files = BTreeMap<PathBuf, String>;

/// What came along, as it was then.
struct Included {
    patterns: Vec<u8>,
    files: Files,
}

/// What a worker made of it, as it was last kept.
pub(crate) struct Held {
    began: Files,
    files: Files,
    commit: Commit,
}

impl Held {
    /// Whether the worker left the file as `.worktreeinclude` would give it again.
    pub(crate) fn is_anew(&self, path: &Path) -> bool {
        !self.began.contains_key(path) && !self.files.contains_key(path)
    }
}

impl Repository {
    /// Ignored files of this checkout that a worktree gets all the same; `scratch` has a copy of its index.
    pub(crate) fn included(&self, scratch: &Scratch) -> Result<Vec<PathBuf>, WorktreeError> {
        match self.include_patterns() {
            Some(patterns) => self.ignored_by(&patterns, scratch),
            None => Ok(Vec::new()),
        }
    }

    fn include_patterns(&self) -> Option<Vec<u8>> {
        let file = self.top().join(INCLUDE);
        // A user may have it elsewhere; a worker would have others read what is not theirs.
        let file = if self.is_strange() { file } else { file.canonicalize().ok()? };
        wary::note(&file).ok()
    }

    fn ignored_by(
        &self,
        patterns: &[u8],
        scratch: &Scratch,
    ) -> Result<Vec<PathBuf>, WorktreeError> {
        let file = scratch.place("patterns");
        fault::step()
            .and_then(|()| fs::write(&file, patterns))
            .map_err(|source| WorktreeError::file("write", &file, source))?;
        let git = self.git().with_index(&scratch.index());
        let mut exclude = OsString::from("--exclude-from=");
        exclude.push(&file);
        let list = ["ls-files", "--others", "--ignored", "-z"].map(OsStr::new);
        let found = git.run(list.into_iter().chain([exclude.as_os_str()]))?;
        let (_, ignored) = git.answer(["check-ignore", "-z", "--stdin"], &found)?;
        // A path that ends with a slash is a repository of its own.
        Ok(parts(&ignored).filter(|found| !found.ends_with(b"/")).map(path).collect())
    }

    /// Writes down what came along into this checkout, by the patterns of `origin`, in place of what was written down before.
    pub(crate) fn note_included(
        &self,
        origin: &Repository,
        name: &Name,
    ) -> Result<(), WorktreeError> {
        match origin.include_patterns() {
            Some(patterns) => self.note_by(patterns, name),
            None => Ok(()),
        }
    }

    fn note_by(&self, mut patterns: Vec<u8>, name: &Name) -> Result<(), WorktreeError> {
        patterns.retain(|byte| *byte != 0);
        let scratch = self.take_index()?;
        let files = self.watched(&patterns, &scratch)?;
        let mut note = patterns;
        for (path, about) in &files {
            note.push(0);
            note.extend_from_slice(about.as_bytes());
            note.push(b'\t');
            note.extend_from_slice(path.as_os_str().as_encoded_bytes());
        }
        let note = self.git().fed(["hash-object", "-w", "--stdin"], &note)?;
        let note = String::from_utf8_lossy(&note);
        let reference = name.included_ref();
        self.git().run(["update-ref", reference.as_str(), note.trim_ascii_end()]).map(drop)
    }

    /// What came along into the worktree of this name; `None` where nothing was to.
    fn included_at(&self, name: &Name) -> Result<Option<Included>, WorktreeError> {
        let reference = name.included_ref();
        if self.ref_at(&reference)?.is_none() {
            return Ok(None);
        }
        let note = self.git().run(["cat-file", "blob", &reference])?;
        let mut fields = note.split(|byte| *byte == 0);
        let patterns = fields.next().unwrap_or_default().to_vec();
        let files = fields.filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            Some((path(&line[tab + 1..]), String::from_utf8_lossy(&line[..tab]).into_owned()))
        });
        Ok(Some(Included { patterns, files: files.collect() }))
    }

    /// The files that the patterns name and that are looked at, as they stand. Nothing of them comes into the repository.
    fn watched(&self, patterns: &[u8], scratch: &Scratch) -> Result<Files, WorktreeError> {
        let mut paths = self.ignored_by(patterns, scratch)?;
        paths.retain(|path| is_looked_at(self.top(), path));
        paths.sort_by_cached_key(|path| (path.components().count(), path.clone()));
        paths.truncate(FILES_MAX);
        let objects = scratch.place("objects");
        fault::step()
            .and_then(|()| fs::create_dir(&objects))
            .map_err(|source| WorktreeError::file("make the directory", &objects, source))?;
        let git = self.git().with_index(&scratch.place("watched"));
        listed(&git.with("GIT_OBJECT_DIRECTORY", objects.as_os_str()), paths.iter())
    }

    /// What was kept of the ignored files of a worktree; `None` where they were as they had come along.
    pub(crate) fn ignored_held(&self, name: &Name) -> Result<Option<Held>, WorktreeError> {
        let Some(commit) = self.ref_at(&name.ignored_ref())? else { return Ok(None) };
        let began = self.included_at(name)?.map_or_else(Files::new, |included| included.files);
        let said = self.git().run(["ls-tree", "-r", "-z", "--full-tree", commit.as_str()])?;
        let mut files = Files::new();
        for line in parts(&said) {
            let text = String::from_utf8_lossy(line);
            let words: Vec<&str> = text.splitn(3, ' ').collect();
            let tab = line.iter().position(|byte| *byte == b'\t');
            if let ([mode, _, rest], Some(tab)) = (&words[..], tab) {
                let object = rest.split('\t').next().unwrap_or_default();
                files.insert(path(&line[tab + 1..]), format!("{mode} {object}"));
            }
        }
        Ok(Some(Held { began, files, commit }))
    }

    /// Ignored files that a worktree changed which is removed, as it was last kept. They are kept, and no way back brings them.
    pub fn kept_ignored(&self, name: &Name) -> Result<Vec<PathBuf>, WorktreeError> {
        let held = self.ignored_held(name)?;
        Ok(held.map_or_else(Vec::new, |held| differing(&held.began, &held.files, |_| false)))
    }

    /// Writes what was kept into this checkout, where nothing else stands; `is_free` says where that is.
    pub(crate) fn write_ignored(
        &self,
        held: &Held,
        is_free: impl Fn(&Path) -> bool,
    ) -> Result<(), WorktreeError> {
        let free: Vec<&PathBuf> = held.files.keys().filter(|path| is_free(path)).collect();
        if free.is_empty() {
            return Ok(());
        }
        let scratch = Scratch::new()?;
        let git = self.git().with_index(&scratch.index());
        git.run(["read-tree", held.commit.as_str()])?;
        git.fed(["checkout-index", "--quiet", "-z", "--stdin"], &joined(free.iter().copied()))?;
        for file in free.iter().map(|path| self.top().join(path)) {
            let about = fs::symlink_metadata(&file).ok().filter(fs::Metadata::is_file);
            let Some(mode) = about.map(|about| about.permissions().mode() & OWN) else { continue };
            fault::step()
                .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(mode)))
                .map_err(|source| WorktreeError::file("set the mode of", &file, source))?;
        }
        Ok(())
    }
}

impl Worktree {
    /// Ignored files that came along and are not as they came, and new ones of the same patterns. They are work that no snapshot has.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        Ok(self.ignored_now()?.map_or_else(Vec::new, |(changed, ..)| changed))
    }

    fn ignored_now(&self) -> Result<Option<(Vec<PathBuf>, Files, Scratch)>, WorktreeError> {
        let repository = self.repository();
        let Some(began) = repository.included_at(self.name())? else { return Ok(None) };
        let scratch = repository.take_index()?;
        let files = repository.watched(&began.patterns, &scratch)?;
        // What is there and not in the list is no ignored file any more, and the snapshot has it.
        let is_there = |path: &Path| repository.top().join(path).symlink_metadata().is_ok();
        let changed = differing(&began.files, &files, is_there);
        Ok(Some((changed, files, scratch)))
    }

    /// Holds the same files by a ref, all of them as they stand, in place of what was held before; returns those that changed.
    /// Where none did, nothing is held.
    pub fn hold_ignored(&self, now_ms: i64) -> Result<Vec<PathBuf>, WorktreeError> {
        let Some((changed, files, scratch)) = self.ignored_now()? else { return Ok(Vec::new()) };
        let (repository, name) = (self.repository(), self.name().ignored_ref());
        if changed.is_empty() {
            if repository.ref_at(&name)?.is_some() {
                repository.delete_ref(&name)?;
            }
            return Ok(changed);
        }
        let git = repository.git().with_index(&scratch.place("held"));
        listed(&git, files.keys())?;
        let tree = Tree::parse(&git.text(["write-tree"])?)?;
        let held = commit(&git, &tree, &[], "ignored files as they stood", now_ms)?;
        repository.set_ref(&name, &held)?;
        Ok(changed)
    }

    /// Ignored files that are looked at: those that came along, and new ones of the same patterns.
    pub(crate) fn included_now(&self) -> Result<BTreeSet<PathBuf>, WorktreeError> {
        let now = self.ignored_now()?;
        Ok(now.map_or_else(BTreeSet::new, |(_, files, _)| files.into_keys().collect()))
    }

    /// Ignored files that came along and new ones of the same patterns, sorted.
    pub fn included_files(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        Ok(self.included_now()?.into_iter().collect())
    }

    /// What came along counts as it stands now.
    pub(crate) fn begin_ignored(&self) -> Result<(), WorktreeError> {
        match self.repository().included_at(self.name())? {
            Some(began) => self.repository().note_by(began.patterns, self.name()),
            None => Ok(()),
        }
    }
}

/// Whether a file stands there, or a link, of a size that is looked at, and no link leads to it.
fn is_looked_at(top: &Path, file: &Path) -> bool {
    let about = |path: &Path| fs::symlink_metadata(top.join(path)).ok();
    let is_reached = file
        .ancestors()
        .skip(1)
        .filter(|above| **above != *Path::new(""))
        .all(|above| about(above).is_some_and(|about| about.is_dir()));
    let is_file = |about: fs::Metadata| {
        about.is_symlink() || (about.is_file() && about.len() <= FILE_BYTES_MAX)
    };
    is_reached && about(file).is_some_and(is_file)
}

/// Brings these files into the index of `git`, and lists them.
fn listed<'a>(git: &Git, paths: impl Iterator<Item = &'a PathBuf>) -> Result<Files, WorktreeError> {
    git.fed(["update-index", "--add", "--remove", "-z", "--stdin"], &joined(paths))?;
    let mut files = Files::new();
    for line in parts(&git.run(["ls-files", "--stage", "-z"])?) {
        let about: Vec<u8> = line.iter().copied().take_while(|byte| *byte != b'\t').collect();
        let about = String::from_utf8_lossy(&about);
        // Mode, object, and a stage that is always zero here.
        let about = about.rsplit_once(' ').map_or("", |(about, _)| about);
        files.insert(entry(line)?.path, about.to_owned());
    }
    Ok(files)
}

/// Paths that are new or other in `after`, or missing there and not said to be there all the same.
fn differing(before: &Files, after: &Files, is_there: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let other = after.iter().filter(|(path, about)| before.get(*path) != Some(*about));
    let gone = before.keys().filter(|path| !after.contains_key(*path) && !is_there(path));
    let mut paths: Vec<PathBuf> = other.map(|(path, _)| path).chain(gone).cloned().collect();
    paths.sort();
    paths
}
