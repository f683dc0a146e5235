//! `tine cost`: what agents cost, by model, and what the cache saved.

use serde::Serialize;
use tine_model::{AgentId, AgentRecord, Usage};
use tine_runtime::{AgentFilter, BudgetRow, CauseLine, CostLine, CostReport};

use crate::budget::in_a_line;
use crate::cli::CostArgs;
use crate::commands::budget::{CapsJson, caps_json};
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::json::UsageShape;
use crate::render::table::{Align, Table};
use tine_tui::figures::{grouped, money, plural};
use tine_tui::words::one_line;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The JSON shape of costs. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct CostJson<'a> {
    agents: Vec<AgentCostJson<'a>>,
    /// Everything in `subtree` of all agents.
    total: SumJson,
    prices_date: &'a str,
}

#[derive(Serialize)]
struct AgentCostJson<'a> {
    agent: String,
    name: Option<&'a str>,
    own: Vec<LineJson<'a>>,
    /// Of the agent's whole tree; as `caps` of `tine budget --json`.
    budget: Option<CapsJson>,
    subtree: Vec<LineJson<'a>>,
    /// Why the cache did not serve more, over the subtree.
    causes: Vec<CauseJson<'a>>,
}

#[derive(Serialize)]
struct CauseJson<'a> {
    /// A verdict's word, as in `tine cache explain --json`.
    cause: &'a str,
    requests: u64,
    /// Tokens that should have been read and were not.
    missed_tokens: u64,
    /// What that cost over reading them; `null` when no price is known, or nothing was missed.
    missed_usd: Option<f64>,
}

#[derive(Serialize)]
struct LineJson<'a> {
    model: &'a str,
    /// The model whose prices stand in; requests to the simulator themselves cost nothing.
    priced_as: Option<&'a str>,
    requests: u64,
    /// Requests of which the provider reported no usage: what they cost is in no sum.
    unreported: u64,
    usage: UsageShape,
    /// Share of the prompts that the cache served; `null` when it was not reported.
    hit_ratio: Option<f64>,
    /// `null` for a model without a known price.
    cost_usd: Option<f64>,
    /// Had nothing been cached at all.
    uncached_usd: Option<f64>,
}

#[derive(Serialize)]
struct SumJson {
    requests: u64,
    usage: UsageShape,
    hit_ratio: Option<f64>,
    /// Over the lines with a known price.
    cost_usd: f64,
    uncached_usd: f64,
    /// Whether every line has a known price, and every request its usage.
    complete: bool,
}

/// Lines added up.
struct Sum {
    requests: u64,
    usage: Usage,
    dollars: f64,
    dollars_uncached: f64,
    complete: bool,
}

/// An agent and what it cost.
struct Costs {
    record: AgentRecord,
    report: CostReport,
    budget: Option<BudgetRow>,
}

pub(crate) async fn cost(context: &Context, args: CostArgs) -> Result<u8, Failure> {
    let one = match &args.agent {
        Some(agent) => Some(context.agent(agent).await?),
        None => None,
    };
    let now_ms = context.runtime.ports().clock.now_ms();
    let since_ms = if args.today { now_ms - now_ms.rem_euclid(DAY_MS) } else { i64::MIN };
    let mut costs = Vec::new();
    for record in asked(context, one).await? {
        let report = context.runtime.cost_since(record.id, since_ms).await?;
        if one.is_some() || !report.subtree.is_empty() {
            let budget = context.runtime.budget(record.id).await?;
            costs.push(Costs { record, report, budget });
        }
    }
    let Some(prices_date) = costs.first().map(|costs| costs.report.prices_date.clone()) else {
        return nothing(context, args.json).await;
    };
    let lines = || costs.iter().flat_map(|costs| &costs.report.subtree);
    if args.json {
        let agents = costs.iter().map(|costs| agent_json(costs, now_ms)).collect();
        output::json(&CostJson {
            agents,
            total: sum_json(&sum(lines())),
            prices_date: &prices_date,
        })?;
    } else {
        let table = if one.is_some() { one_table(&costs) } else { all_table(&costs) };
        let causes = causes_table(&costs);
        let notes = notes(lines(), &prices_date);
        let table = table.to_text_within(output::stdout_columns());
        let budgets = budgets(&costs, now_ms);
        output::write_out(&format!("{table}\n{causes}{budgets}{notes}"))?;
    }
    Ok(0)
}

/// One agent, or every root: the money of the dead was spent too.
async fn asked(context: &Context, one: Option<AgentId>) -> Result<Vec<AgentRecord>, Failure> {
    let runtime = &context.runtime;
    if let Some(agent) = one {
        return Ok(vec![runtime.agent(agent).await?]);
    }
    let mut agents = runtime.agents(AgentFilter::All).await?;
    agents.retain(|record| record.parent.is_none());
    Ok(agents)
}

