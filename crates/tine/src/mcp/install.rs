//! `tine mcp install` and `tine mcp remove`: tine in the settings of a host, and out again.
//!
//! The entry can be taken out to the byte without a record of the file before. The layout of the inserted text says it:
//!
//! - A file that tine made has one fixed text, and behind it a newline for each folder that was made for it. Nothing that is put into a
//!   file that was there looks like that.
//! - The blanks in front of a new member, and the comma that it needs, are tine's own, up to the last comment before it.
//! - Where a list was there and empty, the entry says its `type` last, otherwise first. Hosts that write their settings anew keep this.
//! - In an object that was there and empty, a new member stands directly behind the brace. In a file without any value the object begins
//!   with a blank, which it does not end with.
//! - A table for Codex stands behind a blank line at the end of the file. It ends with a newline if the file did.
//!
//! A change that cannot be taken back like this is refused: the way back is tried before anything is written. One thing does not come
//! back: an entry `tine` of somebody else that gave way to this one.

mod hosts;
mod json;
mod show;
mod toml;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::show::changed_lines;
use crate::cli::{Host, McpChangeArgs};
use crate::environment::variable;
use crate::fail::Failure;
use crate::inside;
use crate::output;
use crate::whole_file::{write_file, write_private_file};

/// The name of tine's entry.
const NAME: &str = "tine";

/// Attempts at a file that the host changes meanwhile. Claude Code writes its settings often, but not five times in a row.
const TRIES_MAX: usize = 5;

/// The two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Install,
    Remove,
}

/// Settings without tine's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rest {
    Text(String),
    /// Tine made the file, and so many folders around it.
    NoFile {
        folders: usize,
    },
}

impl Rest {
    /// The rest of a file that tine made; `None` where the text is another one.
    fn of_new_file(text: &str, new_file: &str) -> Option<Self> {
        let rest = text.strip_prefix(new_file)?;
        rest.bytes().all(|byte| byte == b'\n').then_some(Self::NoFile { folders: rest.len() })
    }
}

/// A settings file as it is.
struct Settings {
    /// The path by which the host opens it.
    path: PathBuf,
    /// The file that links in the path lead to.
    target: PathBuf,
    /// `None` where there is no file.
    text: Option<String>,
}

/// A change of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
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

/// The JSON shape of a change. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ChangeJson<'a> {
    host: &'static str,
    file: String,
    /// `written`, `would_write` or `nothing`.
    outcome: &'static str,
    /// The program that the host starts; null where tine is removed.
    program: Option<&'a str>,
    /// True where an entry that was there gives way.
    replaced: bool,
    /// True where the file goes as a whole.
    deleted: bool,
    /// Lines that go or come, after `-` or `+`.
    diff: Vec<String>,
}

/// Puts tine into the settings of a host.
pub(crate) fn install(args: &McpChangeArgs) -> Result<u8, Failure> {
    change(args, Deed::Install)
}

/// Takes tine out of the settings of a host.
pub(crate) fn remove(args: &McpChangeArgs) -> Result<u8, Failure> {
    change(args, Deed::Remove)
}

fn change(args: &McpChangeArgs, deed: Deed) -> Result<u8, Failure> {
    inside::only_a_person(
        "changes no settings of other programs",
        "a person runs `tine mcp install` or `tine mcp remove` in a terminal",
    )?;
    let program = match deed {
        Deed::Install => Some(hosts::program()?),
        Deed::Remove => None,
    };
    for _ in 0..TRIES_MAX {
        let settings = hosts::settings(args.host, &variable)?;
        let change = match &program {
            Some(program) => settings.with_tine(args.host, program),
            None => settings.without_tine(args.host),
        };
        let change = change.map_err(|why| settings.refused(args.host, deed, &why))?;
        if args.dry_run || change == Change::Nothing || settings.write(&change)? {
            return told(args, &settings, &change, program.as_deref());
        }
    }
    Err(Failure::failed(format!("{} changes its settings all the time", args.host.name()))
        .hint("end it, and try again"))
}

