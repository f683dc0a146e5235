//! What became of a fan: each worker's task, and what the cache did for all of them.

use tine_cache::{FanCost, Launch, Prices, fan_cost};
use tine_fork::{Report, RunReport};
use tine_model::{AgentId, AgentRecord, EntryId, Outcome, TaskStatus, Usage};

use crate::error::RuntimeError;

/// One worker's task, ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FanTask {
    /// The worker.
    pub agent: AgentId,
    /// What it was told.
    pub directive: String,
    /// What became of it.
    pub status: TaskStatus,
    /// How its run ended, in a word.
    pub outcome: String,
    /// Its report.
    pub report: Option<Report>,
    /// Why it did not complete.
    pub error: Option<String>,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// Tokens of its first request.
    pub first_usage: Option<Usage>,
    /// Requests to the model.
    pub turns: u32,
    /// Tool calls that it made.
    pub tool_uses: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

/// What the cache did for a fan.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheReport {
    /// How the workers started.
    pub launch: Launch,
    /// Tokens of all first requests together: what forking itself cost.
    pub first: Usage,
    /// Tokens of all requests.
    pub total: Usage,
    /// The model that the money is counted by.
    pub priced_as: Option<String>,
    /// Money; `None` for a model without a known price, and when no worker was answered.
    pub cost: Option<FanCost>,
}

/// A fan that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct FanReport {
    /// Whose workers they were.
    pub parent: AgentId,
    /// The fork point that they share.
    pub fork_point: Option<EntryId>,
    /// The workers, in the order of their directives.
    pub tasks: Vec<FanTask>,
    /// What the cache did.
    pub cache: CacheReport,
}

pub(crate) fn ended(agent: AgentId, directive: &str, report: &RunReport) -> FanTask {
    let error = match &report.outcome {
        Outcome::Completed => None,
        Outcome::Failed(why) => Some(why.clone()),
        other => Some(other.as_str().replace('_', " ")),
    };
    FanTask {
        agent,
        directive: directive.to_owned(),
        status: match report.outcome {
            Outcome::Completed => TaskStatus::Completed,
            Outcome::Aborted => TaskStatus::Cancelled,
            Outcome::TimedOut => TaskStatus::TimedOut,
            Outcome::TurnLimit
            | Outcome::LengthCut
            | Outcome::Refused
            | Outcome::BudgetExhausted
            | Outcome::Failed(_) => TaskStatus::Failed,
        },
        outcome: report.outcome.as_str().to_owned(),
        report: report.final_text().map(|text| Report::parse(&text)),
        error,
        usage: report.usage,
        first_usage: report.first_usage,
        turns: report.turns,
        tool_uses: report.tool_uses,
        duration_ms: 0,
    }
}

pub(crate) fn failed(agent: AgentId, directive: &str, error: &RuntimeError) -> FanTask {
    FanTask {
        agent,
        directive: directive.to_owned(),
        status: TaskStatus::Failed,
        outcome: "failed".to_owned(),
        report: None,
        error: Some(error.to_string()),
        usage: Usage::default(),
        first_usage: None,
        turns: 0,
        tool_uses: 0,
        duration_ms: 0,
    }
}

pub(crate) fn cache_report(parent: &AgentRecord, launch: Launch, tasks: &[FanTask]) -> CacheReport {
    let (mut first, mut total) = (Usage::default(), Usage::default());
    for task in tasks {
        first += task.first_usage.unwrap_or_default();
        total += task.usage;
    }
    let prices = Prices::bundled();
    let model = parent.settings.model.to_string();
    let siblings: Vec<(Usage, Usage)> =
        tasks.iter().filter_map(|task| task.first_usage.map(|first| (first, task.usage))).collect();
    CacheReport {
        launch,
        first,
        total,
        priced_as: prices.priced_as(&model).map(str::to_owned),
        cost: prices
            .of(&model)
            .filter(|_| !siblings.is_empty())
            .map(|price| fan_cost(price, &siblings)),
    }
}
