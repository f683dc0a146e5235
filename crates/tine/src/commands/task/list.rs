//! `tine task list`.

use serde::Serialize;
use tine_model::{AgentId, TaskStatus};
use tine_runtime::{AgentFilter, TaskFilter, TaskView};

use crate::cli::ListTasksArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::task::{TaskShape, table, totals};
use tine_tui::words::{DIM, styled};

/// The JSON shape of a list. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ListJson {
    tasks: Vec<TaskShape>,
}

pub(super) async fn list(context: &Context, args: ListTasksArgs) -> Result<u8, Failure> {
    let status = match &args.status {
        None => None,
        Some(word) => Some(status(word)?),
    };
    listing::recover(context).await?;
    let filter = TaskFilter { status, cleared: args.all };
    let mut views: Vec<TaskView> = Vec::new();
    for spawner in spawners(context, args.agent.as_deref()).await? {
        views.extend(context.runtime.task_list(spawner, filter).await?);
    }
    // Each agent's tasks come newest first; those of several are mixed.
    views.sort_by_key(|view| std::cmp::Reverse(view.task.created_ms));
    let now_ms = context.runtime.ports().clock.now_ms();
    if args.json {
        let tasks = views.iter().map(|view| TaskShape::of(view, now_ms)).collect();
        output::json(&ListJson { tasks })?;
    } else if views.is_empty() {
        output::say("no tasks");
        output::say(
            "hint: `tine task start AGENT \"…\"` starts one; `--all` lists hidden ones too",
        );
    } else {
        let table = table(&views, now_ms).to_text_within(output::stdout_columns());
        output::write_out(&format!("{table}{}\n", styled(DIM, &totals(&views))))?;
    }
    Ok(0)
}

/// Whose tasks are listed: the agent's, or those of all that work in this directory.
async fn spawners(context: &Context, agent: Option<&str>) -> Result<Vec<AgentId>, Failure> {
    if let Some(agent) = agent {
        return Ok(vec![context.agent(agent).await?]);
    }
    let directory = context.directory.to_string_lossy();
    let agents = context.runtime.agents(AgentFilter::All).await?;
    let here = agents.iter().filter(|agent| agent.directory == directory);
    Ok(here.map(|agent| agent.id).collect())
}

fn status(word: &str) -> Result<TaskStatus, Failure> {
    TaskStatus::from_name(word).ok_or_else(|| {
        let words: Vec<&str> = TaskStatus::ALL.iter().map(|status| status.as_str()).collect();
        Failure::usage(format!("unknown status `{}`", word.escape_debug()))
            .hint(format!("it is one of {}", words.join(", ")))
    })
}
