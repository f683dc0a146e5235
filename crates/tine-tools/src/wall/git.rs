//! Where git keeps what belongs to a directory, when that is somewhere else: above it, or in the repository that it is a
//! worktree of. Reading commands of git need it.

use std::path::{Path, PathBuf};

/// Directories of git outside `directory`, which must be a real path. A `.git` file comes with a checkout and could name any
/// directory; it is believed only where that directory names it back.
pub(super) fn outside(directory: &Path) -> Vec<PathBuf> {
    let Some((top, own)) = directory
        .ancestors()
        .map(|above| (above, above.join(".git")))
        .find(|(_, own)| own.symlink_metadata().is_ok())
    else {
        return Vec::new();
    };
    if own.is_dir() {
        let is_above = top != directory && own.join("HEAD").is_file();
        return if is_above { real(&own).into_iter().collect() } else { Vec::new() };
    }
    worktree(top, &own).unwrap_or_default()
}

/// The worktree's own directory in its repository, and the repository.
fn worktree(top: &Path, own: &Path) -> Option<Vec<PathBuf>> {
    let named = line(own)?;
    let administration = real(&top.join(named.strip_prefix("gitdir: ")?))?;
    let back = line(&administration.join("gitdir"))?;
    if real(Path::new(&back))? != real(own)? {
        return None;
    }
    let common = real(&administration.join(line(&administration.join("commondir"))?))?;
    let is_repository = common.join("HEAD").is_file() && administration.starts_with(&common);
    is_repository.then(|| vec![administration, common])
}

fn line(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim_end().to_owned())
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
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
