//! `tine kill`: ends agents with all their forks, for good.

use std::collections::HashSet;

use serde::Serialize;
use tine_model::{AgentId, AgentState, Standing};
use tine_runtime::{AgentFilter, Receipt};

use crate::ask::{a_person_is_there, agrees};
use crate::cli::KillArgs;
use crate::context::Context;
use crate::fail::{BAD_INPUT, Failure};
use crate::output;
use crate::render::receipt::{ReceiptJson, killed_line};
use tine_tui::figures::plural;

/// The JSON shape of a kill. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct KilledJson<'a> {
    killed: Vec<String>,
    receipts: Vec<ReceiptJson<'a>>,
}

pub(crate) async fn kill(context: &Context, args: KillArgs) -> Result<u8, Failure> {
    // All names are read before anyone dies: a mistake in the last one must not cost the first.
    let mut asked = Vec::with_capacity(args.agents.len());
    for agent in &args.agents {
        asked.push(context.agent(agent).await?);
    }
    if !args.root {
        for agent in &asked {
            refuse_root(context, *agent).await?;
        }
    }
    if !args.yes {
        agree(context, &asked).await?;
    }
    let mut killed: Vec<Receipt> = Vec::new();
    for agent in asked {
        let dead = context.runtime.kill(agent).await?;
        if dead.is_empty() && !killed.iter().any(|receipt| receipt.agent == agent) {
            output::say(&format!("{} was dead already", agent.short()));
        }
        for agent in dead {
            killed.push(context.runtime.receipt(agent).await?);
        }
    }
    if args.json {
        output::json(&KilledJson {
            killed: killed.iter().map(|receipt| receipt.agent.to_string()).collect(),
            receipts: killed.iter().map(ReceiptJson::of).collect(),
        })?;
        return Ok(0);
    }
    let text: String = killed.iter().map(|receipt| format!("{}\n", killed_line(receipt))).collect();
    output::write_out(&text)?;
    Ok(0)
}

/// Asks a person before anything is ended for good.
async fn agree(context: &Context, asked: &[AgentId]) -> Result<(), Failure> {
    if !a_person_is_there() {
        return Ok(());
    }
    let mut all = HashSet::new();
    for agent in asked {
        all.extend(context.runtime.living_with(*agent).await?);
    }
    let ends = plural(all.len() as u64, "agent");
    if all.is_empty() || agrees(&format!("This ends {ends} for good.")) {
        return Ok(());
    }
    Err(Failure::coded(BAD_INPUT, "nobody was killed: you did not agree"))
}

/// A tree is not to be lost with a slip of the hand.
async fn refuse_root(context: &Context, agent: AgentId) -> Result<(), Failure> {
    let record = context.runtime.agent(agent).await?;
    if record.standing != Standing::Root || record.state == AgentState::Dead {
        return Ok(());
    }
    let short = agent.short();
    let below = living_with(context, agent).await?.len().saturating_sub(1) as u64;
    let with = match below {
        0 => String::new(),
        below => format!(", and {} below it would die with it", plural(below, "agent")),
    };
    Err(Failure::input(format!("{short} is the root of a tree{with}"))
        .hint(format!("`tine stop {short}` ends what runs there; all of it can be resumed"))
        .hint(format!("`tine kill --root {short}` kills it for good")))
}

/// The living among an agent and those below it.
async fn living_with(context: &Context, top: AgentId) -> Result<Vec<AgentId>, Failure> {
    // Parents come before their children.
    let mut tree = HashSet::from([top]);
    let mut living = Vec::new();
    for agent in context.runtime.agents(AgentFilter::All).await? {
        if agent.id == top || agent.parent.is_some_and(|parent| tree.contains(&parent)) {
            tree.insert(agent.id);
            living.extend((agent.state != AgentState::Dead).then_some(agent.id));
        }
    }
    Ok(living)
}
