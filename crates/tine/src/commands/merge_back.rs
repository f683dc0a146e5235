//! `tine merge-back`: what came of a fork, at the tail of the agent that it was forked from.

mod edit;

use std::io::{self, IsTerminal};

use serde::Serialize;
use tine_model::{AgentId, Spent, Usage};
use tine_runtime::{
    Arrival, Draft, DraftOptions, ForkPart, MergeBack, RuntimeError, StoreError, Wording,
};
use tokio_util::sync::CancellationToken;

use crate::caching::policy;
use crate::cli::MergeBackArgs;
use crate::commands::{listing, text_file};
use crate::context::Context;
use crate::editor::Editor;
use crate::fail::Failure;
use crate::interrupt::interruptible;
use crate::output;
use crate::prompt::fill_from_stdin;
use crate::render::json::UsageShape;
use tine_tui::figures::{grouped, money, plural};

/// The JSON shape of a merge-back. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct MergeBackJson<'a> {
    source: String,
    into: String,
    /// The last entry that both have; `null` where the fork inherited nothing.
    fork_point: Option<i64>,
    first: i64,
    last: i64,
    messages: usize,
    /// Up to where it was brought back before.
    already: Option<i64>,
    /// `draft`, `edited` or `given`.
    wording: &'static str,
    text: &'a str,
    /// The new entry of `into`; `null` where it is in its mailbox, and in a dry run.
    entry: Option<i64>,
    mail: Option<i64>,
    /// Of the draft; `null` where no model was asked.
    usage: Option<UsageShape>,
    /// `null` also for a model without a known price.
    cost_usd: Option<f64>,
}

/// A text on its way.
struct Words {
    part: ForkPart,
    text: String,
    wording: Wording,
    /// What the draft took.
    usage: Option<Usage>,
}

pub(crate) async fn merge_back(context: &Context, mut args: MergeBackArgs) -> Result<u8, Failure> {
    fill_from_stdin(&mut args.text)?;
    fill_from_stdin(&mut args.instructions)?;
    listing::recover(context).await?;
    let source = context.agent(&args.agent).await?;
    let into = match &args.into {
        Some(into) => Some(context.agent(into).await?),
        None => None,
    };
    // Before a draft is paid for that could not be edited.
    let editor = opens_editor(&args).then(edit::find).transpose()?;
    let mut words = match given(&args)? {
        Some(text) => {
            let part = context.runtime.fork_part(source, into, None).await.map_err(explained)?;
            Words { part, text, wording: Wording::Given, usage: None }
        }
        None => drafted(context, source, into, &args).await?,
    };
    if !args.json {
        tell(context, &words).await?;
    }
    if let Some(editor) = editor {
        words = edited(context, &editor, words).await?;
    }
    let arrival = if args.dry_run {
        None
    } else {
        let merge = MergeBack {
            source,
            into: Some(words.part.into),
            upto: Some(words.part.last),
            text: words.text.clone(),
            wording: words.wording,
        };
        Some(context.runtime.merge_back(merge).await.map_err(explained)?.arrival)
    };
    if args.json {
        output::json(&shape(context, &words, arrival).await?)?
    } else {
        print(&words, arrival)?
    }
    Ok(0)
}

/// Whether a person is to see the text before it is appended.
fn opens_editor(args: &MergeBackArgs) -> bool {
    let is_given = args.text.is_some() || args.file.is_some();
    let has_terminal = io::stdin().is_terminal() && output::stdout_is_terminal();
    args.edit || (has_terminal && !is_given && !args.no_edit && !args.dry_run && !args.json)
}

/// The text that the command line gives.
fn given(args: &MergeBackArgs) -> Result<Option<String>, Failure> {
    let text = match (&args.text, &args.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => text_file::read(file)?,
        (None, None) => return Ok(None),
    };
    match text.trim() {
        "" => Err(Failure::input("the text is empty")
            .hint("without --text and --file the fork's own model writes one")),
        text => Ok(Some(text.to_owned())),
    }
}

