//! How the commands of a run are confined: from the command line, the settings, and what the agent is.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tine_model::Standing;
use tine_runtime::{AuditReport, Confinement, Reach};

use crate::cli::{ConfineArg, LimitArgs};
use crate::config::{Config, ConfineTable};
use crate::connect::variable;
use crate::dirs::Dirs;
use crate::fail::Failure;
use crate::output;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// Changes outside that are printed; the JSON has them all.
const ESCAPES_SHOWN_MAX: usize = 10;

/// What is said where a user asked for commands without a wall's means.
pub(crate) const ADVICE: &str =
    "`tine doctor` says what is missing here; `--confine off` runs commands without a wall";

/// The confinement of an agent's run in `directory`.
pub(crate) fn confinement(
    config: &Config,
    args: &LimitArgs,
    standing: Standing,
    directory: &Path,
) -> Result<Confinement, Failure> {
    let table = &config.confine;
    let by_default = standing == Standing::Worker && workers(table)?;
    let reach = match args.confine {
        Some(ConfineArg::Off) => Reach::Open,
        Some(ConfineArg::Directory) => Reach::Directory,
        Some(ConfineArg::ReadOnly) => Reach::ReadOnly,
        None if by_default => Reach::Directory,
        None => Reach::Open,
    };
    if args.network && reach == Reach::Open {
        return Err(Failure::usage("--network is for confined runs")
            .hint("commands that are not confined have the network anyway"));
    }
    Ok(Confinement {
        reach,
        writable: writable(table)?,
        network: args.network || table.network.unwrap_or(false),
        variables: table.variables.clone().unwrap_or_default(),
        // Whoever asks for a wall gets a whole one or none; one by default is as good as the kernel has it.
        accept_gaps: args.confine.is_none() && !refuses(table)?,
        own: own(&Dirs::find(&variable)?, directory),
        origin: None,
    })
}

/// Says once what the kernel cannot keep of a wall that is raised all the same.
pub(crate) fn warn_of_gaps(confinement: &Confinement, directory: &Path) {
    if !confinement.accept_gaps {
        return;
    }
    for gap in confinement.gaps(directory) {
        output::say(&format!("warning: {}", gap.words()));
    }
}

/// One line on a confined run; `None` for others.
pub(crate) fn line(confinement: &Confinement) -> Option<String> {
    let writes = match &confinement.reach {
        Reach::Open => return None,
        Reach::Directory => "commands write only in the directory",
        Reach::ReadOnly => "commands write nothing",
        Reach::Memory(_) => "commands write only notes",
    };
    let network = if confinement.network { "with network" } else { "no network" };
    Some(format!("confined: {writes}, {network}"))
}

/// What a confined run changed outside, in JSON. A promise to scripts.
#[derive(Debug, Serialize)]
pub(crate) struct AuditShape {
    /// Whether everything could be looked at.
    complete: bool,
    /// What changed outside while the run was on, whoever changed it: a path and what became of it.
    escapes: Vec<String>,
}

impl From<&AuditReport> for AuditShape {
    fn from(audit: &AuditReport) -> Self {
        let escapes = audit.escapes.iter().map(ToString::to_string).collect();
        Self { complete: audit.complete, escapes }
    }
}

/// Tells a person of changes outside.
pub(crate) fn tell(audit: &AuditReport) {
    if audit.escapes.is_empty() {
        return;
    }
    let count = plural(audit.escapes.len() as u64, "change");
    output::say(&format!("warning: {count} outside while the commands were confined:"));
    for escape in audit.escapes.iter().take(ESCAPES_SHOWN_MAX) {
        output::say(&format!("  {}", one_line(&escape.to_string())));
    }
    output::say("hint: an editor or another program may have made them; if not, please report it");
}

/// Whether workers are confined by default.
pub(crate) fn workers(table: &ConfineTable) -> Result<bool, Failure> {
    choice("workers", table.workers.as_deref(), ("on", "off"), true)
}

fn refuses(table: &ConfineTable) -> Result<bool, Failure> {
    choice("missing", table.missing.as_deref(), ("refuse", "warn"), false)
}

fn choice(
    key: &str,
    set: Option<&str>,
    (yes, no): (&str, &str),
    otherwise: bool,
) -> Result<bool, Failure> {
    match set {
        None => Ok(otherwise),
        Some(word) if word == yes => Ok(true),
        Some(word) if word == no => Ok(false),
        Some(word) => Err(Failure::input(format!("unknown confine.{key} `{word}`"))
            .hint(format!("it is {yes} or {no}"))),
    }
}

/// The directories that confined commands may write in besides their own.
fn writable(table: &ConfineTable) -> Result<Vec<PathBuf>, Failure> {
    let home = variable("HOME").map(PathBuf::from);
    let read = |text: &String| match (text.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => Ok(home.join(rest)),
        _ if Path::new(text).is_absolute() => Ok(PathBuf::from(text)),
        _ => Err(Failure::input(format!("confine.writable has `{text}`"))
            .hint("a directory there is an absolute path, or one that begins with ~/")),
    };
    table.writable.iter().flatten().map(read).collect()
}

/// tine's own files: its whole directory, or the single files where that is also what is worked in.
fn own(dirs: &Dirs, directory: &Path) -> Vec<PathBuf> {
    let Some(data) = dirs.database.parent() else { return Vec::new() };
    if !directory.starts_with(data) {
        return vec![data.to_owned()];
    }
    let beside = |ending: &str| {
        let mut name = dirs.database.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let files = ["", "-wal", "-shm", "-journal"].map(beside);
    files.into_iter().chain([dirs.owners.clone(), dirs.trust.clone()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(confine: Option<ConfineArg>, workers: Option<&str>, standing: Standing) -> String {
        let mut config = Config::default();
        config.confine.workers = workers.map(str::to_owned);
        let args = LimitArgs { confine, ..LimitArgs::default() };
        match confinement(&config, &args, standing, Path::new("/work")) {
            Ok(confinement) => format!("{:?} {}", confinement.reach, confinement.accept_gaps),
            Err(failure) => failure.text(),
        }
    }

    #[test]
    fn workers_are_confined_by_default_and_others_when_asked() {
        use ConfineArg::{Directory, Off, ReadOnly};
        assert_eq!(reach(None, None, Standing::Worker), "Directory true");
        assert_eq!(reach(None, Some("off"), Standing::Worker), "Open true");
        assert_eq!(reach(Some(Off), None, Standing::Worker), "Open false");
        assert_eq!(reach(None, None, Standing::Root), "Open true");
        assert_eq!(reach(Some(Directory), None, Standing::Root), "Directory false");
        assert_eq!(reach(Some(ReadOnly), Some("off"), Standing::Worker), "ReadOnly false");
        insta::assert_snapshot!(reach(None, Some("yes"), Standing::Worker), @"
        error: unknown confine.workers `yes`
        hint: it is on or off
        ");
    }

    #[test]
    fn a_writable_directory_is_absolute() {
        let table = |path: &str| ConfineTable {
            writable: Some(vec![path.to_owned()]),
            ..ConfineTable::default()
        };
        assert_eq!(writable(&table("/cache")).unwrap(), [PathBuf::from("/cache")]);
        insta::assert_snapshot!(writable(&table("cache")).unwrap_err().text(), @"
        error: confine.writable has `cache`
        hint: a directory there is an absolute path, or one that begins with ~/
        ");
    }
}
