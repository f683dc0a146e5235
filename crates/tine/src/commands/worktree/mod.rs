//! `tine worktree`, `tine worktree rm`, `tine worktree recover`: worktrees of agents as a person looks after them.

mod gc;
mod list;
mod purge;
mod repair;

use serde::Serialize;
use tine_runtime::{AsOf, Collected, Fate, MayLose, Recovered};

use crate::cli::{RecoverArgs, RemoveWorktreeArgs, WorktreeCommand, WorktreePathArgs};
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::change::shown_path;
use crate::render::worktree::{ignored_line, made_line};
use tine_tui::words::one_line;

pub(crate) use repair::find_moved;

/// The JSON shape of a worktree that went, or would. Others rely on it: fields are only ever added.
#[derive(Debug, Serialize)]
struct CollectedJson {
    /// `null` where no agent of this store is known to have had it.
    agent: Option<String>,
    path: String,
    /// `removed` (what it held is kept), `vanished` (it was as it had begun), `tidied` (the rest of an earlier one), `failed`.
    fate: &'static str,
    /// What holds it from now on; `null` where nothing needs to.
    #[serde(rename = "ref")]
    kept_by: Option<String>,
    error: Option<String>,
    /// Ignored files that had come along and were changed there.
    ignored: Vec<String>,
    /// Ignored files and directories that were made there; they went with it.
    made: Vec<String>,
}

impl From<&Collected> for CollectedJson {
    fn from(collected: &Collected) -> Self {
        let (fate, error) = match &collected.fate {
            Fate::Removed => ("removed", None),
            Fate::Vanished => ("vanished", None),
            Fate::Tidied => ("tidied", None),
            Fate::Failed(why) => ("failed", Some(why.clone())),
        };
        Self {
            agent: collected.agent.map(|agent| agent.to_string()),
            path: collected.path.to_string_lossy().into_owned(),
            fate,
            kept_by: collected.is_kept.then(|| collected.name.end_ref()),
            error,
            ignored: collected.ignored.iter().map(|path| shown_path(path)).collect(),
            made: collected.made.iter().map(|path| shown_path(path)).collect(),
        }
    }
}

/// The JSON shape of a drop. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct DroppedJson {
    dropped: Vec<CollectedJson>,
}

/// The JSON shape of a recovery. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct RecoveredJson {
    agent: String,
    path: String,
    /// Of when its files are: `removal` (all was kept), `now` (they were there, and only their link to git was lost), `last-kept` or `start` (somebody else had removed them), `anew` (nothing was kept).
    as_of: &'static str,
}

/// What is said where the files were there.
const LINKED: &str = "note: its files were there and its .git was not; it is there again";

/// What is said where files were removed without tine, and something had been kept.
const LAST_KEPT: &str = "warning: its files had been removed without tine; what was changed after it was last kept is gone";

/// What is said where files were removed without tine, and nothing had been kept.
const ONLY_START: &str = "warning: its files had been removed without tine, and nothing of them was kept; it is as it began";

/// The note where nothing was kept.
const BEGUN_ANEW: &str = "note: nothing was kept of it; it begins as its checkout stands now";

pub(crate) async fn worktree(context: &Context, command: WorktreeCommand) -> Result<u8, Failure> {
    match command {
        WorktreeCommand::List(args) => list::list(context, args).await,
        WorktreeCommand::Remove(args) => remove(context, args).await,
        WorktreeCommand::Recover(args) => recover(context, args).await,
        WorktreeCommand::Gc(args) => gc::gc(context, args).await,
        WorktreeCommand::Repair(args) => repair::repair(context, args).await,
        WorktreeCommand::Purge(args) => purge::purge(context, args).await,
        WorktreeCommand::Path(args) => path(context, args).await,
    }
}

async fn path(context: &Context, args: WorktreePathArgs) -> Result<u8, Failure> {
    let agent = context.agent(&args.agent).await?;
    let record = context.runtime.own_worktree(agent).await?;
    if record.removed_ms.is_some() {
        return Err(tine_runtime::RuntimeError::WorktreeRemoved(agent).into());
    }
    output::line(&context.runtime.agent(agent).await?.directory)?;
    Ok(0)
}

async fn remove(context: &Context, args: RemoveWorktreeArgs) -> Result<u8, Failure> {
    // All names are read before anything goes: a mistake in the last one must not cost the first.
    let mut agents = Vec::with_capacity(args.agents.len());
    for text in &args.agents {
        let agent = context.agent(text).await?;
        context.runtime.own_worktree(agent).await?;
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    let mut dropped = Vec::with_capacity(agents.len());
    for agent in agents {
        let collected = context.runtime.drop_worktree(agent).await?;
        if !args.json {
            output::line(&line(&collected, false))?;
            say_kept(&collected);
        }
        dropped.push(CollectedJson::from(&collected));
    }
    if args.json {
        output::json(&DroppedJson { dropped })?;
    }
    Ok(0)
}

async fn recover(context: &Context, args: RecoverArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    let may_lose = if args.anew { MayLose::Everything } else { MayLose::Nothing };
    let Recovered { path, as_of } = context.runtime.recover_worktree(agent, may_lose).await?;
    let path = path.to_string_lossy().into_owned();
    let (word, note) = match as_of {
        AsOf::Removal => ("removal", None),
        AsOf::Now => ("now", Some(LINKED)),
        AsOf::LastKept => ("last-kept", Some(LAST_KEPT)),
        AsOf::Start => ("start", Some(ONLY_START)),
        AsOf::Anew => ("anew", Some(BEGUN_ANEW)),
    };
    if args.json {
        output::json(&RecoveredJson { agent: agent.to_string(), path, as_of: word })?
    } else {
        output::line(&path)?
    }
    if let Some(note) = note.filter(|_| !args.json) {
        output::say(note);
    }
    Ok(0)
}

/// What happened to a worktree, or would.
fn line(collected: &Collected, would: bool) -> String {
    let agent = collected.agent.map(|agent| format!("{}  ", agent.short())).unwrap_or_default();
    let path = one_line(&collected.path.to_string_lossy());
    let verb = |done: &'static str, would_be: &'static str| if would { would_be } else { done };
    match &collected.fate {
        Fate::Removed => format!("{} {agent}{path}", verb("removed", "would remove")),
        Fate::Vanished => {
            let seen = if collected.made.is_empty() { "" } else { " that git sees" };
            format!("{} {agent}{path}: nothing had changed{seen}", verb("removed", "would remove"))
        }
        Fate::Tidied => {
            format!("{} {agent}{path}: the rest of one", verb("cleared away", "would clear away"))
        }
        Fate::Failed(why) => format!("kept {agent}{path}: {}", one_line(why)),
    }
}

/// Says what keeps what a worktree held, and how it comes back.
fn say_kept(collected: &Collected) {
    if !collected.ignored.is_empty() {
        output::say(&format!("note: {}", ignored_line(&collected.ignored)));
    }
    if !collected.made.is_empty() {
        output::say(&format!("note: {}", made_line(&collected.made, "went with the worktree")));
    }
    let Some(agent) = collected.agent else { return };
    let held = match &collected.fate {
        Fate::Removed => "what it held",
        Fate::Tidied if collected.is_kept => "what was last kept of it",
        Fate::Vanished | Fate::Tidied | Fate::Failed(_) => return,
    };
    output::say(&format!(
        "note: {} holds {held}; `tine worktree recover {}` brings it back",
        collected.name.end_ref(),
        agent.short()
    ));
}
