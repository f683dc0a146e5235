//! Facts about files that a commit cannot say, as the text of a commit's message.
//!
//! One record a line, words with a blank between them. In paths and contents, bytes that are not plain signs are written as `%` and two
//! digits, so a record is one line whatever a file is called. The last record is `end`; without it the text is no note.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use super::sparse::Sparse;
use crate::git::path;

/// The first line of the message: no other commit of tine's has it.
pub(super) const SUBJECT: &str = "tine: every file as bytes";

/// The first record: the version of what follows.
const FIRST: &str = "version 1";

/// Permissions that most files have, by whether git says that they can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usual {
    pub(crate) file: u32,
    pub(crate) program: u32,
}

impl Default for Usual {
    fn default() -> Self {
        Self { file: 0o644, program: 0o755 }
    }
}

/// Marks that the index was given for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    /// The file is not meant to be in the checkout (`skip-worktree`).
    pub(crate) is_skipped: bool,
    /// It is there all the same.
    pub(crate) is_there: bool,
    /// Git is not to look for changes of it (`assume-unchanged`).
    pub(crate) is_assumed: bool,
    /// It is to be added later (`intent-to-add`): git's mode of it.
    pub(crate) intended: Option<Intended>,
    /// Git takes it for changed by its size alone, though it is not.
    pub(crate) is_stale: bool,
}

/// The kind of a file that is to be added later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intended {
    File,
    Program,
    Link,
}

/// All that a commit cannot say of the files of a checkout, but for their bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Note {
    pub(crate) usual: Usual,
    /// Permissions of files that have others than is usual.
    pub(crate) modes: BTreeMap<PathBuf, u32>,
    /// Files whose bytes are those that git has, and that git would change on their way out.
    pub(crate) verbatim: BTreeSet<PathBuf>,
    /// Entries of the index of which it was told something.
    pub(crate) flags: BTreeMap<PathBuf, Flags>,
    /// Named pipes, and their permissions.
    pub(crate) pipes: BTreeMap<PathBuf, u32>,
    /// Files called `.git` below the top that lead to no repository, and what they say.
    pub(crate) links: BTreeMap<PathBuf, Vec<u8>>,
    /// Which files are meant to be there; `None`: all.
    pub(crate) sparse: Option<Sparse>,
}

impl Note {
    /// The message of the commit.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{SUBJECT}\n\n{FIRST}\n");
        let mut line = |words: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            writeln!(text, "{words}").ok();
        };
        if self.usual != Usual::default() {
            line(format_args!("usual {:o} {:o}", self.usual.file, self.usual.program));
        }
        for (path, mode) in &self.modes {
            line(format_args!("mode {mode:o} {}", shown(path)));
        }
        for path in &self.verbatim {
            line(format_args!("verbatim {}", shown(path)));
        }
        for (path, flags) in &self.flags {
            line(format_args!("flags {} {}", letters(*flags), shown(path)));
        }
        for (path, mode) in &self.pipes {
            line(format_args!("pipe {mode:o} {}", shown(path)));
        }
        for (path, content) in &self.links {
            line(format_args!("link {} {}", escaped(content), shown(path)));
        }
        if let Some(Sparse { is_on, is_cone, has_folders, patterns }) = &self.sparse {
            let words = [is_on, is_cone, has_folders].map(|set| match set {
                None => "unset",
                Some(true) => "true",
                Some(false) => "false",
            });
            let patterns = patterns.as_ref().map_or("-".to_owned(), |text| escaped(text));
            line(format_args!("sparse {} {patterns}", words.join(" ")));
        }
        text.push_str("end\n");
        text
    }

    /// Reads the message of a commit. `None` where it is none of these.
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(message).ok()?;
        let records = text.strip_prefix(SUBJECT)?.strip_prefix("\n\n")?.strip_suffix("\nend\n")?;
        let mut records = records.lines();
        if records.next()? != FIRST {
            return None;
        }
        let mut note = Self::default();
        for record in records {
            let words: Vec<&str> = record.split(' ').collect();
            match words[..] {
                ["usual", file, program] => {
                    note.usual = Usual { file: mode(file)?, program: mode(program)? };
                }
                ["mode", bits, name] => drop(note.modes.insert(place(name)?, mode(bits)?)),
                ["verbatim", name] => drop(note.verbatim.insert(place(name)?)),
                ["flags", set, name] => drop(note.flags.insert(place(name)?, flags(set)?)),
                ["pipe", bits, name] => drop(note.pipes.insert(place(name)?, mode(bits)?)),
                ["link", content, name] => {
                    note.links.insert(place(name)?, unescaped(content)?);
                }
                ["sparse", on, cone, folders, patterns] => {
                    let set = |word: &str| match word {
                        "unset" => Some(None),
                        "true" => Some(Some(true)),
                        "false" => Some(Some(false)),
                        _ => None,
                    };
                    let (is_on, is_cone, has_folders) = (set(on)?, set(cone)?, set(folders)?);
                    let patterns = match patterns {
                        "-" => None,
                        text => Some(unescaped(text)?),
                    };
                    note.sparse = Some(Sparse { is_on, is_cone, has_folders, patterns });
                }
                _ => return None,
            }
        }
        Some(note)
    }
}