async fn nothing(context: &Context, json: bool) -> Result<u8, Failure> {
    if json {
        let prices_date = context.runtime.ports().facts.date().to_owned();
        let total = sum_json(&sum(std::iter::empty()));
        output::json(&CostJson { agents: Vec::new(), total, prices_date: &prices_date })?;
    } else if context.runtime.agents(AgentFilter::All).await?.is_empty() {
        listing::say_empty(context).await?;
    } else {
        output::say("no requests yet");
    }
    Ok(0)
}

fn one_table(costs: &[Costs]) -> Table {
    let mut table = cost_table("SCOPE");
    for costs in costs {
        let report = &costs.report;
        rows(&mut table, "own", &report.own);
        if report.subtree != report.own {
            rows(&mut table, "with its forks", &report.subtree);
        }
        if report.own.is_empty() && report.subtree.is_empty() {
            rows(&mut table, "own", &[nothing_asked(&costs.record)]);
        }
    }
    table
}

fn all_table(costs: &[Costs]) -> Table {
    let mut table = cost_table("TREE");
    for costs in costs {
        let name = costs.record.name.as_deref().map(one_line).unwrap_or_default();
        let tree = format!("{} {name}", costs.record.id.short());
        rows(&mut table, tree.trim_end(), &costs.report.subtree);
    }
    let sum = sum(costs.iter().flat_map(|costs| &costs.report.subtree));
    let known = |dollars| {
        let text = money(dollars);
        if sum.complete { text } else { format!("{text} + unknown") }
    };
    table.row([
        "all".into(),
        "".into(),
        grouped(sum.requests).into(),
        grouped(sum.usage.uncached).into(),
        reported(written(&sum.usage)).into(),
        reported(sum.usage.read).into(),
        grouped(sum.usage.output).into(),
        percent(sum.usage.hit_ratio()).into(),
        known(sum.dollars).into(),
        known(sum.dollars_uncached).into(),
    ]);
    table
}

fn cost_table(first: &'static str) -> Table {
    use Align::{Left, Right};
    Table::new(&[
        (first, Left),
        ("MODEL", Left),
        ("REQUESTS", Right),
        ("UNCACHED", Right),
        ("WRITTEN", Right),
        ("READ", Right),
        ("OUTPUT", Right),
        ("HIT", Right),
        ("COST", Right),
        ("WITHOUT CACHE", Right),
    ])
}

fn rows(table: &mut Table, scope: &str, lines: &[CostLine]) {
    let price = |dollars: Option<f64>| dollars.map_or("unknown price".to_owned(), money);
    for (at, line) in lines.iter().enumerate() {
        let usage = &line.usage;
        table.row([
            if at == 0 { scope } else { "" }.into(),
            one_line(&line.model).into(),
            grouped(line.requests).into(),
            grouped(usage.uncached).into(),
            reported(written(usage)).into(),
            reported(usage.read).into(),
            grouped(usage.output).into(),
            percent(usage.hit_ratio()).into(),
            price(line.dollars).into(),
            price(line.dollars_uncached).into(),
        ]);
    }
}

/// The line of an agent that has sent nothing yet.
fn nothing_asked(record: &AgentRecord) -> CostLine {
    CostLine {
        model: record.settings.model.to_string(),
        priced_as: None,
        requests: 0,
        unreported: 0,
        usage: Usage::default(),
        dollars: Some(0.0),
        dollars_uncached: Some(0.0),
    }
}

/// What a reader of the table has to know about its prices.
fn notes<'a>(lines: impl Iterator<Item = &'a CostLine>, prices_date: &str) -> String {
    let mut notes = vec![format!("prices in USD, as of {prices_date}")];
    for line in lines {
        let model = one_line(&line.model);
        let note = match (&line.priced_as, line.dollars) {
            (Some(other), _) if is_simulated(&line.model) => {
                format!("{model}: at {other} prices; the simulator itself costs nothing")
            }
            (Some(other), _) => format!("{model}: at {other} prices"),
            (None, None) => format!("{model}: its price is unknown and not part of any sum"),
            (None, Some(_)) => String::new(),
        };
        let silent = match line.unreported {
            0 => String::new(),
            count => format!(
                "{model}: the provider reported no usage of {}; what they cost is not part of any sum",
                plural(count, "request")
            ),
        };
        for note in [note, silent] {
            if !note.is_empty() && !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes.iter().map(|note| format!("{note}\n")).collect()
}

fn is_simulated(model: &str) -> bool {
    model.starts_with("sim/")
}

/// What trees with a budget have used of it.
fn budgets(costs: &[Costs], now_ms: i64) -> String {
    let line = |row: &BudgetRow| {
        format!("budget of tree {}: {}\n", row.root.short(), in_a_line(row, now_ms))
    };
    costs.iter().filter_map(|costs| costs.budget.as_ref()).map(line).collect()
}

fn agent_json(costs: &Costs, now_ms: i64) -> AgentCostJson<'_> {
    AgentCostJson {
        agent: costs.record.id.to_string(),
        name: costs.record.name.as_deref(),
        budget: costs.budget.as_ref().map(|row| caps_json(row, now_ms)),
        own: costs.report.own.iter().map(line_json).collect(),
        subtree: costs.report.subtree.iter().map(line_json).collect(),
        causes: costs.report.causes.iter().map(cause_json).collect(),
    }
}

fn cause_json(line: &CauseLine) -> CauseJson<'_> {
    CauseJson {
        cause: &line.cause,
        requests: line.requests,
        missed_tokens: line.tokens,
        missed_usd: line.dollars,
    }
}

