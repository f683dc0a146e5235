//! Where git keeps what belongs to a directory, when that is somewhere else: above it, or in the repository that it is a
//! worktree of. Reading commands of git need it; commits need to write some of it.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::grants::{Access, Grant};
use crate::linked::{Linked, nearest};
use crate::own_git::{GitCall, looked};

/// Files that a move left behind and that are looked at.
const LEFT_BEHIND_MAX: usize = 100;

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

/// Returns those of `paths` that the last commit of the repository of `directory` holds as they lie there now.
pub(super) fn committed(directory: &Path, paths: &[PathBuf]) -> HashSet<PathBuf> {
    let Some((top, _)) = nearest(directory) else { return HashSet::new() };
    let inside: Vec<&Path> = paths
        .iter()
        .filter(|path| path.symlink_metadata().is_ok_and(|about| about.is_file()))
        .filter_map(|path| path.strip_prefix(top).ok())
        .collect();
    if inside.is_empty() {
        return HashSet::new();
    }
    let Some(listed) = output(top, &["ls-tree", "-r", "-z", "HEAD", "--"], &inside) else {
        return HashSet::new();
    };
    let held: HashMap<&[u8], &[u8]> =
        listed.split(|byte| *byte == 0).filter_map(tree_entry).collect();
    let named: Vec<&Path> =
        inside.into_iter().filter(|path| held.contains_key(path.as_os_str().as_bytes())).collect();
    // As it lies there: no filter of the repository may say that something else does.
    let Some(hashes) = output(top, &["hash-object", "--no-filters", "--"], &named) else {
        return HashSet::new();
    };
    let hashes = hashes.split(|byte| *byte == b'\n');
    let is_held =
        |(path, hash): &(&Path, &[u8])| held.get(path.as_os_str().as_bytes()) == Some(hash);
    named.into_iter().zip(hashes).filter(is_held).map(|(path, _)| top.join(path)).collect()
}

/// Files at or below the `protected` paths that differ between two commits, and that lie there as the first one holds them, or are missing
/// where it holds none.
pub(super) fn left_behind(
    top: &Path,
    (old, new): (&str, &str),
    protected: &[PathBuf],
) -> Vec<PathBuf> {
    let inside: Vec<&Path> =
        protected.iter().filter_map(|path| path.strip_prefix(top).ok()).collect();
    if inside.is_empty() {
        return Vec::new();
    }
    let compare = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, "--"];
    let Some(differing) = output(top, &compare, &inside) else { return Vec::new() };
    let differing = differing.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let differing: Vec<&Path> = differing.map(|name| Path::new(OsStr::from_bytes(name))).collect();
    if differing.is_empty() {
        return Vec::new();
    }
    let Some(listed) = output(top, &["ls-tree", "-r", "-z", old, "--"], &differing) else {
        return Vec::new();
    };
    let held: HashMap<&[u8], &[u8]> =
        listed.split(|byte| *byte == 0).filter_map(tree_entry).collect();
    let is_file =
        |path: &Path| top.join(path).symlink_metadata().is_ok_and(|about| about.is_file());
    let lies = |path: &Path| {
        let hash = output(top, &["hash-object", "--no-filters", "--"], &[path])?;
        Some(hash.trim_ascii_end().to_vec())
    };
    let stays = |path: &&Path| match held.get(path.as_os_str().as_bytes()) {
        Some(hash) => is_file(path) && lies(path).is_some_and(|lies| lies == *hash),
        None => top.join(path).symlink_metadata().is_err(),
    };
    differing.into_iter().take(LEFT_BEHIND_MAX).filter(stays).map(Path::to_owned).collect()
}

/// Checkouts of other repositories that the index of a repository names, whose own folder is `own` and whose checkout is `top`.
pub(super) fn repositories_in_index(own: &Path, top: &Path) -> Vec<PathBuf> {
    let variables = [("GIT_DIR", own.into()), ("GIT_WORK_TREE", top.into())];
    let arguments = ["ls-files", "--stage", "-z"].map(OsString::from);
    let call = GitCall { variables: &variables, ..GitCall::look(top, &arguments) };
    let Some(listed) = call.run(|| ()).ok().filter(|output| output.status.success()) else {
        return Vec::new();
    };
    let listed = listed.stdout;
    let paths = listed.split(|byte| *byte == 0).filter_map(|line| {
        let line = line.strip_prefix(b"160000 ")?;
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        Some(top.join(OsStr::from_bytes(&line[tab + 1..])))
    });
    paths.collect()
}

/// The path and the object of a line of `git ls-tree`: `100644 blob HASH<tab>PATH`.
fn tree_entry(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let object = line[..tab].rsplit(|byte| *byte == b' ').next()?;
    Some((&line[tab + 1..], object))
}

/// What git prints of these paths; `None` if it fails.
fn output(top: &Path, arguments: &[&str], paths: &[&Path]) -> Option<Vec<u8>> {
    let literal = ["--literal-pathspecs"].iter().chain(arguments).map(OsStr::new);
    looked(top, literal.chain(paths.iter().map(|path| path.as_os_str())))
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
