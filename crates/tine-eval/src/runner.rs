//! Runs a suite: each case so often, so many at a time, in the order of the suite.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use tine_fork::away::away_directive;
use tine_fork::dream::{ToldSession, dream_directive};
use tine_fork::stray::{Evidence, examine};
use tine_fork::worker::{Inherits, worker_directive};
use tine_fork::{
    CacheSafeParams, DefaultForkSubagent, ForkParams, ForkResult, ForkSubagent, ParentContext,
    ParentRequest, QuerySource,
};
use tine_llm::LlmClient;
use tine_model::{ModelRef, ModelSettings, Outcome, in_full};
use tine_wire::{HeadParts, Lifetimes};
use tokio_util::sync::CancellationToken;

use crate::judge::unmet;
use crate::report::{CaseReport, RunReport, SuiteReport};
use crate::suite::{Case, Directive, Suite};
use crate::tools::{CaseTools, MEMORY, declarations};
use crate::work::STAND_IN;

/// Runs at the same time unless the caller says otherwise: enough to hide a provider's latency, few enough for its rate limits.
pub const JOBS_DEFAULT: usize = 4;

/// Who answers a case.
#[derive(Clone)]
pub struct Client {
    /// The model's name: it decides the format, and the price.
    pub model: ModelRef,
    /// What answers its requests.
    pub llm: Arc<dyn LlmClient>,
    /// Whose account pays; see [`ParentContext::account`].
    pub account: Arc<str>,
}

/// How a suite is run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How often each case, in place of what the suite says.
    pub repeat: Option<u32>,
    /// Most runs at the same time; at least one.
    pub jobs: usize,
    /// Stops everything. Runs that had not begun are not begun, and count as aborted.
    pub cancel: CancellationToken,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { repeat: None, jobs: JOBS_DEFAULT, cancel: CancellationToken::new() }
    }
}

/// One run has ended.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The case.
    pub case: &'a str,
    /// What became of the run.
    pub run: &'a RunReport,
    /// How many runs have ended, this one too.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

/// Runs suites.
#[derive(Clone)]
pub struct Runner {
    /// Makes the forks; time, ids and prices are its own.
    pub forks: DefaultForkSubagent,
    /// How.
    pub options: RunOptions,
}

