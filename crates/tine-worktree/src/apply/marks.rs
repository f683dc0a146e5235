//! What came of an apply since: whether its marks still stand, and whether it is committed by now. Only reads.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Apply;
use super::refs::{Refs, our_label};
use crate::diff::{differences, paths_between};
use crate::error::WorktreeError;
use crate::git::{parts, path};
use crate::ids::{Commit, Tree};
use crate::obstacle::Obstacle;
use crate::repository::Repository;
use crate::snapshot::{Snapshot, tree_of};

/// How many files one command is asked about: their names must fit on a command line.
const FILES_AT_ONCE: usize = 256;

impl Repository {
    /// Refuses where marks of the last apply still stand in files that are asked for: a second one would put marks around marks, and
    /// would be all that can be undone.
    pub(super) fn refuse_marks(
        &self,
        apply: &Apply<'_>,
        refs: &Refs,
        ours: &Snapshot,
    ) -> Result<(), WorktreeError> {
        let (Some(before), Some(after)) = (self.ref_at(&refs.onto)?, self.ref_at(&refs.applied)?)
        else {
            return Ok(());
        };
        let git = self.git();
        let is_asked = |found: &PathBuf| {
            apply.paths.is_empty() || apply.paths.iter().any(|asked| found.starts_with(asked))
        };
        let changed = differences(&git, &tree_of(&git, &before)?, &tree_of(&git, &after)?)?;
        let changed: Vec<PathBuf> =
            changed.into_iter().map(|found| found.path).filter(is_asked).collect();
        let mark = format!("^<<<<<<< {}", our_label(apply.name));
        let (tree, mut marked) = (ours.work_tree.as_str(), Vec::new());
        let literal = git.with("GIT_LITERAL_PATHSPECS", "1".as_ref());
        for files in changed.chunks(FILES_AT_ONCE) {
            let grep = ["grep", "-G", "-l", "-z", "--full-name", "-e", &mark, tree, "--"];
            let names = files.iter().map(|file| file.as_os_str().to_owned());
            let arguments = grep.iter().map(OsString::from).chain(names);
            let (_, said) = literal.answer(arguments, &[])?;
            // Each name has the directory that was looked at before it.
            let skipped = tree.len() + 1;
            marked.extend(parts(&said).filter_map(|name| name.get(skipped..)).map(path));
        }
        if marked.is_empty() { Ok(()) } else { Err(Obstacle::MarksThere(marked).into()) }
    }

    /// Refuses to take out of the checkout what was committed there since the state `before`, and stands as it was committed.
    pub(super) fn refuse_committed(
        &self,
        before: Commit,
        ours: &Snapshot,
        undone: &Tree,
    ) -> Result<(), WorktreeError> {
        let git = self.git();
        let before = Snapshot::read(&git, before)?;
        let since = paths_between(&git, &before.base_tree, &ours.base_tree)?;
        let open = paths_between(&git, &ours.base_tree, &ours.work_tree)?;
        let goes = differences(&git, &ours.work_tree, undone)?.into_iter().map(|found| found.path);
        let is_committed = |path: &PathBuf| since.contains(path) && !open.contains(path);
        let committed: Vec<PathBuf> = goes.filter(is_committed).collect();
        if committed.is_empty() { Ok(()) } else { Err(Obstacle::Committed(committed).into()) }
    }
}