fn letters(flags: Flags) -> String {
    let Flags { is_skipped, is_there, is_assumed, intended, is_stale } = flags;
    let intended = intended.map(|intended| match intended {
        Intended::File => 'f',
        Intended::Program => 'p',
        Intended::Link => 'l',
    });
    let set = [(is_skipped, 's'), (is_there, 't'), (is_assumed, 'a'), (is_stale, 'd')];
    let set = set.into_iter().filter_map(|(is_set, letter)| is_set.then_some(letter));
    set.chain(intended).collect()
}

fn flags(letters: &str) -> Option<Flags> {
    let mut flags = Flags::default();
    for letter in letters.chars() {
        match letter {
            's' => flags.is_skipped = true,
            't' => flags.is_there = true,
            'a' => flags.is_assumed = true,
            'd' => flags.is_stale = true,
            'f' => flags.intended = Some(Intended::File),
            'p' => flags.intended = Some(Intended::Program),
            'l' => flags.intended = Some(Intended::Link),
            _ => return None,
        }
    }
    Some(flags)
}

fn mode(digits: &str) -> Option<u32> {
    u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o7777)
}

fn shown(path: &Path) -> String {
    escaped(path.as_os_str().as_encoded_bytes())
}

/// A path that leads nowhere but into the checkout.
fn place(name: &str) -> Option<PathBuf> {
    let path = path(&unescaped(name)?);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_inside && path.components().next().is_some()).then_some(path)
}

/// Bytes as one word. Nothing is written as `%`, so that there is always a word.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'%' | 0..=b' ' | 0x7f..=0xff => drop(write!(text, "%{byte:02x}")),
            plain => text.push(char::from(*plain)),
        }
    }
    match text.as_str() {
        "" => "%".to_owned(),
        // What stands for no patterns at all.
        "-" => "%2d".to_owned(),
        _ => text,
    }
}

fn unescaped(word: &str) -> Option<Vec<u8>> {
    if word == "%" {
        return Some(Vec::new());
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(word.len()), word.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> Note {
        let skipped = Flags { is_skipped: true, is_there: true, ..Flags::default() };
        let told = Flags {
            is_stale: true,
            is_assumed: true,
            intended: Some(Intended::Program),
            ..Flags::default()
        };
        Note {
            usual: Usual { file: 0o664, program: 0o775 },
            modes: [(path(b"a b\n\xff%"), 0o600), (path(b"-"), 0o4755)].into(),
            verbatim: [path(b"v")].into(),
            flags: [(path(b"dir/y"), skipped), (path(b"x"), told)].into(),
            pipes: [(path(b"p"), 0o640)].into(),
            links: [
                (path(b"sub/.git"), b"gitdir: ../no\n".to_vec()),
                (path(b"e/.git"), Vec::new()),
            ]
            .into(),
            sparse: Some(Sparse {
                is_on: Some(true),
                is_cone: Some(false),
                has_folders: None,
                patterns: Some(b"-".to_vec()),
            }),
        }
    }

    #[test]
    fn a_note_is_lines_that_people_can_read() {
        insta::assert_snapshot!(note().text(), @"
        tine: every file as bytes

        version 1
        usual 664 775
        mode 4755 %2d
        mode 600 a%20b%0a%ff%25
        verbatim v
        flags st dir/y
        flags adp x
        pipe 640 p
        link % e/.git
        link gitdir:%20../no%0a sub/.git
        sparse true false unset %2d
        end
        ");
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_only_whole() {
        let text = note().text().into_bytes();
        assert_eq!(Note::parse(&text), Some(note()));
        assert_eq!(Note::parse(Note::default().text().as_bytes()), Some(Note::default()));
        for length in 0..text.len() {
            assert_eq!(Note::parse(&text[..length]), None, "{length}");
        }
    }

    #[test]
    fn no_note_leads_out_of_the_checkout() {
        for name in ["/etc/passwd", "../a", "a/../../b", "%2fetc", "%", "%2e%2e/a", "."] {
            let text = format!("{SUBJECT}\n\n{FIRST}\nmode 600 {name}\nend\n");
            assert_eq!(Note::parse(text.as_bytes()), None, "{name}");
        }
    }
}