/// Why the cache did not serve more, the dearest cause first; nothing when it served everything.
fn causes_table(costs: &[Costs]) -> String {
    use Align::{Left, Right};
    let mut sums: Vec<CauseLine> = Vec::new();
    for line in costs.iter().flat_map(|costs| &costs.report.causes) {
        match sums.iter_mut().find(|sum| sum.cause == line.cause) {
            None => sums.push(line.clone()),
            Some(sum) => {
                sum.requests += line.requests;
                sum.tokens += line.tokens;
                sum.dollars = match (sum.dollars, line.dollars) {
                    (None, None) => None,
                    (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
                };
            }
        }
    }
    if sums.is_empty() {
        return String::new();
    }
    sums.sort_by(|a, b| b.dollars.unwrap_or(0.0).total_cmp(&a.dollars.unwrap_or(0.0)));
    let mut table = Table::new(&[
        ("NOT READ BECAUSE", Left),
        ("REQUESTS", Right),
        ("TOKENS", Right),
        ("COST OF IT", Right),
    ]);
    for sum in sums {
        table.row([
            cause_words(&sum.cause).into(),
            grouped(sum.requests).into(),
            if sum.tokens > 0 { grouped(sum.tokens) } else { "-".to_owned() }.into(),
            sum.dollars.map_or("-".to_owned(), money).into(),
        ]);
    }
    format!("{}\n", table.to_text())
}

fn cause_words(cause: &str) -> String {
    match cause {
        "cold" => "nothing was there yet (cold)".to_owned(),
        "expired" => "it had expired".to_owned(),
        "race" => "still being written, or not served (race)".to_owned(),
        "diverged" => "the conversation differed (diverged)".to_owned(),
        "settings_changed" => "a setting differed".to_owned(),
        "below_minimum" => "it was too short to be kept".to_owned(),
        "marker_misplaced" => "no mark led to it".to_owned(),
        "unreliable" => "the provider did not serve it".to_owned(),
        "unknown" => "the provider did not say".to_owned(),
        other => one_line(other),
    }
}

fn line_json(line: &CostLine) -> LineJson<'_> {
    LineJson {
        model: &line.model,
        priced_as: line.priced_as.as_deref(),
        requests: line.requests,
        unreported: line.unreported,
        usage: line.usage.into(),
        hit_ratio: line.usage.hit_ratio(),
        cost_usd: line.dollars,
        uncached_usd: line.dollars_uncached,
    }
}

fn sum<'a>(lines: impl Iterator<Item = &'a CostLine>) -> Sum {
    let (usage, requests) = (Usage::default(), 0);
    let mut sum = Sum { requests, usage, dollars: 0.0, dollars_uncached: 0.0, complete: true };
    for line in lines {
        sum.usage += line.usage;
        sum.requests += line.requests;
        sum.dollars += line.dollars.unwrap_or(0.0);
        sum.dollars_uncached += line.dollars_uncached.unwrap_or(0.0);
        sum.complete &= line.dollars.is_some() && line.unreported == 0;
    }
    sum
}

fn sum_json(sum: &Sum) -> SumJson {
    SumJson {
        requests: sum.requests,
        usage: sum.usage.into(),
        hit_ratio: sum.usage.hit_ratio(),
        cost_usd: sum.dollars,
        uncached_usd: sum.dollars_uncached,
        complete: sum.complete,
    }
}

/// Tokens written to the cache; `None` when no provider reported any.
fn written(usage: &Usage) -> Option<u64> {
    usage.write_short.or(usage.write_long).map(|_| usage.written())
}

/// A count, or a dash for what no provider reported.
fn reported(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), grouped)
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.1}%", ratio * 100.0))
}
