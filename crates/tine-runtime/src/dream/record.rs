//! The record of consolidations: one row a run, in the log of the agent that keeps a memory.
//!
//! The keeper is a hidden agent without a parent, one for each memory directory. Its lease is the lock: whoever holds it
//! consolidates, and an owner that has died holds nothing. Its log is the record, written under the lease.

use serde::{Deserialize, Serialize};
use tine_model::{AgentId, EntryBody, Usage};

use super::gates::Gate;

/// From what a run learnt, and so what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DreamContext {
    /// From the conversation of the last session itself: the provider's cache still had it.
    Warm,
    /// From a text of the sessions: no cache had the last one any more.
    Digest,
}

impl DreamContext {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Digest => "digest",
        }
    }
}

/// How a consolidation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DreamOutcome {
    /// It has not ended.
    Running,
    /// It did what it was asked; the memory is as it left it.
    Completed,
    /// It used up its turns; the memory is as it was.
    TurnLimit,
    /// It used up its time; the memory is as it was.
    TimedOut,
    /// It was stopped; the memory is as it was.
    Stopped,
    /// The budget of its tree was used up; the memory is as it was.
    BudgetExhausted,
    /// It failed in another way; the memory is as it was.
    Failed,
    /// Its process died; the memory is as it was.
    Lost,
}

impl DreamOutcome {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::TurnLimit => "turn_limit",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }
}

/// A consolidation.
#[derive(Debug, Clone, PartialEq)]
pub struct DreamRun {
    /// The hidden run; its id names the run.
    pub run: AgentId,
    /// When it began, in milliseconds since the Unix epoch.
    pub began_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// The gates as they stood.
    pub gates: Vec<Gate>,
    /// From what it learnt.
    pub context: DreamContext,
    /// The sessions that it was told of, the one that it was forked from among them.
    pub sessions: Vec<AgentId>,
    /// How it stands.
    pub outcome: DreamOutcome,
    /// Whether it has written anything yet: `starting`, `updating` or `ended`.
    pub phase: &'static str,
    /// Why it did not complete.
    pub error: Option<String>,
    /// The notes that it changed, each once, as paths below the memory directory.
    pub files: Vec<String>,
    /// Changed files that no call of its had the right to change. They were put back.
    pub escapes: Vec<String>,
    /// The calls that were refused, in the words that its model was told.
    pub refused: Vec<String>,
    /// Secrets that were taken out of notes.
    pub secrets: u64,
    /// The commit of the memory that holds its work; `None` where it changed nothing.
    pub commit: Option<String>,
    /// The commit that took it back.
    pub undone: Option<String>,
    /// Requests that it sent.
    pub turns: u32,
    /// Tokens of all of them.
    pub usage: Usage,
    /// What they cost in USD; `None` for a model without a known price.
    pub cost_usd: Option<f64>,
}

/// One event of the record, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    Began {
        run: String,
        gates: Vec<Gate>,
        context: DreamContext,
        sessions: Vec<String>,
        /// The commit at which the memory stood.
        base: Option<String>,
    },
    Ended {
        run: String,
        outcome: DreamOutcome,
        error: Option<String>,
        files: Vec<String>,
        escapes: Vec<String>,
        refused: Vec<String>,
        secrets: u64,
        commit: Option<String>,
    },
    Undone {
        run: String,
        commit: String,
    },
}

impl Event {
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// The runs of a record, oldest first, and the commit at which the memory stood before a last one that has not ended. Other lines
/// of the log are passed over.
pub(super) fn runs<'a>(
    log: impl IntoIterator<Item = (&'a EntryBody, i64)>,
) -> (Vec<DreamRun>, Option<String>) {
    let (mut runs, mut open_base): (Vec<DreamRun>, _) = (Vec::new(), None);
    for (body, at_ms) in log {
        let EntryBody::Notice(text) = body else { continue };
        match serde_json::from_str::<Event>(text) {
            Ok(Event::Began { run, gates, context, sessions, base }) => {
                let Ok(run) = run.parse() else { continue };
                let sessions = sessions.iter().filter_map(|id| id.parse().ok()).collect();
                open_base = base;
                runs.push(DreamRun {
                    run,
                    began_ms: at_ms,
                    ended_ms: None,
                    gates,
                    context,
                    sessions,
                    outcome: DreamOutcome::Running,
                    phase: "starting",
                    error: None,
                    files: Vec::new(),
                    escapes: Vec::new(),
                    refused: Vec::new(),
                    secrets: 0,
                    commit: None,
                    undone: None,
                    turns: 0,
                    usage: Usage::default(),
                    cost_usd: None,
                });
            }
            Ok(Event::Ended { run, outcome, error, files, escapes, refused, secrets, commit }) => {
                let Some(row) = of(&mut runs, &run) else { continue };
                (row.outcome, row.error, row.ended_ms) = (outcome, error, Some(at_ms));
                (row.files, row.escapes, row.refused) = (files, escapes, refused);
                (row.secrets, row.commit, row.phase) = (secrets, commit, "ended");
                open_base = None;
            }
            Ok(Event::Undone { run, commit }) => {
                of(&mut runs, &run).into_iter().for_each(|row| row.undone = Some(commit.clone()));
            }
            Err(_) => {}
        }
    }
    (runs, open_base)
}

fn of<'a>(runs: &'a mut [DreamRun], run: &str) -> Option<&'a mut DreamRun> {
    let run: AgentId = run.parse().ok()?;
    runs.iter_mut().rev().find(|row| row.run == run)
}

/// When the last run began that succeeded, and the runs since then that did not, with the end of the last of them.
pub(super) fn standing(runs: &[DreamRun]) -> (Option<i64>, Option<(u32, i64)>) {
    let last = runs.iter().rposition(|run| run.outcome == DreamOutcome::Completed);
    let began_ms = last.map(|last| runs[last].began_ms);
    let since = &runs[last.map_or(0, |last| last + 1)..];
    let ended = since.iter().filter_map(|run| run.ended_ms);
    let failures = ended.clone().max().map(|ended_ms| (ended.count() as u32, ended_ms));
    (began_ms, failures)
}
