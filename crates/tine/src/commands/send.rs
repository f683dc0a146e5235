//! `tine send`: a message into an agent's mailbox.

use serde::Serialize;
use tine_model::AgentState;

use crate::cli::SendArgs;
use crate::commands::{listing, text_file};
use crate::context::Context;
use crate::fail::Failure;
use crate::output;

/// The JSON shape of a sent message. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct SentJson {
    agent: String,
    mail: i64,
}

pub(crate) async fn send(context: &Context, args: SendArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    let text = match args.text {
        Some(text) => text,
        None => text_file::read("-".as_ref())?,
    };
    let mail = context.runtime.send(agent, text).await?;
    if args.json {
        output::json(&SentJson { agent: agent.to_string(), mail: mail.0 })?;
        return Ok(0);
    }
    let short = agent.short();
    output::line(&format!("sent to {short}; it is delivered at the agent's next turn"))?;
    if context.runtime.store().agent(agent).await?.state != AgentState::Running {
        output::say(&format!(
            "hint: the agent does not run; `tine run --resume {short}` lets it answer"
        ));
    }
    Ok(0)
}
