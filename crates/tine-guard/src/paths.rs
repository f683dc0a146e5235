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
pub(crate) fn normalise(path: &Path) -> PathBuf {
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

/// Folder names that hold keys.
const SECRET_FOLDERS: [&str; 7] =
    [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"];

/// File names that hold keys or passwords.
const SECRET_NAMES: [&str; 14] = [
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "authorized_keys",
];

/// File endings that hold private keys or key stores.
const SECRET_ENDINGS: [&str; 9] =
    [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".gpg"];

/// What the names of private SSH keys begin with.
const KEY_NAMES: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

/// The samples that projects check in on purpose.
const SAMPLE_ENDINGS: [&str; 4] = [".example", ".sample", ".template", ".dist"];

/// Whether the path's own words say that it holds keys or passwords. Upper and lower case count as
/// the same, because some file systems do not tell them apart.
pub fn is_secret(path: &Path) -> bool {
    let words: Vec<String> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(word) => Some(word.to_string_lossy().to_lowercase()),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect();
    words.iter().any(|word| SECRET_FOLDERS.contains(&word.as_str()))
        || words.iter().any(|word| is_secret_name(word))
        || path.starts_with("/proc") && words.last().is_some_and(|word| word == "environ")
}

fn is_secret_name(name: &str) -> bool {
    if SAMPLE_ENDINGS.iter().any(|ending| name.ends_with(ending)) || name.ends_with(".pub") {
        return false;
    }
    SECRET_NAMES.contains(&name)
        || name.starts_with(".env.")
        || KEY_NAMES.iter().any(|key| name.starts_with(key))
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The names of secrets as patterns with `*`, in lower case.
pub(crate) fn secret_patterns() -> impl Iterator<Item = String> {
    let whole =
        SECRET_NAMES.iter().chain(&SECRET_FOLDERS).chain(&KEY_NAMES).map(ToString::to_string);
    let endings = SECRET_ENDINGS.iter().map(|ending| format!("*{ending}"));
    whole.chain(endings).chain([".env.*".to_owned()])
}

/// Names that decide what runs later: hooks, permission rules, servers that are started.
const STEERING_NAMES: [&str; 5] = [".git", ".tine", ".mcp.json", ".claude", ".envrc"];

/// Whether writing the path could make something else run, or change these very rules.
pub(crate) fn is_steering(path: &Path) -> bool {
    path.components().any(|component| {
        let word = component.as_os_str().to_string_lossy().to_lowercase();
        STEERING_NAMES.contains(&word.as_str())
    })
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

    #[test]
    fn secrets_are_known_by_name() {
        let secret = [
            ".env",
            "deploy/.env.production",
            "a/.ssh/config",
            "server.PEM",
            "keys/id_rsa",
            "x.key",
            "/proc/self/environ",
            "~/.aws/config",
            "id_ed25519_work",
            ".ENV",
        ];
        let plain = [".env.example", "id_rsa.pub", "src/env.rs", "environment.md", "keyboard.rs"];
        for path in secret {
            assert!(is_secret(Path::new(path)), "{path}");
        }
        for path in plain {
            assert!(!is_secret(Path::new(path)), "{path}");
        }
    }
}
