//! `tine dream`: a hidden run writes down what was learnt in a project's sessions.

use serde::Serialize;
use tine_model::AgentId;
use tine_runtime::{DreamAsk, DreamOutcome, DreamRun, DreamSettings, Dreamed, Gate};
use tokio_util::sync::CancellationToken;

use crate::cli::{DreamArgs, DreamCommand, UndoDreamArgs};
use crate::commands::listing;
use crate::context::Context;
use crate::fail::{BUDGET, FAILED, Failure, INTERRUPTED, TIMED_OUT, TURN_LIMIT};
use crate::inside;
use crate::interrupt::interruptible;
use crate::memory::{hidden_options, settings, settings_of};
use crate::output;
use crate::render::json::UsageShape;
use crate::render::table::{Align, Table};
use crate::talk::STOPPING;
use tine_tui::age::{age, rfc3339};
use tine_tui::figures::{money, plural, tokens};
use tine_tui::words::one_line;

/// The JSON shape of a gate. Others rely on these shapes: fields are only ever added.
#[derive(Serialize)]
struct GateJson<'a> {
    name: &'a str,
    open: bool,
    reason: &'a str,
}

impl<'a> From<&'a Gate> for GateJson<'a> {
    fn from(gate: &'a Gate) -> Self {
        Self { name: &gate.name, open: gate.open, reason: &gate.reason }
    }
}

#[derive(Serialize)]
struct StatusJson<'a> {
    memory_dir: String,
    gates: Vec<GateJson<'a>>,
    last: Option<RunJson<'a>>,
}

/// A run.
#[derive(Serialize)]
struct RunJson<'a> {
    run: String,
    outcome: &'static str,
    phase: &'static str,
    began_at: String,
    ended_at: Option<String>,
    /// `warm` or `digest`.
    context: &'static str,
    sessions: Vec<String>,
    gates: Vec<GateJson<'a>>,
    files: &'a [String],
    escapes: &'a [String],
    refused: &'a [String],
    /// Notes that secrets were taken out of.
    redacted: u64,
    commit: Option<&'a str>,
    undone: Option<&'a str>,
    turns: u32,
    usage: UsageShape,
    cost_usd: Option<f64>,
    error: Option<&'a str>,
}

impl<'a> From<&'a DreamRun> for RunJson<'a> {
    fn from(run: &'a DreamRun) -> Self {
        Self {
            run: run.run.to_string(),
            outcome: run.outcome.as_str(),
            phase: run.phase,
            began_at: rfc3339(run.began_ms),
            ended_at: run.ended_ms.map(rfc3339),
            context: run.context.as_str(),
            sessions: run.sessions.iter().map(AgentId::to_string).collect(),
            gates: run.gates.iter().map(GateJson::from).collect(),
            files: &run.files,
            escapes: &run.escapes,
            refused: &run.refused,
            redacted: run.secrets,
            commit: run.commit.as_deref(),
            undone: run.undone.as_deref(),
            turns: run.turns,
            usage: UsageShape::from(run.usage),
            cost_usd: run.cost_usd,
            error: run.error.as_deref(),
        }
    }
}

/// A run of `tine tick --json`.
#[derive(Serialize)]
struct TickJson<'a> {
    project: String,
    memory_dir: String,
    #[serde(flatten)]
    run: RunJson<'a>,
}

impl<'a> From<&'a (DreamSettings, Box<DreamRun>)> for TickJson<'a> {
    fn from((settings, run): &'a (DreamSettings, Box<DreamRun>)) -> Self {
        Self {
            project: settings.project.display().to_string(),
            memory_dir: settings.memory_dir.display().to_string(),
            run: RunJson::from(&**run),
        }
    }
}

/// What `tine dream --json` prints.
#[derive(Serialize)]
struct DreamJson<'a> {
    memory_dir: String,
    gates: Vec<GateJson<'a>>,
    /// `null` where it did not run.
    ran: Option<RunJson<'a>>,
}

