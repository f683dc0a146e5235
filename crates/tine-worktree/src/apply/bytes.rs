//! Bytes of files that come into a checkout whose bytes git would not give back, or that are to be as they once were.
//!
//! Git has staged each file as it writes it. Where another content is better, and git takes that for the same, it takes its place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::lines::{BYTES_MAX as LINE_BY_LINE_BYTES_MAX, carry};
use crate::changes::Mode;
use crate::diff::{Difference, paths_between};
use crate::error::WorktreeError;
use crate::exact::blobs;
use crate::git::{Git, index_line, joined, parts};
use crate::ids::Tree;
use crate::snapshot::{Snapshot, entry};
use crate::wary;

/// States whose bytes are known.
#[derive(Default)]
pub(crate) struct Sources<'a> {
    /// Files become what they were then.
    pub(crate) back: Option<Back<'a>>,
    /// The state that work began with, and the one that it came to.
    pub(crate) work: Option<(&'a Snapshot, &'a Snapshot)>,
}

/// A state that files become again.
pub(crate) struct Back<'a> {
    pub(crate) to: &'a Snapshot,
    /// But these: somebody changed them since.
    pub(crate) except: BTreeSet<PathBuf>,
}

impl Back<'_> {
    fn has(&self, path: &Path) -> bool {
        !self.except.contains(path)
    }
}

/// Files that git has staged.
pub(super) struct Staged<'a> {
    /// The top of the checkout.
    pub(super) top: &'a Path,
    pub(super) ours: &'a Snapshot,
    pub(super) after: &'a Tree,
    pub(super) found: &'a [Difference],
    /// The directory that holds them.
    pub(super) tree: &'a Path,
    /// Git there, with an index that has them.
    pub(super) git: &'a Git,
}

/// A file and what it may become, the best first.
struct Choice<'a> {
    found: &'a Difference,
    contents: Vec<Vec<u8>>,
}