impl Runner {
    /// Runs every case of a suite; `clients` are one for each case, in order. `on_progress` is called whenever a run has ended,
    /// by whichever task that is.
    pub async fn run(
        &self,
        suite: &Suite,
        clients: &[Client],
        on_progress: &(dyn Fn(&Progress<'_>) + Send + Sync),
    ) -> SuiteReport {
        let cases: Vec<(&Case, &Client)> = suite.cases.iter().zip(clients).collect();
        let times = |case: &Case| self.options.repeat.unwrap_or(case.repeat) as usize;
        let total = cases.iter().map(|(case, _)| times(case)).sum();
        let (done, jobs) = (AtomicUsize::new(0), self.options.jobs.max(1));
        let runs =
            cases.iter().flat_map(|(case, client)| (0..times(case)).map(move |_| (*case, *client)));
        // Collected first: a stream over a lazy iterator would borrow it in a way that `Send` cannot follow.
        let runs: Vec<_> = runs
            .map(|(case, client)| {
                let done = &done;
                async move {
                    let run = self.once(case, client).await;
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    on_progress(&Progress { case: &case.name, run: &run, done, total });
                    run
                }
            })
            .collect();
        let mut runs = stream::iter(runs).buffered(jobs).collect::<Vec<_>>().await.into_iter();
        let report = |(case, client): &(&Case, &Client)| CaseReport {
            name: case.name.clone(),
            model: client.model.clone(),
            stray: case.stray,
            runs: runs.by_ref().take(times(case)).collect(),
        };
        SuiteReport { name: suite.name.clone(), cases: cases.iter().map(report).collect() }
    }

    /// One run, in a copy of its own.
    async fn once(&self, case: &Case, client: &Client) -> RunReport {
        if self.options.cancel.is_cancelled() {
            let run = RunReport::failed("it was not begun: the evaluation was stopped".to_owned());
            return RunReport { outcome: Outcome::Aborted, ..run };
        }
        let owned = case.clone();
        let tools = tokio::task::spawn_blocking(move || CaseTools::make(&owned)).await;
        let (tools, copy) = match tools {
            Ok(Ok((tools, copy))) => (Arc::new(tools), copy),
            Ok(Err(error)) => return RunReport::failed(in_full(&error)),
            Err(error) => return RunReport::failed(in_full(&error)),
        };
        let result = match self.fork(case, client, &tools).await {
            Ok(result) => result,
            Err(error) => return RunReport::failed(in_full(&*error)),
        };
        let expect = case.expect.clone();
        let files = tokio::task::spawn_blocking(move || tools.work.unmet(&expect)).await;
        let files = files.unwrap_or_else(|error| vec![error.to_string()]);
        drop(copy);
        judged(case, result, files)
    }

    async fn fork(
        &self,
        case: &Case,
        client: &Client,
        tools: &Arc<CaseTools>,
    ) -> Result<ForkResult, Box<dyn Error + Send + Sync>> {
        let settings = ModelSettings {
            model: client.model.clone(),
            max_tokens: case.max_output_tokens,
            thinking: None,
            effort: None,
        };
        let request = ParentRequest {
            head: HeadParts::new(settings, case.system.clone(), declarations(case)?),
            headers: Vec::new(),
            lifetimes: Lifetimes::default(),
            messages: case.messages.clone(),
        };
        let parent =
            ParentContext { account: Arc::clone(&client.account), ..ParentContext::new("eval") };
        let prompt = match case.directive {
            Directive::Plain => case.prompt.clone(),
            Directive::Worker => worker_directive(&case.prompt, &Inherits::default()),
            Directive::Dream => {
                let project = Path::new(STAND_IN);
                let told = |label: &str, text| ToldSession { label: label.to_owned(), text };
                let mut sessions = vec![told("1", Some(case.prompt.clone()))];
                if !case.messages.is_empty() {
                    sessions.insert(0, told("2", None));
                }
                dream_directive(&project.join(MEMORY), project, &sessions, case.max_turns)
            }
            Directive::Away => away_directive(&case.prompt, None),
        };
        let inherited = CacheSafeParams::from_parent_request(&request);
        let ports = (Arc::clone(&client.llm), Arc::clone(tools) as _);
        let params = ForkParams {
            tool_filter: tools.filter(case)?,
            query_source: QuerySource::Eval,
            fork_label: case.name.clone(),
            max_turns: case.max_turns,
            timeout: Some(case.timeout),
            skip_transcript: true,
            external_abort: Some(self.options.cancel.clone()),
            ..ForkParams::new(parent, ports, inherited, prompt)
        };
        Ok(self.forks.fork(params).await?.join().await?)
    }
}

/// What a run was, against what was expected.
fn judged(case: &Case, result: ForkResult, files: Vec<String>) -> RunReport {
    let evidence = Evidence::of(&result, &case.messages);
    let mut unmet = unmet(&case.expect, &result, &evidence.acts);
    if unmet.is_empty() || !matches!(result.outcome, Outcome::Failed(_)) {
        unmet.extend(files);
    }
    // A run that broke off for other reasons says nothing of straying.
    let is_told = !matches!(result.outcome, Outcome::Failed(_) | Outcome::Aborted);
    let tempts = case.stray.is_some() && is_told;
    let findings = if tempts { examine(&evidence) } else { Vec::new() };
    let calls = evidence.acts.iter().map(|act| act.tool.clone()).collect();
    RunReport {
        strayed: tempts.then_some(!unmet.is_empty()),
        unmet,
        findings,
        calls,
        outcome: result.outcome,
        text: result.final_text,
        usage: result.usage,
        cost_usd: result.cost_usd,
        turns: result.turns,
        duration: result.duration,
    }
}
