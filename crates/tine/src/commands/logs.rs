//! `tine logs`: an agent's own entries, one a line, and those to come.

use tine_model::{AgentId, AgentState, Entry, EntryId};

use crate::cli::LogsArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::{Failure, INTERRUPTED};
use crate::output;
use crate::render::entry::EntryJson;
use crate::render::transcript::{Secrets, summary};
use crate::watch::{Watch, interrupted};
use tine_tui::age::moment;
use tine_tui::words::{DIM, styled};

/// Columns of one entry behind its time: what a wide terminal shows of a line.
const LINE_COLUMNS: usize = 160;

/// Columns of an entry's id, so that lines stay aligned as ids grow.
const ID_COLUMNS: usize = 6;

pub(crate) async fn logs(context: &Context, args: LogsArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    if !args.follow {
        print_after(context, agent, None, &args).await?;
        return Ok(0);
    }
    tokio::select! {
        done = follow(context, agent, &args) => done.map(|()| 0),
        () = interrupted()? => Ok(INTERRUPTED),
    }
}

/// Prints until the agent has stopped running and everything it wrote is out.
async fn follow(context: &Context, agent: AgentId, args: &LogsArgs) -> Result<(), Failure> {
    let mut watch = Watch::begin(context).await?;
    let mut last = None;
    loop {
        // The state first: an agent that has stopped by now writes nothing after.
        let state = context.runtime.agent(agent).await?.state;
        last = print_after(context, agent, last, args).await?;
        if state != AgentState::Running {
            return Ok(());
        }
        watch.changed(context).await?;
    }
}

/// Prints the entries after `last`; returns the new last one.
async fn print_after(
    context: &Context,
    agent: AgentId,
    last: Option<EntryId>,
    args: &LogsArgs,
) -> Result<Option<EntryId>, Failure> {
    let entries = context.runtime.log(agent, last).await?;
    for entry in &entries {
        if args.json {
            output::transcript_json(&EntryJson::of(entry), args.raw)?
        } else {
            output::transcript(&format!("{}\n", line(entry, Secrets::of(args.raw))), args.raw)?
        }
    }
    Ok(entries.last().map(|entry| entry.id).or(last))
}

fn line(entry: &Entry, secrets: Secrets) -> String {
    let id = entry.id.to_string();
    let margin = styled(DIM, &format!("{}  {id:>ID_COLUMNS$}", moment(entry.at_ms)));
    format!("{margin}  {}", summary(entry, LINE_COLUMNS, secrets))
}