fn told(
    args: &McpChangeArgs,
    settings: &Settings,
    change: &Change,
    program: Option<&str>,
) -> Result<u8, Failure> {
    let before = settings.text.as_deref().unwrap_or_default();
    let lines = match change {
        Change::Nothing => Vec::new(),
        Change::Write { text, .. } => changed_lines(before, text),
        Change::Delete { .. } => changed_lines(before, ""),
    };
    let replaced = matches!(change, Change::Write { replaces: true, .. });
    let deleted = matches!(change, Change::Delete { .. });
    if args.json {
        output::json(&ChangeJson {
            host: args.host.id(),
            file: settings.path.display().to_string(),
            outcome: match change {
                Change::Nothing => "nothing",
                _ if args.dry_run => "would_write",
                Change::Write { .. } | Change::Delete { .. } => "written",
            },
            program,
            replaced,
            deleted,
            diff: lines.iter().map(show::Line::plain).collect(),
        })?;
        return Ok(0);
    }
    let (host, file) = (args.host.name(), settings.path.display());
    if *change == Change::Nothing {
        output::say(&match program {
            Some(_) => format!("tine is in {host}'s settings already: {file}"),
            None => format!("there is no tine in {host}'s settings: {file}"),
        });
        return Ok(0);
    }
    let shown: String = lines.iter().map(show::Line::coloured).collect();
    output::write_out(&format!("{file}\n{shown}"))?;
    if deleted {
        output::say("note: tine made this file, and it goes as a whole");
    }
    output::say(&match program {
        _ if args.dry_run => "nothing was changed: this was a dry run".to_owned(),
        Some(_) if replaced => {
            format!("another entry `tine` was replaced; new sessions of {host} start this one")
        }
        Some(_) => format!(
            "new sessions of {host} have tine's tools; `tine mcp remove {}` takes them out",
            args.host.id()
        ),
        None => format!("new sessions of {host} have no tine any more"),
    });
    Ok(0)
}

impl Settings {
    /// Reads a file; the error says why it cannot be used.
    fn read(path: PathBuf) -> Result<Self, Failure> {
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

    fn with_tine(&self, host: Host, program: &str) -> Result<Change, String> {
        let Some(text) = &self.text else {
            let mut text = host.new_file(program);
            text.extend(self.missing_folders().iter().map(|_| '\n'));
            return Ok(Change::Write { text, replaces: false });
        };
        if host.has(text, program)? {
            return Ok(Change::Nothing);
        }
        let (rest, replaces) = match host.without(text)? {
            None => (text.clone(), false),
            Some(Rest::Text(rest)) => (rest, true),
            Some(Rest::NoFile { folders }) => {
                let text = host.new_file(program) + "\n".repeat(folders).as_str();
                return Ok(Change::Write { text, replaces: true });
            }
        };
        let text = host.with(&rest, program)?;
        // Nothing is put in that could not be found or taken out again.
        if !host.has(&text, program)? || host.without(&text)? != Some(Rest::Text(rest)) {
            return Err("it is written in a way in which a change could not be taken back".into());
        }
        Ok(Change::Write { text, replaces })
    }

    fn without_tine(&self, host: Host) -> Result<Change, String> {
        let rest = self.text.as_deref().map(|text| host.without(text)).transpose()?;
        Ok(match rest.flatten() {
            None => Change::Nothing,
            Some(Rest::Text(text)) => Change::Write { text, replaces: false },
            Some(Rest::NoFile { folders }) => Change::Delete { folders },
        })
    }

    fn refused(&self, host: Host, deed: Deed, why: &str) -> Failure {
        let what = match deed {
            Deed::Install => "put into",
            Deed::Remove => "taken out of",
        };
        let file = self.path.display();
        Failure::input(format!("tine cannot be {what} {file}: {why}")).hint(format!(
            "nothing was changed; mend the file, or edit `{}` in it by hand",
            host.place()
        ))
    }

    /// Folders that have to be made for the file, the innermost first.
    fn missing_folders(&self) -> Vec<&Path> {
        self.target.ancestors().skip(1).take_while(|folder| !folder.exists()).collect()
    }

    /// Makes a change; false where the file is not any more what the change was made for.
    fn write(&self, change: &Change) -> Result<bool, Failure> {
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
fn newline(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The mark at the beginning of a file that says it is UTF-8, and the rest.
fn split_mark(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split_at(text.len() - rest.len())
}

#[cfg(test)]
mod tests;
