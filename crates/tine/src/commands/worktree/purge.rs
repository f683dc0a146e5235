//! `tine worktree purge`.

use std::time::Duration;

use serde::Serialize;
use tine_runtime::{DuePurge, Holds, PurgePlan, PurgeSpec};

use crate::ask::{a_person_is_there, agrees};
use crate::cli::PurgeWorktreesArgs;
use crate::context::Context;
use crate::durations::age_seconds;
use crate::fail::{BAD_INPUT, FAILED, Failure};
use crate::output;
use tine_tui::figures::{bytes, plural, span};
use tine_tui::words::one_line;

/// The JSON shape of a purge. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct PurgeJson {
    /// True if nothing was done, and only said.
    dry_run: bool,
    purged: Vec<PurgedJson>,
    /// Of how many worktrees something stays, those that are there left out.
    kept: usize,
    /// The number of bytes that git can free; `null` where it does not say.
    bytes: Option<u64>,
}

/// The JSON shape of what was kept of one worktree. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct PurgedJson {
    /// `null` where no agent of this store is known to have had it.
    agent: Option<String>,
    /// The part of the refs' names below `refs/tine/`.
    name: String,
    /// `nothing` (only what it started from), `undo` (what `apply --undo` needs), `brought-work` (work that a checkout has) or `work`.
    holds: &'static str,
    age_seconds: u64,
    /// A checkout of the repository.
    repository: String,
    /// True if it is gone, or would be.
    gone: bool,
}

pub(super) async fn purge(context: &Context, args: PurgeWorktreesArgs) -> Result<u8, Failure> {
    let age_max = age_seconds(args.age()).map(Duration::from_secs).ok_or_else(|| {
        Failure::usage(format!("--max-age cannot be `{}`", args.age().escape_debug()))
            .hint("it is a number and a unit, such as 12h or 30d; 0s takes all")
    })?;
    let agent = match &args.agent {
        Some(text) => Some(context.agent(text).await?),
        None => None,
    };
    super::listing::recover(context).await?;
    let spec = PurgeSpec { directory: context.directory.clone(), agent, age_max };
    let plan = context.runtime.plan_purge(&spec).await?;
    if !args.dry_run {
        agree(&plan, args.yes)?;
    }
    let mut purged = Vec::with_capacity(plan.due.len());
    for due in &plan.due {
        let gone = args.dry_run || context.runtime.purge(due).await?;
        if !args.json {
            tell(due, gone, args.dry_run)?;
        }
        purged.push(shape(due, gone));
    }
    let all_gone = purged.iter().all(|one| one.gone);
    if args.json {
        let PurgePlan { stays: kept, bytes, .. } = plan;
        output::json(&PurgeJson { dry_run: args.dry_run, purged, kept, bytes })?;
    } else {
        say_rest(&plan, &args);
    }
    Ok(if all_gone { 0 } else { FAILED })
}

/// Asks before something is lost for good.
fn agree(plan: &PurgePlan, yes: bool) -> Result<(), Failure> {
    let count = plan.losses().count();
    if count == 0 || yes {
        return Ok(());
    }
    let lost = format!("what is kept of {}", plural(count as u64, "worktree"));
    if !a_person_is_there() {
        let hint = "--dry-run lists it; --yes deletes it for good";
        return Err(Failure::coded(BAD_INPUT, format!("{lost} would be lost for good")).hint(hint));
    }
    for due in plan.losses() {
        output::say(&line(due, "would purge"));
    }
    if agrees(&format!("This deletes {lost} for good.")) {
        Ok(())
    } else {
        Err(Failure::coded(BAD_INPUT, "nothing was purged: you did not agree"))
    }
}

fn shape(due: &DuePurge, gone: bool) -> PurgedJson {
    PurgedJson {
        agent: due.agent.map(|agent| agent.to_string()),
        name: due.kept.name.to_string(),
        holds: match due.kept.holds {
            Holds::Nothing => "nothing",
            Holds::Undo => "undo",
            Holds::BroughtWork => "brought-work",
            Holds::Work => "work",
        },
        age_seconds: due.age.as_secs(),
        repository: due.repository.to_string_lossy().into_owned(),
        gone,
    }
}

fn tell(due: &DuePurge, gone: bool, dry_run: bool) -> Result<(), Failure> {
    match (gone, dry_run) {
        (true, false) => output::line(&line(due, "purged")),
        (true, true) => output::line(&line(due, "would purge")),
        (false, _) => {
            output::say(&format!("warning: {}; its worktree is there again", line(due, "kept")));
            Ok(())
        }
    }
}

fn line(due: &DuePurge, verb: &str) -> String {
    let whose = match due.agent {
        Some(agent) => agent.short().to_string(),
        None => format!("nobody's {}", due.kept.name),
    };
    let what = match due.kept.holds {
        Holds::Nothing => "no work",
        Holds::Undo => "what `tine apply --undo` needs",
        Holds::BroughtWork => "work that a checkout has",
        Holds::Work => "work",
    };
    let age = span(u64::try_from(due.age.as_millis()).unwrap_or(u64::MAX));
    let place = one_line(&due.repository.to_string_lossy());
    format!("{verb} {whose}  {what}, kept for {age}  {place}")
}

fn say_rest(plan: &PurgePlan, args: &PurgeWorktreesArgs) {
    let stays = plural(plan.stays as u64, "worktree");
    match (plan.due.is_empty(), plan.stays) {
        (true, 0) => return output::say("nothing to purge"),
        (true, _) => {
            let age = args.age();
            return output::say(&format!(
                "nothing to purge: what is kept of {stays} is younger than {age}"
            ));
        }
        (false, _) => {}
    }
    let space = match plan.bytes {
        Some(count) => format!("{} on disk", bytes(count)),
        None => "the space".to_owned(),
    };
    output::say(&if args.dry_run {
        format!("note: git could free {space} then")
    } else {
        format!("note: `git gc` frees {space} in two weeks, `git gc --prune=now` at once")
    });
}
