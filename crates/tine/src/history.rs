//! The file of the texts that a person has sent in the terminal: one JSON object a line, the newest last.
//!
//! Terminals of several processes append to it. Each change holds a lock on a file beside it, so none is lost when the file is
//! rewritten. Secrets are taken out before a text is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tine_guard::redact;
use tine_tui::HistoryEntry;

/// Most texts that are kept: as many as shells keep, and few enough to read all of them at each start.
const ENTRIES_MAX: usize = 1_000;

/// Lines from which on the file is rewritten. Rewriting at each text beyond the limit would cost a whole file each time.
const LINES_MAX: usize = 2 * ENTRIES_MAX;

/// Longest text that is written, in bytes. What is longer was pasted, and nobody types it again.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// An entry as it stands in the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    directory: String,
    text: String,
}

/// The file whose lock a change holds. It is another one, since the history itself is replaced.
pub(crate) fn lock_path(file: &Path) -> PathBuf {
    file.with_extension("lock")
}

/// The texts of a file, the newest last. Lines that cannot be read are skipped, and so is a file that cannot be.
pub(crate) fn read(file: &Path) -> Vec<HistoryEntry> {
    let text = fs::read(file).unwrap_or_default();
    let lines: Vec<HistoryEntry> = text.split(|byte| *byte == b'\n').filter_map(entry).collect();
    lines[lines.len().saturating_sub(ENTRIES_MAX)..].to_vec()
}

/// Appends a text, without the secrets in it.
pub(crate) fn append(file: &Path, entry: &HistoryEntry) -> io::Result<()> {
    if entry.text.len() > TEXT_BYTES_MAX {
        return Ok(());
    }
    let text = redact(&entry.text).into_owned();
    let line = Line { directory: entry.directory.clone(), text };
    let mut line = serde_json::to_vec(&line)?;
    line.push(b'\n');
    let lock = options().append(true).create(true).open(lock_path(file))?;
    lock.lock()?;
    let mut opened = options().append(true).create(true).open(file)?;
    // One write: what another process reads ends with a whole line.
    opened.write_all(&line)?;
    drop(opened);
    let text = fs::read(file)?;
    if text.iter().filter(|byte| **byte == b'\n').count() > LINES_MAX {
        shorten(file, &text)?;
    }
    Ok(())
}

/// Replaces the file by its newest lines.
fn shorten(file: &Path, text: &[u8]) -> io::Result<()> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let readable: Vec<&[u8]> = lines.filter(|line| entry(line).is_some()).collect();
    let newest = readable[readable.len().saturating_sub(ENTRIES_MAX)..].concat();
    let next = file.with_extension("new");
    // The lock is held: what is there is of a process that died.
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut opened: File = options().write(true).create_new(true).open(&next)?;
    opened.write_all(&newest)?;
    opened.sync_all()?;
    fs::rename(&next, file)
}

/// Options that make files which nobody else may read.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn entry(line: &[u8]) -> Option<HistoryEntry> {
    let Line { directory, text } = serde_json::from_slice(line).ok()?;
    Some(HistoryEntry { directory, text })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn entry_of(text: &str) -> HistoryEntry {
        HistoryEntry { directory: "/srv".to_owned(), text: text.to_owned() }
    }

    fn texts(file: &Path) -> Vec<String> {
        read(file).into_iter().map(|entry| entry.text).collect()
    }

    #[test]
    fn texts_come_back_without_secrets_and_nobody_else_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("history.jsonl");
        assert_eq!(texts(&file), [""; 0]);
        let key = format!("sk-ant-api03-{}", "a1B2".repeat(24));
        for text in ["one\ntwo", &format!("my key is {key}"), &"x".repeat(TEXT_BYTES_MAX + 1)] {
            append(&file, &entry_of(text)).unwrap();
        }
        let read = texts(&file);
        assert_eq!((read.len(), read[0].as_str()), (2, "one\ntwo"));
        assert!(read[1].starts_with("my key is [redacted"), "{}", read[1]);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn broken_lines_are_skipped_and_cost_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("history.jsonl");
        fs::write(&file, b"{\"directory\":\"/srv\",\"text\":\"one\"}\n\xff\xfe\n[1]\n{\"dir\n")
            .unwrap();
        append(&file, &entry_of("two")).unwrap();
        assert_eq!(texts(&file), ["one", "two"]);
        assert!(append(&directory.path().join("none/history.jsonl"), &entry_of("x")).is_err());
    }

    #[test]
    fn the_file_is_shortened_to_its_newest_texts() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("history.jsonl");
        let line = |number: usize| format!("{{\"directory\":\"/srv\",\"text\":\"{number}\"}}\n");
        fs::write(&file, (0..LINES_MAX).map(line).collect::<String>()).unwrap();
        append(&file, &entry_of("last")).unwrap();
        let read = texts(&file);
        assert_eq!((read.len(), read[ENTRIES_MAX - 1].as_str()), (ENTRIES_MAX, "last"));
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), ENTRIES_MAX);
        // The next one changes nothing of what is there.
        append(&file, &entry_of("more")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), ENTRIES_MAX + 1);
    }

    #[test]
    fn terminals_that_write_at_once_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("history.jsonl");
        let line = "{\"directory\":\"/srv\",\"text\":\"old\"}\n";
        fs::write(&file, line.repeat(LINES_MAX - 10)).unwrap();
        let write = |name: usize| {
            let file = file.clone();
            std::thread::spawn(move || {
                (0..20).for_each(|n| append(&file, &entry_of(&format!("{name} {n}"))).unwrap());
            })
        };
        let writers: Vec<_> = (0..4).map(write).collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        let read = texts(&file);
        assert_eq!(read.iter().filter(|text| *text != "old").count(), 80);
    }
}
