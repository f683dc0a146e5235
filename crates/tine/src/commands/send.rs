//! `tine send`: a message into an agent's mailbox, or for when it is done.

use serde::Serialize;
use tine_model::AgentId;
use tine_runtime::GuestRow;
use tine_tui::words::one_line;

use crate::cli::{HookHost, SendArgs};
use crate::commands::{listing, text_file};
use crate::context::Context;
use crate::fail::Failure;
use crate::install::has_hook;
use crate::output;
use crate::prompt::{is_stdin, sendable};

/// The JSON shape of a sent message. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct SentJson {
    agent: String,
    /// `null` for one that is kept until the agent is done.
    mail: Option<i64>,
    next: bool,
}

/// A message, and how it is sent.
pub(super) struct ToSend {
    pub(super) agent: AgentId,
    /// Read from standard input where there is none.
    pub(super) text: Option<String>,
    /// Keep it until the agent is done.
    pub(super) next: bool,
    pub(super) json: bool,
}

pub(crate) async fn send(context: &Context, args: SendArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    let SendArgs { text, next, json, .. } = args;
    deliver(context, ToSend { agent, text, next, json }).await
}

/// Sends a message, and says what becomes of it.
pub(super) async fn deliver(context: &Context, to_send: ToSend) -> Result<u8, Failure> {
    let ToSend { agent, text, next, json } = to_send;
    let text = match text {
        Some(text) if !is_stdin(&text) => text,
        Some(_) | None => {
            let Ok(text) = sendable(&text_file::read("-".as_ref())?);
            text
        }
    };
    // The words of an agent's command are that agent's, also where it speaks through a shell.
    let sender = context.caller.as_ref().map(|caller| caller.id);
    let mail = if next {
        context.runtime.send_next(sender, agent, text).await?;
        None
    } else {
        Some(context.runtime.send_from(sender, agent, text).await?.0)
    };
    if json {
        output::json(&SentJson { agent: agent.to_string(), mail, next })?;
        return Ok(0);
    }
    let short = agent.short();
    if let Some(guest) = context.runtime.guest(agent).await? {
        return sent_to_guest(&short, &guest);
    }
    let when =
        if next { "when the agent is done with what it does" } else { "at the agent's next turn" };
    output::line(&format!("sent to {short}; it is delivered {when}"))?;
    // Who holds its lease runs it, or is about to.
    if !context.runtime.is_held(agent).await? {
        output::say(&format!(
            "hint: the agent does not run; `tine run --resume {short}` lets it answer"
        ));
    }
    Ok(0)
}

/// Says when a guest's program reads what was sent.
fn sent_to_guest(short: &str, guest: &GuestRow) -> Result<u8, Failure> {
    output::line(&format!("sent to {short}; its program takes it along with the next prompt"))?;
    match HookHost::of_guest(&guest.host) {
        Some(host) if has_hook(host) => {}
        Some(_) => output::say(&format!(
            "hint: that needs tine's hook: `tine gateway install {}`",
            guest.host
        )),
        None => output::say(&format!(
            "hint: tine has no hook for {}: `tine show {short}` shows what waits",
            one_line(&guest.host)
        )),
    }
    Ok(0)
}
