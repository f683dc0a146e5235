//! `tine mark`, `tine rewind` and `tine clear`: what of a conversation counts from now on. Nothing leaves the log.

use serde::Serialize;
use tine_model::{AgentId, EntryId};
use tine_runtime::{RewindTo, Rewound};

use crate::cli::{ClearArgs, MarkArgs, RewindArgs};
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::inside::only_a_person;
use crate::output;
use tine_tui::figures::plural;
use tine_tui::words::{first_line, one_line};

/// The JSON shape of a mark, of a list of them, and of a clear. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct PlaceJson<'a> {
    agent: String,
    entry: i64,
    label: Option<&'a str>,
}

/// The JSON shape of a rewind. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct RewoundJson<'a> {
    agent: String,
    /// The last entry that counts; `null` where nothing does.
    to: Option<i64>,
    /// The prompt that was taken back.
    prompt: Option<&'a str>,
    /// Calls behind that place that changed files, and commands that may have: files stay as they are.
    changes: usize,
    commands: usize,
}

pub(crate) async fn mark(context: &Context, args: MarkArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    if args.list {
        return list(context, agent, args.json).await;
    }
    let entry = context.runtime.mark_place(agent, args.label.clone()).await?;
    if args.json {
        output::json(&place(agent, entry, args.label.as_deref()))?;
        return Ok(0);
    }
    let back = match &args.label {
        Some(label) if *label == one_line(label) && !label.contains('\'') => {
            format!("`tine rewind {} '{label}'`", agent.short())
        }
        _ => format!("`tine rewind {} --to {entry}`", agent.short()),
    };
    output::line(&format!("marked entry {entry} of {}; {back} comes back to it", agent.short()))?;
    Ok(0)
}

async fn list(context: &Context, agent: AgentId, json: bool) -> Result<u8, Failure> {
    let marks = context.runtime.marks(agent).await?;
    if json {
        let all = marks.iter().map(|(entry, label)| place(agent, *entry, label.as_deref()));
        output::json(&all.collect::<Vec<_>>())?;
        return Ok(0);
    }
    if marks.is_empty() {
        output::say(&format!("{} has no marks", agent.short()));
    }
    for (entry, label) in &marks {
        output::line(
            format!("{entry}  {}", label.as_deref().map(one_line).unwrap_or_default()).trim_end(),
        )?;
    }
    Ok(0)
}

pub(crate) async fn rewind(context: &Context, args: RewindArgs) -> Result<u8, Failure> {
    only_a_person("rewinds no conversation", "a person runs `tine rewind` in a terminal")?;
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    let to = match (args.to, args.label) {
        (Some(0), _) => RewindTo::Beginning,
        (Some(entry), _) => RewindTo::Entry(EntryId(entry)),
        (None, Some(label)) => RewindTo::Mark(label),
        (None, None) => RewindTo::LastPrompt,
    };
    let rewound = context.runtime.rewind(agent, to).await?;
    let Rewound { to, prompt, changes, commands } = &rewound;
    if args.json {
        output::json(&RewoundJson {
            agent: agent.to_string(),
            to: to.map(|entry| entry.0),
            prompt: prompt.as_deref(),
            changes: *changes,
            commands: *commands,
        })?;
        return Ok(0);
    }
    let place = to.map_or_else(|| "its beginning".to_owned(), |entry| format!("entry {entry}"));
    output::line(&format!("rewound {} to {place}", agent.short()))?;
    if let Some(prompt) = prompt {
        output::say(&format!("taken back: {}", one_line(&first_line(prompt))));
    }
    if changes + commands > 0 {
        let calls = plural(*changes as u64, "call");
        let commands = plural(*commands as u64, "command");
        output::say(&format!(
            "note: files stay as they are; behind this place stood {calls} that changed some and {commands} that may have"
        ));
        output::say("hint: `git diff` shows what differs; `git restore FILE` takes it back");
    }
    Ok(0)
}

pub(crate) async fn clear(context: &Context, args: ClearArgs) -> Result<u8, Failure> {
    only_a_person("clears no conversation", "a person runs `tine clear` in a terminal")?;
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    let entry = context.runtime.clear(agent).await?;
    if args.json {
        output::json(&place(agent, entry, None))?;
        return Ok(0);
    }
    output::line(&format!("cleared {}: its conversation begins anew", agent.short()))?;
    Ok(0)
}

fn place(agent: AgentId, entry: EntryId, label: Option<&str>) -> PlaceJson<'_> {
    PlaceJson { agent: agent.to_string(), entry: entry.0, label }
}
