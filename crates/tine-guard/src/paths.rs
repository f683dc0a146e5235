//! Where a path written in a call leads, as text alone.
//!
//! `..` is resolved in the text, as the tools do before they open anything. Symbolic links are not
//! followed here: nothing in this module touches the file system.

use std::path::{Component, Path, PathBuf};

/// A path seen from an agent's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPlace {
    /// At or below the directory; relative to it, empty for the directory itself.
    Inside(PathBuf),
    /// Anywhere else, as an absolute path where one is known.
    Outside(PathBuf),
}

/// Resolves `path` against `directory`, which must be absolute; from any other directory every path
/// counts as outside. A leading `~` counts as outside, because it would leave if it were expanded.
pub fn place_of(directory: &Path, path: &str) -> PathPlace {
    let joined = directory.join(path);
    let resolved = normalise(&joined);
    if !directory.is_absolute() || path.starts_with('~') {
        return PathPlace::Outside(if path.starts_with('~') { path.into() } else { resolved });
    }
    match resolved.strip_prefix(normalise(directory)) {
        Ok(relative) => PathPlace::Inside(relative.to_path_buf()),
        Err(_) => PathPlace::Outside(resolved),
    }
}

/// Removes `.` and resolves `..`; at the root `..` stays at the root, as it does for the system.
pub fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            Component::ParentDir if out.has_root() => {}
            Component::ParentDir | Component::Normal(_) => out.push(component),
            Component::RootDir | Component::Prefix(_) => out.push(component),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_placed_by_their_text() {
        let check = |path: &str, expected: PathPlace| {
            assert_eq!(place_of(Path::new("/srv/app"), path), expected, "{path}");
        };
        let inside = |path: &str| PathPlace::Inside(path.into());
        let outside = |path: &str| PathPlace::Outside(path.into());
        check("src/a.rs", inside("src/a.rs"));
        check("./src//b/../a.rs", inside("src/a.rs"));
        check("/srv/app/src", inside("src"));
        check(".", inside(""));
        check("../app/x", inside("x"));
        check("..", outside("/srv"));
        check("src/../../app2/x", outside("/srv/app2/x"));
        check("/srv/application", outside("/srv/application"));
        check("/../../etc/passwd", outside("/etc/passwd"));
        check("~/.ssh/id_rsa", outside("~/.ssh/id_rsa"));
    }

    #[test]
    fn from_a_relative_directory_everything_is_outside() {
        assert_eq!(place_of(Path::new("app"), "a"), PathPlace::Outside("app/a".into()));
        assert_eq!(place_of(Path::new(""), "../a"), PathPlace::Outside("../a".into()));
    }
}
