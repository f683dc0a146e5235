//! Worktrees as lists, notes and results print them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tine_model::{AgentId, TaskWorktree, WorktreeRecord};
use tine_runtime::{ForkWorktree, Operation, Standing, Unseen, WorktreeLeftOut};

use crate::output;
use crate::render::change::shown_path;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// Most paths that a line names.
const PATHS_SHOWN: usize = 5;

/// The JSON shape of a worktree that was just made. Others rely on it: fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlaceShape {
    path: String,
    /// Submodules that have files in the checkout and none here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    submodules: Vec<String>,
}

impl PlaceShape {
    /// Tells a person where it is.
    pub(crate) fn say(&self) {
        output::say(&format!("note: it works in {}", one_line(&self.path)));
    }
}

impl From<&ForkWorktree> for PlaceShape {
    fn from(worktree: &ForkWorktree) -> Self {
        Self {
            path: worktree.path.to_string_lossy().into_owned(),
            submodules: worktree.submodules.iter().map(|path| shown_path(path)).collect(),
        }
    }
}

impl From<&WorktreeRecord> for PlaceShape {
    fn from(worktree: &WorktreeRecord) -> Self {
        Self { path: worktree.path.clone(), submodules: Vec::new() }
    }
}

/// The JSON shape of the worktree of a task. Others rely on it: fields are only ever added.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WorkShape {
    path: String,
    /// How many files differ from what it started with.
    files: u32,
    /// How many commits were made in it.
    commits: u32,
    /// Ignored files and directories that were made, where somebody looked; they go with the worktree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    made: Vec<String>,
    /// Folders of other repositories that have files, where somebody looked; they are not part of the work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repositories: Vec<String>,
}

impl WorkShape {
    /// With what the numbers do not count.
    pub(crate) fn with(worktree: &TaskWorktree, unseen: &Unseen) -> Self {
        let shown = |paths: &[PathBuf]| paths.iter().map(|path| shown_path(path)).collect();
        let (made, repositories) = (shown(&unseen.made), shown(&unseen.repositories));
        let TaskWorktree { path, files, commits } = worktree.clone();
        Self { path, files, commits, made, repositories }
    }
}

impl From<&TaskWorktree> for WorkShape {
    fn from(worktree: &TaskWorktree) -> Self {
        Self::with(worktree, &Unseen::default())
    }
}

/// The JSON shape of the worktree of an agent. Others rely on it: fields are only ever added.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HomeShape {
    path: String,
    /// The directory that it was forked from.
    origin: String,
    /// Whether it is gone; what it held is kept.
    removed: bool,
}

impl From<&WorktreeRecord> for HomeShape {
    fn from(worktree: &WorktreeRecord) -> Self {
        let WorktreeRecord { path, origin, removed_ms, .. } = worktree.clone();
        Self { path, origin, removed: removed_ms.is_some() }
    }
}

/// What was done in a worktree, in words.
pub(crate) fn progress(files: u32, commits: u32) -> String {
    let files = (files > 0).then(|| format!("{} changed", plural(files.into(), "file")));
    let commits = (commits > 0).then(|| plural(commits.into(), "commit"));
    let done: Vec<String> = files.into_iter().chain(commits).collect();
    if done.is_empty() { "nothing changed".to_owned() } else { done.join(", ") }
}

/// What no diff of a worktree shows, a line for each kind.
pub(crate) fn unseen(unseen: &Unseen) -> Vec<String> {
    let Unseen { ignored, filtered, made, repositories } = unseen;
    let hidden = (!filtered.is_empty()).then(|| filtered_line(filtered));
    let left = (!made.is_empty()).then(|| made_line(made, "go with the worktree"));
    let files = (!ignored.is_empty()).then(|| ignored_line(ignored));
    let inside = (!repositories.is_empty()).then(|| {
        let noun =
            if repositories.len() == 1 { "another repository" } else { "other repositories" };
        format!("the worktree holds files of {noun}: {}; not part of the work", names(repositories))
    });
    files.into_iter().chain(hidden).chain(left).chain(inside).collect()
}

/// Tells a person that the files of a worktree are gone, and that what they see is older.
pub(crate) fn say_gone(standing: Standing, agent: AgentId) {
    if standing == Standing::Gone {
        let short = agent.short();
        output::say(
            "warning: its files were removed without tine; this is what was last kept, and what came after it is gone",
        );
        output::say(&format!(
            "hint: `tine worktree recover {short}` makes the worktree again, with the commits that git still has"
        ));
    }
}

/// Ignored files that were changed, and what that means.
pub(crate) fn ignored_line(ignored: &[PathBuf]) -> String {
    let pronoun = if ignored.len() == 1 { "it" } else { "them" };
    let count = plural(ignored.len() as u64, "ignored file");
    format!("{count} changed: {}; `tine apply` does not bring {pronoun}", names(ignored))
}