impl Staged<'_> {
    /// Writes the bytes. Returns permissions that files are to have.
    pub(super) fn write_bytes(
        &self,
        sources: &Sources<'_>,
    ) -> Result<BTreeMap<PathBuf, u32>, WorktreeError> {
        let regular: Vec<&Difference> =
            self.found.iter().filter(|found| is_regular(found) && self.is_staged(found)).collect();
        let mut modes = BTreeMap::new();
        if let Some(back) = &sources.back {
            let back_to: Vec<&Difference> =
                regular.iter().copied().filter(|found| back.has(&found.path)).collect();
            self.write_back(back, &back_to)?;
            let note = back.to.exact.as_ref().map(|exact| &exact.note);
            for (found, note) in back_to.iter().zip(std::iter::repeat(note)) {
                let Some(note) = note else { continue };
                let usual = match found.after.kind() {
                    Some(Mode::Program) => note.usual.program,
                    Some(_) | None => note.usual.file,
                };
                let mode = note.modes.get(&found.path).copied().unwrap_or(usual);
                modes.insert(found.path.clone(), mode);
            }
        }
        let is_open =
            |found: &&Difference| sources.back.as_ref().is_none_or(|back| !back.has(&found.path));
        let open: Vec<&Difference> = regular.into_iter().filter(is_open).collect();
        let mut choices = self.choices(&open, sources)?;
        while choices.iter().any(|choice| !choice.contents.is_empty()) {
            choices = self.try_next(choices)?;
        }
        self.write_as_git(&choices)?;
        Ok(modes)
    }

    fn is_staged(&self, found: &Difference) -> bool {
        fs::symlink_metadata(self.tree.join(&found.path)).is_ok_and(|about| about.is_file())
    }

    fn write_back(&self, back: &Back<'_>, files: &[&Difference]) -> Result<(), WorktreeError> {
        let lost = back.to.lost(self.git)?;
        let kept: Vec<(&Path, &str)> = files
            .iter()
            .filter_map(|found| Some((found.path.as_path(), lost.get(&found.path)?.as_str())))
            .collect();
        let objects: Vec<&str> = kept.iter().map(|(_, object)| *object).collect();
        for ((path, _), content) in kept.iter().zip(blobs(self.git, &objects)?) {
            self.write(path, &content)?;
        }
        Ok(())
    }

    fn write(&self, path: &Path, content: &[u8]) -> Result<(), WorktreeError> {
        let file = self.tree.join(path);
        fs::write(&file, content).map_err(|source| WorktreeError::file("stage", &file, source))
    }

    /// Returns what each file may become.
    fn choices<'a>(
        &self,
        open: &[&'a Difference],
        sources: &Sources<'_>,
    ) -> Result<Vec<Choice<'a>>, WorktreeError> {
        let (git, mine) = (self.git, self.ours.lost(self.git)?);
        let theirs = match sources.work {
            Some((_, end)) => end.lost(git)?,
            None => BTreeMap::new(),
        };
        let is_doubtful = |found: &&&Difference| {
            mine.contains_key(&found.path) || theirs.contains_key(&found.path)
        };
        let doubtful: Vec<&Difference> = open.iter().filter(is_doubtful).copied().collect();
        if doubtful.is_empty() {
            return Ok(Vec::new());
        }
        // Where the outcome is the work, and where nobody but the work changed anything.
        let (others, changed) = match sources.work {
            Some((start, end)) => (
                paths_between(git, self.after, &end.work_tree)?,
                paths_between(git, start.bytes_tree(), self.ours.bytes_tree())?,
            ),
            None => (BTreeSet::new(), BTreeSet::new()),
        };
        let mut choices = Vec::with_capacity(doubtful.len());
        for found in doubtful {
            let is_work = sources.work.is_some() && !others.contains(&found.path);
            let work = theirs.get(&found.path).filter(|_| is_work);
            let work = work.map(|object| blob(git, object)).transpose()?;
            let mut contents = Vec::new();
            let is_new = found.before.kind().is_none();
            let bytes = match mine.get(&found.path) {
                Some(object) => Some(blob(git, object)?),
                // Git would give it back; what is too large comes as git writes it.
                None => wary::read(&self.top.join(&found.path), LINE_BY_LINE_BYTES_MAX).ok(),
            };
            if let Some(bytes) = bytes.filter(|_| !is_new) {
                if is_work && !changed.contains(&found.path) {
                    let work = match &work {
                        Some(work) => work.clone(),
                        None => self.staged(&found.path)?,
                    };
                    contents.extend(carry(&bytes, &work, &bytes));
                }
                if mine.contains_key(&found.path) {
                    let before = blob(git, &found.before.object)?;
                    let after = blob(git, &found.after.object)?;
                    contents.extend(carry(&before, &after, &bytes));
                }
            }
            if is_new || mine.contains_key(&found.path) {
                contents.extend(work);
            }
            // The next one is taken from the end.
            contents.reverse();
            choices.push(Choice { found, contents });
        }
        Ok(choices)
    }

    fn staged(&self, path: &Path) -> Result<Vec<u8>, WorktreeError> {
        let file = self.tree.join(path);
        fs::read(&file).map_err(|source| WorktreeError::file("read", &file, source))
    }

    /// Tries the next content of each. Returns those of which git has another opinion.
    fn try_next<'a>(&self, choices: Vec<Choice<'a>>) -> Result<Vec<Choice<'a>>, WorktreeError> {
        let (mut tried, mut rest) = (Vec::new(), Vec::new());
        for mut choice in choices {
            match choice.contents.pop() {
                Some(content) => {
                    self.write(&choice.found.path, &content)?;
                    tried.push(choice);
                }
                None => rest.push(choice),
            }
        }
        let names = joined(tried.iter().map(|choice| &choice.found.path));
        self.git.fed(["update-index", "-z", "--stdin"], &names)?;
        let said = self.git.run(["ls-files", "--stage", "-z"])?;
        let mut taken = BTreeMap::new();
        for line in parts(&said) {
            let entry = entry(line)?;
            taken.insert(entry.path, entry.object);
        }
        let is_other =
            |choice: &Choice<'_>| taken.get(&choice.found.path) != Some(&choice.found.after.object);
        rest.extend(tried.into_iter().filter(is_other));
        Ok(rest)
    }

    fn write_as_git(&self, choices: &[Choice<'_>]) -> Result<(), WorktreeError> {
        if choices.is_empty() {
            return Ok(());
        }
        let line = |Choice { found, .. }: &Choice<'_>| {
            index_line(&found.after.mode, &found.after.object, &found.path)
        };
        let lines: Vec<u8> = choices.iter().flat_map(line).collect();
        self.git.fed(["update-index", "-z", "--index-info"], &lines)?;
        let names = joined(choices.iter().map(|choice| &choice.found.path));
        self.git.fed(["checkout-index", "--force", "--quiet", "-z", "--stdin"], &names).map(drop)
    }
}

fn is_regular(found: &Difference) -> bool {
    found.after.kind().is_some_and(Mode::is_regular)
}

fn blob(git: &Git, object: &str) -> Result<Vec<u8>, WorktreeError> {
    git.run(["cat-file", "blob", object])
}
