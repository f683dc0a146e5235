//! Tine in the settings of a host, and out again: its server (`tine mcp install`), and its hook (`tine gateway install`).
//!
//! The entry can be taken out to the byte without a record of the file before. The layout of the inserted text says it:
//!
//! - A file that tine made has one fixed text, and behind it a newline for each folder that was made for it. Nothing that is put into a
//!   file that was there looks like that.
//! - The blanks in front of a new member, and the comma that it needs, are tine's own, up to the last comment before it.
//! - Where a list was there and empty, the entry says its `type` last, otherwise first. Hosts that write their settings anew keep this.
//! - In an object that was there and empty, a new member stands directly behind the brace. In a file without any value the object begins
//!   with a blank, which it does not end with.
//! - A hook is a member of a list in a list, and says by the place of its `type` which of them were there ([`hook_list`]).
//! - A table for Codex stands behind a blank line at the end of the file. It ends with a newline if the file did.
//!
//! A change that cannot be taken back like this is refused: the way back is tried before anything is written. One thing does not come
//! back: an entry `tine` of somebody else that gave way to this one.

mod document;
mod hook_list;
mod hooks;
mod hosts;
mod json;
mod settings;
mod show;
mod toml;

use std::path::PathBuf;

use serde::Serialize;

use self::settings::{Change, Rest, Settings, newline, split_mark};
use crate::ask::{a_person_is_there, agrees};
use crate::cli::{HookChangeArgs, HookHost, McpChangeArgs};
use crate::environment::{Variable, variable};
use crate::fail::Failure;
use crate::inside;
use crate::output;

/// The name of tine's entry.
const NAME: &str = "tine";

/// Refused to an agent's command.
const REFUSED: &str = "changes no settings of other programs";

/// Attempts at a file that the host changes meanwhile. Claude Code writes its settings often, but not five times in a row.
const TRIES_MAX: usize = 5;

/// The two changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    Install,
    Remove,
}

/// The end of a change, for words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It was there before.
    IsThere,
    /// There was none.
    IsNotThere,
    Installed,
    /// It is there in place of another one.
    Replaced,
    Removed,
}

/// An entry of tine's in the settings of a host.
trait Entry: Copy {
    /// The host's name on the command line.
    fn host_id(self) -> &'static str;

    /// The host's name.
    fn host(self) -> &'static str;

    /// The place of the entry in the settings.
    fn place(self) -> &'static str;