/// Files that changed in a way that git does not see, and what that means.
fn filtered_line(filtered: &[PathBuf]) -> String {
    let pronoun = if filtered.len() == 1 { "it" } else { "them" };
    let count = plural(filtered.len() as u64, "file");
    let what = "changed only in what git does not see (filters, line ends, permissions)";
    format!("{count} {what}: {}; `tine apply` does not bring {pronoun}", names(filtered))
}

/// Ignored files that were made, and what becomes of them.
pub(crate) fn made_line(made: &[PathBuf], fate: &str) -> String {
    format!("ignored files were made and {fate}: {}", names(made))
}

fn names(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().take(PATHS_SHOWN).map(|path| shown_path(path)).collect();
    match paths.len().saturating_sub(PATHS_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A worktree and what was done in it, on a line.
pub(crate) fn work_line(worktree: &TaskWorktree) -> String {
    format!("{}: {}", one_line(&worktree.path), progress(worktree.files, worktree.commits))
}

/// The same, and a line for each kind of what no diff shows.
pub(crate) fn work_lines(worktree: &TaskWorktree, found: &Unseen) -> Vec<String> {
    let is_all = (worktree.files, worktree.commits) != (0, 0) || found.is_empty();
    let seen = if is_all { "" } else { " that git sees" };
    let line = format!("{}{seen}", work_line(worktree));
    std::iter::once(line).chain(unseen(found)).collect()
}

/// Tells a person that what the checkout is in the middle of stays where it is.
pub(crate) fn say_under_way(operation: Option<Operation>) {
    if let Some(operation) = operation {
        output::say(&format!(
            "note: the checkout is in the middle of a {operation}; the files come along as they are, the {operation} does not"
        ));
    }
}

/// Tells a person what a worktree did not get.
pub(crate) fn say_left_out(left_out: &[WorktreeLeftOut]) {
    if let Some(line) = left_out_line(left_out) {
        output::say(&format!("note: {line}"));
    }
}

fn left_out_line(left_out: &[WorktreeLeftOut]) -> Option<String> {
    let name = |left: &WorktreeLeftOut| format!("{} ({})", shown_path(&left.path), left.kind);
    let shown: Vec<String> = left_out.iter().take(PATHS_SHOWN).map(name).collect();
    let more = match left_out.len().saturating_sub(PATHS_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!shown.is_empty()).then(|| format!("the worktree is without {}{more}", shown.join(", ")))
}

/// Tells a person which submodules a worktree has no files of.
pub(crate) fn say_submodules(submodules: &[PathBuf]) {
    submodules_line(submodules).iter().for_each(|line| output::say(line));
}

fn submodules_line(submodules: &[PathBuf]) -> Option<String> {
    let (noun, stay) = match submodules.len() {
        1 => ("submodule", "stays at the commit that is staged"),
        _ => ("submodules", "stay at the commits that are staged"),
    };
    let line = || {
        format!(
            "note: the {noun} {} {stay}, without files: `git submodule update --init` in the worktree brings them, by a person's hand or as worktree.setup; agents are refused it; what is changed inside does not come along",
            names(submodules)
        )
    };
    (!submodules.is_empty()).then(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_in_files_and_commits() {
        let shown =
            [(0, 0), (1, 0), (0, 2), (3, 1)].map(|(files, commits)| progress(files, commits));
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let one = Unseen {
            ignored: paths(&[".env"]),
            filtered: paths(&["x.nb"]),
            made: paths(&["result.log"]),
            repositories: paths(&["proj"]),
        };
        let many = Unseen {
            ignored: paths(&["1", "2", "3", "4", "5", "6"]),
            repositories: paths(&["a", "b"]),
            ..Unseen::default()
        };
        insta::assert_snapshot!([unseen(&one), unseen(&many)].concat().join("\n"), @"
        1 ignored file changed: .env; `tine apply` does not bring it
        1 file changed only in what git does not see (filters, line ends, permissions): x.nb; `tine apply` does not bring it
        ignored files were made and go with the worktree: result.log
        the worktree holds files of another repository: proj; not part of the work
        6 ignored files changed: 1, 2, 3, 4, 5 and 1 more; `tine apply` does not bring them
        the worktree holds files of other repositories: a, b; not part of the work
        ");
        let work = TaskWorktree { path: "/w".to_owned(), files: 0, commits: 0 };
        insta::assert_snapshot!(work_lines(&work, &many).join("\n"), @"
        /w: nothing changed that git sees
        6 ignored files changed: 1, 2, 3, 4, 5 and 1 more; `tine apply` does not bring them
        the worktree holds files of other repositories: a, b; not part of the work
        ");
        assert_eq!(work_lines(&work, &Unseen::default()), ["/w: nothing changed"]);
        insta::assert_snapshot!(submodules_line(&paths(&["libs/a", "libs/b"])).unwrap(), @"note: the submodules libs/a, libs/b stay at the commits that are staged, without files: `git submodule update --init` in the worktree brings them, by a person's hand or as worktree.setup; agents are refused it; what is changed inside does not come along");
        assert_eq!(submodules_line(&[]), None);
        insta::assert_snapshot!(shown.join("\n"), @"
        nothing changed
        1 file changed
        2 commits
        3 files changed, 1 commit
        ");
    }
}
