//! What bringing work prints as JSON: promises to scripts.

use serde::Serialize;
use tine_model::AgentId;
use tine_runtime::{
    Applied, Brought, BroughtOutcome, MendedAs, Merged, WorktreeError, WorktreeRefusal,
};

use crate::render::change::{CommitJson, ConflictJson, FileJson, json_path};

/// `tine apply --json`.
#[derive(Serialize)]
pub(in crate::commands) struct AppliedJson {
    agent: String,
    /// `written`, `would_write`, `nothing` or `conflicts`.
    outcome: &'static str,
    /// The top of the checkout.
    onto: String,
    /// The files of the checkout that changed, or would.
    files: Vec<FileJson>,
    conflicts: Vec<ConflictJson>,
    /// What an earlier change came to that was cut short: `taken_back`, `finished` or `let_be`.
    mended: Option<&'static str>,
    /// Whether the agent still runs.
    running: bool,
    /// Agents that were told which files changed.
    told: Vec<String>,
}

impl AppliedJson {
    pub(in crate::commands) fn of(agent: AgentId, brought: &Brought<Applied>) -> Self {
        let came = &brought.came;
        Self {
            agent: agent.to_string(),
            outcome: outcome(came.outcome),
            onto: json_path(&brought.onto),
            files: came.files.iter().map(FileJson::from).collect(),
            conflicts: came.conflicts.iter().map(ConflictJson::from).collect(),
            mended: came.mended.as_ref().map(|mended| mended_as(mended.outcome)),
            running: brought.runs,
            told: brought.told.iter().map(ToString::to_string).collect(),
        }
    }
}

/// `tine merge --json`, `tine cherry-pick --json`.
#[derive(Serialize)]
pub(super) struct MergedJson {
    agent: String,
    /// `written`, `would_write`, `nothing` or `conflicts`.
    outcome: &'static str,
    /// The top of the checkout.
    onto: String,
    /// HEAD before.
    before: String,
    /// HEAD now, or what it would be.
    head: String,
    fast_forward: bool,
    /// The commits that came, by the names that they have in the worktree.
    commits: Vec<CommitJson>,
    /// Commits that would have changed nothing.
    skipped: Vec<String>,
    files: Vec<FileJson>,
    conflicts: Vec<ConflictJson>,
    /// Files that are not committed there, and did not come.
    uncommitted: Vec<String>,
    /// Files that were not committed in the checkout at the fork, and came with the commits.
    unfinished: Vec<String>,
    mended: Option<&'static str>,
    running: bool,
    told: Vec<String>,
}

impl MergedJson {
    pub(super) fn of(agent: AgentId, brought: &Brought<Merged>) -> Self {
        let came = &brought.came;
        Self {
            agent: agent.to_string(),
            outcome: outcome(came.outcome),
            onto: json_path(&brought.onto),
            before: came.before.to_string(),
            head: came.head.to_string(),
            fast_forward: came.is_fast_forward,
            commits: came.commits.iter().map(CommitJson::from).collect(),
            skipped: came.skipped.iter().map(ToString::to_string).collect(),
            files: came.files.iter().map(FileJson::from).collect(),
            conflicts: came.conflicts.iter().map(ConflictJson::from).collect(),
            uncommitted: came.uncommitted.iter().map(|path| json_path(path)).collect(),
            unfinished: came.unfinished.iter().map(|path| json_path(path)).collect(),
            mended: came.mended.as_ref().map(|mended| mended_as(mended.outcome)),
            running: brought.runs,
            told: brought.told.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Any of them, where something stands in the way. Nothing has changed.
#[derive(Serialize)]
pub(super) struct RefusedJson {
    agent: String,
    /// `refused`.
    outcome: &'static str,
    /// What stands in the way, in one word.
    obstacle: &'static str,
    reason: String,
    /// The files that it is about.
    paths: Vec<String>,
}

impl RefusedJson {
    /// `None` for a failure that is no refusal.
    pub(super) fn of(agent: AgentId, error: &WorktreeError) -> Option<Self> {
        let (obstacle, paths) = match error {
            WorktreeError::Obstructed(obstacle) => (obstacle.word(), obstacle.paths()),
            WorktreeError::Refused(WorktreeRefusal::Unmerged { paths, .. }) => {
                ("conflicts_there", paths.as_slice())
            }
            WorktreeError::Refused(_) | WorktreeError::Travel(_) => ("refused", [].as_slice()),
            WorktreeError::NoGit(_)
            | WorktreeError::OldGit { .. }
            | WorktreeError::Git { .. }
            | WorktreeError::TooLong { .. }
            | WorktreeError::TakenBack { .. }
            | WorktreeError::Output { .. }
            | WorktreeError::File { .. } => return None,
        };
        Some(Self {
            agent: agent.to_string(),
            outcome: "refused",
            obstacle,
            reason: error.to_string(),
            paths: paths.iter().map(|path| json_path(path)).collect(),
        })
    }
}

fn outcome(outcome: BroughtOutcome) -> &'static str {
    match outcome {
        BroughtOutcome::Written => "written",
        BroughtOutcome::WouldWrite => "would_write",
        BroughtOutcome::Nothing => "nothing",
        BroughtOutcome::Conflicts => "conflicts",
    }
}

fn mended_as(mended: MendedAs) -> &'static str {
    match mended {
        MendedAs::TakenBack => "taken_back",
        MendedAs::Finished => "finished",
        MendedAs::LetBe => "let_be",
    }
}
