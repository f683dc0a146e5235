//! `tine hide`: takes dead agents off the lists.

use serde::Serialize;

use crate::cli::HideArgs;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use tine_tui::figures::plural;

/// The JSON shape of a reap. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ReapedJson {
    reaped: Vec<String>,
}

pub(crate) async fn hide(context: &Context, args: HideArgs) -> Result<u8, Failure> {
    // All names are read before anyone is reaped: a mistake in the last one must not cost the first.
    let mut asked = Vec::with_capacity(args.agents.len());
    for agent in &args.agents {
        asked.push(Some(context.agent(agent).await?));
    }
    if asked.is_empty() {
        asked.push(None);
    }
    let mut reaped = Vec::new();
    for agent in asked {
        reaped.extend(context.runtime.reap(agent).await?);
    }
    if args.json {
        let reaped = reaped.iter().map(ToString::to_string).collect();
        output::json(&ReapedJson { reaped })?;
        return Ok(0);
    }
    output::line(&match reaped.len() {
        0 => "No dead agents to hide".to_owned(),
        count => format!("Hid {}", plural(count as u64, "agent")),
    })?;
    Ok(0)
}