pub(crate) async fn dream(context: &Context, args: DreamArgs) -> Result<u8, Failure> {
    // What died in the middle is put back first, so that what is shown is so.
    listing::recover(context).await?;
    let settings = settings(context)?;
    match &args.command {
        Some(DreamCommand::Status(json)) => {
            status(context, &settings, DreamAsk::default(), json.json).await
        }
        Some(DreamCommand::Log(json)) => log(context, &settings, json.json).await,
        Some(DreamCommand::Undo(undone)) => undo(context, &settings, undone).await,
        None => {
            let current = match &args.current {
                Some(current) => Some(context.agent(current).await?),
                None => None,
            };
            let ask = DreamAsk { forced: args.force, current };
            if args.dry_run {
                status(context, &settings, ask, args.json).await
            } else {
                run(context, &settings, ask, args.json).await
            }
        }
    }
}

async fn status(
    context: &Context,
    settings: &DreamSettings,
    ask: DreamAsk,
    json: bool,
) -> Result<u8, Failure> {
    let status = context.runtime.dream_status(settings, ask).await?;
    if json {
        output::json(&StatusJson {
            memory_dir: status.memory_dir.display().to_string(),
            gates: status.gates.iter().map(GateJson::from).collect(),
            last: status.last.as_ref().map(RunJson::from),
        })?;
        return Ok(0);
    }
    output::line(&format!("notes: {}", status.memory_dir.display()))?;
    tell_gates(&status.gates)?;
    if let Some(last) = &status.last {
        output::line(&format!("last run: {}", line(last, context.runtime.ports().clock.now_ms())))?;
    }
    Ok(0)
}

fn tell_gates(gates: &[Gate]) -> Result<(), Failure> {
    let mut table = Table::new(&[("GATE", Align::Left), ("", Align::Left), ("WHY", Align::Left)]);
    for gate in gates {
        let is_open = if gate.open { "open" } else { "closed" };
        table.row([gate.name.as_str().into(), is_open.into(), one_line(&gate.reason).into()]);
    }
    output::write_out(&table.to_text_within(output::stdout_columns()))
}

async fn log(context: &Context, settings: &DreamSettings, json: bool) -> Result<u8, Failure> {
    let mut runs = context.runtime.dreams(&settings.memory_dir).await?;
    runs.reverse();
    if json {
        let runs: Vec<RunJson<'_>> = runs.iter().map(RunJson::from).collect();
        output::json(&runs)?;
        return Ok(0);
    }
    if runs.is_empty() {
        output::say("no run yet");
        output::say("hint: `tine dream --force` runs one now");
        return Ok(0);
    }
    let now_ms = context.runtime.ports().clock.now_ms();
    for run in &runs {
        output::line(&line(run, now_ms))?;
        tell_details(run)?;
    }
    Ok(0)
}

/// A run on one line.
fn line(run: &DreamRun, now_ms: i64) -> String {
    let mut parts = vec![
        format!("{} {}", run.run.short(), run.outcome.as_str().replace('_', " ")),
        age(now_ms, run.began_ms),
        plural(run.files.len() as u64, "note"),
        format!(
            "{} ({}): {} read, {} written, {} uncached",
            plural(u64::from(run.turns), "turn"),
            run.context.as_str(),
            tokens(run.usage.read.unwrap_or(0)),
            tokens(run.usage.written()),
            tokens(run.usage.uncached)
        ),
    ];
    parts.extend(run.cost_usd.map(money));
    if run.undone.is_some() {
        parts.push("taken back".to_owned());
    }
    parts.join(" · ")
}

fn tell_details(run: &DreamRun) -> Result<(), Failure> {
    for file in &run.files {
        output::line(&format!("  {}", one_line(file)))?;
    }
    for escape in &run.escapes {
        output::line(&format!(
            "  put back, no call was allowed to change it: {}",
            one_line(escape)
        ))?;
    }
    for refused in &run.refused {
        output::line(&format!("  refused: {}", one_line(refused)))?;
    }
    if run.secrets > 0 {
        output::line(&format!("  secrets were taken out of {}", plural(run.secrets, "note")))?;
    }
    if let Some(error) = &run.error {
        output::line(&format!("  {}", one_line(error)))?;
    }
    Ok(())
}

