//! Socket files of other processes: through one a command could have a service outside the wall do its work, such as that of containers, or
//! an agent that holds keys. Neither a read-only mount nor Landlock keeps a process from connecting to one, so they are covered.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// The kernel's list of the sockets of this network. Those of a command behind a wall are in another one.
const LISTED: &str = "/proc/self/net/unix";

/// Fields of such a line in front of the name.
const FIELDS: usize = 7;

/// Its list of mounts: a container gets a socket of its host as one.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Entries of a directory that are looked at for a socket that was given another name when it was ready.
const NEIGHBOURS_MAX: usize = 1_000;

/// The socket files of processes outside, as real paths. What no list names is not among them.
pub(super) fn of_others() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let listed = std::fs::read(LISTED).unwrap_or_default();
    for name in listed.split(|byte| *byte == b'\n').skip(1).filter_map(name) {
        if is_socket(&name) {
            found.insert(name);
        } else if let Some(near) = name.parent().and_then(|folder| folder.read_dir().ok()) {
            let near = near.take(NEIGHBOURS_MAX).flatten();
            let near = near.filter(|near| near.file_type().is_ok_and(|kind| kind.is_socket()));
            found.extend(near.map(|near| near.path()));
        }
    }
    let mounts = std::fs::read(MOUNTS).unwrap_or_default();
    let mounts = mounts.split(|byte| *byte == b'\n');
    let mounts = mounts.filter_map(|line| line.split(|byte| *byte == b' ').nth(4).map(unescaped));
    found.extend(mounts.filter(|path| is_socket(path)));
    found.iter().filter_map(|path| real(path)).collect()
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.file_type().is_socket())
}

/// The path without links on the way.
fn real(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// The absolute path in a line of the list; others are names that are no files, or that nobody can place.
fn name(line: &[u8]) -> Option<PathBuf> {
    let mut rest = line;
    for _ in 0..FIELDS {
        let start = rest.iter().position(|byte| *byte != b' ')?;
        let end = rest[start..].iter().position(|byte| *byte == b' ')?;
        rest = &rest[start + end..];
    }
    let path = Path::new(std::ffi::OsStr::from_bytes(rest.get(1..)?));
    path.is_absolute().then(|| path.to_owned())
}

/// A path of the mount table: blanks and backslashes stand there as three octal digits.
pub(super) fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let number = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_line_of_the_list_is_read_with_the_blanks_in_its_name() {
        let line = |name: &str| {
            format!("0000000000000000: 00000002 00000000 00010000 0001 01 53427{name}")
        };
        assert_eq!(name(line(" /run/a b.sock").as_bytes()), Some(PathBuf::from("/run/a b.sock")));
        for other in ["", " @abstract", " relative.sock"] {
            assert_eq!(name(line(other).as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn sockets_are_found_by_their_names_and_by_those_that_they_got_later() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        let [_one, _two] = ["one", "two.new"].map(|name| UnixListener::bind(at(name)).unwrap());
        std::fs::rename(at("two.new"), at("two")).unwrap();
        let found = of_others();
        assert!(found.contains(&at("one")) && found.contains(&at("two")), "{found:?}");
    }

    #[test]
    fn paths_of_the_mount_table_are_read_as_they_are() {
        for (text, path) in [
            ("/", "/"),
            (r"/a\040b", "/a b"),
            (r"/\134x\011", "/\\x\t"),
            (r"/a\04", r"/a\04"),
            (r"/\", r"/\"),
        ] {
            assert_eq!(unescaped(text.as_bytes()), Path::new(path), "{text}");
        }
    }
}
