//! What `tine pick` prints as JSON: promises to scripts.

use serde::Serialize;
use tine_model::{AgentId, TaskStatus};
use tine_runtime::{Applied, Brought, Candidate, best};

use crate::commands::bring::AppliedJson;

/// `tine pick --json`.
#[derive(Serialize)]
pub(in crate::commands) struct PickJson<'a> {
    candidates: Vec<CandidateJson<'a>>,
    /// The best of them; `null` where none is good.
    best: Option<String>,
    /// What came of taking one; `null` where nobody's work was taken.
    taken: Option<AppliedJson>,
}

#[derive(Serialize)]
struct CandidateJson<'a> {
    agent: String,
    /// How its task ended; `null` for an agent without one.
    status: Option<&'static str>,
    /// Whether it completed its task, changed something, and passed the check where there is one.
    good: bool,
    check: Option<CheckJson<'a>>,
    files: usize,
    added: u64,
    removed: u64,
    commits: usize,
    cost_usd: Option<f64>,
    duration_ms: Option<i64>,
    /// The first line of its report's result.
    said: Option<&'a str>,
}

#[derive(Serialize)]
struct CheckJson<'a> {
    passed: bool,
    /// What it printed, without its middle where that is long, and how it ended.
    output: &'a str,
    duration_ms: u64,
    /// Why what it left in the worktree could not be taken back, so that it counts as work; `null` where all is as it was.
    left: Option<&'a str>,
}

impl<'a> PickJson<'a> {
    pub(in crate::commands) fn of(
        candidates: &'a [Candidate],
        taken: Option<&(AgentId, Brought<Applied>)>,
    ) -> Self {
        Self {
            candidates: candidates.iter().map(CandidateJson::from).collect(),
            best: best(candidates).map(|best| best.agent.to_string()),
            taken: taken.map(|(agent, brought)| AppliedJson::of(*agent, brought)),
        }
    }
}

impl<'a> From<&'a Candidate> for CandidateJson<'a> {
    fn from(candidate: &'a Candidate) -> Self {
        let lines = candidate.lines();
        Self {
            agent: candidate.agent.to_string(),
            status: candidate.status.map(TaskStatus::as_str),
            good: candidate.is_good(),
            check: candidate.checked.as_ref().map(|checked| CheckJson {
                passed: checked.passed,
                output: &checked.output,
                duration_ms: checked.duration_ms,
                left: candidate.left.as_deref(),
            }),
            files: candidate.changes.files.len(),
            added: lines.added,
            removed: lines.removed,
            commits: candidate.changes.commits.len(),
            cost_usd: candidate.dollars,
            duration_ms: candidate.duration_ms,
            said: candidate.said.as_deref(),
        }
    }
}
