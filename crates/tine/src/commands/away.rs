//! `tine away`: what happened in a tree since its person was there.

use serde::Serialize;

use crate::away;
use crate::cli::AwayArgs;
use crate::commands::listing;
use crate::commands::run::{Worktrees, last_in};
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use tine_tui::age::rfc3339;

/// What is said of a tree that nobody has prompted.
const NEVER: &str = "No person has prompted this agent yet.";

/// The JSON shape. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct AwayJson {
    agent: String,
    /// When the person was there last; `null` where they never were.
    since: Option<String>,
    events: Vec<EventJson>,
    /// Older events that are not told.
    left_out: usize,
    files: Vec<String>,
    /// As far as prices are known.
    cost_usd: f64,
    text: String,
}

#[derive(Serialize)]
struct EventJson {
    at: String,
    /// `completed` and the other ends of tasks, `working` or `question`.
    kind: &'static str,
    agent: String,
    text: String,
}

pub(crate) async fn away(context: &Context, args: AwayArgs) -> Result<u8, Failure> {
    // Workers that died with their process have ended.
    listing::recover(context).await?;
    // Settings that cannot be used are said here, and nowhere else: a prompt is not kept back for them.
    away::check(&context.config)?;
    let agent = match &args.agent {
        Some(agent) => context.agent(agent).await?,
        None => last_in(context, Worktrees::Counted).await?,
    };
    let now_ms = context.runtime.ports().clock.now_ms();
    let away = context.runtime.away(agent).await?;
    let text = away.as_ref().map_or_else(|| NEVER.to_owned(), |away| away.text(now_ms));
    if !args.json {
        output::line(&text)?;
        return Ok(0);
    }
    let mut json = AwayJson {
        agent: agent.to_string(),
        since: None,
        events: Vec::new(),
        left_out: 0,
        files: Vec::new(),
        cost_usd: 0.0,
        text,
    };
    if let Some(away) = away {
        json.since = Some(rfc3339(away.since_ms));
        json.left_out = away.left_out;
        json.files = away.files;
        json.cost_usd = away.micro_usd as f64 / 1e6;
        let event = |event: tine_runtime::AwayEvent| EventJson {
            at: rfc3339(event.at_ms),
            kind: event.kind.as_str(),
            agent: event.agent.to_string(),
            text: event.text,
        };
        json.events = away.events.into_iter().map(event).collect();
    }
    output::json(&json)?;
    Ok(0)
}
