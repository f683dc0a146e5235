//! `tine trust`: a person reads what a directory brings along, and trusts it or not.

use std::io;
use std::path::{Path, PathBuf};

use rustix::termios::{QueueSelector, tcflush};
use serde::Serialize;
use tine_fork::host::{Clock, SystemClock};

use crate::ask::a_person_is_there;
use crate::cli::TrustArgs;
use crate::config::{Config, Sources, gate_of_user};
use crate::crew::defined;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::{Failure, PERMISSION};
use crate::inside;
use crate::open::work_directory;
use crate::output;
use crate::trust::{
    Project, Record, TrustGate, TrustState, Withheld, content_text, difference_text, summary,
};
use tine_tui::age::{moment, rfc3339};
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// Most notes about wishes that do not count. They must not push the content off the screen.
const NOTES_MAX: usize = 5;

/// Runs the command.
pub(crate) fn trust(directory: Option<PathBuf>, args: TrustArgs) -> Result<u8, Failure> {
    let dirs = Dirs::find(&variable)?;
    let gate = gate_of_user(&dirs);
    if args.list {
        return list(&gate, args.json);
    }
    inside::check_trust()?;
    let here = work_directory(directory)?;
    match args.revoke {
        Some(asked) => revoke(&gate, &here, asked),
        None => give(&dirs, &gate, &here, args.yes),
    }
}

/// A directory that is trusted, as JSON. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct TrustedJson {
    directory: String,
    /// `trusted`, or `changed` since then.
    state: &'static str,
    trusted_at: String,
    /// Each file and its BLAKE3 hash.
    files: Vec<FileJson>,
}

#[derive(Serialize)]
struct FileJson {
    path: String,
    blake3: String,
}

fn list(gate: &TrustGate, json: bool) -> Result<u8, Failure> {
    let records = gate.records();
    let state = |record: &Record| match gate.project_at(&record.directory) {
        Some(Project { state: TrustState::Trusted, .. }) => "trusted",
        _ => "changed",
    };
    if json {
        let shape = |record: &Record| TrustedJson {
            directory: record.directory.display().to_string(),
            state: state(record),
            trusted_at: rfc3339(record.trusted_ms),
            files: record.files.iter().map(file_json).collect(),
        };
        output::json(&records.iter().map(shape).collect::<Vec<_>>())?;
        return Ok(0);
    }
    if records.is_empty() {
        output::say("you trust no directory");
    }
    for record in &records {
        let directory = one_line(&record.directory.to_string_lossy());
        let files = plural(record.files.len() as u64, "file");
        let since = moment(record.trusted_ms);
        output::line(&format!("{directory}  {} since {since}, {files}", state(record)))?;
    }
    Ok(0)
}

fn file_json((path, file): (&String, &crate::trust::TrustedFile)) -> FileJson {
    FileJson { path: path.clone(), blake3: file.blake3.clone() }
}

fn revoke(gate: &TrustGate, here: &Path, asked: Option<PathBuf>) -> Result<u8, Failure> {
    let directory = match asked {
        // A directory that is gone has a record all the same.
        Some(asked) => {
            let path = here.join(asked);
            std::fs::canonicalize(&path).unwrap_or(path)
        }
        None => {
            let trusted = gate.projects(here).into_iter().find(|found| found.record.is_some());
            trusted.map_or_else(|| here.to_owned(), |project| project.root)
        }
    };
    let shown = one_line(&directory.to_string_lossy());
    let forgotten = gate.forget(&directory).map_err(|error| {
        Failure::failed(format!("cannot take the trust in {shown} back")).because(&error)
    })?;
    if !forgotten {
        return Err(Failure::input(format!("{shown} was not trusted"))
            .hint("`tine trust --list` lists the directories that are"));
    }
    output::line(&format!("{shown} is not trusted any more"))?;
    Ok(0)
}

