//! Names of files that a repository has ever held, for whoever must know what its history can print.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tine_tools::GIT_LOOK_TIME_MAX;

use crate::error::WorktreeError;
use crate::filters::ProgramSettings;
use crate::git::{Git, parts, path};

/// Tips of branches that are kept of a look.
const TIPS_MAX: usize = 500;

/// How git begins to say that there is no repository.
const NO_REPOSITORY: &str = "not a git repository";

/// What earlier looks of this process found, by directory: tips below which no name was meant.
static SEEN: Mutex<Option<HashMap<PathBuf, Vec<String>>>> = Mutex::new(None);

/// Returns the first name, in the index or in any commit that a reference, a worktree or a reflog leads to, that `is_meant`. `None` also
/// where there is no repository. Any other failure of git is an error, as is a history that takes longer than [`GIT_LOOK_TIME_MAX`].
pub fn find_in_history(
    directory: &Path,
    is_meant: impl Fn(&Path) -> bool,
) -> Result<Option<PathBuf>, WorktreeError> {
    let root = ("log.showRoot".to_owned(), "true".to_owned());
    let git = Git::at(directory)
        .within(GIT_LOOK_TIME_MAX)
        .with_settings(Arc::new(ProgramSettings::plain(vec![root])))
        // What a commit was before it was replaced can be printed, too.
        .with("GIT_NO_REPLACE_OBJECTS", "1".as_ref());
    if !is_repository(&git)? {
        return Ok(None);
    }
    let meant = |names: &[u8]| parts(names).map(named).find(|name| is_meant(name));
    if let Some(name) = meant(&git.run(["ls-files", "-z", "--full-name", ":/"])?) {
        return Ok(Some(name));
    }
    let tips = git.text(["rev-parse", "--all"])?;
    let tips: Vec<String> = tips.lines().filter(|tip| is_id(tip)).map(str::to_owned).collect();
    let known = with_seen(|seen| seen.get(directory).cloned()).unwrap_or_default();
    let mut arguments: Vec<String> = LOOK.map(str::to_owned).into();
    if !known.is_empty() {
        arguments.push("--not".to_owned());
        arguments.extend(known);
    }
    if let Some(name) = meant(&git.run(&arguments)?) {
        return Ok(Some(name));
    }
    let tips = tips.into_iter().take(TIPS_MAX).collect();
    with_seen(|seen| seen.insert(directory.to_owned(), tips));
    Ok(None)
}

/// Lists the names of all commits, whatever the settings say of logs. A tip that was seen may have gone meanwhile.
const LOOK: [&str; 14] = [
    "log",
    "--ignore-missing",
    "--all",
    "--reflog",
    "--format=",
    "--name-only",
    "--no-renames",
    "--no-relative",
    "-z",
    "--no-show-signature",
    "--no-ext-diff",
    "--no-textconv",
    "--diff-filter=d",
    "-m",
];

/// Returns false where git says that there is no repository.
fn is_repository(git: &Git) -> Result<bool, WorktreeError> {
    match git.run(["rev-parse", "--git-dir"]) {
        Ok(_) => Ok(true),
        Err(WorktreeError::Git { said, .. }) if said.starts_with(NO_REPOSITORY) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Settings to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsScope {
    /// The repository's own, and the system's.
    Repository,
    /// The user's as well.
    Everything,
}

/// Returns git's settings in a directory, as `git config --list` prints them.
pub fn git_settings(directory: &Path, scope: SettingsScope) -> Result<String, WorktreeError> {
    let git = Git::at(directory).within(GIT_LOOK_TIME_MAX);
    let git = match scope {
        SettingsScope::Repository => git.with("GIT_CONFIG_GLOBAL", "/dev/null".as_ref()),
        SettingsScope::Everything => git,
    };
    git.text(["config", "--list", "--includes"])
}

fn with_seen<T>(look: impl FnOnce(&mut HashMap<PathBuf, Vec<String>>) -> T) -> T {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    look(seen.get_or_insert_default())
}

fn is_id(tip: &str) -> bool {
    tip.len() >= 40 && tip.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name, without the line end that git puts between two commits.
fn named(bytes: &[u8]) -> PathBuf {
    path(bytes.trim_ascii_start())
}
