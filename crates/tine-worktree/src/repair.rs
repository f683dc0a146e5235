//! Finds worktrees again after their repository, or they themselves, were moved to another place.
//!
//! Git and tine know both by their paths. Only paths that lead nowhere any more are written anew, so nothing of a copy is taken from
//! its owner, and whoever repairs twice changes nothing.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::apply::checkout_suffix;
use crate::error::WorktreeError;
use crate::fault;
use crate::git::path;
use crate::ids::Name;
use crate::making::{DOT_GIT, Making, names};
use crate::marker::{Marked, Marker};
use crate::repository::Repository;
use crate::wary;
use crate::worktree::{marked, own_parts, path_of, place_of};

/// A directory that is elsewhere by now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// The place where it was.
    pub from: PathBuf,
    /// The place where it is.
    pub to: PathBuf,
}

impl Move {
    /// Returns the move of the highest directory that explains why something at `from` is at `to`.
    pub fn between(from: &Path, to: &Path) -> Self {
        let (mut from, mut to) = (from, to);
        while let (Some(old), Some(new)) = (from.file_name(), to.file_name()) {
            let (Some(above), Some(new_above)) = (from.parent(), to.parent()) else { break };
            if old != new || from == to {
                break;
            }
            (from, to) = (above, new_above);
        }
        Self { from: from.to_owned(), to: to.to_owned() }
    }

    /// Returns where `path` is by now, if it moved along: nothing is at its old place, and something at the new one.
    pub fn follow(&self, path: &Path) -> Option<PathBuf> {
        let moved = self.to.join(path.strip_prefix(&self.from).ok()?);
        // A join with nothing would end with a slash.
        let moved: PathBuf = moved.components().collect();
        (!path.exists() && moved.exists()).then_some(moved)
    }
}

impl Repository {
    /// Returns true where the repository has anything of the worktree of this name: a ref, or git's own part of it.
    pub fn has_worktree(&self, name: &Name) -> Result<bool, WorktreeError> {
        let below = format!("refs/tine/{name}/");
        if !self.git().run(["for-each-ref", "--count=1", &below])?.is_empty() {
            return Ok(true);
        }
        Ok(self.parts_of(name)?.next().is_some())
    }

    /// Mends the links between git's own part of a worktree and its files at `path`, where they lead nowhere. `origin` is the checkout
    /// that it was forked from. Returns whether anything was mended.
    pub fn relink(&self, name: &Name, path: &Path, origin: &Path) -> Result<bool, WorktreeError> {
        let place = place_of(path);
        let mut parts = self.parts_of(name)?;
        // Of several, somebody has forged one.
        let (Some(git_dir), None) = (parts.next(), parts.next()) else { return Ok(false) };
        if !place.is_dir() {
            return Ok(false);
        }
        let mut mended = false;
        if !names(&place, &git_dir) {
            if !was_named(&place, &git_dir) {
                return Ok(false);
            }
            link(&place, &git_dir)?;
            mended = true;
        }
        if path_of(&git_dir).is_none_or(|found| found != place && !found.exists()) {
            let text = [place.join(DOT_GIT).as_os_str().as_encoded_bytes(), b"\n"].concat();
            replace(&git_dir.join("gitdir"), &text)?;
            mended = true;
        }
        if let Some(Marked::Ready(marker)) = marked(&git_dir)
            && marker.origin != origin
            && !marker.origin.exists()
        {
            Marker { origin: origin.to_owned(), ..marker }.write(&git_dir)?;
            mended = true;
        }
        Ok(mended)
    }

