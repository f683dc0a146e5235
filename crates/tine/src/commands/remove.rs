//! `tine rm`: removes conversations for good.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Serialize;
use tine_model::{AgentId, AgentRecord};
use tine_runtime::{AgentFilter, Removal};

use crate::ask::{a_person_is_there, agrees};
use crate::cli::RemoveArgs;
use crate::context::Context;
use crate::durations::age_seconds;
use crate::fail::{BAD_INPUT, Failure};
use crate::inside;
use crate::output;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// The names by which people know agents.
type Names = HashMap<AgentId, String>;

/// Largest log of a worker that is looked through.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// The JSON shape of a removal. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct RemovalJson {
    /// True if nothing was done, and only said.
    dry_run: bool,
    removed: Vec<RemovedJson>,
    /// True if nothing of it is left in the store's files.
    overwritten: bool,
}

/// The JSON shape of an agent that was removed. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct RemovedJson {
    agent: String,
    /// The number of its own entries that went.
    entries: u64,
    /// The number of those that stay, because agents that stay have inherited them.
    inherited: u64,
    /// Its worktree, which went with all that was kept of it.
    worktree: Option<String>,
    /// The reason why something of the worktree stays.
    worktree_stays: Option<String>,
}

pub(crate) async fn remove(context: &Context, args: RemoveArgs) -> Result<u8, Failure> {
    if !args.dry_run {
        let hint = "a person runs `tine rm` in a terminal";
        inside::only_a_person("removes no conversations", hint)?;
    }
    let all = context.runtime.agents(AgentFilter::All).await?;
    let meant = meant(context, &args, &all).await?;
    let plan = context.runtime.plan_removal(&meant).await?;
    // Whoever was removed before has no name any more, and goes at last.
    let is_meant = |record: &&AgentRecord| meant.contains(&record.id);
    let names: Names =
        all.iter().filter(is_meant).map(|record| (record.id, title(record))).collect();
    if args.dry_run || plan.agents.is_empty() {
        return tell(&plan, &args, ("would remove", &names), false).map(|()| 0);
    }
    agree(&plan, args.yes, &names)?;
    let removal = context.runtime.remove_agents(&meant).await?;
    remove_logs(&context.logs, &removal);
    output::say("overwriting what is left of it in the store's files …");
    let overwritten = match context.runtime.overwrite_removed().await {
        Ok(overwritten) => overwritten,
        Err(error) => {
            output::say(&format!("warning: the store's file could not be written anew: {error}"));
            false
        }
    };
    if !overwritten {
        output::say("warning: words of what was removed may be left in the store's files");
        output::say(
            "hint: another process reads them, or the disk is full; `tine rm` overwrites them the next time",
        );
    }
    tell(&removal, &args, ("removed", &names), overwritten)?;
    Ok(0)
}

/// Those who are to go.
async fn meant(
    context: &Context,
    args: &RemoveArgs,
    all: &[AgentRecord],
) -> Result<Vec<AgentId>, Failure> {
    if let Some(age) = &args.older_than {
        let seconds = age_seconds(age).and_then(|seconds| i64::try_from(seconds).ok());
        let seconds = seconds.ok_or_else(|| {
            Failure::usage(format!("--older-than cannot be `{}`", age.escape_debug()))
                .hint("it is a number and a unit, such as 12h or 90d")
        })?;
        let now_ms = context.runtime.ports().clock.now_ms();
        let since_ms = now_ms.saturating_sub(seconds.saturating_mul(1000));
        return Ok(older_than(all, since_ms));
    }
    let mut meant: HashSet<AgentId> = HashSet::new();
    for agent in &args.agents {
        meant.insert(context.agent(agent).await?);
    }
    // Parents come before their children.
    for record in all {
        if args.tree && record.parent.is_some_and(|parent| meant.contains(&parent)) {
            meant.insert(record.id);
        }
    }
    Ok(all.iter().map(|record| record.id).filter(|id| meant.contains(id)).collect())
}

