//! Records of trust: what of a directory a person has trusted. They lie among tine's own files, never in a checkout.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::content::{Content, Entry};
use crate::whole_file::write_file;

/// The version of a record's shape. A record of another version counts as none, so a person is asked again.
const VERSION: u32 = 1;

/// The content of one directory that a person has trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// The directory's real path, for people. The name of the record's file decides.
    pub(crate) directory: PathBuf,
    pub(crate) trusted_ms: i64,
    pub(crate) files: BTreeMap<String, TrustedFile>,
}

/// One file of what was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrustedFile {
    pub(crate) blake3: String,
    /// A copy of the text, which a later change is compared with. `None` for links and for what is not UTF-8.
    pub(crate) text: Option<String>,
    /// The target of a link.
    pub(crate) link: Option<String>,
}

impl Record {
    /// A record of this content.
    pub(crate) fn new(directory: &Path, content: &Content, trusted_ms: i64) -> Self {
        let files = content.0.iter().map(|(path, entry)| {
            let link = match entry {
                Entry::Link(target) => Some(target.to_string_lossy().into_owned()),
                Entry::File(_) => None,
            };
            let text = entry.text().map(str::to_owned);
            (path.clone(), TrustedFile { blake3: entry.hash(), text, link })
        });
        Self {
            version: VERSION,
            directory: directory.to_owned(),
            trusted_ms,
            files: files.collect(),
        }
    }

    /// The copy of the text of the file at this path.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    /// Returns true when the content is byte for byte what was trusted.
    pub(crate) fn covers(&self, content: &Content) -> bool {
        self.files.len() == content.0.len()
            && content.0.iter().all(|(path, entry)| {
                self.files.get(path).is_some_and(|file| file.blake3 == entry.hash())
            })
    }
}

/// The folder that holds the records.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordFolder(pub(super) PathBuf);

impl RecordFolder {
    /// The record of a directory. A record that cannot be read counts as none.
    pub(super) fn record(&self, directory: &Path) -> Option<Record> {
        read(&self.file(directory)).filter(|record| record.directory == directory)
    }

    /// All records, by directory.
    pub(super) fn all(&self) -> Vec<Record> {
        let Ok(listed) = fs::read_dir(&self.0) else { return Vec::new() };
        let mut records: Vec<Record> =
            listed.filter_map(|entry| read(&entry.ok()?.path())).collect();
        records.sort_by(|one, other| one.directory.cmp(&other.directory));
        records
    }

    /// Keeps a record in place of the one before.
    pub(super) fn keep(&self, record: &Record) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let text = serde_json::to_string(record)?;
        write_file(&self.file(&record.directory), &text)
    }

    /// Removes the record of a directory. Returns false where there was none.
    pub(super) fn forget(&self, directory: &Path) -> std::io::Result<bool> {
        match fs::remove_file(self.file(directory)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The file of a directory's record. Any path makes a plain name of fixed length.
    fn file(&self, directory: &Path) -> PathBuf {
        let hash = blake3::hash(directory.as_os_str().as_encoded_bytes()).to_hex();
        self.0.join(format!("{}.json", &hash.as_str()[..32]))
    }
}

fn read(file: &Path) -> Option<Record> {
    let mut record: Record = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    // It was trusted with the rest once, and nothing has ever read it.
    record.files.remove(".mcp.json");
    (record.version == VERSION).then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(files: &[(&str, &str)]) -> Content {
        let entry = |(path, text): &(&str, &str)| {
            ((*path).to_owned(), Entry::File(text.as_bytes().to_vec()))
        };
        Content(files.iter().map(entry).collect())
    }

    #[test]
    fn a_record_covers_its_content_and_no_other() {
        let before = content(&[("a", "1"), ("b", "2")]);
        let record = Record::new(Path::new("/srv"), &before, 7);
        assert!(record.covers(&before));
        for after in [
            content(&[("a", "1")]),
            content(&[("a", "1"), ("b", "3")]),
            content(&[("a", "1"), ("c", "2")]),
            content(&[("a", "1"), ("b", "2"), ("c", "3")]),
        ] {
            assert!(!record.covers(&after), "{after:?}");
        }
    }

    #[test]
    fn records_are_kept_replaced_and_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let folder = RecordFolder(home.path().join("state/trust"));
        let (one, two) = (Path::new("/srv/one"), Path::new("/srv/two"));
        assert_eq!((folder.record(one), folder.all()), (None, Vec::new()));
        for (directory, text) in [(two, "x"), (one, "y"), (one, "z")] {
            let record = Record::new(directory, &content(&[(".tine/config.toml", text)]), 7);
            folder.keep(&record).unwrap();
            assert_eq!(folder.record(directory), Some(record));
        }
        let all = folder.all();
        let directories: Vec<&Path> = all.iter().map(|record| record.directory.as_path()).collect();
        assert_eq!(directories, [one, two]);
        assert!(folder.forget(one).unwrap() && !folder.forget(one).unwrap());
        assert_eq!(folder.record(one), None);
    }

    #[test]
    fn a_record_with_the_file_of_servers_covers_the_same_content_without_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = RecordFolder(home.path().to_owned());
        let before = content(&[(".mcp.json", "{}"), (".tine/config.toml", "a")]);
        folder.keep(&Record::new(Path::new("/srv"), &before, 7)).unwrap();
        let record = folder.record(Path::new("/srv")).unwrap();
        assert!(record.covers(&content(&[(".tine/config.toml", "a")])));
    }

    #[test]
    fn a_spoilt_record_counts_as_none() {
        let home = tempfile::tempdir().unwrap();
        let folder = RecordFolder(home.path().to_owned());
        let directory = Path::new("/srv");
        let record = Record::new(directory, &content(&[]), 7);
        for text in [
            "",
            "{}",
            &serde_json::to_string(&Record { version: 2, ..record.clone() }).unwrap(),
            &serde_json::to_string(&Record { directory: "/other".into(), ..record }).unwrap(),
        ] {
            fs::write(folder.file(directory), text).unwrap();
            assert_eq!(folder.record(directory), None, "{text}");
        }
    }
}
