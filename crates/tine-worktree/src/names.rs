//! Names of files that a repository has ever held, for whoever must know what its history can print.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::WorktreeError;
use crate::git::{Git, parts, path};

/// How long one look at a history may take. Later looks see only what is new.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// Tips of branches that are kept of a look.
const TIPS_MAX: usize = 500;

/// What earlier looks of this process found, by directory: tips below which no name was meant.
static SEEN: Mutex<Option<HashMap<PathBuf, Vec<String>>>> = Mutex::new(None);

/// Returns the first name, in the index or in any commit that a reference leads to, that `is_meant`. `None` also where there is no
/// repository. A history that takes longer than 10 seconds is an error.
pub fn find_in_history(
    directory: &Path,
    is_meant: impl Fn(&Path) -> bool,
) -> Result<Option<PathBuf>, WorktreeError> {
    let git = Git::at(directory).within(LOOK_MAX).with("GIT_NO_LAZY_FETCH", "1".as_ref());
    let Ok(tracked) = git.run(["ls-files", "-z", "--full-name", ":/"]) else { return Ok(None) };
    let meant = |names: &[u8]| parts(names).map(named).find(|name| is_meant(name));
    if let Some(name) = meant(&tracked) {
        return Ok(Some(name));
    }
    let tips = git.text(["rev-parse", "--all", "HEAD"]).unwrap_or_default();
    let tips: Vec<String> = tips.lines().filter(|tip| is_id(tip)).map(str::to_owned).collect();
    if tips.is_empty() {
        return Ok(None);
    }
    let seen = with_seen(|seen| seen.get(directory).cloned()).unwrap_or_default();
    let arguments = ["log", "--all", "--format=", "--name-only", "--no-renames", "-z"];
    let quiet = ["--no-show-signature", "--no-ext-diff", "--no-textconv", "--diff-filter=d", "-m"];
    let mut arguments: Vec<String> =
        arguments.iter().chain(&quiet).map(|word| (*word).to_owned()).collect();
    // A tip that has gone meanwhile would be an error.
    let still = |tip: &&String| git.run(["cat-file", "-e", tip.as_str()]).is_ok();
    let known: Vec<&String> = seen.iter().filter(still).collect();
    if !known.is_empty() {
        arguments.push("--not".to_owned());
        arguments.extend(known.into_iter().cloned());
    }
    if let Some(name) = meant(&git.run(&arguments)?) {
        return Ok(Some(name));
    }
    let tips = tips.into_iter().take(TIPS_MAX).collect();
    with_seen(|seen| seen.insert(directory.to_owned(), tips));
    Ok(None)
}

/// Returns git's settings in a directory, as `git config --list` prints them. Empty where git cannot say.
pub fn git_settings(directory: &Path) -> String {
    Git::at(directory).within(LOOK_MAX).text(["config", "--list", "--includes"]).unwrap_or_default()
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