/// All agents of the trees in which nothing has happened since.
fn older_than(all: &[AgentRecord], since_ms: i64) -> Vec<AgentId> {
    let mut roots: HashMap<AgentId, AgentId> = HashMap::new();
    let mut last: HashMap<AgentId, i64> = HashMap::new();
    for record in all {
        let root = record.parent.and_then(|parent| roots.get(&parent).copied());
        let root = root.unwrap_or(record.id);
        roots.insert(record.id, root);
        let last = last.entry(root).or_insert(record.updated_ms);
        *last = (*last).max(record.updated_ms);
    }
    let is_old = |id: &AgentId| {
        roots.get(id).and_then(|root| last.get(root)).is_some_and(|last| *last < since_ms)
    };
    all.iter().map(|record| record.id).filter(is_old).collect()
}

/// The name by which a person knows an agent.
fn title(record: &AgentRecord) -> String {
    match &record.name {
        Some(name) => one_line(name),
        None => one_line(&record.directory),
    }
}

/// Asks before anything is lost for good.
fn agree(plan: &Removal, yes: bool, names: &Names) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let lost = plural(plan.agents.len() as u64, "conversation");
    if !a_person_is_there() {
        let hint = "--dry-run lists what goes; --yes removes it for good";
        return Err(Failure::coded(BAD_INPUT, format!("{lost} would be lost for good")).hint(hint));
    }
    for line in lines(plan, "would remove", names) {
        output::say(&line);
    }
    if agrees(&format!("This removes {lost} for good.")) {
        Ok(())
    } else {
        Err(Failure::coded(BAD_INPUT, "nothing was removed: you did not agree"))
    }
}

fn lines(removal: &Removal, verb: &str, names: &Names) -> Vec<String> {
    let line = |removed: &tine_runtime::RemovedAgent| {
        let agent = removed.agent;
        let entries = match removed.entries {
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        let mut line = format!(
            "{verb} {}  {}  {entries}",
            agent.short(),
            names.get(&agent).map_or("(removed before)", String::as_str)
        );
        if removed.inherited > 0 {
            line.push_str(&format!("; {} stay, which forks have inherited", removed.inherited));
        }
        if let Some(worktree) = removal.worktrees.iter().find(|one| one.agent == agent) {
            let path = one_line(&worktree.path);
            line.push_str(&match removal.stays.iter().find(|(whose, _)| *whose == agent) {
                Some((_, why)) => format!("; worktree {path} stays: {}", one_line(why)),
                None => format!("; worktree {path}, and what was kept of it"),
            });
        }
        line
    };
    removal.agents.iter().map(line).collect()
}

fn tell(
    removal: &Removal,
    args: &RemoveArgs,
    (verb, names): (&str, &Names),
    overwritten: bool,
) -> Result<(), Failure> {
    if args.json {
        let shape = |removed: &tine_runtime::RemovedAgent| {
            let agent = removed.agent;
            let worktree = removal.worktrees.iter().find(|one| one.agent == agent);
            let stays = removal.stays.iter().find(|(whose, _)| *whose == agent);
            RemovedJson {
                agent: agent.to_string(),
                entries: removed.entries,
                inherited: removed.inherited,
                worktree: worktree.map(|one| one.path.clone()),
                worktree_stays: stays.map(|(_, why)| why.clone()),
            }
        };
        let removed = removal.agents.iter().map(shape).collect();
        return output::json(&RemovalJson { dry_run: args.dry_run, removed, overwritten });
    }
    if removal.agents.is_empty() {
        output::say("nothing to remove");
        return Ok(());
    }
    for line in lines(removal, verb, names) {
        output::line(&line)?;
    }
    if args.dry_run {
        let count = plural(removal.agents.len() as u64, "agent");
        output::say(&format!(
            "note: {count} would go; reports stay in the conversations that received them"
        ));
    }
    Ok(())
}

/// Removes the logs of workers in the background that name an agent which is gone.
fn remove_logs(folder: &Path, removal: &Removal) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let ids: Vec<String> = removal.agents.iter().map(|one| one.agent.to_string()).collect();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_small =
            path.metadata().is_ok_and(|about| about.is_file() && about.len() <= LOG_BYTES_MAX);
        let Some(text) = is_small.then(|| std::fs::read(&path).ok()).flatten() else { continue };
        let text = String::from_utf8_lossy(&text);
        if ids.iter().any(|id| text.contains(id.as_str())) {
            // What cannot be removed is not the conversation.
            let _ = std::fs::remove_file(&path);
        }
    }
}
