//! What the commands that show agents have in common.

use tine_model::{AgentRecord, Standing};
use tine_runtime::RuntimeError;
use tine_store::{AgentFilter, PermissionFilter, StoreError};

use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::record::Shown;

/// Marks what died with its process as interrupted, so that the states shown are true. A store that may only be read is
/// shown as it is.
pub(crate) async fn recover(context: &Context) -> Result<(), Failure> {
    match context.runtime.recover().await {
        Ok(_) => Ok(()),
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

/// All agents, oldest first: the listed ones, or the dead and hidden too.
pub(super) async fn agents(context: &Context, filter: AgentFilter) -> Result<Vec<Shown>, Failure> {
    let records = context.runtime.store().agents(filter).await?;
    let store = context.runtime.store();
    let asking = store.permissions(None, PermissionFilter::Pending).await?;
    let mut agents = Vec::with_capacity(records.len());
    for record in records {
        let mut shown = shown(context, record).await?;
        shown.questions = asking.iter().filter(|row| row.agent == shown.record.id).count();
        agents.push(shown);
    }
    Ok(agents)
}

/// An agent with its task and its worktree, its questions left out.
pub(super) async fn shown(context: &Context, record: AgentRecord) -> Result<Shown, Failure> {
    let task = match record.standing {
        Standing::Worker => context.runtime.store().task(record.id).await?,
        Standing::Root | Standing::Peer | Standing::Hidden => None,
    };
    let worktree = context.runtime.store().worktree(record.id).await?;
    Ok(Shown { record, task, worktree, questions: 0 })
}

/// Tells somebody with an empty list what to do.
pub(super) async fn say_empty(context: &Context) -> Result<(), Failure> {
    if context.runtime.store().agents(AgentFilter::All).await?.is_empty() {
        output::say("no agents yet");
        output::say("hint: `tine run \"…\"` makes one; `tine demo` shows what forks are for");
    } else {
        output::say("no living agents");
        output::say("hint: `--all` shows the dead and the hidden ones too");
    }
    Ok(())
}
