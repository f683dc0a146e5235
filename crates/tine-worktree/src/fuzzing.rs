//! The readers of what git and files say, for the fuzz target `worktree`. Not there in any other build.

use std::path::Path;

use crate::exact::Note;
use crate::ids::{Commit, Name, Tree};
use crate::making::Making;
use crate::marker::Marker;
use crate::merge_tree::{Place, read_merge};
use crate::{git, index, purge, repository, snapshot};

/// Reads bytes as everything that this crate reads.
pub fn read_everything(bytes: &[u8]) {
    for hash_bytes in [20, 32] {
        for entry in index::entries(bytes, hash_bytes).unwrap_or_default() {
            assert!(entry.at + index::STAT_BYTES + hash_bytes <= bytes.len());
        }
    }
    for part in git::parts(bytes) {
        assert!(!part.is_empty() && !part.contains(&0));
        if let Ok(entry) = snapshot::entry(part) {
            assert!(part.ends_with(entry.path.as_os_str().as_encoded_bytes()));
        }
    }
    // Most bytes are no directory's name; what comes behind one is what is to be read.
    let merge = [&[b'a'; 40][..], b"\0", bytes].concat();
    for said in [bytes, &merge] {
        for conflict in
            read_merge(said, Place::Files).map_or_else(|_| Vec::new(), |read| read.conflicts)
        {
            assert!(conflict.explanation.lines().count() <= 1, "{conflict:?}");
        }
    }
    if let Some(places) = repository::lines(bytes) {
        assert!(places.iter().all(|place| !place.contains(&b'\n')));
    }
    // A note that is read is written as the same note.
    if let Ok(Ok(marker)) = Marker::parse(bytes) {
        let again = Marker::parse(&marker.text().unwrap_or_default());
        assert!(again.is_ok_and(|again| again.is_ok_and(|again| again == marker)));
    }
    // What is read of files leads nowhere but into their checkout, and is written as the same.
    if let Some(note) = Note::parse(bytes) {
        assert_eq!(Note::parse(note.text().as_bytes()).as_ref(), Some(&note));
        let inside = |path: &&std::path::PathBuf| path.is_relative();
        assert!(note.modes.keys().chain(note.pipes.keys()).all(|path| inside(&path)));
    }
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        if let Some(name) = purge::owner_of(line) {
            assert!(line.starts_with(&format!("refs/tine/{name}/")));
        }
        if let Some((_, name)) = Making::read_lock(line) {
            assert!(line.contains(name));
        }
        if let Ok(name) = Name::new(line) {
            // It becomes the name of a file and a part of a ref's.
            assert_eq!(Path::new(name.as_str()).file_name(), Some(name.as_str().as_ref()));
        }
        if let (Ok(commit), Ok(tree)) = (Commit::parse(line), Tree::parse(line)) {
            assert_eq!(commit.as_str(), tree.as_str());
        }
    }
}
