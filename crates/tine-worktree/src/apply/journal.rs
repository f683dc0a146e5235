//! What a change is about to do, written down before the first file is touched: enough to finish it, or to take it back.
//!
//! Records end with a zero byte, so that any path can stand in them. The last one is `end`; without it the journal is none.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::print::Print;
use crate::changes::Mode;
use crate::git::path;
use crate::ids::Commit;

/// The first record: what this is, and its version.
const FIRST: &str = "tine change 1";

/// A change of a checkout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Journal {
    /// In the order in which they are changed: what goes, what changes, what comes.
    pub(crate) targets: Vec<Target>,
    /// Directories that go because a file comes in their place, the deepest first, and their permissions.
    pub(crate) removed: Vec<(PathBuf, u32)>,
    /// Directories that come, the highest first.
    pub(crate) made: Vec<PathBuf>,
    /// What becomes of HEAD and the index.
    pub(crate) head: Option<HeadMove>,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Relative to the top of the checkout.
    pub(crate) path: PathBuf,
    pub(crate) step: Step,
}

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Delete,
    Replace(Print),
    Add(Print),
}

/// A move of HEAD, together with the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeadMove {
    pub(crate) old: Commit,
    pub(crate) new: Commit,
    /// Of the index as it was.
    pub(crate) index: blake3::Hash,
}

/// Something that was not overwritten when a change was mended, since somebody had changed it in the meantime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The file of the checkout, which is as somebody left it.
    pub path: PathBuf,
    /// Where the file is that stood there before the change; `None` if there was none.
    pub before: Option<PathBuf>,
}

impl Journal {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut record = |text: &str, path: Option<&Path>| {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
            if let Some(path) = path {
                bytes.extend_from_slice(path.as_os_str().as_bytes());
                bytes.push(0);
            }
        };
        record(FIRST, None);
        for Target { path, step } in &self.targets {
            let text = match step {
                Step::Delete => "delete".to_owned(),
                Step::Replace(print) => format!("replace {}", words(print)),
                Step::Add(print) => format!("add {}", words(print)),
            };
            record(&text, Some(path));
        }
        for (path, mode) in &self.removed {
            record(&format!("removed {mode:o}"), Some(path));
        }
        for path in &self.made {
            record("made", Some(path));
        }
        if let Some(HeadMove { old, new, index }) = &self.head {
            record(&format!("head {old} {new} {}", index.to_hex()), None);
        }
        record("end", None);
        bytes
    }

    /// Reads what [`Journal::to_bytes`] wrote. `None` for anything else.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        if fields.next()? != FIRST.as_bytes() {
            return None;
        }
        let mut journal = Self::default();
        loop {
            let words: Vec<&str> = std::str::from_utf8(fields.next()?).ok()?.split(' ').collect();
            let mut place = || fields.next().filter(|name| is_inside(name)).map(path);
            match words[..] {
                ["delete"] => {
                    journal.targets.push(Target { path: place()?, step: Step::Delete });
                }
                ["replace", mode, hash] => {
                    let step = Step::Replace(read(mode, hash)?);
                    journal.targets.push(Target { path: place()?, step });
                }
                ["add", mode, hash] => {
                    let step = Step::Add(read(mode, hash)?);
                    journal.targets.push(Target { path: place()?, step });
                }
                ["removed", mode] => {
                    let mode = u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o777)?;
                    journal.removed.push((place()?, mode));
                }
                ["made"] => journal.made.push(place()?),
                ["head", old, new, index] => {
                    let [old, new] = [old, new].map(Commit::parse);
                    let index = blake3::Hash::from_hex(index).ok()?;
                    journal.head = Some(HeadMove { old: old.ok()?, new: new.ok()?, index });
                }
                ["end"] => return fields.next().is_none().then_some(journal),
                _ => return None,
            }
        }
    }
}

/// A path that leads nowhere but into the checkout.
fn is_inside(name: &[u8]) -> bool {
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    !name.is_empty() && name.split(|byte| *byte == b'/').all(is_plain)
}

fn words(print: &Print) -> String {
    let mode = match print.mode {
        Mode::File | Mode::Submodule => "file",
        Mode::Program => "program",
        Mode::Link => "link",
    };
    format!("{mode} {}", print.hash.to_hex())
}

fn read(mode: &str, hash: &str) -> Option<Print> {
    let mode = match mode {
        "file" => Mode::File,
        "program" => Mode::Program,
        "link" => Mode::Link,
        _ => return None,
    };
    Some(Print { mode, hash: blake3::Hash::from_hex(hash).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        let print = |mode, text: &str| Print { mode, hash: blake3::hash(text.as_bytes()) };
        let target = |name: &str, step| Target { path: PathBuf::from(name), step };
        let commit = |digit: &str| Commit::parse(&digit.repeat(40)).unwrap();
        Journal {
            targets: vec![
                target("a b\nc", Step::Delete),
                target("d", Step::Replace(print(Mode::Program, "d"))),
                target("e/f", Step::Add(print(Mode::Link, "f"))),
            ],
            removed: vec![(PathBuf::from("x"), 0o755)],
            made: vec![path(b"e\xff")],
            head: Some(HeadMove {
                old: commit("1"),
                new: commit("2"),
                index: blake3::hash(b"index"),
            }),
        }
    }

    #[test]
    fn a_journal_is_read_as_it_was_written_and_only_whole() {
        let bytes = journal().to_bytes();
        assert_eq!(Journal::parse(&bytes), Some(journal()));
        for length in 0..bytes.len() {
            assert_eq!(Journal::parse(&bytes[..length]), None, "{length}");
        }
    }

    #[test]
    fn no_journal_leads_out_of_the_checkout() {
        for name in ["/etc/passwd", "../a", "a/../../b", "a//b", "", "."] {
            let text = format!("{FIRST}\0delete\0{name}\0end\0");
            assert_eq!(Journal::parse(text.as_bytes()), None, "{name}");
        }
    }
}
