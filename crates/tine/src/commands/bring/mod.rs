//! `tine apply`, `tine merge`, `tine cherry-pick`: the work of an agent comes into a checkout.

mod incoming;
mod shape;

use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

use tine_model::{AgentId, WorktreeRecord};
use tine_runtime::{
    Applied, BringSpec, Brought, BroughtOutcome, Conflict, ConflictKind, ConflictPlace,
    FastForward, Merged, OnConflict, RuntimeError, Uncommitted, WorktreeError, WorktreeRefusal,
};

use self::incoming::say_incoming;
pub(super) use self::shape::AppliedJson;
use self::shape::{MergedJson, RefusedJson};
use crate::cli::{ApplyArgs, CherryPickArgs, MergeArgs, OntoArgs};
use crate::context::Context;
use crate::fail::{FAILED, Failure};
use crate::open::work_directory;
use crate::output;
use crate::render::change::{
    conflict_line, file_line, mended_line, shown_path, undo_conflict_line,
};
use crate::render::shell_quoted;
use crate::render::worktree::say_gone;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// Most files that a note names.
const FILES_NAMED_MAX: usize = 5;

/// Characters of a commit's name that people see.
const COMMIT_CHARACTERS: usize = 8;

pub(crate) async fn apply(context: &Context, args: ApplyArgs) -> Result<u8, Failure> {
    let spec = spec(context, &args.agent, &args.onto).await?;
    let brought = if args.undo {
        context.runtime.undo_work(&spec).await
    } else {
        let record = context.runtime.own_worktree(spec.agent).await?;
        let paths = in_checkout(context, &record, &args.paths)?;
        let on_conflict =
            if args.conflicts { OnConflict::LeaveMarkers } else { OnConflict::Refuse };
        context.runtime.apply_work(&spec, paths, on_conflict).await
    };
    let brought = told(&spec, &args.onto, brought)?;
    if args.onto.json {
        output::json(&AppliedJson::of(spec.agent, &brought))?;
    } else {
        match brought.came.outcome {
            BroughtOutcome::Nothing if !args.undo && has_nothing(context, &spec).await? => {
                let short = spec.agent.short();
                say_gone(brought.standing, spec.agent);
                output::say(&format!("nothing to apply: {short} has changed nothing"));
            }
            _ => tell_applied(spec.agent, &brought, args.undo)?,
        }
    }
    let ended = in_conflict(&brought.came.conflicts, brought.came.outcome);
    match brought.came.outcome {
        BroughtOutcome::Conflicts if args.undo => ended
            .map_err(|failure| failure.hint("put these files back as they came, or undo by hand")),
        BroughtOutcome::Conflicts => {
            let hint = way_on(spec.agent.short(), &brought.came.conflicts);
            ended.map_err(|failure| failure.hint(hint))
        }
        BroughtOutcome::Written | BroughtOutcome::WouldWrite | BroughtOutcome::Nothing => ended,
    }
}

/// Whether the agent has changed no file in its worktree.
async fn has_nothing(context: &Context, spec: &BringSpec) -> Result<bool, Failure> {
    Ok(context.runtime.work_of(spec.agent, Vec::new()).await?.changes.files.is_empty())
}

/// What can be done about conflicts that changed nothing: something that is not refused for the same reason.
fn way_on(short: impl Display, conflicts: &[Conflict]) -> String {
    let is_staged = |conflict: &Conflict| conflict.place == ConflictPlace::Index;
    let can_be_marked =
        |conflict: &Conflict| matches!(conflict.kind, ConflictKind::Content | ConflictKind::AddAdd);
    if conflicts.iter().any(is_staged) {
        "commit or unstage your version first".to_owned()
    } else if conflicts.iter().any(can_be_marked) {
        format!("`tine apply {short} --conflicts` brings the files, with marks at the places")
    } else {
        format!("choose by hand; `tine apply {short} PATH` brings other files by name")
    }
}

pub(crate) async fn merge(context: &Context, args: MergeArgs) -> Result<u8, Failure> {
    let spec = spec(context, &args.agent, &args.onto).await?;
    let how = if args.no_ff { FastForward::Never } else { FastForward::WherePossible };
    let brought = context.runtime.merge_work(&spec, how, uncommitted(args.with_uncommitted)).await;
    let brought = told(&spec, &args.onto, brought)?;
    print_merged(&spec, &brought, &args.onto, "merged")
}

pub(crate) async fn cherry_pick(context: &Context, args: CherryPickArgs) -> Result<u8, Failure> {
    let spec = spec(context, &args.agent, &args.onto).await?;
    let uncommitted = uncommitted(args.with_uncommitted);
    let brought = context.runtime.cherry_pick_work(&spec, args.commits, uncommitted).await;
    let brought = told(&spec, &args.onto, brought)?;
    print_merged(&spec, &brought, &args.onto, "picked")
}

