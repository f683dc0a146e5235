//! `tine worktree repair`.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use tine_runtime::{Repair, Repaired};

use crate::cli::RepairWorktreesArgs;
use crate::context::Context;
use crate::fail::Failure;
use crate::open::work_directory;
use crate::output;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// The JSON shape of a repair. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct RepairJson {
    repaired: Vec<RepairedJson>,
    /// Agents whose directory moved along with the repository.
    followed: Vec<String>,
}

/// The JSON shape of a worktree that is found again. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct RepairedJson {
    agent: String,
    path: String,
    /// The place where git's folder of its repository was.
    from: String,
    /// The place where that is.
    repository: String,
}

/// Finds worktrees again whose repository is by now the one that the command works in. Where nothing was moved, a few looks at paths are
/// all that this costs; what goes wrong here is told by whoever needs the worktree.
pub(crate) async fn find_moved(context: &Context) {
    if context.caller.is_some() {
        return;
    }
    let Ok(rows) = context.runtime.worktree_records().await else { return };
    let there = rows.iter().filter(|row| row.removed_ms.is_none());
    let places: BTreeSet<&str> = there.map(|row| row.repository.as_str()).collect();
    if places.iter().all(|place| Path::new(place).exists()) {
        return;
    }
    let Ok(repair) = context.runtime.repair_worktrees(&context.directory).await else { return };
    if !repair.repaired.is_empty() {
        let count = plural(repair.repaired.len() as u64, "worktree");
        output::say(&format!("note: the repository was moved here; {count} found again"));
    }
}

pub(super) async fn repair(context: &Context, args: RepairWorktreesArgs) -> Result<u8, Failure> {
    let directory = match args.directory {
        Some(directory) => work_directory(Some(context.directory.join(directory)))?,
        None => context.directory.clone(),
    };
    super::listing::recover(context).await?;
    let Repair { repaired, followed } = context.runtime.repair_worktrees(&directory).await?;
    if args.json {
        let repaired = repaired.iter().map(shape).collect();
        let followed = followed.iter().map(ToString::to_string).collect();
        output::json(&RepairJson { repaired, followed })?;
        return Ok(0);
    }
    for one in &repaired {
        let [from, to] = [&one.from, &one.repository].map(|path| path.to_string_lossy());
        let (path, short) = (one.path.to_string_lossy(), one.agent.short());
        output::line(&format!("found again {short}  {}", one_line(&path)))?;
        if from != to {
            output::say(&format!("note: its repository was {}", one_line(&from)));
        }
    }
    if !followed.is_empty() {
        let names: Vec<String> = followed.iter().map(|agent| agent.short().to_string()).collect();
        let count = plural(followed.len() as u64, "agent");
        output::say(&format!("note: {count} moved along: {}", names.join(", ")));
    }
    if repaired.is_empty() && followed.is_empty() {
        output::say("nothing to repair: no worktree of this repository was looked for elsewhere");
    }
    Ok(0)
}

fn shape(repaired: &Repaired) -> RepairedJson {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    RepairedJson {
        agent: repaired.agent.to_string(),
        path: text(&repaired.path),
        from: text(&repaired.from),
        repository: text(&repaired.repository),
    }
}