    /// Gives refs of checkouts that moved the names of the new places: what `undo` and the next apply go by. Returns how many.
    pub fn rename_refs(&self, tops: &[Move]) -> Result<usize, WorktreeError> {
        let format = "--format=%(refname) %(objectname)";
        let said = self.git().text(["for-each-ref", format, "refs/tine/"])?;
        let (mut lines, mut count) = (String::new(), 0);
        for Move { from, to } in tops {
            let [old, new] = [from, to].map(|top| checkout_suffix(top));
            for (name, object) in said.lines().filter_map(|line| line.split_once(' ')) {
                let Some(stem) = name.strip_suffix(&old) else { continue };
                let renamed = format!("{stem}{new}");
                // One that was made at the new place since is newer.
                if self.ref_at(&renamed)?.is_none() {
                    lines.push_str(&format!("create {renamed} {object}\n"));
                }
                lines.push_str(&format!("delete {name} {object}\n"));
                count += 1;
            }
        }
        if count > 0 {
            self.git().fed(["update-ref", "--stdin"], lines.as_bytes())?;
        }
        Ok(count)
    }

    /// Git's own parts that say that they are of the worktree of this name.
    fn parts_of(&self, name: &Name) -> Result<impl Iterator<Item = PathBuf>, WorktreeError> {
        let name = name.clone();
        let is_its = move |git_dir: &PathBuf| match marked(git_dir) {
            Some(Marked::Ready(marker) | Marked::Leaving(marker)) => marker.name == name,
            Some(Marked::Not) | None => {
                let reason = wary::note(&git_dir.join("locked")).unwrap_or_default();
                let reason = String::from_utf8_lossy(&reason);
                Making::read_lock(&reason).is_some_and(|(_, locked)| locked == name.as_str())
            }
        };
        Ok(own_parts(self.common_dir())?.into_iter().filter(is_its))
    }
}

/// Returns true where the files say that git's own part of them was at a place that is gone, and had the name of this one.
fn was_named(files: &Path, git_dir: &Path) -> bool {
    let Ok(text) = wary::note(&files.join(DOT_GIT)) else { return false };
    let named = text.strip_prefix(b"gitdir: ").map(|named| path(named.trim_ascii_end()));
    named.is_some_and(|named| !named.exists() && named.file_name() == git_dir.file_name())
}

/// Writes the file by which git knows the files. Whoever is cut short in between leaves none, which `link_again` mends.
fn link(files: &Path, git_dir: &Path) -> Result<(), WorktreeError> {
    let file = files.join(DOT_GIT);
    let text = [b"gitdir: ", git_dir.as_os_str().as_encoded_bytes(), b"\n"].concat();
    fault::step()
        .and_then(|()| fs::remove_file(&file))
        .and_then(|()| File::create_new(&file))
        .and_then(|mut created| created.write_all(&text))
        .map_err(|source| WorktreeError::file("write", &file, source))
}

/// Writes a file of git's own part, whole or not at all.
fn replace(file: &Path, text: &[u8]) -> Result<(), WorktreeError> {
    let half = file.with_extension("half");
    let write = || {
        fault::step()?;
        fs::write(&half, text)?;
        fs::rename(&half, file)
    };
    write().map_err(|source| WorktreeError::file("write", file, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_that_of_the_highest_directory() {
        let check = |from: &str, to: &str, expected: (&str, &str)| {
            let found = Move::between(Path::new(from), Path::new(to));
            let expected = Move { from: expected.0.into(), to: expected.1.into() };
            assert_eq!(found, expected, "{from} to {to}");
        };
        check("/a/one/.git", "/a/two/.git", ("/a/one", "/a/two"));
        check("/a/one/.git", "/b/one/.git", ("/a", "/b"));
        check("/a/one.git", "/a/two.git", ("/a/one.git", "/a/two.git"));
        check("/x/r/.git", "/y/z/r/.git", ("/x", "/y/z"));
    }

    #[test]
    fn only_what_is_gone_from_its_old_place_has_moved() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("new/sub")).unwrap();
        fs::create_dir_all(at("old/other")).unwrap();
        fs::create_dir_all(at("new/other")).unwrap();
        let moved = Move { from: at("old"), to: at("new") };
        assert_eq!(moved.follow(&at("old/sub")), Some(at("new/sub")));
        for stays in ["old/other", "old/none", "elsewhere"] {
            assert_eq!(moved.follow(&at(stays)), None, "{stays}");
        }
        fs::remove_dir_all(at("old")).unwrap();
        assert_eq!(moved.follow(&at("old")), Some(at("new")));
    }
}