/// Shows the nearest content, asks, and keeps the answer. Content further up needs its own `tine -C DIR trust`: who trusts this
/// directory does not mean one above it.
fn give(dirs: &Dirs, gate: &TrustGate, here: &Path, yes: bool) -> Result<u8, Failure> {
    let Some(project) = &gate.projects(here).into_iter().next() else {
        output::say("there is nothing to trust: no .tine folder, here or above");
        return Ok(0);
    };
    let root = one_line(&project.root.to_string_lossy());
    match &project.state {
        TrustState::New | TrustState::Changed => {}
        TrustState::Trusted => {
            output::say(&format!("{root} is trusted already"));
            return Ok(0);
        }
        TrustState::Unfit(why) => {
            return Err(Failure::input(format!("{root} cannot be trusted: {}", one_line(why)))
                .hint("make its .tine folder smaller, or take the file out"));
        }
    }
    output::write_out(&shown(project))?;
    let withheld =
        if project.content.is_empty() { Vec::new() } else { not_counting(dirs, &project.root)? };
    say_withheld(&withheld);
    if !yes && !is_agreed(&root, &summary(project, &withheld))? {
        return Err(Failure::coded(PERMISSION, format!("{root} is not trusted")));
    }
    keep(gate, project)?;
    let files = plural(project.content.0.len() as u64, "file");
    output::line(&if project.content.is_empty() {
        format!("nothing of {root} is trusted any more")
    } else {
        format!("{root} is trusted: {files}")
    })?;
    Ok(0)
}

fn keep(gate: &TrustGate, project: &Project) -> Result<(), Failure> {
    // In a worktree an empty record says that a person knows of the content that is gone.
    let is_own = project.record.as_ref().is_none_or(|record| record.directory == project.root);
    let kept = if project.content.is_empty() && is_own {
        gate.forget(&project.root).map(|_| ())
    } else {
        gate.keep(&Record::new(&project.root, &project.content, SystemClock.now_ms()))
    };
    kept.map_err(|error| {
        Failure::failed(format!("cannot write the trust in {}", project.root.display()))
            .because(&error)
            .hint("make tine's directory writable, or set TINE_HOME to one that is")
    })
}

/// The text that a person is to read: the difference to what they trusted, or all of it.
fn shown(project: &Project) -> String {
    let root = one_line(&project.root.to_string_lossy());
    match &project.record {
        Some(record) => format!(
            "{root} has changed since you trusted it:\n{}",
            difference_text(record, &project.content)
        ),
        None => format!("{root} brings along:\n{}", content_text(&project.content)),
    }
}

/// Says which wishes of the content do not count even when it is trusted.
fn say_withheld(withheld: &[Withheld]) {
    for line in withheld.iter().take(NOTES_MAX).map(Withheld::line) {
        output::say(&format!("note: {line}"));
    }
    if withheld.len() > NOTES_MAX {
        output::say(&format!("note: {} more do not count", withheld.len() - NOTES_MAX));
    }
}

/// The wishes of the content that do not count even when it is trusted. Content with errors is not trusted: every command would fail.
fn not_counting(dirs: &Dirs, root: &Path) -> Result<Vec<Withheld>, Failure> {
    let sources = Sources { dirs, directory: root, variable: &variable, trusts_once: true };
    let config = Config::load(sources)?;
    let (_, agents) = defined(&config, root)?;
    Ok([config.withheld, agents].concat())
}

/// Asks below the short list of what counts. Only a person who can see the content is asked.
fn is_agreed(root: &str, summary: &str) -> Result<bool, Failure> {
    if !a_person_is_there() || !output::stdout_is_terminal() {
        return Err(Failure::coded(
            PERMISSION,
            format!("{root} is not trusted: nobody can be asked"),
        )
        .hint("`tine trust --yes` trusts it as it is now"));
    }
    output::write_out(summary)?;
    // Keys that were pressed before the question do not answer it.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    output::prompt("Do you trust this content? Type yes or no: ");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
