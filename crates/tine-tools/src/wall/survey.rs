//! A walk that finds out how to grant reading without granting the secrets.
//!
//! The kernel grants whole subtrees and takes nothing back below. So a directory that holds a secret is granted child by child,
//! and each child that holds one again so. Symbolic links are never followed: what they lead to has its own place.

use std::fs::{DirEntry, FileType};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::grants::{Access, Grant};
use crate::place::Withheld;

/// What a walk leaves out.
#[derive(Clone, Copy)]
pub(super) enum Omit<'a> {
    /// What the owner of the place says.
    Withheld(&'a Withheld),
    /// What not everybody may read: below `/etc` that is where the system keeps keys and passwords. Matters to root alone.
    Private,
}

/// A walk, and how many entries it may still look at.
pub(super) struct Survey<'a> {
    omit: Omit<'a>,
    /// Directories that are looked into whatever the depth.
    deeper: Option<&'a dyn Fn(&Path) -> bool>,
    entries_left: usize,
    ran_out: bool,
}

/// What a subtree is.
enum Found {
    /// Nothing in it is left out.
    Whole,
    /// It is left out.
    Nothing,
    /// No file and no directory; it grants nothing and hides nothing.
    Link,
    /// Some of it may be granted.
    Parts(Vec<Grant>),
}

impl<'a> Survey<'a> {
    pub(super) fn new(omit: Omit<'a>, entries_max: usize) -> Self {
        Self { omit, deeper: None, entries_left: entries_max, ran_out: false }
    }

    /// The same walk, which looks into the directories that `deeper` names beyond its depth.
    pub(super) fn deeper(self, deeper: &'a dyn Fn(&Path) -> bool) -> Self {
        Self { deeper: Some(deeper), ..self }
    }

    /// Whether there were more entries than it may look at. Those it has not seen are not granted.
    pub(super) fn ran_out(&self) -> bool {
        self.ran_out
    }

    /// Reading of `root`, looking `depth` directories deep; what lies deeper goes with the directory it lies in.
    pub(super) fn reading(&mut self, root: &Path, depth: usize) -> Vec<Grant> {
        let Ok(metadata) = root.symlink_metadata() else { return Vec::new() };
        if self.is_omitted(root, metadata.mode()) {
            return Vec::new();
        }
        match self.look(root.to_path_buf(), metadata.file_type(), depth) {
            Found::Whole => vec![Grant::new(root, Access::Read)],
            Found::Parts(mut parts) => {
                // The names may be seen; it is what stands in the files that is kept back.
                parts.push(Grant::new(root, Access::List));
                parts
            }
            Found::Nothing | Found::Link => Vec::new(),
        }
    }

    fn look(&mut self, path: PathBuf, kind: FileType, depth: usize) -> Found {
        if kind.is_symlink() {
            return Found::Link;
        }
        let is_near = depth > 0 || self.deeper.is_some_and(|deeper| deeper(&path));
        if !kind.is_dir() || !is_near {
            return Found::Whole;
        }
        // What cannot be listed now could be opened up by the command itself, where it belongs to the user.
        let Ok(entries) = std::fs::read_dir(&path) else { return Found::Nothing };
        let (mut parts, mut whole) = (Vec::new(), true);
        for entry in entries {
            let Ok(entry) = entry else { return Found::Nothing };
            match self.entry(&entry, depth) {
                (path, Found::Whole) => parts.push(Grant::new(path, Access::Read)),
                (_, Found::Link) => {}
                (_, Found::Nothing) => whole = false,
                (_, Found::Parts(below)) => {
                    whole = false;
                    parts.extend(below);
                }
            }
        }
        if whole { Found::Whole } else { Found::Parts(parts) }
    }

    fn entry(&mut self, entry: &DirEntry, depth: usize) -> (PathBuf, Found) {
        let path = entry.path();
        if self.entries_left == 0 {
            self.ran_out = true;
            return (path, Found::Nothing);
        }
        self.entries_left -= 1;
        let Ok(kind) = entry.file_type() else { return (path, Found::Nothing) };
        let mode = match self.omit {
            Omit::Withheld(_) => Ok(0),
            Omit::Private => entry.metadata().map(|metadata| metadata.mode()),
        };
        if !kind.is_symlink() && mode.map_or(true, |mode| self.is_omitted(&path, mode)) {
            return (path, Found::Nothing);
        }
        let found = self.look(path.clone(), kind, depth.saturating_sub(1));
        (path, found)
    }

    fn is_omitted(&self, path: &Path, mode: u32) -> bool {
        match self.omit {
            Omit::Withheld(withheld) => withheld(path),
            Omit::Private => mode & 0o004 == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::Arc;

    use super::*;

    fn tree(names: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in names {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        root
    }

    fn shown(root: &tempfile::TempDir, depth: usize, entries_max: usize) -> (Vec<String>, bool) {
        let withheld: Withheld = Arc::new(|path: &Path| path.ends_with("key"));
        let mut survey = Survey::new(Omit::Withheld(&withheld), entries_max);
        let mut lines: Vec<String> = survey
            .reading(root.path(), depth)
            .iter()
            .map(|grant| {
                let path = grant.path.strip_prefix(root.path()).unwrap();
                format!("{:?} {}", grant.access, path.display())
            })
            .collect();
        lines.sort();
        (lines, survey.ran_out())
    }

    #[test]
    fn a_tree_without_secrets_is_one_grant() {
        let root = tree(&["a", "b/c", "b/d/e"]);
        assert_eq!(shown(&root, 9, 99).0, ["Read "]);
    }

    #[test]
    fn around_a_secret_everything_else_is_granted_one_by_one() {
        let root = tree(&["a", "b/c", "b/d/key", "b/d/e", "f/g/h"]);
        symlink("key", root.path().join("link")).unwrap();
        assert_eq!(shown(&root, 9, 99).0, ["List ", "Read a", "Read b/c", "Read b/d/e", "Read f"]);
        // Deeper than it looks it does not see.
        assert_eq!(shown(&root, 1, 99).0, ["Read "]);
    }

    #[test]
    fn on_the_way_to_a_known_store_it_looks_as_deep_as_that_is() {
        let root = tree(&["a/b/c/key", "a/b/c/d", "e/f/key"]);
        let withheld: Withheld = Arc::new(|path: &Path| path.ends_with("key"));
        let leads = |path: &Path| root.path().join("a/b/c").starts_with(path);
        let grants =
            Survey::new(Omit::Withheld(&withheld), 99).deeper(&leads).reading(root.path(), 1);
        let read = grants.iter().filter(|grant| grant.access == Access::Read);
        let mut paths: Vec<_> =
            read.map(|grant| grant.path.strip_prefix(root.path()).unwrap()).collect();
        paths.sort();
        assert_eq!(paths, [Path::new("a/b/c/d"), Path::new("e")]);
    }

    #[test]
    fn what_it_has_no_room_to_look_at_is_not_granted() {
        let root = tree(&["a", "b", "c"]);
        let (lines, ran_out) = shown(&root, 9, 2);
        assert_eq!((lines.len(), ran_out), (3, true));
    }

    #[test]
    fn private_files_are_left_out_where_that_is_asked() {
        let root = tree(&["open", "shut"]);
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        mode(root.path(), 0o755);
        mode(&root.path().join("open"), 0o644);
        mode(&root.path().join("shut"), 0o640);
        let mut survey = Survey::new(Omit::Private, 99);
        let paths: Vec<PathBuf> =
            survey.reading(root.path(), 9).into_iter().map(|grant| grant.path).collect();
        assert_eq!(paths, [root.path().join("open"), root.path().to_path_buf()]);
    }
}
