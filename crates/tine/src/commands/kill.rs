//! `tine kill`: ends agents with all their forks.

use serde::Serialize;
use tine_model::AgentId;

use crate::cli::KillArgs;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::words::one_line;

/// The JSON shape of a receipt. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct KilledJson {
    killed: Vec<String>,
}

pub(crate) async fn kill(context: &Context, args: KillArgs) -> Result<u8, Failure> {
    // All names are read before anyone dies: a mistake in the last one must not cost the first.
    let mut asked = Vec::with_capacity(args.agents.len());
    for agent in &args.agents {
        asked.push(context.agent(agent).await?);
    }
    let mut killed: Vec<AgentId> = Vec::new();
    for agent in asked {
        let dead = context.runtime.kill(agent).await?;
        if dead.is_empty() && !killed.contains(&agent) {
            output::say(&format!("{} was dead already", agent.short()));
        }
        killed.extend(dead);
    }
    if args.json {
        let killed = killed.iter().map(AgentId::to_string).collect();
        output::json(&KilledJson { killed })?;
        return Ok(0);
    }
    let mut text = String::new();
    for agent in killed {
        let name = context.runtime.store().agent(agent).await?.name.unwrap_or_default();
        text.push_str(format!("killed {} {}", agent.short(), one_line(&name)).trim_end());
        text.push('\n');
    }
    output::write_out(&text)?;
    Ok(0)
}
