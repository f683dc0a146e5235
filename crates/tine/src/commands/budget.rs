//! `tine budget`: what a tree may use, what it has used, and how to let it use more or less.

use serde::Serialize;
use tine_model::{AgentId, Cap, CapReached};
use tine_runtime::{BudgetRow, CostLine};

use crate::budget::{CAPS, amount, change, usd, used_up};
use crate::cli::BudgetArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::fail::raise;
use crate::output;
use crate::render::table::{Align, Table};
use tine_tui::age::rfc3339;
use tine_tui::figures::{money, plural};

/// The JSON shape of a budget. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct BudgetJson {
    agent: String,
    /// Whose tree it is; `null` where it has no budget, and then nothing below is of interest but the sums.
    root: Option<String>,
    caps: Option<CapsJson>,
    /// The cap that holds requests back now.
    reached: Option<ReachedJson>,
    /// Of the agent alone, and with all its forks.
    own: SumJson,
    subtree: SumJson,
}

/// `null` is no cap. Money in USD.
#[derive(Serialize)]
pub(super) struct CapsJson {
    tokens: CapJson<u64>,
    usd: CapJson<f64>,
    time_ms: CapJson<u64>,
    agents: CapJson<u64>,
    running: CapJson<u64>,
    /// Requests under way.
    requests: u64,
    /// Workers that wait in line.
    waiting: u64,
    /// Requests that cost nobody knows what.
    unpriced: u64,
    started_at: String,
}

#[derive(Serialize)]
struct CapJson<T> {
    most: Option<T>,
    used: T,
    reserved: T,
    left: Option<T>,
}

#[derive(Serialize)]
struct ReachedJson {
    /// `tokens`, `usd` or `time`.
    cap: &'static str,
}

#[derive(Serialize)]
struct SumJson {
    tokens: u64,
    /// As far as prices are known.
    cost_usd: f64,
}

pub(crate) async fn budget(context: &Context, args: BudgetArgs) -> Result<u8, Failure> {
    // What the dead had reserved is free again.
    listing::recover(context).await?;
    let agent = context.agent(&args.agent).await?;
    change(context, agent, args.changes()).await?;
    let now_ms = context.runtime.ports().clock.now_ms();
    let row = context.runtime.budget(agent).await?;
    let report = context.runtime.cost(agent).await?;
    let (own, subtree) = (sum(&report.own), sum(&report.subtree));
    if args.json {
        output::json(&BudgetJson {
            agent: agent.to_string(),
            root: row.as_ref().map(|row| row.root.to_string()),
            caps: row.as_ref().map(|row| caps_json(row, now_ms)),
            reached: row.as_ref().and_then(|row| row.spent(now_ms)).map(reached_json),
            own,
            subtree,
        })?;
        return Ok(0);
    }
    let Some(row) = row else {
        output::say(&format!("the tree of agent {} has no budget", agent.short()));
        output::say(&format!("hint: {} gives it one", raise(Cap::Tokens, &agent.short())));
        return Ok(0);
    };
    output::write_out(&text(&row, agent, (&own, &subtree), now_ms))?;
    Ok(0)
}

fn text(
    row: &BudgetRow,
    agent: AgentId,
    (own, subtree): (&SumJson, &SumJson),
    now_ms: i64,
) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("BUDGET", Left),
        ("USED", Right),
        ("RESERVED", Right),
        ("LEFT", Right),
        ("MOST", Right),
    ]);
    for cap in CAPS {
        let (used, reserved) = (row.used(cap, now_ms), row.reserved(cap));
        let most = row.caps.get(cap);
        let is_kept = most.is_some() || cap != Cap::Time;
        table.row([
            cap.as_str().into(),
            if is_kept { amount(cap, used) } else { "-".to_owned() }.into(),
            if reserved > 0 { amount(cap, reserved) } else { "-".to_owned() }.into(),
            most.map_or("-".to_owned(), |most| amount(cap, most.saturating_sub(used))).into(),
            most.map_or("none".to_owned(), |most| amount(cap, most)).into(),
        ]);
    }
    let mut lines = vec![table.to_text()];
    let spent = |sum: &SumJson| format!("{}, {}", plural(sum.tokens, "token"), money(sum.cost_usd));
    let id = agent.short();
    lines.push(format!("agent {id}: {}; with its forks: {}", spent(own), spent(subtree)));
    if row.waiting > 0 {
        lines.push(format!("{} in line", plural(row.waiting, "worker")));
    }
    if row.unpriced > 0 {
        lines.push(format!("{} without a known price", plural(row.unpriced, "request")));
    }
    if let Some(reached) = row.spent(now_ms) {
        let how = raise(reached.cap, &id);
        lines.push(format!("used up: {}; {how} lets it go on", used_up(&reached)));
    }
    lines.join("\n") + "\n"
}

fn sum(lines: &[CostLine]) -> SumJson {
    SumJson {
        tokens: lines.iter().map(|line| line.usage.prompt() + line.usage.output).sum(),
        // The sum of no floats is minus zero.
        cost_usd: lines.iter().fold(0.0, |sum, line| sum + line.dollars.unwrap_or(0.0)),
    }
}

fn reached_json(reached: CapReached) -> ReachedJson {
    ReachedJson { cap: reached.cap.as_str() }
}

/// The budget as others show it.
pub(super) fn caps_json(row: &BudgetRow, now_ms: i64) -> CapsJson {
    let whole = |cap: Cap| {
        let (most, used) = (row.caps.get(cap), row.used(cap, now_ms));
        let left = most.map(|most| most.saturating_sub(used));
        CapJson { most, used, reserved: row.reserved(cap), left }
    };
    let CapJson { most, used, reserved, left } = whole(Cap::Money);
    let (used, reserved) = (usd(used), usd(reserved));
    CapsJson {
        tokens: whole(Cap::Tokens),
        usd: CapJson { most: most.map(usd), used, reserved, left: left.map(usd) },
        time_ms: whole(Cap::Time),
        agents: whole(Cap::Agents),
        running: whole(Cap::Running),
        requests: row.requests,
        waiting: row.waiting,
        unpriced: row.unpriced,
        started_at: rfc3339(row.started_ms),
    }
}
