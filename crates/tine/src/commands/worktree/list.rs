//! `tine worktree list`.

use std::path::PathBuf;

use serde::Serialize;
use tine_runtime::{Progress, Unseen, WorktreeState, WorktreeView};

use crate::cli::ListWorktreesArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::change::shown_path;
use crate::render::table::{Align, Cell, Table};
use crate::render::worktree::progress;
use tine_tui::age::{age, rfc3339};
use tine_tui::figures::plural;
use tine_tui::words::{CYAN, DIM, YELLOW, one_line};

/// The JSON shape of a list. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ListJson {
    worktrees: Vec<WorktreeJson>,
}

/// The JSON shape of a worktree. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct WorktreeJson {
    /// `null` where no agent of this store is known to have it.
    agent: Option<String>,
    name: Option<String>,
    /// `ready`, `removed`, `unfinished`, `leaving`, `gone` or `moved`.
    state: &'static str,
    /// Whether an agent runs in it now.
    in_use: bool,
    /// How many files differ from what it started with; `null` where nobody can tell.
    files: Option<u32>,
    /// How many commits were made in it; `null` where nobody can tell.
    commits: Option<u32>,
    /// Ignored files that changed; they do not come with `apply`.
    ignored: Vec<String>,
    /// Files that changed only in what git does not see; they do not come with `apply`.
    filtered: Vec<String>,
    /// Ignored files and directories that were made; they go with the worktree.
    made: Vec<String>,
    /// Other repositories in it, which are not part of the work.
    repositories: Vec<String>,
    /// What holds its work as it was last kept; `null` where there is none.
    #[serde(rename = "ref")]
    kept_by: Option<String>,
    /// True if it had changes, and what kept them was purged.
    purged: bool,
    path: String,
    /// The directory that it was forked from.
    origin: Option<String>,
    made_at: Option<String>,
    removed_at: Option<String>,
}

/// A worktree, and what was done in it.
struct Looked {
    view: WorktreeView,
    done: Option<Progress>,
}

pub(super) async fn list(context: &Context, args: ListWorktreesArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    listing::mend_checkouts(context).await?;
    let mut views = context.runtime.worktrees(&context.directory).await?;
    views.retain(|view| args.all || view.state != WorktreeState::Removed);
    let done = context.runtime.progress(&views).await;
    let looked: Vec<Looked> =
        views.into_iter().zip(done).map(|(view, done)| Looked { view, done }).collect();
    if args.json {
        output::json(&ListJson { worktrees: looked.iter().map(json).collect() })?;
    } else if looked.is_empty() {
        output::say("no worktrees");
        output::say("hint: `tine fork AGENT --worktree` makes one; `--all` lists removed ones too");
    } else {
        let now_ms = context.runtime.ports().clock.now_ms();
        output::write_out(&table(&looked, now_ms).to_text_within(output::stdout_columns()))?;
        notes(&looked).iter().for_each(|line| output::say(line));
    }
    Ok(0)
}

/// Returns what a person has to know of those that are not as they should be.
fn notes(all: &[Looked]) -> Vec<String> {
    let is = |looked: &&Looked, state| looked.view.state == state;
    let mut notes = Vec::new();
    if all.iter().any(|looked| is(&looked, WorktreeState::Moved)) {
        notes.push("hint: a repository was moved; `tine worktree repair`, run where it is now, finds its worktrees again".to_owned());
    }
    if all.iter().any(|looked| is(&looked, WorktreeState::Gone)) {
        notes.push("hint: files of those that are gone were removed without tine; `tine worktree recover AGENT` makes one again, as it was last kept".to_owned());
    }
    let nobodys = all.iter().filter(|looked| looked.view.record.is_none()).count();
    if nobodys > 0 {
        notes.push(format!(
            "note: {} of no agent of this store: being made, or made by another store; `tine worktree gc` removes what is left for long",
            plural(nobodys as u64, "worktree")
        ));
    }
    let unclear = |looked: &&Looked| {
        looked.done.is_none() && looked.view.record.is_some() && !is(looked, WorktreeState::Moved)
    };
    if all.iter().any(|looked| unclear(&looked)) {
        notes.push(
            "note: ? stands where nobody can tell what changed; `tine doctor` looks why".to_owned(),
        );
    }
    notes
}

