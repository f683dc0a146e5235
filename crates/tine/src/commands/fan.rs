//! `tine fan`: several workers over one prefix, and what the cache saved.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use tine_cache::FanCost;
use tine_fork::worker::{Report, WORKER_TURNS_DEFAULT};
use tine_model::{Outcome, TaskStatus, Usage};
use tine_runtime::{
    CacheReport, Confinement, EstimateSpec, EventFilter, EventKind, FanReport, FanSpec, FanTask,
    ForkSpec, Heard, Inherit, Placement, Unseen,
};
use tokio_util::sync::CancellationToken;

use super::fork::ONLY_PLAIN;
use crate::ask::Refusal;
use crate::borrow;
use crate::budget;
use crate::caching::{Before, asked, go_ahead, launch_word};
use crate::cli::FanArgs;
use crate::cluster::elsewhere;
use crate::confine::{of_workers, tell_widened, warn_of_gaps};
use crate::context::Context;
use crate::crew::{crew, worker_of};
use crate::ending::{Tally, code_of, completed, warn_of_refusals};
use crate::fail::{EXIT_CODES, FAILED, Failure, INTERRUPTED};
use crate::interrupt::interruptible;
use crate::limits::Guarded;
use crate::output;
use crate::prompt::or_stdin;
use crate::render::crew::{CrewLines, missed_line};
use crate::render::json::{Denied, OpenCallShape, UsageShape};
use crate::render::screen::Screen;
use crate::render::table::{Align, Table};
use crate::render::task::flagged;
use crate::render::workers::WorkerBoard;
use crate::render::worktree::{WorkShape, say_submodules, say_under_way, work_lines};
use crate::run_options::RunSetup;
use crate::talk::STOPPING;
use tine_tui::figures::{grouped, money, plural, span};
use tine_tui::words::{BOLD, DIM, YELLOW, harmless, one_line, styled};

/// `tine fan --json`. A promise to scripts: fields may be added, never renamed or removed.
#[derive(Serialize)]
struct FanShape<'a> {
    parent: String,
    fork_point: Option<i64>,
    tasks: Vec<TaskShape<'a>>,
    /// Calls that ran in the parent, and whose results the workers do not know.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    open_calls: &'a [OpenCallShape],
    /// Calls that were refused because nobody could be asked; as in `tine run --json`.
    denied: Vec<Denied>,
    cache: CacheShape<'a>,
}

#[derive(Serialize)]
pub(super) struct TaskShape<'a> {
    agent: String,
    /// `completed`, `failed`, `cancelled`, `timed_out`, `interrupted`.
    status: &'static str,
    /// How its run ended; as in `tine run --json`.
    outcome: &'a str,
    directive: &'a str,
    /// `null` when it said nothing.
    report: Option<ReportShape<'a>>,
    error: Option<&'a str>,
    usage: UsageShape,
    /// Of its first request: what the inherited prefix cost; `null` when no request was answered.
    first_usage: Option<UsageShape>,
    turns: u32,
    tool_uses: u32,
    duration_ms: i64,
    /// What the checks of its end have seen.
    flags: &'a [String],
    /// `null` where it worked in its parent's directory, or left nothing behind.
    worktree: Option<WorkShape>,
}

/// The parts of a report; those that the worker left out are `null`. `raw` is the whole text.
#[derive(Serialize)]
struct ReportShape<'a> {
    scope: Option<&'a str>,
    result: Option<&'a str>,
    key_files: Option<&'a str>,
    files_changed: Option<&'a str>,
    issues: Option<&'a str>,
    raw: &'a str,
}

/// What the cache did. Money is `null` for a model without a known price.
#[derive(Serialize)]
pub(super) struct CacheShape<'a> {
    launch: &'static str,
    /// `cold`, `gap` or `warm`.
    warmth: &'static str,
    /// Why they started so.
    reason: &'a str,
    /// Of all first requests together.
    first: UsageShape,
    /// Of all requests together.
    total: UsageShape,
    cost_usd: Option<f64>,
    /// Had every worker written the prefix for itself.
    naive_usd: Option<f64>,
    /// Had one worker written the prefix and every other read it.
    leader_first_usd: Option<f64>,
    /// Had the whole prefix been cached before.
    warm_usd: Option<f64>,
    /// And had nobody written what nobody reads.
    ideal_usd: Option<f64>,
    /// Had nothing been cached at all.
    uncached_usd: Option<f64>,
    /// Ideal by actual; 1 is perfect. `null` when the provider did not say what it read.
    efficiency: Option<f64>,
    priced_as: Option<&'a str>,
    /// What the provider held under a name for the workers, and what that cost; `null` when it held nothing.
    held: Option<HeldShape<'a>>,
    /// For each task what it cost, and its ideal by that; `null` for one that was not answered.
    forks: Vec<Option<ForkCostShape>>,
}