async fn run(
    context: &Context,
    settings: &DreamSettings,
    ask: DreamAsk,
    json: bool,
) -> Result<u8, Failure> {
    let cancel = CancellationToken::new();
    let options = hidden_options(context, &cancel)?;
    if ask.forced && !json {
        output::say(
            "reading the sessions of this project (Ctrl-C stops it; the notes are then as they were)",
        );
    }
    let ran = Box::pin(context.runtime.dream(settings, ask, &options));
    let ran = interruptible(ran, &cancel, || output::say(STOPPING)).await??;
    let (gates, ran) = match &ran {
        Dreamed::Closed(gates) => (gates, None),
        Dreamed::Ran(run) => (&run.gates, Some(&**run)),
    };
    if json {
        output::json(&DreamJson {
            memory_dir: settings.memory_dir.display().to_string(),
            gates: gates.iter().map(GateJson::from).collect(),
            ran: ran.map(RunJson::from),
        })?;
    }
    let Some(run) = ran else {
        if !json {
            tell_closed(gates, ask)?;
        }
        return Ok(0);
    };
    if !json {
        output::line(&line(run, context.runtime.ports().clock.now_ms()))?;
        tell_details(run)?;
        if run.commit.is_some() {
            output::say(&format!("notes: {}", settings.memory_dir.display()));
            output::say(&format!("hint: `tine dream undo {}` takes it back", run.run.short()));
        }
    }
    let failed = |code| {
        let why = run.error.as_deref().unwrap_or("it did not complete");
        Failure::coded(code, format!("the notes are as they were: {}", one_line(why)))
            .hint(format!("`tine logs {}` shows what it did", run.run.short()))
    };
    match run.outcome {
        DreamOutcome::Completed | DreamOutcome::Running => Ok(0),
        DreamOutcome::TurnLimit => Err(failed(TURN_LIMIT)),
        DreamOutcome::TimedOut => Err(failed(TIMED_OUT)),
        DreamOutcome::Stopped => Err(failed(INTERRUPTED)),
        DreamOutcome::BudgetExhausted => Err(failed(BUDGET)),
        DreamOutcome::Failed | DreamOutcome::Lost => Err(failed(FAILED)),
    }
}

/// One pass over all projects.
pub(crate) async fn tick(context: &Context, json: bool) -> Result<u8, Failure> {
    listing::recover(context).await?;
    let mut ran = Vec::new();
    let cancel = CancellationToken::new();
    let options = hidden_options(context, &cancel)?;
    // Without this, nothing is ever due: the projects need not be looked for.
    let projects = match context.config.dream.enabled {
        Some(true) => context.runtime.projects().await?,
        Some(false) | None => Vec::new(),
    };
    for project in projects {
        let settings = settings_of(context, project)?;
        if !context.runtime.dream_may_be_due(&settings).await? {
            continue;
        }
        let dream = context.runtime.dream(&settings, DreamAsk::default(), &options);
        let dreamed = interruptible(Box::pin(dream), &cancel, || output::say(STOPPING)).await?;
        match dreamed {
            Ok(Dreamed::Ran(run)) => ran.push((settings, run)),
            Ok(Dreamed::Closed(_)) => {}
            Err(error) => Failure::from(error).print(),
        }
        if cancel.is_cancelled() {
            break;
        }
    }
    let now_ms = context.runtime.ports().clock.now_ms();
    if json {
        output::json(&ran.iter().map(TickJson::from).collect::<Vec<_>>())?
    } else {
        for (settings, run) in &ran {
            output::line(&format!("{}: {}", settings.project.display(), line(run, now_ms)))?;
        }
    }
    Ok(if cancel.is_cancelled() { INTERRUPTED } else { 0 })
}

/// Says which gate is closed, and what opens it.
fn tell_closed(gates: &[Gate], ask: DreamAsk) -> Result<(), Failure> {
    if let Some(gate) = gates.iter().find(|gate| !gate.open) {
        output::line(&format!("nothing to do: {}: {}", gate.name, one_line(&gate.reason)))?;
        if !ask.forced {
            output::say(
                "hint: `tine dream --force` runs all the same; `tine dream status` shows all gates",
            );
        }
    }
    Ok(())
}

async fn undo(
    context: &Context,
    settings: &DreamSettings,
    args: &UndoDreamArgs,
) -> Result<u8, Failure> {
    inside::only_a_person("takes no notes back", "a person runs `tine dream undo` in a terminal")?;
    let run = context.agent(&args.run).await?;
    let undone = context.runtime.undo_dream(&settings.memory_dir, run).await?;
    if args.json {
        output::json(&RunJson::from(&undone))?
    } else {
        output::line(&line(&undone, context.runtime.ports().clock.now_ms()))?
    }
    Ok(0)
}
