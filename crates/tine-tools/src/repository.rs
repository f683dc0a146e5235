//! Files of a git repository that decide which programs git runs in it, found on the disk.
//!
//! Which names count stands in one list ([`REPOSITORY_SETTINGS`]). The wall makes these files read-only and asks here. Nothing here
//! runs git or reads what stands in a file.

use std::path::{Path, PathBuf};

use tine_guard::{REPOSITORIES_WITHIN, REPOSITORY_OPERATIONS, REPOSITORY_SETTINGS};

use crate::linked::OWN_COMMON;

/// Folders that are looked at for submodules and linked worktrees of one repository. Large projects have some hundred.
const FOLDERS_MAX: usize = 1_024;

/// Returns the paths that decide which programs git runs in the repository of `git`, its own folder or a file named `.git`: its
/// settings, and those of its submodules and linked worktrees. Settings of the repository itself are named whether they exist or not. Where
/// `git` is no folder, it is itself the path that says which repository this is.
pub(crate) fn repository_settings(git: &Path) -> Vec<PathBuf> {
    if !git.is_dir() {
        return vec![git.to_owned()];
    }
    let operations = |folder: &Path| REPOSITORY_OPERATIONS.map(|name| folder.join(name));
    let mut settings: Vec<PathBuf> = settings_in(git).chain(operations(git)).collect();
    let mut left: Vec<PathBuf> = REPOSITORIES_WITHIN.iter().map(|name| git.join(name)).collect();
    let mut folders_left = FOLDERS_MAX;
    while let Some(folder) = left.pop() {
        for below in folders(&folder) {
            if folders_left == 0 {
                return settings;
            }
            folders_left -= 1;
            if below.join("HEAD").symlink_metadata().is_err() {
                // The name of a submodule may have slashes.
                left.push(below);
                continue;
            }
            settings.extend(settings_in(&below).chain(operations(&below)));
            settings.extend(settings_in(&below.join(OWN_COMMON)));
            // A submodule may have submodules and worktrees.
            left.extend(REPOSITORIES_WITHIN.iter().map(|name| below.join(name)));
        }
    }
    settings
}

/// The settings of the repository whose own folder this is, whether they exist or not.
pub(crate) fn settings_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    REPOSITORY_SETTINGS.iter().map(move |name| folder.join(name))
}

/// The names by which [`is_repository`] tells.
pub(crate) const REPOSITORY_PARTS: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// Returns true if git takes a folder with these names in it for a repository, whatever its own name.
pub(crate) fn is_repository(holds: impl Fn(&str) -> bool) -> bool {
    holds("HEAD") && (holds("commondir") || holds("objects") && holds("refs"))
}

/// The folders in a folder. Links to folders are none.
fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir());
    let entries = if is_folder(folder) { std::fs::read_dir(folder).ok() } else { None };
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(move |path| is_folder(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_submodules_and_worktrees_are_found_and_no_data() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join(".git");
        for name in [
            "HEAD",
            "config",
            "objects/info/packs",
            "modules/libs/logs/HEAD",
            "modules/libs/logs/config",
            "modules/libs/logs/modules/deep/HEAD",
            "modules/libs/logs/modules/deep/hooks/post-checkout",
            "worktrees/one/HEAD",
            "worktrees/one/commondir",
            "worktrees/one/tine-common/config",
        ] {
            let path = git.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(".", git.join("modules/link")).unwrap();
        let mut found = repository_settings(&git);
        found.retain(|path| path.exists());
        found.sort();
        let names: Vec<&str> =
            found.iter().map(|path| path.strip_prefix(&git).unwrap().to_str().unwrap()).collect();
        insta::assert_snapshot!(names.join("\n"), @"
        config
        modules/libs/logs/config
        modules/libs/logs/modules/deep/hooks
        worktrees/one/commondir
        worktrees/one/tine-common/config
        ");
        let file = root.path().join("sub.git");
        std::fs::write(&file, "gitdir: x").unwrap();
        assert_eq!(repository_settings(&file), [file]);
    }
}