#[derive(Serialize)]
struct HeldShape<'a> {
    name: &'a str,
    tokens: Option<u64>,
    held_ms: i64,
    /// For making and for keeping it, as far as prices are known; part of `cost_usd`.
    cost_usd: f64,
}

#[derive(Serialize)]
struct ForkCostShape {
    cost_usd: f64,
    efficiency: Option<f64>,
}

pub(crate) async fn fan(context: &Context, mut args: FanArgs) -> Result<u8, Failure> {
    args.directives = args.directives.into_iter().map(or_stdin).collect::<Result<_, _>>()?;
    let (json, fails) = (args.spread.json, args.spread.limits.fail_on_tool_error);
    let Some(fanned) = run(context, args).await? else { return Ok(0) };
    let report = &fanned.report;
    let refused = &fanned.refused;
    let unseen = unseen(context, report).await;
    if json {
        output::json(&shape(&fanned, &unseen))?;
    } else if context.terminal.is_some() {
        // The reports are in the parent's conversation.
        output::write_out(&unseen_text(report, &unseen))?;
        output::write_out(&cache_text(&report.cache))?;
    } else {
        if output::stdout_is_terminal() && output::stderr_is_terminal() {
            output::say("");
        }
        output::write_out(&text(report, &unseen))?;
    }
    let failed_calls = if fails { &*fanned.failed_calls } else { &[] };
    if let Some(failure) = out_of_budget(context, report).await? {
        return Err(failure);
    }
    verdict(report, fanned.cancel.is_cancelled(), refused, failed_calls)
}

/// A fan that is over.
pub(super) struct Fanned {
    pub(super) report: FanReport,
    pub(super) cancel: CancellationToken,
    /// How its workers were confined.
    pub(super) confinement: Confinement,
    failed_calls: Vec<String>,
    /// Calls that were refused because nobody could be asked.
    pub(super) refused: Vec<Refusal>,
    open_calls: Vec<OpenCallShape>,
}