async fn drafted(
    context: &Context,
    source: AgentId,
    into: Option<AgentId>,
    args: &MergeBackArgs,
) -> Result<Words, Failure> {
    let cancel = CancellationToken::new();
    let options = DraftOptions {
        into,
        instructions: args.instructions.clone(),
        cancel: cancel.clone(),
        caching: policy(&context.config, false)?,
    };
    let work = Box::pin(context.runtime.draft_merge_back(source, &options));
    let draft = interruptible(work, &cancel, || output::say(crate::talk::STOPPING)).await?;
    let Draft { part, text, usage } = draft.map_err(explained)?;
    Ok(Words { part, text, wording: Wording::Draft, usage: Some(usage) })
}

/// The failure, with what this command has to offer.
fn explained(error: RuntimeError) -> Failure {
    let advice = match &error {
        RuntimeError::NoAnswer { .. } => {
            Some("--text and --file bring back words of your own; they need no model")
        }
        RuntimeError::Store(StoreError::Dead { .. }) => {
            Some("--into brings it back to another ancestor, where one lives")
        }
        _ => None,
    };
    let failure = Failure::from(error);
    match advice {
        Some(advice) => failure.hint(advice),
        None => failure,
    }
}

/// Says what the text stands for, and what it took.
async fn tell(context: &Context, words: &Words) -> Result<(), Failure> {
    let part = &words.part;
    let messages = plural(part.messages as u64, "message");
    let entries = format!("entries {} to {} ({messages})", part.first, part.last);
    match part.already {
        Some(already) => output::say(&format!(
            "already brought back up to entry {already}; this brings {entries}"
        )),
        None => output::say(&format!("this brings {entries}")),
    }
    if let Some(usage) = &words.usage {
        let cost = price(context, part.source, usage).await?;
        let cost = cost.map(|dollars| format!(", for {}", money(dollars))).unwrap_or_default();
        output::say(&format!(
            "the summary read {} from the cache and has {}{cost}",
            grouped(usage.read.unwrap_or(0)),
            grouped(usage.output),
        ));
    }
    Ok(())
}

async fn price(context: &Context, source: AgentId, usage: &Usage) -> Result<Option<f64>, Failure> {
    let model = context.runtime.agent(source).await?.settings.model;
    let spent = Spent { started_ms: context.runtime.ports().clock.now_ms(), usage: *usage };
    Ok(context.runtime.facts(&model).prices.cost(&[spent]))
}

/// The text as a person leaves it.
async fn edited(context: &Context, editor: &Editor, words: Words) -> Result<Words, Failure> {
    let source = context.runtime.agent(words.part.source).await?;
    let into = context.runtime.agent(words.part.into).await?;
    let text = edit::edited(editor, &words.part, (&source, &into), &words.text).await?;
    let wording = match words.wording {
        Wording::Draft if text != words.text.trim() => Wording::Edited,
        wording => wording,
    };
    Ok(Words { text, wording, ..words })
}

fn print(words: &Words, arrival: Option<Arrival>) -> Result<(), Failure> {
    let [source, into] = [words.part.source, words.part.into].map(|agent| agent.short());
    match arrival {
        None => output::line(&words.text)?,
        Some(Arrival::Appended(entry)) => {
            output::line(&format!("brought {source} back into {into}, as entry {entry}"))?;
            output::say(&format!("hint: `tine run --resume {into}` lets it go on with that"));
        }
        Some(Arrival::Mailed(_)) => {
            output::line(&format!(
                "brought {source} back into the mailbox of {into}; it is delivered at the agent's next turn"
            ))?;
        }
    }
    Ok(())
}

async fn shape<'a>(
    context: &Context,
    words: &'a Words,
    arrival: Option<Arrival>,
) -> Result<MergeBackJson<'a>, Failure> {
    let part = &words.part;
    let cost_usd = match &words.usage {
        Some(usage) => price(context, part.source, usage).await?,
        None => None,
    };
    let (entry, mail) = match arrival {
        Some(Arrival::Appended(entry)) => (Some(entry.0), None),
        Some(Arrival::Mailed(mail)) => (None, Some(mail.0)),
        None => (None, None),
    };
    Ok(MergeBackJson {
        source: part.source.to_string(),
        into: part.into.to_string(),
        fork_point: part.fork_point.map(|entry| entry.0),
        first: part.first.0,
        last: part.last.0,
        messages: part.messages,
        already: part.already.map(|entry| entry.0),
        wording: words.wording.as_str(),
        text: &words.text,
        entry,
        mail,
        usage: words.usage.map(Into::into),
        cost_usd,
    })
}
