//! `tine compact`: the older part of a conversation gives way to a summary.

use serde::Serialize;
use tine_model::Spent;
use tine_runtime::{CompactOptions, Compacted, CompactedBy};
use tokio_util::sync::CancellationToken;

use crate::caching::policy;
use crate::cli::CompactArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::interrupt::interruptible;
use crate::output;
use crate::prompt::fill_from_stdin;
use crate::render::json::UsageShape;
use tine_tui::figures::{grouped, plural};

/// The JSON shape of a compaction. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct CompactedJson {
    agent: String,
    entry: i64,
    /// The first entry that stays word for word; `null` for none.
    keep: Option<i64>,
    left_out: usize,
    kept: usize,
    /// Estimates of the messages, at four bytes a token.
    tokens_before: u64,
    tokens_after: u64,
    usage: UsageShape,
    /// `summary`, `part` (the oldest messages are not in the summary) or `digest`.
    by: &'static str,
    /// Messages that are not in the summary.
    unseen: usize,
    /// `null` for a model without a known price.
    cost_usd: Option<f64>,
}

pub(crate) async fn compact(context: &Context, mut args: CompactArgs) -> Result<u8, Failure> {
    fill_from_stdin(&mut args.instructions)?;
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    let cancel = CancellationToken::new();
    let options = CompactOptions {
        keep_tokens: args.keep_tokens,
        instructions: args.instructions,
        cancel: cancel.clone(),
        caching: policy(&context.config, false)?,
    };
    let work = Box::pin(context.runtime.compact(agent, &options));
    let done = interruptible(work, &cancel, || output::say(crate::talk::STOPPING)).await??;
    if args.json {
        output::json(&shape(context, &done).await?)?;
        return Ok(0);
    }
    let messages = plural((done.left_out + done.kept) as u64, "message");
    let (kind, note) = told(&done.by);
    output::line(&format!(
        "compacted {}: a {kind} stands for {} of {messages}",
        agent.short(),
        done.left_out
    ))?;
    let summary = match &done.by {
        CompactedBy::Summary | CompactedBy::Part { .. } => format!(
            "; the summary read {} from the cache and has {}",
            grouped(done.usage.read.unwrap_or(0)),
            grouped(done.usage.output),
        ),
        CompactedBy::Digest { .. } => String::new(),
    };
    output::say(&format!(
        "about {} tokens became about {}{summary}",
        grouped(done.tokens_before),
        grouped(done.tokens_after),
    ));
    note.iter().for_each(|note| output::say(&format!("note: {note}")));
    output::say(&format!(
        "hint: `tine show {}` shows it; forks made before are untouched",
        agent.short()
    ));
    Ok(0)
}

/// The word for what stands there, and what is to be said of it.
fn told(by: &CompactedBy) -> (&'static str, Option<String>) {
    match by {
        CompactedBy::Summary => ("summary", None),
        CompactedBy::Part { unseen } => {
            let oldest = plural(*unseen as u64, "oldest message");
            (
                "summary",
                Some(format!("not in the summary, because the question had no room: {oldest}")),
            )
        }
        CompactedBy::Digest { why } => (
            "digest",
            Some(format!("the model gave no summary ({why}); the digest is a shortened copy")),
        ),
    }
}

async fn shape(context: &Context, done: &Compacted) -> Result<CompactedJson, Failure> {
    let model = context.runtime.agent(done.agent).await?.settings.model;
    let spent = Spent { started_ms: context.runtime.ports().clock.now_ms(), usage: done.usage };
    Ok(CompactedJson {
        agent: done.agent.to_string(),
        entry: done.entry.0,
        keep: done.keep.map(|entry| entry.0),
        left_out: done.left_out,
        kept: done.kept,
        tokens_before: done.tokens_before,
        tokens_after: done.tokens_after,
        usage: done.usage.into(),
        by: match done.by {
            CompactedBy::Summary => "summary",
            CompactedBy::Part { .. } => "part",
            CompactedBy::Digest { .. } => "digest",
        },
        unseen: match done.by {
            CompactedBy::Part { unseen } => unseen,
            CompactedBy::Summary | CompactedBy::Digest { .. } => 0,
        },
        cost_usd: context.runtime.facts(&model).prices.cost(&[spent]),
    })
}
