//! What became of a fan: each worker's task, and what the cache did for all of them.

use tine_cache::{FanCost, Plan, Sibling, fan_cost, fork_costs};
use tine_fork::run::RunReport;
use tine_fork::worker::Report;
use tine_model::{AgentId, AgentRecord, EntryId, Outcome, Spent, TaskStatus, TaskWorktree, Usage};

use crate::cached_content::HeldCost;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

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
    /// Each of its requests, in order.
    pub requests: Vec<Spent>,
    /// Requests to the model.
    pub turns: u32,
    /// Tool calls that it made.
    pub tool_uses: u32,
    /// What the checks of its end have seen, in their words ([`Check`](tine_fork::stray::Check)).
    pub flags: Vec<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// The worktree that it worked in, where that is its own and still there.
    pub worktree: Option<TaskWorktree>,
}

/// What the cache did for a fan.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheReport {
    /// How the workers started, and why.
    pub plan: Plan,
    /// Tokens of all first requests together: what forking itself cost.
    pub first: Usage,
    /// Tokens of all requests.
    pub total: Usage,
    /// The model that the money is counted by.
    pub priced_as: Option<String>,
    /// Money; `None` for a model without a known price, and when no worker was answered.
    pub cost: Option<FanCost>,
    /// What the provider's resource cost that held the prefix, where there was one. Part of [`FanCost::actual`] of
    /// [`Self::cost`] and of nothing else here.
    pub held: Option<HeldCost>,
    /// The same for each worker, in the order of the tasks; `None` for one that was not answered.
    pub forks: Vec<Option<FanCost>>,
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

/// The end of a worker's run. Where every call was denied nothing was done, whatever the worker says of it.
pub(crate) fn ended(agent: AgentId, directive: &str, report: &RunReport) -> FanTask {
    let task = as_told(agent, directive, report);
    match report.denials.of_all() {
        Some(why) if task.status == TaskStatus::Completed => FanTask {
            status: TaskStatus::Failed,
            outcome: "failed".to_owned(),
            error: Some(format!("every call was refused: {why}")),
            ..task
        },
        _ => task,
    }
}

pub(crate) fn as_told(agent: AgentId, directive: &str, report: &RunReport) -> FanTask {
    let error = match &report.outcome {
        Outcome::Completed => None,
        Outcome::Failed(why) => Some(why.clone()),
        // Whoever was asked to stop says so instead.
        Outcome::Aborted => Some("interrupted; the task can be resumed".to_owned()),
        other => {
            let why = || other.as_str().replace('_', " ");
            Some(
                report
                    .reached
                    .map_or_else(why, |reached| format!("the budget of the tree: {reached}")),
            )
        }
    };
    FanTask {
        agent,
        directive: directive.to_owned(),
        status: match report.outcome {
            Outcome::Completed => TaskStatus::Completed,
            Outcome::Aborted => TaskStatus::Interrupted,
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
        requests: report.requests.clone(),
        turns: report.turns,
        tool_uses: report.tool_uses,
        flags: Vec::new(),
        duration_ms: 0,
        worktree: None,
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
        requests: Vec::new(),
        turns: 0,
        tool_uses: 0,
        flags: Vec::new(),
        duration_ms: 0,
        worktree: None,
    }
}

impl Runtime {
    pub(crate) fn cache_report(
        &self,
        parent: &AgentRecord,
        plan: Plan,
        tasks: &[FanTask],
        held: Option<HeldCost>,
    ) -> CacheReport {
        let (mut first, mut total) = (Usage::default(), Usage::default());
        for task in tasks {
            first += task.requests.first().copied().unwrap_or_default().usage;
            total += task.usage;
        }
        let model = parent.settings.model.to_string();
        let models = &self.ports().facts;
        let prices = models.facts(&model).prices;
        let starts = tasks.iter().filter_map(|task| task.requests.first());
        let began_ms = starts.map(|first| first.started_ms).min();
        let price = began_ms.and_then(|began_ms| prices.at(began_ms));
        let siblings: Vec<Option<Sibling>> =
            tasks.iter().map(|task| Sibling::priced(&prices, &task.requests)).collect();
        let answered: Vec<Sibling> = siblings.iter().flatten().copied().collect();
        let priced = price.as_ref().filter(|_| !answered.is_empty());
        let costs = priced.map_or_else(Vec::new, |price| fork_costs(price, &answered));
        let mut costs = costs.into_iter();
        CacheReport {
            plan,
            first,
            total,
            priced_as: models.priced_as(&model).map(str::to_owned),
            cost: priced.map(|price| {
                let cost = fan_cost(price, &answered);
                let held = held.as_ref().map_or(0.0, HeldCost::dollars);
                FanCost { actual: cost.actual + held, ..cost }
            }),
            held,
            forks: siblings.iter().map(|sibling| sibling.and_then(|_| costs.next())).collect(),
        }
    }
}