fn uncommitted(is_wanted: bool) -> Uncommitted {
    if is_wanted { Uncommitted::Bring } else { Uncommitted::Refuse }
}

/// What came, or, after it was told, that nothing did: with `--json` as JSON, too.
fn told<T>(
    spec: &BringSpec,
    onto: &OntoArgs,
    brought: Result<T, RuntimeError>,
) -> Result<T, Failure> {
    let error = match brought {
        Ok(brought) => return Ok(brought),
        Err(RuntimeError::Worktree(error)) => error,
        Err(error) => return Err(error.into()),
    };
    if onto.json
        && let Some(refused) = RefusedJson::of(spec.agent, &error)
    {
        output::json(&refused)?;
    }
    Err(match &error {
        // The usual hint is for a fork.
        WorktreeError::Refused(WorktreeRefusal::Unmerged { .. }) => {
            Failure::input(error.to_string()).hint("settle the conflicts and `git add` the files")
        }
        _ => error.into(),
    })
}

async fn spec(context: &Context, agent: &str, onto: &OntoArgs) -> Result<BringSpec, Failure> {
    let agent = context.agent(agent).await?;
    let to = match &onto.to {
        None => None,
        Some(directory) => {
            let found = work_directory(Some(context.directory.join(directory)));
            Some(found.map_err(|failure| {
                Failure::input(failure.message().to_owned()).hint("--to takes a checkout")
            })?)
        }
    };
    Ok(BringSpec { agent, to, dry_run: onto.dry_run, as_held: false })
}

/// Paths as a user gives them, relative to the top of the checkout: from where the user is, if that is in the checkout or in the
/// worktree, else from its top.
pub(super) fn in_checkout(
    context: &Context,
    record: &WorktreeRecord,
    paths: &[PathBuf],
) -> Result<Vec<PathBuf>, Failure> {
    let tops = [Path::new(&record.path), Path::new(&record.origin)];
    let below =
        |path: &Path| tops.iter().find_map(|top| path.strip_prefix(top).ok()).map(Path::to_owned);
    let here = below(&context.directory).unwrap_or_default();
    let find = |path: &PathBuf| {
        let found = if path.is_absolute() { below(path) } else { plain(&here.join(path)) };
        found.ok_or_else(|| {
            Failure::input(format!("`{}` is outside the checkout", path.display()))
                .hint("give paths in the checkout, or none for all")
        })
    };
    paths.iter().map(find).collect()
}

/// The path without `.` and `..`; `None` where it leads out.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::Normal(name) => plain.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

pub(super) fn tell_applied(
    agent: AgentId,
    brought: &Brought<Applied>,
    undo: bool,
) -> Result<(), Failure> {
    let came = &brought.came;
    came.mended.iter().for_each(|mended| output::say(&mended_line(mended)));
    if !undo {
        say_gone(brought.standing, agent);
    }
    let (short, onto) = (agent.short(), one_line(&brought.onto.to_string_lossy()));
    let files = plural(came.files.len() as u64, "file");
    let head = match (came.outcome, undo) {
        (BroughtOutcome::Written, false) => format!("applied {files} of {short} in {onto}"),
        (BroughtOutcome::Written, true) => {
            format!("took the work of {short} back in {onto}: {files}")
        }
        (BroughtOutcome::WouldWrite, _) => format!("would apply {files} of {short} in {onto}"),
        (BroughtOutcome::Nothing, false) => {
            output::say(&format!("nothing to apply: {onto} has all of it already"));
            return Ok(());
        }
        (BroughtOutcome::Nothing, true) => {
            output::say(&format!("nothing to take back: {onto} has nothing of it any more"));
            return Ok(());
        }
        (BroughtOutcome::Conflicts, false) => {
            return tell_conflicts(&came.conflicts, conflict_line);
        }
        (BroughtOutcome::Conflicts, true) => {
            return tell_conflicts(&came.conflicts, undo_conflict_line);
        }
    };
    output::line(&head)?;
    let lines: String = came.files.iter().map(|file| format!("{}\n", file_line(file))).collect();
    output::write_out(&lines)?;
    tell_conflicts(&came.conflicts, conflict_line)?;
    if !undo {
        say_incoming(&came.files);
    }
    if came.outcome == BroughtOutcome::Written && !undo {
        let to = if brought.elsewhere {
            format!(" --to {}", shell_quoted(&onto))
        } else {
            String::new()
        };
        output::say(&format!("note: `tine apply --undo {short}{to}` takes it back"));
    }
    say_rest(agent, brought.runs, &brought.told);
    Ok(())
}

