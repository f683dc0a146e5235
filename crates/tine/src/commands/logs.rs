//! `tine logs`: an agent's own entries, one a line, and those to come.

use tine_model::{AgentId, AgentState, Entry, EntryId};

use crate::cli::LogsArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::{Failure, INTERRUPTED};
use crate::output;
use crate::render::age::moment;
use crate::render::entry::EntryJson;
use crate::render::transcript::summary;
use crate::render::words::{DIM, styled};
use crate::watch::{Watch, interrupted};

/// Columns of one entry behind its time: what a wide terminal shows of a line.
const LINE_COLUMNS: usize = 160;

/// Columns of an entry's id, so that lines stay aligned as ids grow.
const ID_COLUMNS: usize = 6;

pub(crate) async fn logs(context: &Context, args: LogsArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    if !args.follow {
        print_after(context, agent, None, args.json).await?;
        return Ok(0);
    }
    tokio::select! {
        done = follow(context, agent, args.json) => done.map(|()| 0),
        () = interrupted()? => Ok(INTERRUPTED),
    }
}

/// Prints until the agent has stopped running and everything it wrote is out.
async fn follow(context: &Context, agent: AgentId, json: bool) -> Result<(), Failure> {
    let mut watch = Watch::begin(context).await?;
    let mut last = None;
    loop {
        // The state first: an agent that has stopped by now writes nothing after.
        let state = context.runtime.store().agent(agent).await?.state;
        last = print_after(context, agent, last, json).await?;
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
    json: bool,
) -> Result<Option<EntryId>, Failure> {
    let entries = context.runtime.log(agent, last).await?;
    let mut text = String::new();
    for entry in &entries {
        text.push_str(&if json { json_line(entry)? } else { line(entry) });
        text.push('\n');
    }
    if !text.is_empty() {
        output::write_out(&text)?;
    }
    Ok(entries.last().map(|entry| entry.id).or(last))
}

fn json_line(entry: &Entry) -> Result<String, Failure> {
    serde_json::to_string(&EntryJson::of(entry))
        .map_err(|error| Failure::failed("an entry cannot be written as JSON").because(&error))
}

fn line(entry: &Entry) -> String {
    let id = entry.id.to_string();
    let margin = styled(DIM, &format!("{}  {id:>ID_COLUMNS$}", moment(entry.at_ms)));
    format!("{margin}  {}", summary(entry, LINE_COLUMNS))
}
