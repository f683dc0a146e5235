//! Where git keeps what belongs to a directory, when that is somewhere else: above it, or in the repository that it is a
//! worktree of. Reading commands of git need it; commits need to write some of it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::grants::{Access, Grant};
use crate::linked::{Linked, nearest};

/// Directories of git outside `directory`, which must be a real path.
pub(super) fn outside(directory: &Path) -> Vec<PathBuf> {
    let Some((top, own)) = nearest(directory) else { return Vec::new() };
    if own.is_dir() {
        let is_above = top != directory && own.join("HEAD").is_file();
        return if is_above { own.canonicalize().into_iter().collect() } else { Vec::new() };
    }
    let linked = Linked::around(directory);
    linked.map_or_else(Vec::new, |linked| vec![linked.administration, linked.common])
}

/// The checkout that `directory` lies in.
pub(super) fn top(directory: &Path) -> Option<PathBuf> {
    nearest(directory).map(|(top, _)| top.to_owned())
}

/// What a run that may write its directory may write of git beside it: of a linked worktree what commits need, and nothing
/// that it shares with others but the objects.
pub(super) fn grants(linked: Option<&Linked>) -> Vec<Grant> {
    written(linked).into_iter().map(|path| Grant::new(path, Access::Full)).collect()
}

/// The same as paths.
pub(super) fn written(linked: Option<&Linked>) -> Vec<PathBuf> {
    linked.map_or_else(Vec::new, Linked::written)
}

/// Those of `paths` that the repository of `directory` has in its index. A key that is committed there is a sample or no
/// secret any more, and builds need it.
pub(super) fn tracked(directory: &Path, paths: &[PathBuf]) -> HashSet<PathBuf> {
    let Some((top, _)) = nearest(directory) else { return HashSet::new() };
    let inside: Vec<&PathBuf> = paths.iter().filter(|path| path.starts_with(top)).collect();
    if inside.is_empty() {
        return HashSet::new();
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "a list of names, which no setting makes run a program"
    )]
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(top).args(["-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--"]);
    git.args(&inside).stdin(Stdio::null()).stderr(Stdio::null());
    let Ok(listed) = git.output() else { return HashSet::new() };
    let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| top.join(OsStr::from_bytes(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_worktree_is_believed_where_its_repository_names_it_back() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (repository, work) = (root.join("main/.git"), root.join("work"));
        let administration = repository.join("worktrees/work");
        write(&repository.join("HEAD"), "ref: refs/heads/main\n");
        write(&administration.join("commondir"), "../..\n");
        write(&administration.join("gitdir"), &format!("{}\n", work.join(".git").display()));
        write(&work.join(".git"), &format!("gitdir: {}\n", administration.display()));
        assert_eq!(outside(&work), [administration.clone(), repository.clone()]);
        assert_eq!(outside(&root.join("main")), [""; 0].map(PathBuf::from));
        std::fs::create_dir(root.join("main/below")).unwrap();
        assert_eq!(outside(&root.join("main/below")), [repository]);
        // Another directory that claims to be the same worktree, and one that names a place of keys.
        for named in [&administration, &root.join(".ssh")] {
            let liar = root.join("liar");
            write(&root.join(".ssh/HEAD"), "");
            write(&liar.join(".git"), &format!("gitdir: {}\n", named.display()));
            assert!(outside(&liar).is_empty());
        }
    }
}
