//! `tine task output`.

use serde::Serialize;
use tine_model::EntryId;
use tine_runtime::{OUTPUT_WAIT_DEFAULT, OutputSpec, TaskOutput};
use tokio_util::sync::CancellationToken;

use super::named;
use crate::cli::OutputTaskArgs;
use crate::context::Context;
use crate::fail::{Failure, TIMED_OUT};
use crate::output;
use crate::render::entry::EntryJson;
use crate::render::task::{TaskShape, head};
use crate::render::transcript::{Detail, Secrets, Transcript};
use crate::watch::interrupted;
use tine_tui::words::one_line;

/// The JSON shape of an output. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct OutputJson<'a> {
    task: TaskShape,
    entries: Vec<EntryJson<'a>>,
    /// What `--since` takes next time.
    next: Option<i64>,
    timed_out: bool,
}

pub(super) async fn output(context: &Context, args: OutputTaskArgs) -> Result<u8, Failure> {
    let task = named(context, &args.task).await?.task.agent;
    let wait = args.timeout.unwrap_or(OUTPUT_WAIT_DEFAULT);
    let spec = OutputSpec { since: args.since.map(EntryId), wait: args.block.then_some(wait) };
    let cancel = CancellationToken::new();
    let asked = context.runtime.task_output(task, spec, &cancel);
    tokio::pin!(asked);
    let told = tokio::select! {
        told = &mut asked => told,
        () = interrupted()? => {
            cancel.cancel();
            asked.await
        }
    };
    let told = told?;
    let now_ms = context.runtime.ports().clock.now_ms();
    if args.json {
        let json = OutputJson {
            task: TaskShape::of(&told.view, now_ms),
            entries: told.entries.iter().map(EntryJson::of).collect(),
            next: told.next.map(|entry| entry.0),
            timed_out: told.timed_out,
        };
        output::transcript_json(&json, args.raw)?;
    } else {
        let directory = context.runtime.agent(task).await?.directory;
        let detail = if args.full { Detail::Full } else { Detail::Short };
        let mut text = format!("{}\n", head(&told.view, now_ms));
        text.push_str(&conversation(
            &told,
            Transcript::new((detail, Secrets::of(args.raw)), margin(&told), directory.into()),
        ));
        if let Some(error) = &told.view.task.error {
            text.push_str(&format!("\n{}: {}\n", told.view.task.status.as_str(), one_line(error)));
        }
        output::transcript(&text, args.raw)?;
        if !told.view.task.status.is_final() {
            say_more(&told);
        }
    }
    Ok(if told.timed_out { TIMED_OUT } else { 0 })
}

/// Tells somebody who looks at a task under way how to see more of it.
fn say_more(told: &TaskOutput) {
    if told.timed_out {
        output::say("time is up; the task is still under way");
    }
    let short = told.view.task.agent.short();
    if let Some(next) = told.next {
        output::say(&format!(
            "hint: `tine task output {short} --since {next}` shows what comes after"
        ));
    }
}

fn margin(told: &TaskOutput) -> usize {
    told.entries.last().map_or(0, |last| last.id.to_string().len())
}

fn conversation(told: &TaskOutput, mut transcript: Transcript) -> String {
    if told.entries.is_empty() {
        transcript.rule("nothing yet");
    }
    for entry in &told.entries {
        transcript.entry(entry, true);
    }
    transcript.into_text()
}