/// Runs a fan and shows how it goes; `None` where the user has only asked for its price, or has not agreed to it.
pub(super) async fn run(context: &Context, args: FanArgs) -> Result<Option<Fanned>, Failure> {
    let (parent, at) = context.agent_at(&args.agent).await?;
    let before = Before {
        spec: EstimateSpec {
            parent,
            at,
            directives: args.directives.clone(),
            workers: true,
            plan: asked(args.spread.plan),
            turns: args.spread.estimate.expect_turns,
            output_tokens: args.spread.estimate.expect_output,
        },
        args: &args.spread.estimate,
        json: args.spread.json,
    };
    let record = context.runtime.agent(parent).await?;
    let screen = Arc::new(Screen::of(context));
    let crew = crew(&context.config, &args.spread.limits, Path::new(&record.directory))?;
    let place = args.spread.place.placement();
    let fork = worker_of(parent, &args.worker, Inherit::Full, &crew.definitions)?;
    let fork = ForkSpec { at, place, ..fork };
    if args.spread.estimate.estimate && !fork.is_priced() {
        return Err(
            Failure::usage(ONLY_PLAIN).hint("leave out --context and --model, or --estimate")
        );
    }
    if fork.is_priced() && !go_ahead(context, before).await? {
        return Ok(None);
    }
    let model = fork.model.as_ref().map_or(&record.settings.model, |words| &words.model);
    borrow::reach(context, &record, model).await?;
    let confinement = of_workers(context, &args.spread.limits, (&record, &fork.place))?;
    tell_widened(&confinement.reach, (&record.reach, "each worker"));
    let directory = record.directory.clone();
    warn_of_gaps(&confinement, Path::new(&directory));
    let guarded = Guarded::new(context, &args.spread.limits, &screen, true)?;
    let terminal = context.terminal.as_ref();
    let cancel = terminal.map(|terminal| terminal.seams.cancel.clone()).unwrap_or_default();
    let setup = RunSetup {
        args: &args.spread.limits,
        directory: Path::new(&directory),
        turns: Some(WORKER_TURNS_DEFAULT),
        permissions: guarded.permissions.clone(),
        confinement: confinement.clone(),
        keep_warm: args.keep_warm,
        cancel: cancel.clone(),
        elsewhere: elsewhere(context, args.spread.place.on.as_ref()).await?,
    };
    let options = setup.options(&context.config)?;
    budget::change(context, parent, args.spread.limits.tree.changes()).await?;
    if fork.place != Placement::Shared {
        say_under_way(context.runtime.under_way(parent).await?);
        say_submodules(&context.runtime.submodules_left(parent).await?);
    }
    let open_calls = match fork.inherit {
        Inherit::Fresh => Vec::new(),
        _ => OpenCallShape::all(&context.runtime.running_calls(&record, at).await?),
    };
    OpenCallShape::say(&open_calls);
    let plan = asked(args.spread.plan);
    let mut shown = Shown {
        screen: Arc::clone(&screen),
        board: WorkerBoard::on(Arc::clone(&screen), args.directives.clone()),
        lines: CrewLines::on(Arc::clone(&screen)),
        explain: args.explain,
        tally: Tally::default(),
    };
    let spec = FanSpec { fork, directives: args.directives, plan };
    let fan = Box::pin(context.runtime.fan(spec, &options));
    let fanned = match terminal {
        // The terminal sees them by itself.
        Some(_) => fan.await,
        None => {
            let reader = guarded.asked.reader(&context.runtime, EventFilter::All);
            let fan = reader.during(fan, |heard| shown.heard(heard));
            interruptible(fan, &cancel, || screen.say(STOPPING)).await?
        }
    };
    screen.keep_block();
    let report = fanned?;
    let failed_calls = shown.tally.failed();
    let refused = guarded.asked.refused(&context.runtime, parent).await?;
    Ok(Some(Fanned { report, cancel, confinement, failed_calls, refused, open_calls }))
}

/// What no diff shows of what each worker left, for a worktree of which nothing is said looks as if it were as it had begun.
async fn unseen(context: &Context, report: &FanReport) -> Vec<Unseen> {
    let mut all = Vec::with_capacity(report.tasks.len());
    for task in &report.tasks {
        let found = match task.worktree {
            Some(_) => context.runtime.unseen(task.agent).await,
            None => None,
        };
        all.push(found.unwrap_or_default());
    }
    all
}

/// Shows the workers of a fan on a board, and those that they start in lines; keeps which calls of the former failed.
struct Shown {
    screen: Arc<Screen>,
    board: WorkerBoard,
    lines: CrewLines,
    /// Whether the plan's reason is told.
    explain: bool,
    tally: Tally,
}

impl Shown {
    fn heard(&mut self, heard: &Heard) {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Lagged(missed) => return self.screen.say(&missed_line(*missed)),
        };
        self.board.event(event);
        match &event.kind {
            EventKind::Fanned { plan, .. } if self.explain => {
                self.screen.say(&styled(DIM, &format!("plan: {}", one_line(&plan.reason))));
            }
            EventKind::Run(step) if self.board.has(event.agent) => self.tally.note(step),
            _ if !self.board.has(event.agent) => self.lines.event(event),
            _ => {}
        }
    }
}

/// Why the command fails when a cap of the tree ended all workers that did not complete.
async fn out_of_budget(context: &Context, report: &FanReport) -> Result<Option<Failure>, Failure> {
    let exhausted = Outcome::BudgetExhausted.as_str();
    let completed = report.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
    let ended = report.tasks.iter().filter(|task| task.outcome == exhausted).count();
    if ended == 0 || completed + ended < report.tasks.len() {
        return Ok(None);
    }
    let now_ms = context.runtime.ports().clock.now_ms();
    let row = context.runtime.budget(report.parent).await?;
    let reached = row.and_then(|row| row.spent(now_ms));
    Ok(reached.map(|reached| {
        output::say(&format!("{completed} of {} workers completed", report.tasks.len()));
        budget::ended(&reached, &report.parent.short())
            .hint("then `tine run --resume AGENT` goes on with one of them; `tine ps` lists them")
    }))
}

