//! `tine kill`: ends agents with all their forks, for good.

use std::collections::HashSet;

use serde::Serialize;
use tine_model::AgentId;
use tine_runtime::{KillSpec, Receipt};

use crate::ask::{a_person_is_there, agrees};
use crate::cli::KillArgs;
use crate::cluster::{attend, let_go};
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
    attend(context).await?;
    // All names are read before anyone dies: a mistake in the last one must not cost the first.
    let mut asked = Vec::with_capacity(args.agents.len());
    for agent in &args.agents {
        asked.push(context.agent(agent).await?);
    }
    let spec = |agent| KillSpec { agent, roots: args.root };
    for agent in &asked {
        context.runtime.check_kill(spec(*agent)).await?;
    }
    if !args.yes {
        agree(context, &asked).await?;
    }
    let mut killed: Vec<Receipt> = Vec::new();
    for agent in asked {
        let dead = context.runtime.kill(spec(agent)).await?;
        if dead.is_empty() && !killed.iter().any(|receipt| receipt.agent == agent) {
            output::say(&format!("{} was dead already", agent.short()));
        }
        for agent in dead {
            killed.push(context.runtime.receipt(agent).await?);
        }
    }
    let dead: Vec<AgentId> = killed.iter().map(|receipt| receipt.agent).collect();
    let_go(context, &dead).await?;
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
