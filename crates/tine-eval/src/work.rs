//! Where one run of a case works: a throw-away copy of its fixture.
//!
//! Nothing of the copy that differs from run to run reaches the model: its path is [`STAND_IN`] in both directions, and its
//! files are all equally old.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use tine_model::RawJson;

use crate::expect::{Expect, FileExpect};

/// What stands for the path of the copy in everything that a model sees. No real directory is called so.
pub const STAND_IN: &str = "/tine-eval/case";

/// What stands for the directory of a command's temporary files.
const STAND_IN_TEMPORARY: &str = "/tine-eval/tmp";

/// Most files and directories of a fixture, and most bytes in it: each run copies all of it.
const ENTRIES_MAX: usize = 10_000;
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Most bytes of a file that are searched for what it should contain: a run may write what it likes.
const LOOKED_AT_MAX: u64 = 16 * 1024 * 1024;

/// How old every file of a copy is: listings show it.
const AGE: Duration = Duration::from_secs(946_684_800);

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error("cannot copy the fixture: {}", .path.display())]
    Copy { path: PathBuf, source: io::Error },
    #[error("the fixture holds `{}`, which is neither a file nor a directory", .0.display())]
    Kind(PathBuf),
    #[error("the fixture has more than {ENTRIES_MAX} entries or {BYTES_MAX} bytes")]
    TooLarge,
}

/// A directory of one run's own.
#[derive(Debug)]
pub(crate) struct Work {
    /// As it was made.
    given: PathBuf,
    /// Without links.
    real: PathBuf,
}

impl Work {
    /// Copies a fixture; without one the directory is empty. `directory_in_it` is made where the fixture has none of that name. The copy is removed when the second value is dropped, which whoever waits for
    /// the run holds: a run that is given up leaves nothing, however long its own task lives on. Blocks.
    pub(crate) fn make(
        fixture: Option<&Path>,
        directory_in_it: Option<&str>,
    ) -> Result<(Self, TempDir), WorkError> {
        let failed = |path: &Path, source| WorkError::Copy { path: path.to_owned(), source };
        let temporary = std::env::temp_dir();
        let directory = tempfile::Builder::new().prefix("tine-eval-").tempdir();
        let directory = directory.map_err(|error| failed(&temporary, error))?;
        let real = directory.path().canonicalize().map_err(|error| failed(&temporary, error))?;
        if let Some(fixture) = fixture {
            copy(fixture, &real)?;
        }
        if let Some(made) = directory_in_it.map(|name| real.join(name)) {
            std::fs::create_dir_all(&made).map_err(|error| failed(&made, error))?;
        }
        age(&real).map_err(|error| failed(&real, error))?;
        Ok((Self { given: directory.path().to_owned(), real }, directory))
    }

    /// Where tools work.
    pub(crate) fn path(&self) -> &Path {
        &self.real
    }

    /// Arguments as the tools need them.
    pub(crate) fn input(&self, input: &RawJson) -> RawJson {
        if !input.as_str().contains(STAND_IN) {
            return input.clone();
        }
        let quoted = serde_json::Value::from(self.real.to_string_lossy()).to_string();
        let text = input.as_str().replace(STAND_IN, quoted.trim_matches('"'));
        RawJson::parse(&text).unwrap_or_else(|_| input.clone())
    }

    /// An answer as the model may see it. `temporary` is where the run's commands keep temporary files.
    pub(crate) fn answer(&self, text: String, temporary: Option<&Path>) -> String {
        let replaced = |text: String, path: &Path, name: &str| match path.to_str() {
            Some(path) if text.contains(path) => text.replace(path, name),
            _ => text,
        };
        let text = replaced(text, &self.real, STAND_IN);
        let text = replaced(text, &self.given, STAND_IN);
        match temporary {
            Some(temporary) => replaced(text, temporary, STAND_IN_TEMPORARY),
            None => text,
        }
    }