/// The exit code: 0 only when all workers completed, and none of their calls was refused for want of an answer. Where all that did not
/// complete ended in one way it is the code of that, as of a single run.
fn verdict(
    report: &FanReport,
    interrupted: bool,
    refused: &[Refusal],
    failed_calls: &[String],
) -> Result<u8, Failure> {
    let all = report.tasks.len();
    let rest: Vec<&FanTask> =
        report.tasks.iter().filter(|task| task.status != TaskStatus::Completed).collect();
    if rest.is_empty() {
        let again = "`tine task resume AGENT \"…\" --allow RULE` goes on with one of the workers";
        let failure = completed(refused, failed_calls).map(|failure| failure.hint(again));
        return failure.map_or(Ok(0), Err);
    }
    warn_of_refusals(refused);
    let completed = all - rest.len();
    let codes: BTreeSet<u8> =
        rest.iter().map(|task| code_of(&task.outcome, (task.agent, refused))).collect();
    let message = format!("{completed} of {all} workers completed");
    let (code, message) = match codes.first() {
        _ if interrupted => (INTERRUPTED, format!("interrupted; {message}")),
        Some(&code) if codes.len() == 1 && code != FAILED => {
            let how = EXIT_CODES.iter().find(|known| known.code == code);
            (code, format!("{message}; of the rest: {}", how.map_or("", |known| known.word)))
        }
        _ => (FAILED, message),
    };
    Err(Failure::coded(code, message)
        .hint("`tine run --resume AGENT` goes on with one of them; `tine ps` lists them"))
}

fn shape<'a>(fanned: &'a Fanned, unseen: &[Unseen]) -> FanShape<'a> {
    let Fanned { report, refused, open_calls, .. } = fanned;
    let tasks = report.tasks.iter().zip(unseen).map(|(task, unseen)| {
        let worktree = task.worktree.as_ref().map(|worktree| WorkShape::with(worktree, unseen));
        TaskShape { worktree, ..task_shape(task) }
    });
    FanShape {
        parent: report.parent.to_string(),
        fork_point: report.fork_point.map(|entry| entry.0),
        tasks: tasks.collect(),
        open_calls,
        denied: refused.iter().map(Denied::from).collect(),
        cache: cache_shape(&report.cache),
    }
}

pub(super) fn task_shape(task: &FanTask) -> TaskShape<'_> {
    TaskShape {
        agent: task.agent.to_string(),
        status: task.status.as_str(),
        outcome: &task.outcome,
        directive: &task.directive,
        report: task.report.as_ref().map(report_shape),
        error: task.error.as_deref(),
        usage: task.usage.into(),
        first_usage: task.requests.first().map(|first| UsageShape::from(first.usage)),
        turns: task.turns,
        tool_uses: task.tool_uses,
        duration_ms: task.duration_ms,
        flags: &task.flags,
        worktree: task.worktree.as_ref().map(WorkShape::from),
    }
}

fn report_shape(report: &Report) -> ReportShape<'_> {
    ReportShape {
        scope: report.scope.as_deref(),
        result: report.result.as_deref(),
        key_files: report.key_files.as_deref(),
        files_changed: report.files_changed.as_deref(),
        issues: report.issues.as_deref(),
        raw: &report.raw,
    }
}

pub(super) fn cache_shape(cache: &CacheReport) -> CacheShape<'_> {
    let reported = cache.first.read.is_some();
    CacheShape {
        launch: launch_word(cache.plan.launch),
        warmth: cache.plan.warmth.as_str(),
        reason: &cache.plan.reason,
        first: cache.first.into(),
        total: cache.total.into(),
        cost_usd: cache.cost.map(|cost| cost.actual),
        naive_usd: cache.cost.map(|cost| cost.naive),
        leader_first_usd: cache.cost.map(|cost| cost.leader_first),
        warm_usd: cache.cost.map(|cost| cost.warm),
        ideal_usd: cache.cost.map(|cost| cost.ideal),
        uncached_usd: cache.cost.map(|cost| cost.uncached),
        efficiency: cache.cost.filter(|_| reported).map(|cost| cost.efficiency()),
        priced_as: cache.priced_as.as_deref(),
        held: cache.held.as_ref().map(|held| HeldShape {
            name: &held.name,
            tokens: held.tokens,
            held_ms: held.held_ms,
            cost_usd: held.dollars(),
        }),
        forks: cache
            .forks
            .iter()
            .map(|cost| {
                cost.map(|cost| ForkCostShape {
                    cost_usd: cost.actual,
                    efficiency: reported.then(|| cost.efficiency()),
                })
            })
            .collect(),
    }
}