    /// The files that the host reads, the one that it prefers first. The last one is made where there is none.
    fn files(self, variable: Variable<'_>) -> Result<Vec<PathBuf>, Failure>;

    /// The text of a file that holds the entry and nothing else.
    fn new_file(self, program: &str) -> String;

    /// True where the settings start this program already.
    fn has(self, text: &str, program: &str) -> Result<bool, String>;

    /// The settings with the entry, which must not be there yet.
    fn with(self, text: &str, program: &str) -> Result<String, String>;

    /// The settings without the entry; `None` where there is none.
    fn without(self, text: &str) -> Result<Option<Rest>, String>;

    /// The end of a change in words.
    fn said(self, outcome: Outcome) -> String;

    /// A thing that a person has to know of an entry that is there now.
    fn note(self) -> Option<String> {
        None
    }
}

/// The way in which a change is made.
#[derive(Debug, Clone, Copy)]
struct Way {
    dry_run: bool,
    json: bool,
    /// True where a person must agree first.
    asks: bool,
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

/// Puts tine's server into the settings of a host, or takes it out.
pub(crate) fn change_server(args: &McpChangeArgs, deed: Deed) -> Result<u8, Failure> {
    inside::only_a_person(
        REFUSED,
        "a person runs `tine mcp install` or `tine mcp remove` in a terminal",
    )?;
    let way = Way { dry_run: args.dry_run, json: args.json, asks: false };
    change(args.host, way, deed)
}

/// Puts tine's hook into the settings of a host, or takes it out.
pub(crate) fn change_hook(args: &HookChangeArgs, deed: Deed) -> Result<u8, Failure> {
    inside::only_a_person(
        REFUSED,
        "a person runs `tine gateway install` or `tine gateway remove` in a terminal",
    )?;
    let way = Way { dry_run: args.dry_run, json: args.json, asks: !args.yes };
    change(args.host, way, deed)
}

/// True where tine's hook is in the settings of a host.
pub(crate) fn has_hook(host: HookHost) -> bool {
    let text = settings(host, &variable).ok().and_then(|settings| settings.text);
    text.is_some_and(|text| matches!(host.without(&text), Ok(Some(_))))
}

fn change(entry: impl Entry, way: Way, deed: Deed) -> Result<u8, Failure> {
    let program = match deed {
        Deed::Install => Some(hosts::program()?),
        Deed::Remove => None,
    };
    for _ in 0..TRIES_MAX {
        let settings = settings(entry, &variable)?;
        let change = match &program {
            Some(program) => settings.with_tine(entry, program),
            None => settings.without_tine(entry),
        };
        let change = change.map_err(|why| settings.refused(entry, deed, &why))?;
        let is_made = !way.dry_run && change != Change::Nothing;
        if is_made && way.asks {
            agree(&settings, &change, way)?;
        }
        if !is_made || settings.write(&change)? {
            return told(entry, way, (&settings, &change), program.as_deref());
        }
    }
    Err(Failure::failed(format!("{} changes its settings all the time", entry.host()))
        .hint("end it, and try again"))
}

/// The settings file of a host: the one that has tine in it, else the one that the host prefers, else the one that it would make.
fn settings(entry: impl Entry, variable: Variable<'_>) -> Result<Settings, Failure> {
    let mut there = Vec::new();
    let mut usual = None;
    for file in entry.files(variable)? {
        let settings = Settings::read(std::path::absolute(&file).unwrap_or(file))?;
        match &settings.text {
            // Claude Code goes by `.config.json` only where something is in it.
            Some(text) if !text.is_empty() => there.push(settings),
            _ => usual = Some(settings),
        }
    }
    let has = |settings: &Settings| {
        settings.text.as_deref().is_some_and(|text| matches!(entry.without(text), Ok(Some(_))))
    };
    let at = there.iter().position(has).unwrap_or_default();
    let chosen = (at < there.len()).then(|| there.swap_remove(at)).or(usual);
    chosen.ok_or_else(|| Failure::input(format!("{} has no settings file", entry.host())))
}

/// Shows a change to a person, and asks.
fn agree(settings: &Settings, change: &Change, way: Way) -> Result<(), Failure> {
    let file = settings.path.display();
    if way.json || !a_person_is_there() || !output::stdout_is_terminal() {
        return Err(Failure::input(format!("{file} would change, and nobody can be asked"))
            .hint("--dry-run shows the change; --yes makes it"));
    }
    settings.show(change)?;
    match agrees("This changes the settings of another program.") {
        true => Ok(()),
        false => Err(Failure::input("nothing was changed: you did not agree")),
    }
}

fn told(
    entry: impl Entry,
    way: Way,
    (settings, change): (&Settings, &Change),
    program: Option<&str>,
) -> Result<u8, Failure> {
    let replaced = matches!(change, Change::Write { replaces: true, .. });
    if way.json {
        output::json(&ChangeJson {
            host: entry.host_id(),
            file: settings.path.display().to_string(),
            outcome: match change {
                Change::Nothing => "nothing",
                Change::Write { .. } | Change::Delete { .. } if way.dry_run => "would_write",
                Change::Write { .. } | Change::Delete { .. } => "written",
            },
            program,
            replaced,
            deleted: matches!(change, Change::Delete { .. }),
            diff: settings.lines(change).iter().map(show::Line::plain).collect(),
        })?;
        return Ok(0);
    }
    let outcome = match (program, change) {
        (Some(_), Change::Nothing) => Outcome::IsThere,
        (None, Change::Nothing) => Outcome::IsNotThere,
        (Some(_), Change::Write { replaces: true, .. }) => Outcome::Replaced,
        (Some(_), Change::Write { .. } | Change::Delete { .. }) => Outcome::Installed,
        (None, Change::Write { .. } | Change::Delete { .. }) => Outcome::Removed,
    };
    if *change == Change::Nothing {
        output::say(&format!("{}: {}", entry.said(outcome), settings.path.display()));
    } else {
        if way.dry_run || !way.asks {
            settings.show(change)?;
        }
        if way.dry_run {
            output::say("nothing was changed: this was a dry run");
            return Ok(0);
        }
        output::say(&entry.said(outcome));
    }
    if program.is_some() {
        entry.note().iter().for_each(|note| output::say(&format!("note: {note}")));
    }
    Ok(0)
}

#[cfg(test)]
mod hook_tests;
#[cfg(test)]
mod tests;