fn print_merged(
    spec: &BringSpec,
    brought: &Brought<Merged>,
    onto: &OntoArgs,
    verb: &str,
) -> Result<u8, Failure> {
    let came = &brought.came;
    if onto.json {
        output::json(&MergedJson::of(spec.agent, brought))?;
        return in_conflict(&came.conflicts, came.outcome);
    }
    came.mended.iter().for_each(|mended| output::say(&mended_line(mended)));
    say_gone(brought.standing, spec.agent);
    let (short, place) = (spec.agent.short(), one_line(&brought.onto.to_string_lossy()));
    let head: String = came.head.as_str().chars().take(COMMIT_CHARACTERS).collect();
    let commits = plural(came.commits.len() as u64, "commit");
    match came.outcome {
        BroughtOutcome::Written => {
            output::line(&format!("{verb} {commits} of {short} in {place}: HEAD is {head}"))?;
        }
        BroughtOutcome::WouldWrite => {
            output::line(&format!("{commits} of {short} can be {verb} in {place}"))?;
        }
        BroughtOutcome::Nothing => {
            output::say(&format!("nothing to do: {place} has all commits of {short} already"));
        }
        BroughtOutcome::Conflicts => tell_conflicts(&came.conflicts, conflict_line)?,
    }
    if matches!(came.outcome, BroughtOutcome::Written | BroughtOutcome::WouldWrite) {
        let subjects = came.commits.iter().map(|made| format!("  {}\n", one_line(&made.subject)));
        output::write_out(&subjects.collect::<String>())?;
        say_incoming(&came.files);
        if !came.unfinished.is_empty() {
            let named = named(&came.unfinished);
            output::say(&format!("note: with what was not committed here at the fork: {named}"));
        }
        if !came.uncommitted.is_empty() {
            say_uncommitted(&short.to_string(), &came.uncommitted);
        }
        say_rest(spec.agent, brought.runs, &brought.told);
    }
    let hint = || way_on(short, &came.conflicts);
    in_conflict(&came.conflicts, came.outcome).map_err(|failure| failure.hint(hint()))
}

/// Says that not all of the work came.
fn say_uncommitted(short: &str, paths: &[PathBuf]) {
    output::say(&format!("note: not committed there, and not brought: {}", named(paths)));
    output::say(&format!("hint: `tine apply {short}` brings files, committed or not"));
}

/// The first of some files, and how many more there are.
fn named(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| shown_path(path)).collect();
    listed(&shown)
}

/// The first of some texts, and how many more there are.
fn listed(texts: &[String]) -> String {
    let first = texts[..texts.len().min(FILES_NAMED_MAX)].join(", ");
    match texts.len().saturating_sub(FILES_NAMED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn say_rest(agent: AgentId, runs: bool, told: &[AgentId]) {
    if runs {
        let short = agent.short();
        output::say(&format!("note: {short} still runs; what it does from here on did not come"));
    }
    if !told.is_empty() {
        let told: Vec<String> = told.iter().map(|agent| agent.short().to_string()).collect();
        output::say(&format!("note: told which files changed: {}", told.join(", ")));
    }
}

fn tell_conflicts(conflicts: &[Conflict], line: fn(&Conflict) -> String) -> Result<(), Failure> {
    let lines = conflicts.iter().map(|conflict| format!("{}\n", line(conflict)));
    output::write_out(&lines.collect::<String>())
}

/// The exit code: conflicts are a failure, whether or not anything was written.
pub(super) fn in_conflict(conflicts: &[Conflict], outcome: BroughtOutcome) -> Result<u8, Failure> {
    let count = plural(conflicts.len() as u64, "conflict");
    match (conflicts.is_empty(), outcome) {
        (true, _) => Ok(0),
        (false, BroughtOutcome::Written) => {
            Err(Failure::coded(FAILED, format!("{count}; marks stand at the places"))
                .hint("settle them; --undo takes everything back"))
        }
        (false, BroughtOutcome::WouldWrite) => {
            Err(Failure::coded(FAILED, format!("{count}; marks would stand at the places")))
        }
        (false, BroughtOutcome::Nothing | BroughtOutcome::Conflicts) => {
            Err(Failure::coded(FAILED, format!("{count}; nothing was changed")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_is_none() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(plain(Path::new(path)), expected.map(PathBuf::from), "{path}");
        };
        check("a/./b", Some("a/b"));
        check("a/../b", Some("b"));
        check(".", Some(""));
        check("a/../../b", None);
        check("/a", None);
    }
}