/// Each report, then what the cache did.
fn text(report: &FanReport, unseen: &[Unseen]) -> String {
    let all = report.tasks.len();
    let tasks = report.tasks.iter().zip(unseen).enumerate().map(|(index, (task, unseen))| {
        let head = format!("{}/{all} {}", index + 1, one_line(&task.directive));
        let told = match (&task.report, &task.error) {
            (Some(report), _) => harmless(report.raw.trim()),
            (None, Some(error)) => harmless(error),
            (None, None) => "It said nothing.".to_owned(),
        };
        let mut under = vec![facts(task)];
        under.extend(task.worktree.iter().flat_map(|worktree| work_lines(worktree, unseen)));
        let mut under: Vec<String> = under.iter().map(|line| styled(DIM, line)).collect();
        if !task.flags.is_empty() {
            under.push(styled(YELLOW, &format!("look at it: {}", flagged(&task.flags))));
        }
        format!("{}\n{}\n\n{told}\n\n", styled(BOLD, &head), under.join("\n"))
    });
    let mut text: String = tasks.collect();
    text.push_str(&cache_text(&report.cache));
    text
}

/// Where something is that no diff shows.
fn unseen_text(report: &FanReport, unseen: &[Unseen]) -> String {
    let found = report.tasks.iter().zip(unseen).filter(|(_, unseen)| !unseen.is_empty());
    let lines = found.flat_map(|(task, unseen)| {
        task.worktree.iter().flat_map(|worktree| work_lines(worktree, unseen))
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// What the cache did.
fn cache_text(cache: &CacheReport) -> String {
    let money = cache.cost.as_ref().map(|cost| money_lines(cost, cache));
    cache_table(cache) + money.as_deref().unwrap_or_default()
}

fn facts(task: &FanTask) -> String {
    let mut parts = vec![task.agent.short(), task.status.as_str().replace('_', " ")];
    if let (Some(error), true) = (&task.error, task.report.is_some()) {
        parts.push(one_line(error));
    }
    parts.push(plural(u64::from(task.turns), "turn"));
    if task.tool_uses > 0 {
        parts.push(plural(u64::from(task.tool_uses), "tool call"));
    }
    parts.push(span(u64::try_from(task.duration_ms).unwrap_or(0)));
    parts.join(" · ")
}

fn cache_table(cache: &CacheReport) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("TOKENS", Align::Left),
        ("WRITTEN", right),
        ("READ", right),
        ("UNCACHED", right),
        ("OUTPUT", right),
    ]);
    for (name, usage) in [("first turns", &cache.first), ("all turns", &cache.total)] {
        let known = |part: Option<u64>| part.map_or("?".to_owned(), grouped);
        let Usage { uncached, read, output, .. } = *usage;
        let reported = usage.write_short.is_some() || usage.write_long.is_some();
        let written = reported.then(|| usage.written());
        table.row([
            name.into(),
            known(written).into(),
            known(read).into(),
            grouped(uncached).into(),
            grouped(output).into(),
        ]);
    }
    table.to_text()
}

fn money_lines(cost: &FanCost, cache: &CacheReport) -> String {
    let at = cache.priced_as.as_deref().map(|model| format!(" at {model} prices"));
    let at = at.unwrap_or_default();
    let held = cache.held.as_ref().map(|held| {
        let tokens = held.tokens.map_or("its".to_owned(), grouped);
        let time = span(u64::try_from(held.held_ms).unwrap_or(0));
        format!(
            "of it {} for {tokens} tokens held by the provider for {time}\n",
            money(held.dollars())
        )
    });
    let held = held.unwrap_or_default();
    if cache.first.read.is_none() {
        let actual = styled(BOLD, &money(cost.actual));
        return format!(
            "at most {actual}{at}: the provider did not say what its cache served\n{held}"
        );
    }
    format!(
        "{}{at}, {:.0}% efficient\neach for itself {} · one first {} · all cached before {}\nbest possible {} · without a cache {}\n{held}",
        styled(BOLD, &money(cost.actual)),
        cost.efficiency() * 100.0,
        money(cost.naive),
        money(cost.leader_first),
        money(cost.warm),
        money(cost.ideal),
        money(cost.uncached)
    )
}