    /// What is not as expected of the files, in words. Blocks.
    pub(crate) fn unmet(&self, expect: &Expect) -> Vec<String> {
        let unmet = |(name, file): (&String, &FileExpect)| {
            let path = self.real.join(name);
            // A link may lead anywhere.
            let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            match (file, is_file) {
                (FileExpect::Present(true) | FileExpect::Text { .. }, false) => {
                    vec![format!("the file `{name}` is not there")]
                }
                (FileExpect::Present(false), true) => vec![format!("the file `{name}` is there")],
                (FileExpect::Present(_), _) => Vec::new(),
                (FileExpect::Text { contains, absent }, true) => {
                    let content = beginning(&path);
                    let missing = contains.iter().filter(|text| !content.contains(&***text));
                    let missing =
                        missing.map(|text| format!("the file `{name}` does not contain `{text}`"));
                    let folded = content.to_lowercase();
                    let there = absent.iter().filter(|text| folded.contains(&text.to_lowercase()));
                    let there = there.map(|text| format!("the file `{name}` contains `{text}`"));
                    missing.chain(there).collect()
                }
            }
        };
        expect.files.iter().flat_map(unmet).collect()
    }
}

/// A file's text as far as it is looked at. What cannot be read contains nothing.
fn beginning(path: &Path) -> String {
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LOOKED_AT_MAX).read_to_end(&mut content));
    match read {
        Ok(_) => String::from_utf8_lossy(&content).into_owned(),
        Err(_) => String::new(),
    }
}

/// Copies files and directories; links are refused, because what they lead to is not copied.
fn copy(from: &Path, to: &Path) -> Result<(), WorkError> {
    let (mut entries, mut bytes) = (0, 0);
    let mut waiting = vec![(Cow::Borrowed(from), Cow::Borrowed(to))];
    while let Some((from, to)) = waiting.pop() {
        let failed = |path: &Path, source| WorkError::Copy { path: path.to_owned(), source };
        for entry in std::fs::read_dir(&from).map_err(|error| failed(&from, error))? {
            let entry = entry.map_err(|error| failed(&from, error))?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let metadata = entry.metadata().map_err(|error| failed(&source, error))?;
            entries += 1;
            bytes += metadata.len();
            if entries > ENTRIES_MAX || bytes > BYTES_MAX {
                return Err(WorkError::TooLarge);
            }
            if metadata.is_dir() {
                std::fs::create_dir(&target).map_err(|error| failed(&target, error))?;
                waiting.push((source.into(), target.into()));
            } else if metadata.is_file() {
                std::fs::copy(&source, &target).map_err(|error| failed(&source, error))?;
            } else {
                return Err(WorkError::Kind(source));
            }
        }
    }
    Ok(())
}

/// Makes everything equally old, the deepest first: what is changed inside a directory makes it younger.
fn age(directory: &Path) -> io::Result<()> {
    let (mut found, mut at) = (vec![directory.to_owned()], 0);
    while let Some(path) = found.get(at).cloned() {
        at += 1;
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                found.push(entry?.path());
            }
        }
    }
    let then = SystemTime::UNIX_EPOCH + AGE;
    found.iter().rev().try_for_each(|path| File::open(path)?.set_modified(then))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shows_nothing_of_where_and_when_it_was_made() {
        let fixture = tempfile::tempdir().unwrap();
        std::fs::create_dir(fixture.path().join("src")).unwrap();
        std::fs::write(fixture.path().join("src/a.txt"), "one\ntwo\n").unwrap();
        let (work, directory) = Work::make(Some(fixture.path()), Some("memory")).unwrap();
        assert!(work.path().join("memory").is_dir());
        let copied = work.path().join("src/a.txt");
        assert_eq!(std::fs::read_to_string(&copied).unwrap(), "one\ntwo\n");
        for path in [work.path(), &work.path().join("src"), &copied] {
            let modified = path.metadata().unwrap().modified().unwrap();
            assert_eq!(modified, SystemTime::UNIX_EPOCH + AGE);
        }
        let input = RawJson::parse(r#"{"path":"/tine-eval/case/src"}"#).unwrap();
        let inside = work.input(&input).text_at("path").unwrap();
        assert_eq!(Path::new(&inside), work.path().join("src"));
        assert_eq!(work.answer(format!("in {inside}"), None), "in /tine-eval/case/src");
        drop(directory);
        assert!(!work.path().exists());
    }

    #[test]
    fn links_in_a_fixture_are_refused() {
        let fixture = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/hosts", fixture.path().join("hosts")).unwrap();
        let error = Work::make(Some(fixture.path()), None).unwrap_err();
        assert!(matches!(error, WorkError::Kind(_)), "{error}");
    }
}
