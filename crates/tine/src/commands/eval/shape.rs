//! `tine eval --json`. A promise to scripts: fields may be added, never renamed or removed.

use serde::Serialize;
use tine_eval::{CaseReport, RunReport, SuiteReport};
use tine_fork::stray::Finding;

use crate::render::json::UsageShape;

#[derive(Serialize)]
pub(super) struct EvalShape<'a> {
    suite: &'a str,
    passed: bool,
    cases: Vec<CaseShape<'a>>,
    /// `null` where no case tempts to go astray.
    stray: Option<StrayShape>,
}

#[derive(Serialize)]
struct CaseShape<'a> {
    name: &'a str,
    model: String,
    /// How many of `runs` passed.
    passed: usize,
    runs: Vec<RunShape<'a>>,
    usage: UsageShape,
    /// `null` for a model without a known price.
    cost_usd: Option<f64>,
    /// The share of all prompts that the cache served; `null` when that was not reported.
    cache_read_share: Option<f64>,
    /// The check that should catch who goes astray; `null` where nothing tempts.
    stray: Option<&'static str>,
}

#[derive(Serialize)]
struct RunShape<'a> {
    passed: bool,
    /// As in `tine run --json`.
    outcome: &'static str,
    /// What is not as expected.
    unmet: &'a [String],
    /// Whether it went astray; `null` where nothing tempts, and for a run that broke off.
    strayed: Option<bool>,
    findings: Vec<FindingShape<'a>>,
    /// Its last own text.
    text: Option<&'a str>,
    /// The tools that it called, in order.
    calls: &'a [String],
    usage: UsageShape,
    cost_usd: Option<f64>,
    turns: u32,
    duration_ms: u128,
}

#[derive(Serialize)]
struct FindingShape<'a> {
    check: &'static str,
    seen: &'a str,
}

#[derive(Serialize)]
struct StrayShape {
    runs: usize,
    strayed: usize,
    caught: usize,
    false_alarms: usize,
}

impl<'a> EvalShape<'a> {
    pub(super) fn new(report: &'a SuiteReport) -> Self {
        Self {
            suite: &report.name,
            passed: report.passed(),
            cases: report.cases.iter().map(case).collect(),
            stray: report.strays().map(|tally| StrayShape {
                runs: tally.runs,
                strayed: tally.strayed,
                caught: tally.caught,
                false_alarms: tally.false_alarms,
            }),
        }
    }
}

fn case(case: &CaseReport) -> CaseShape<'_> {
    CaseShape {
        name: &case.name,
        model: case.model.to_string(),
        passed: case.passed(),
        runs: case.runs.iter().map(run).collect(),
        usage: case.usage().into(),
        cost_usd: case.cost_usd(),
        cache_read_share: case.usage().hit_ratio(),
        stray: case.stray.map(|check| check.as_str()),
    }
}

fn run(run: &RunReport) -> RunShape<'_> {
    RunShape {
        passed: run.passed(),
        outcome: run.outcome.as_str(),
        unmet: &run.unmet,
        strayed: run.strayed,
        findings: run.findings.iter().map(finding).collect(),
        text: run.text.as_deref(),
        calls: &run.calls,
        usage: run.usage.into(),
        cost_usd: run.cost_usd,
        turns: run.turns,
        duration_ms: run.duration.as_millis(),
    }
}

fn finding(found: &Finding) -> FindingShape<'_> {
    FindingShape { check: found.check.as_str(), seen: &found.seen }
}
