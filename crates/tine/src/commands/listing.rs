//! What the commands that show agents have in common.

use std::collections::HashMap;

use tine_model::{AgentId, AgentRecord, Leftover, Standing, TaskRecord, WorktreeRecord};
use tine_runtime::{AgentFilter, HalfChanged, PermissionFilter, RuntimeError, StoreError};

use crate::cluster::attend;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::change::mended_line;
use crate::render::record::Shown;
use tine_tui::figures::plural;
use tine_tui::words::one_line;

/// Marks what died with its process as interrupted, so that the states shown are true. A store that may only be read is
/// shown as it is.
pub(crate) async fn recover(context: &Context) -> Result<(), Failure> {
    match context.runtime.recover().await {
        Ok(_) => attend(context).await,
        Err(RuntimeError::Store(
            error @ (StoreError::ReadOnly { .. }
            | StoreError::Full { .. }
            | StoreError::Busy { .. }),
        )) => {
            output::say(&format!("note: an agent shown as running may be dead: {error}"));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Mends checkouts in which an apply or a merge was cut short, and says so: what is shown of them would be half of a change.
pub(super) async fn mend_checkouts(context: &Context) -> Result<(), Failure> {
    // An agent's command may not be able to, and is asked for something else.
    if context.caller.is_some() {
        return Ok(());
    }
    for found in context.runtime.mend_checkouts().await? {
        half_changed(&found).iter().for_each(|line| output::say(line));
    }
    Ok(())
}

/// Returns what became of a change that was cut short, a line for each thing to know.
pub(super) fn half_changed(found: &HalfChanged) -> Vec<String> {
    let place = one_line(&found.checkout.to_string_lossy());
    match &found.mended {
        Ok(mended) => {
            let mut lines = vec![format!("note: files of {place} were half changed")];
            lines.extend(mended_line(mended).lines().map(str::to_owned));
            lines
        }
        Err(why) => vec![
            format!(
                "warning: files of {place} are half changed, and cannot be mended: {}",
                one_line(why)
            ),
            "hint: the next `tine apply` or `tine merge` there tries again".to_owned(),
        ],
    }
}

/// All agents, oldest first: the listed ones, or the dead and hidden too.
pub(super) async fn agents(context: &Context, filter: AgentFilter) -> Result<Vec<Shown>, Failure> {
    let records = context.runtime.agents(filter).await?;
    let runtime = &context.runtime;
    let asking = runtime.request_rows(None, PermissionFilter::Pending).await?;
    let tasks = runtime.task_records().await?.into_iter().map(|task| (task.agent, task));
    let mut tasks: HashMap<AgentId, TaskRecord> = tasks.collect();
    let worktrees =
        runtime.worktree_records().await?.into_iter().map(|worktree| (worktree.agent, worktree));
    let mut worktrees: HashMap<AgentId, WorktreeRecord> = worktrees.collect();
    let left = context.runtime.leftovers().await?;
    let shown = |record: AgentRecord| {
        let id = record.id;
        let left_running = left.iter().filter(|(agent, _)| *agent == id);
        Shown {
            task: tasks.remove(&id),
            worktree: worktrees.remove(&id),
            questions: asking.iter().filter(|row| row.agent == id).count(),
            left_running: left_running.map(|(_, leftover)| leftover.clone()).collect(),
            record,
        }
    };
    Ok(records.into_iter().map(shown).collect())
}

/// Says which agents have processes that still run, and how they end.
pub(super) fn say_left_running(agents: &[Shown]) {
    for agent in agents.iter().filter(|agent| !agent.left_running.is_empty()) {
        let id = agent.record.id.short();
        let root = if agent.record.standing == Standing::Root { "--root " } else { "" };
        let left: Vec<&Leftover> = agent.left_running.iter().collect();
        let named = one_line(&Leftover::named(&left));
        output::say(&format!(
            "warning: a command of agent {id} still runs, although its tine has ended: {named}"
        ));
        output::say(&format!(
            "hint: `tine run --resume {id}` ends it and goes on; `tine kill {root}{id}` ends both"
        ));
    }
}

/// An agent with its task and its worktree, its questions left out; what is left running, too.
pub(super) async fn shown(context: &Context, record: AgentRecord) -> Result<Shown, Failure> {
    let task = match record.standing {
        Standing::Worker => context.runtime.task_record(record.id).await?,
        Standing::Root | Standing::Peer | Standing::Hidden | Standing::Guest => None,
    };
    let worktree = context.runtime.worktree_record(record.id).await?;
    Ok(Shown { record, task, worktree, questions: 0, left_running: Vec::new() })
}

/// The words for so many forks that a list on a screen leaves out, and for how to see them.
pub(super) fn told_of_fold(folded: usize, parent: &str) -> String {
    let forks = plural(folded as u64, "more quiet fork");
    format!("{forks}: `tine tree {parent}` shows them, a pipe shows all")
}

/// Tells somebody with an empty list what to do.
pub(super) async fn say_empty(context: &Context) -> Result<(), Failure> {
    if context.runtime.agents(AgentFilter::All).await?.is_empty() {
        output::say("no agents yet");
        output::say("hint: `tine run \"…\"` makes one; `tine demo` shows what forks are for");
    } else {
        output::say("no living agents");
        output::say("hint: `--all` shows the dead and the hidden ones too");
    }
    Ok(())
}