fn json(looked: &Looked) -> WorktreeJson {
    let view = &looked.view;
    let agent = view.agent.as_ref();
    let (record, done) = (view.record.as_ref(), looked.done.as_ref());
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| shown_path(path)).collect();
    WorktreeJson {
        agent: agent.map(|agent| agent.id.to_string()),
        name: agent.and_then(|agent| agent.name.clone()),
        state: view.state.as_str(),
        in_use: view.runs,
        files: done.map(|done| done.files),
        commits: done.map(|done| done.commits),
        ignored: done.map_or_else(Vec::new, |done| shown(&done.unseen.ignored)),
        filtered: done.map_or_else(Vec::new, |done| shown(&done.unseen.filtered)),
        made: done.map_or_else(Vec::new, |done| shown(&done.unseen.made)),
        repositories: done.map_or_else(Vec::new, |done| shown(&done.unseen.repositories)),
        kept_by: done.and_then(|done| done.kept_by.clone()),
        purged: done.is_some_and(|done| done.is_purged),
        path: view.path.to_string_lossy().into_owned(),
        origin: record.map(|record| record.origin.clone()),
        made_at: record.map(|record| rfc3339(record.made_ms)),
        removed_at: record.and_then(|record| record.removed_ms).map(rfc3339),
    }
}

fn table(all: &[Looked], now_ms: i64) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("AGENT", Left),
        ("NAME", Left),
        ("STATE", Left),
        ("CHANGES", Left),
        ("AGE", Right),
        ("PATH", Left),
    ]);
    for looked in all {
        let view = &looked.view;
        let agent = view.agent.as_ref();
        let made = view.record.as_ref().map(|record| age(now_ms, record.made_ms));
        let lost = (view.state == WorktreeState::Gone)
            .then_some(looked.done.as_ref())
            .flatten()
            .is_some_and(|done| done.kept_by.is_none());
        let done =
            if lost { Some("nothing kept".to_owned()) } else { looked.done.as_ref().map(changes) };
        table.row([
            agent.map_or_else(|| "nobody's".to_owned(), |agent| agent.id.short()).into(),
            one_line(agent.and_then(|agent| agent.name.as_deref()).unwrap_or_default()).into(),
            state(view),
            done.unwrap_or_else(|| "?".to_owned()).into(),
            made.unwrap_or_default().into(),
            one_line(&view.path.to_string_lossy()).into(),
        ]);
    }
    table.without_empty(&["NAME"])
}

/// What was done, and how much of it no diff shows.
fn changes(done: &Progress) -> String {
    let Unseen { ignored, filtered: _, made, repositories } = &done.unseen;
    let made = (!made.is_empty()).then(|| "ignored files made".to_owned());
    let ignored = (!ignored.is_empty())
        .then(|| format!("{} changed", plural(ignored.len() as u64, "ignored file")));
    let inside = (!repositories.is_empty()).then(|| match repositories.len() {
        1 => "files of 1 other repository".to_owned(),
        count => format!("files of {count} other repositories"),
    });
    let git = (done.files, done.commits) != (0, 0)
        || [&ignored, &made, &inside].iter().all(|it| it.is_none());
    let git = git.then(|| progress(done.files, done.commits));
    let purged = done.is_purged.then(|| "purged".to_owned());
    let git = git.into_iter().chain(purged);
    git.chain(ignored).chain(made).chain(inside).collect::<Vec<_>>().join(", ")
}

fn state(view: &WorktreeView) -> Cell {
    match view.state {
        WorktreeState::Ready if view.runs => Cell::styled("in use", CYAN),
        WorktreeState::Ready => "ready".into(),
        WorktreeState::Removed => Cell::styled("removed", DIM),
        WorktreeState::Unfinished
        | WorktreeState::Leaving
        | WorktreeState::Gone
        | WorktreeState::Moved => Cell::styled(view.state.as_str(), YELLOW),
    }
}
