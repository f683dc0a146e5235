//! `tine task cancel`, `clear` and `send`.

use serde::Serialize;
use tine_model::StopKind;
use tine_runtime::{RuntimeError, StopSpec, TaskFilter};

use super::named;
use crate::cli::{CancelTaskArgs, HideTasksArgs, SendTaskArgs};
use crate::commands::listing;
use crate::commands::send::{ToSend, deliver};
use crate::commands::stop::{print, stopped};
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::receipt::ReceiptJson;
use tine_tui::figures::plural;

/// The JSON shape of a cancelled task, and of a cleared list. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct StoppedJson<'a> {
    stopped: Vec<ReceiptJson<'a>>,
    /// The tasks that are off the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    cleared: Option<Vec<String>>,
}

pub(super) async fn cancel(context: &Context, args: CancelTaskArgs) -> Result<u8, Failure> {
    let task = named(context, &args.task).await?.task;
    let how = if args.soft { StopKind::Soft } else { StopKind::Hard };
    let receipts = stopped(context, StopSpec { agent: task.agent, how, cascade: true }).await?;
    if args.json {
        let stopped = receipts.iter().map(ReceiptJson::of).collect();
        output::json(&StoppedJson { stopped, cleared: None })?;
    } else if receipts.is_empty() {
        let short = task.agent.short();
        output::say(&format!("nothing runs: task {short} has ended ({})", task.status.as_str()));
    } else {
        print(&receipts)?;
    }
    Ok(0)
}

pub(super) async fn hide(context: &Context, args: HideTasksArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let spawner = context.agent(&args.agent).await?;
    let mut receipts = Vec::new();
    for view in context.runtime.task_list(spawner, TaskFilter::default()).await? {
        if !view.task.status.is_final() {
            let agent = view.task.agent;
            let spec = StopSpec { agent, how: StopKind::Hard, cascade: true };
            receipts.extend(stopped(context, spec).await?);
        }
    }
    let cleared = context.runtime.clear_tasks(spawner).await?;
    if args.json {
        let cleared = Some(cleared.iter().map(ToString::to_string).collect());
        let stopped = receipts.iter().map(ReceiptJson::of).collect();
        output::json(&StoppedJson { stopped, cleared })?;
    } else {
        print(&receipts)?;
        let count = plural(cleared.len() as u64, "task");
        output::line(&format!("{count} off the list of {}", spawner.short()))?;
    }
    Ok(0)
}

pub(super) async fn send(context: &Context, args: SendTaskArgs) -> Result<u8, Failure> {
    let task = named(context, &args.task).await?.task;
    if task.status.is_final() {
        return Err(RuntimeError::TaskEnded(task.agent).into());
    }
    let SendTaskArgs { text, next, json, .. } = args;
    deliver(context, ToSend { agent: task.agent, text, next, json }).await
}
