//! Indexes as git writes them, read and told of copies.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::support::{Home, exactly, git};
use crate::Start;
use crate::index::{Entry, adopt, entries};

const SHA1_BYTES: usize = 20;

/// Names that are alike at their beginnings, and one that is longer than an entry's flags can say.
fn names() -> Vec<String> {
    let long = ["long".repeat(50), "er".repeat(120)].join("/");
    let mut names: Vec<String> =
        ["a", "a/b", "ab", "abcdefg", "abcdefgh", "b/c/d/e", "b/c/d/f", "z"]
            .map(String::from)
            .to_vec();
    names.retain(|name| name != "a");
    names.push(long);
    names.sort();
    names
}

fn repository(version: &str, format: &str) -> Home {
    let home = Home::empty();
    fs::remove_dir_all(home.top().join(".git")).unwrap();
    git(&home.top(), &["init", "--quiet", &format!("--object-format={format}")]);
    for name in names() {
        home.write(&name, &name);
    }
    git(&home.top(), &["add", "--all"]);
    git(&home.top(), &["add", "--intent-to-add", "."]);
    git(&home.top(), &["update-index", "--skip-worktree", "ab"]);
    git(&home.top(), &["update-index", "--index-version", version]);
    home
}

fn paths(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8(entry.path.clone()).unwrap()).collect()
}

#[test]
fn every_version_is_read() {
    for (version, format, hash_bytes) in [
        ("2", "sha1", 20),
        ("3", "sha1", 20),
        ("4", "sha1", 20),
        ("2", "sha256", 32),
        ("4", "sha256", 32),
    ] {
        let home = repository(version, format);
        let bytes = fs::read(home.top().join(".git/index")).unwrap();
        let found = entries(&bytes, hash_bytes).unwrap();
        assert_eq!(paths(&found), names(), "{version} {format}");
        let special: Vec<_> = found.iter().filter(|entry| !entry.is_plain).collect();
        assert_eq!(special.len(), 1, "{version} {format}");
    }
}

/// The copies that the index of a fork was told of, and all that it has.
fn told(home: &Home, child: &Path) -> (Vec<String>, usize) {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("index");
    adopt(&home.top().join(".git/index"), SHA1_BYTES, &home.top(), child, &to).unwrap();
    let bytes = fs::read(to).unwrap();
    let found = entries(&bytes, SHA1_BYTES).unwrap();
    let has = |entry: &&Entry| {
        let about =
            fs::symlink_metadata(child.join(String::from_utf8(entry.path.clone()).unwrap()));
        let number = u32::from_be_bytes(bytes[entry.at + 20..entry.at + 24].try_into().unwrap());
        about.is_ok_and(|about| about.ino() as u32 == number)
    };
    (
        found
            .iter()
            .filter(has)
            .map(|entry| paths(std::slice::from_ref(entry)).remove(0))
            .collect(),
        found.len(),
    )
}

/// Everything is as it was long ago.
fn settled() -> Home {
    let home = Home::new();
    home.write("changed.txt", "aaaa");
    home.write("touched.txt", "aaaa");
    home.write("deleted.txt", "aaaa");
    home.write("empty.txt", "");
    std::os::unix::fs::symlink("a.txt", home.top().join("link")).unwrap();
    home.git(&["add", "--all"]);
    let index = File::open(home.top().join(".git/index")).unwrap();
    // Far behind the second in which the files were written: the clock is not waited for.
    let later = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    index.set_modified(later).unwrap();
    home
}

#[test]
fn only_what_is_clean_beyond_doubt_is_told() {
    let home = settled();
    fs::write(home.top().join("changed.txt"), "bbbbb").unwrap();
    fs::remove_file(home.top().join("deleted.txt")).unwrap();
    File::open(home.top().join("touched.txt"))
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    let index = fs::read(home.top().join(".git/index")).unwrap();
    let time = fs::metadata(home.top().join(".git/index")).unwrap().modified().unwrap();
    let child = home.fork("child", Start::State).unwrap();
    let child = child.repository().top();
    assert_eq!(exactly(child), exactly(&home.top()));
    // Looking at the parent may have written its index anew.
    fs::write(home.top().join(".git/index"), index).unwrap();
    File::open(home.top().join(".git/index")).unwrap().set_modified(time).unwrap();
    let (clean, all) = told(&home, child);
    assert_eq!(
        (clean, all),
        (["a.txt", "link", "run.sh", "src/lib.rs"].map(String::from).to_vec(), 8)
    );
    // A copy that differs from its file is not told of, and so git finds it.
    fs::write(child.join("a.txt"), "other").unwrap();
    assert_eq!(told(&home, child).0, ["link", "run.sh", "src/lib.rs"]);
    // A file of the moment in which the index was written could have changed since.
    File::open(home.top().join(".git/index"))
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    assert_eq!(told(&home, child).0, [""; 0]);
}

proptest! {
    #[test]
    fn whatever_it_is_it_is_read_or_not(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), count in 0_u8..4, version in 2_u8..5) {
        if bytes.len() >= 12 {
            bytes[..12].copy_from_slice(&[b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, count]);
        }
        for entry in entries(&bytes, SHA1_BYTES).unwrap_or_default() {
            prop_assert!(entry.at + 40 <= bytes.len() - SHA1_BYTES);
        }
    }
}
