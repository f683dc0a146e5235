//! `tine show`: an agent and its conversation, the inherited part told from its own.

use serde::Serialize;
use tine_model::{AgentId, ContextMode, EntryId};
use tine_runtime::{Fold, FoldedEntry, GuestRow, MailRow};

use crate::cli::ShowArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::entry::EntryJson;
use crate::render::record::{AgentJson, Shown};
use crate::render::transcript::{Detail, Secrets, Transcript};
use tine_tui::age::{age, moment, rfc3339};
use tine_tui::figures::plural;
use tine_tui::words::{BOLD, DIM, first_line, one_line, styled};

/// The JSON shape of an agent with its history. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ShowJson<'a> {
    agent: AgentJson<'a>,
    entries: Vec<EntryJson<'a>>,
    /// Messages that wait for its next turn.
    mail: Vec<MailJson<'a>>,
}

#[derive(Serialize)]
struct MailJson<'a> {
    id: i64,
    /// The agent that sent it; `null` for a person.
    sender: Option<String>,
    sent_at: String,
    text: &'a str,
}

impl<'a> From<&'a MailRow> for MailJson<'a> {
    fn from(row: &'a MailRow) -> Self {
        Self {
            id: row.id.0,
            sender: row.sender.map(|sender| sender.to_string()),
            sent_at: rfc3339(row.at_ms),
            text: &row.body,
        }
    }
}

impl<'a> ShowJson<'a> {
    fn of(agent: &'a Shown, fold: &'a Fold, mail: &'a [MailRow]) -> Self {
        let entry = |folded: &'a FoldedEntry| {
            let own = folded.entry.agent == agent.record.id;
            EntryJson::in_history(&folded.entry, own, folded.effective)
        };
        let entries = fold.entries().iter().map(entry).collect();
        Self { agent: agent.to_json(), entries, mail: mail.iter().map(MailJson::from).collect() }
    }
}

pub(crate) async fn show(context: &Context, args: ShowArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let (id, upto) = context.agent_at(&args.agent).await?;
    let record = context.runtime.agent(id).await?;
    let agent = listing::shown(context, record).await?;
    let fold = context.runtime.fold(id, upto).await?;
    if let Some(entry) = upto
        && !fold.entries().iter().any(|folded| folded.entry.id == entry)
    {
        let id = id.short();
        return Err(Failure::input(format!("agent {id} has no entry {entry}"))
            .hint(format!("`tine show {id}` shows them with their numbers")));
    }
    let mail = context.runtime.unread_mail(id).await?;
    if args.json {
        output::transcript_json(&ShowJson::of(&agent, &fold, &mail), args.raw)?;
    } else {
        let detail = if args.full { Detail::Full } else { Detail::Short };
        let how = (detail, Secrets::of(args.raw));
        let now_ms = context.runtime.ports().clock.now_ms();
        let guest = context.runtime.guest(id).await?;
        let text = [
            header(&agent, guest.as_ref(), now_ms),
            conversation(&agent, &fold, how),
            waiting(&mail),
        ];
        let text = text.concat();
        output::transcript(&text, args.raw)?;
    }
    Ok(0)
}

fn header(agent: &Shown, guest: Option<&GuestRow>, now_ms: i64) -> String {
    let record = &agent.record;
    let state = match &record.failure {
        Some(failure) => format!("failed: {}", one_line(failure)),
        None => record.state.as_str().to_owned(),
    };
    let mut lines = vec![("state", state)];
    lines.push(("kind", record.standing.as_str().to_owned()));
    if let Some(guest) = guest {
        let session = guest.session.as_deref().map(|id| format!(", session {}", one_line(id)));
        let session = session.unwrap_or_default();
        lines.push(("program", format!("{}{session}", one_line(&guest.host))));
    }
    if let Some(parent) = record.parent {
        let at = record.fork_point.map(|entry| format!(" at entry {entry}")).unwrap_or_default();
        lines.push(("forked from", format!("{}{at}", parent.short())));
        if record.context != ContextMode::Full {
            lines.push(("context", record.context.as_str().to_owned()));
        }
    }
    if let Some(task) = &agent.task {
        let turns = plural(task.turns.into(), "turn");
        let calls = plural(task.tool_uses.into(), "tool call");
        lines.push(("task", format!("{}, {turns}, {calls}", task.status.as_str())));
        if let Some(error) = &task.error {
            lines.push(("error", one_line(error)));
        }
    }
    let effort = record.settings.effort.map(|effort| format!(", effort {}", effort.as_str()));
    let model = format!("{}{}", record.settings.model, effort.unwrap_or_default());
    lines.push(("model", one_line(&model)));
    lines.push(("directory", one_line(&record.directory)));
    lines.push(("reach", one_line(&record.reach.describe())));
    let created = moment(record.created_ms);
    lines.push(("created", format!("{created}, {} ago", age(now_ms, record.created_ms))));
    lines.push(("id", record.id.to_string()));

    let name = record.name.as_deref().map(one_line).unwrap_or_default();
    let mut text = format!("{}  {name}", styled(BOLD, &record.id.short())).trim_end().to_owned();
    text.push('\n');
    for (word, value) in lines {
        text.push_str(&format!("  {DIM}{word:<11}{DIM:#}  {value}\n"));
    }
    text
}

fn conversation(agent: &Shown, fold: &Fold, how: (Detail, Secrets)) -> String {
    let entries = fold.entries();
    let id = agent.record.id;
    let margin = entries.last().map_or(0, |last| last.entry.id.to_string().len());
    let mut transcript = Transcript::new(how, margin, agent.record.directory.as_str().into());
    let mut part: Option<AgentId> = None;
    for (at, folded) in entries.iter().enumerate() {
        let owner = folded.entry.agent;
        if part != Some(owner) {
            part = Some(owner);
            if owner != id {
                let upto = last_of(owner, &entries[at..]);
                transcript.rule(&format!("inherited from {} up to entry {upto}", owner.short()));
            } else if at > 0 {
                transcript.rule(&format!("own entries of {}", id.short()));
            }
        }
        transcript.entry(&folded.entry, folded.effective);
    }
    if entries.is_empty() {
        transcript.rule("no entries yet");
    }
    transcript.into_text()
}

/// The messages that wait for the next turn, a line for each.
fn waiting(mail: &[MailRow]) -> String {
    let line = |row: &MailRow| {
        let from = row.sender.map_or_else(|| "you".to_owned(), |sender| sender.short());
        let text = one_line(&first_line(&row.body));
        format!("{DIM}waits for the next turn, from {from}:{DIM:#} {text}\n")
    };
    mail.iter().map(line).collect()
}

/// The last of the entries at the start of a list that belong to one agent.
fn last_of(owner: AgentId, entries: &[FoldedEntry]) -> EntryId {
    let own = entries.iter().take_while(|folded| folded.entry.agent == owner);
    own.map(|folded| folded.entry.id).last().unwrap_or(EntryId(0))
}
