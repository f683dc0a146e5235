//! `tine wait`: until none of some agents has anything left to do.

use serde::Serialize;
use tine_model::{AgentId, AgentState};
use tine_runtime::WaitStatus;

use crate::cli::WaitArgs;
use crate::commands::listing;
use crate::commands::ps::state_style;
use crate::context::Context;
use crate::fail::{Failure, INTERRUPTED, TIMED_OUT};
use crate::output;
use crate::render::record::Shown;
use crate::watch::{Watch, interrupted};
use tine_tui::words::{BOLD, harmless, one_line, styled};

/// The JSON shape of a wait. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct WaitJson<'a> {
    timed_out: bool,
    agents: Vec<WaitedJson<'a>>,
}

#[derive(Serialize)]
struct WaitedJson<'a> {
    agent: String,
    /// The same; `agent` is its name in all JSON.
    id: String,
    name: Option<&'a str>,
    state: &'static str,
    /// Whether it has nothing left to do.
    finished: bool,
    /// `received`, `running`, `dead` or `idle`.
    status: &'static str,
    task: Option<WaitedTaskJson<'a>>,
}

#[derive(Serialize)]
struct WaitedTaskJson<'a> {
    status: &'static str,
    report: Option<&'a str>,
    error: Option<&'a str>,
    turns: u32,
    tool_uses: u32,
}

pub(crate) async fn wait(context: &Context, args: WaitArgs) -> Result<u8, Failure> {
    let mut agents = Vec::with_capacity(args.agents.len());
    for text in &args.agents {
        let agent = context.agent(text).await?;
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    let time_is_up = async {
        match args.timeout {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        done = until_finished(context, &agents) => { done?; 0 }
        () = time_is_up => TIMED_OUT,
        () = interrupted()? => INTERRUPTED,
    };
    let waited = read(context, &agents).await?;
    // What ended in the last moment has ended.
    let is_over = waited.iter().all(is_finished) && !workers_run(context, &agents).await?;
    let code = if is_over { 0 } else { ended };
    if args.json {
        let timed_out = code == TIMED_OUT;
        output::json(&WaitJson { timed_out, agents: waited.iter().map(waited_json).collect() })?;
    } else {
        let text: String = waited.iter().map(text).collect();
        output::write_out(&text)?;
        if code == TIMED_OUT {
            let left = waited.iter().filter(|agent| !is_finished(agent)).count();
            output::say(&match left {
                0 => "time is up; their workers have not finished".to_owned(),
                left => format!("time is up; {left} of {} not finished", waited.len()),
            });
        }
    }
    Ok(code)
}

async fn until_finished(context: &Context, agents: &[AgentId]) -> Result<(), Failure> {
    let mut watch = Watch::begin(context).await?;
    loop {
        let is_over = read(context, agents).await?.iter().all(is_finished);
        if is_over && !workers_run(context, agents).await? {
            return Ok(());
        }
        watch.changed(context).await?;
    }
}

/// Returns true if an agent below one of these has a task that has not ended.
async fn workers_run(context: &Context, agents: &[AgentId]) -> Result<bool, Failure> {
    let tasks = context.runtime.task_records().await?;
    let mut above: Vec<AgentId> = agents.to_vec();
    while let Some(spawner) = above.pop() {
        for task in tasks.iter().filter(|task| task.spawner == spawner) {
            if !task.status.is_final() {
                return Ok(true);
            }
            above.push(task.agent);
        }
    }
    Ok(false)
}

async fn read(context: &Context, agents: &[AgentId]) -> Result<Vec<Shown>, Failure> {
    let mut shown = Vec::with_capacity(agents.len());
    for agent in agents {
        let record = context.runtime.agent(*agent).await?;
        shown.push(listing::shown(context, record).await?);
    }
    Ok(shown)
}

fn is_finished(agent: &Shown) -> bool {
    let running = agent.record.state == AgentState::Running;
    !running && agent.task.as_ref().is_none_or(|task| task.status.is_final())
}

/// What one has of having waited for the agent.
fn status(agent: &Shown) -> WaitStatus {
    let ended = agent.task.as_ref().filter(|task| task.status.is_final());
    match agent.record.state {
        _ if !is_finished(agent) => WaitStatus::Running,
        // A worker that was killed before it had said anything has left nothing.
        AgentState::Dead if ended.is_none_or(|task| task.report.is_none()) => WaitStatus::Dead,
        _ if ended.is_some() => WaitStatus::Received,
        AgentState::Idle | AgentState::Running | AgentState::Interrupted | AgentState::Dead => {
            WaitStatus::Idle
        }
    }
}

fn waited_json(agent: &Shown) -> WaitedJson<'_> {
    WaitedJson {
        agent: agent.record.id.to_string(),
        id: agent.record.id.to_string(),
        name: agent.record.name.as_deref(),
        state: agent.record.state.as_str(),
        finished: is_finished(agent),
        status: status(agent).as_str(),
        task: agent.task.as_ref().map(|task| WaitedTaskJson {
            status: task.status.as_str(),
            report: task.report.as_deref(),
            error: task.error.as_deref(),
            turns: task.turns,
            tool_uses: task.tool_uses,
        }),
    }
}

/// The agent on a line, and its report below.
fn text(agent: &Shown) -> String {
    let record = &agent.record;
    let mut line = styled(BOLD, &record.id.short());
    if let Some(name) = &record.name {
        line.push_str(&format!("  {}", one_line(name)));
    }
    line.push_str(&format!("  {}\n", styled(state_style(record.state), agent.state())));
    let Some(task) = &agent.task else { return line };
    for said in [&task.report, &task.error].into_iter().flatten() {
        for part in said.lines() {
            line.push_str(&format!("  {}\n", harmless(part)));
        }
    }
    line
}
