//! A settings file of a host, and changes of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::show::{self, changed_lines};
use super::{Deed, Entry};
use crate::fail::Failure;
use crate::output;
use crate::whole_file::{write_file, write_private_file};

/// Settings without tine's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    Text(String),
    /// Tine made the file, and so many folders around it.
    NoFile {
        folders: usize,
    },
}

impl Rest {
    /// The rest of a file that tine made; `None` where the text is another one.
    pub(super) fn of_new_file(text: &str, new_file: &str) -> Option<Self> {
        let rest = text.strip_prefix(new_file)?;
        rest.bytes().all(|byte| byte == b'\n').then_some(Self::NoFile { folders: rest.len() })
    }
}

/// A settings file as it is.
pub(super) struct Settings {
    /// The path by which the host opens it.
    pub(super) path: PathBuf,
    /// The file that links in the path lead to.
    pub(super) target: PathBuf,
    /// `None` where there is no file.
    pub(super) text: Option<String>,
}

/// A change of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Write {
        text: String,
        replaces: bool,
    },
    /// The file goes, and so many folders around it.
    Delete {
        folders: usize,
    },
}

impl Settings {
    /// Reads a file; the error says why it cannot be used.
    pub(super) fn read(path: PathBuf) -> Result<Self, Failure> {
        let failed = |why: &dyn std::error::Error| {
            Failure::input(format!("cannot read {}", path.display())).because(why)
        };
        let target = tine_guard::real_path(&path).map_err(|error| failed(&error))?;
        let text = match fs::read(&target) {
            Ok(bytes) => Some(
                String::from_utf8(bytes)
                    .map_err(|error| failed(&error).hint("it is not text: nothing was changed"))?,
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&error)),
        };
        Ok(Self { path, target, text })
    }

    /// The lines of a change.
    pub(super) fn lines(&self, change: &Change) -> Vec<show::Line> {
        let before = self.text.as_deref().unwrap_or_default();
        match change {
            Change::Nothing => Vec::new(),
            Change::Write { text, .. } => changed_lines(before, text),
            Change::Delete { .. } => changed_lines(before, ""),
        }
    }

    /// Shows a change as a person reads it.
    pub(super) fn show(&self, change: &Change) -> Result<(), Failure> {
        let shown: String = self.lines(change).iter().map(show::Line::coloured).collect();
        output::write_out(&format!("{}\n{shown}", self.path.display()))?;
        if matches!(change, Change::Delete { .. }) {
            output::say("note: tine made this file, and it goes as a whole");
        }
        Ok(())
    }

    pub(super) fn with_tine(&self, entry: impl Entry, program: &str) -> Result<Change, String> {
        let Some(text) = &self.text else {
            let mut text = entry.new_file(program);
            text.extend(self.missing_folders().iter().map(|_| '\n'));
            return Ok(Change::Write { text, replaces: false });
        };
        if entry.has(text, program)? {
            return Ok(Change::Nothing);
        }
        let (rest, replaces) = match entry.without(text)? {
            None => (text.clone(), false),
            Some(Rest::Text(rest)) => (rest, true),
            Some(Rest::NoFile { folders }) => {
                let text = entry.new_file(program) + "\n".repeat(folders).as_str();
                return Ok(Change::Write { text, replaces: true });
            }
        };
        let text = entry.with(&rest, program)?;
        // Nothing is put in that could not be found or taken out again.
        if !entry.has(&text, program)? || entry.without(&text)? != Some(Rest::Text(rest)) {
            return Err("it is written in a way in which a change could not be taken back".into());
        }
        Ok(Change::Write { text, replaces })
    }

    pub(super) fn without_tine(&self, entry: impl Entry) -> Result<Change, String> {
        let rest = self.text.as_deref().map(|text| entry.without(text)).transpose()?;
        Ok(match rest.flatten() {
            None => Change::Nothing,
            Some(Rest::Text(text)) => Change::Write { text, replaces: false },
            Some(Rest::NoFile { folders }) => Change::Delete { folders },
        })
    }

    pub(super) fn refused(&self, entry: impl Entry, deed: Deed, why: &str) -> Failure {
        let what = match deed {
            Deed::Install => "put into",
            Deed::Remove => "taken out of",
        };
        let file = self.path.display();
        Failure::input(format!("tine cannot be {what} {file}: {why}")).hint(format!(
            "nothing was changed; mend the file, or edit `{}` in it by hand",
            entry.place()
        ))
    }

    /// Folders that have to be made for the file, the innermost first.
    fn missing_folders(&self) -> Vec<&Path> {
        self.target.ancestors().skip(1).take_while(|folder| !folder.exists()).collect()
    }

    /// Makes a change; false where the file is not any more what the change was made for.
    pub(super) fn write(&self, change: &Change) -> Result<bool, Failure> {
        if Self::read(self.path.clone())?.text != self.text {
            return Ok(false);
        }
        let written = match (change, &self.text) {
            (Change::Nothing, _) => Ok(()),
            (Change::Write { text, .. }, Some(_)) => write_file(&self.target, text),
            (Change::Write { text, .. }, None) => write_private_file(&self.target, text),
            (Change::Delete { folders }, _) => fs::remove_file(&self.target).map(|()| {
                for folder in self.target.ancestors().skip(1).take(*folders) {
                    // One that others use by now stays, and with it those around it.
                    let _ = fs::remove_dir(folder);
                }
            }),
        };
        written.map(|()| true).map_err(|error| {
            Failure::failed(format!("cannot write {}", self.path.display()))
                .because(&error)
                .hint("nothing was changed")
        })
    }
}

/// The newline that a text uses first.
pub(super) fn newline(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The mark at the beginning of a file that says it is UTF-8, and the rest.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split_at(text.len() - rest.len())
}
