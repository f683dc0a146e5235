//! `tine worktree gc`.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tine_runtime::{CollectSpec, Collected, Fate, WorktreeState};

use super::{CollectedJson, line, say_kept};
use crate::cli::CollectWorktreesArgs;
use crate::context::Context;
use crate::durations::age_seconds;
use crate::fail::{FAILED, Failure};
use crate::output;
use tine_tui::figures::plural;

/// The JSON shape of a collection. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct CollectionJson {
    /// Whether nothing was done, and only said.
    dry_run: bool,
    collected: Vec<CollectedJson>,
    /// How many stay.
    kept: usize,
}

pub(super) async fn gc(context: &Context, args: CollectWorktreesArgs) -> Result<u8, Failure> {
    let age_max = age_seconds(&args.max_age).map(Duration::from_secs).ok_or_else(|| {
        Failure::usage(format!("--max-age cannot be `{}`", args.max_age.escape_debug())).hint(
            "it is a number and a unit, such as 12h or 30d; 0s takes all that nobody works in",
        )
    })?;
    let spec = CollectSpec { directory: context.directory.clone(), age_max, dry_run: args.dry_run };
    let collected = context.runtime.collect_worktrees(&spec).await?;
    let went = |one: &&Collected| !matches!(one.fate, Fate::Failed(_));
    let failed = collected.iter().any(|one| !went(&one));
    let kept = kept(context, &collected, args.dry_run).await?;
    if args.json {
        let collected = collected.iter().map(CollectedJson::from).collect();
        output::json(&CollectionJson { dry_run: args.dry_run, collected, kept })?;
    } else {
        for one in &collected {
            match one.fate {
                Fate::Failed(_) => output::say(&format!("warning: {}", line(one, args.dry_run))),
                Fate::Removed | Fate::Vanished | Fate::Tidied => {
                    output::line(&line(one, args.dry_run))?;
                }
            }
            if !args.dry_run {
                say_kept(one);
            }
        }
        say_rest(&collected, kept, &args.max_age);
    }
    Ok(if failed { FAILED } else { 0 })
}

/// How many worktrees stay, those among them that could not be removed.
async fn kept(context: &Context, collected: &[Collected], dry_run: bool) -> Result<usize, Failure> {
    let views = context.runtime.worktrees(&context.directory).await?;
    let goes = |path: &Path| {
        let would = |one: &Collected| one.path == path && !matches!(one.fate, Fate::Failed(_));
        dry_run && collected.iter().any(would)
    };
    let stays = views
        .iter()
        .filter(|view| {
            use WorktreeState::{Gone, Moved, Removed};
            !matches!(view.state, Removed | Gone | Moved)
        })
        .filter(|view| !goes(&view.path));
    Ok(stays.count())
}

fn say_rest(collected: &[Collected], kept: usize, max_age: &str) {
    let count = plural(kept as u64, "worktree");
    match (collected.is_empty(), kept) {
        (true, 0) => output::say("no worktrees"),
        (_, 0) => {}
        (_, _) => output::say(&format!(
            "{count} kept: in use, changed within {max_age}, or left by a crash within the last hour; `tine worktree list` lists them"
        )),
    }
}
