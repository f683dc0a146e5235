//! One of several that had the same task: what each did, whether it passes the user's check, and which is best.

use tine_model::{AgentId, TaskStatus};
use tine_worktree::{Changes, Lines};
use tokio_util::sync::CancellationToken;

use super::check::{Check, Checked};
use super::checkouts::{blocking, worktree_of};
use super::ready::Cause;
use crate::confine::Confinement;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Why nothing is taken back of what a check left.
const AGENT_RUNS: &str = "an agent runs in the worktree";

/// One of those to pick from.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Whose work it is.
    pub agent: AgentId,
    /// How its task ended; `None` for an agent that has none.
    pub status: Option<TaskStatus>,
    /// What it changed, before the check.
    pub changes: Changes,
    /// What its check said; `None` where there is none.
    pub checked: Option<Checked>,
    /// Why what the check left in the worktree is still there, and would be taken for work; `None` where all is as it was.
    pub left: Option<String>,
    /// What its requests cost, in USD; `None` where no price is known.
    pub dollars: Option<f64>,
    /// How long its task took, in milliseconds; `None` where that is not known.
    pub duration_ms: Option<i64>,
    /// The first line of its report's result, or of all it said last.
    pub said: Option<String>,
}

impl Candidate {
    /// How many lines came and went, over all files that are text.
    pub fn lines(&self) -> Lines {
        let mut all = Lines { added: 0, removed: 0 };
        for lines in self.changes.files.iter().filter_map(|file| file.lines) {
            all.added += lines.added;
            all.removed += lines.removed;
        }
        all
    }

    /// Whether it can be taken without a second thought: it did its task, changed something, and its check passed where there is one.
    pub fn is_good(&self) -> bool {
        let completed = self.status.is_none_or(|status| status == TaskStatus::Completed);
        let passed = self.checked.as_ref().is_none_or(|checked| checked.passed);
        completed && passed && !self.changes.files.is_empty()
    }

    /// Smaller is better: whether it is good, how much it changed, what it cost.
    fn rank(&self) -> (bool, u64, u64) {
        let Lines { added, removed } = self.lines();
        // Money to a millionth of a dollar, so that it can be compared.
        let cost = self.dollars.map_or(u64::MAX, |dollars| (dollars * 1e6).max(0.0) as u64);
        (!self.is_good(), added.saturating_add(removed), cost)
    }
}

/// The best of them: of those that are good the one that changed the fewest lines, of equals the cheapest, of equals the first. `None` where none is
/// good.
pub fn best(candidates: &[Candidate]) -> Option<&Candidate> {
    let good = candidates.iter().filter(|candidate| candidate.is_good());
    good.min_by_key(|candidate| candidate.rank())
}

impl Runtime {
    /// Looks at the work of one agent, holds it by its ref as it is, and then runs the check, where there is one. What that changes is
    /// taken back.
    pub async fn candidate(
        &self,
        agent: AgentId,
        check: Option<&Check>,
        (confinement, cancel): (&Confinement, &CancellationToken),
    ) -> Result<Candidate, RuntimeError> {
        self.keep_worktree(agent).await?;
        let work = self.work_of(agent, Vec::new()).await?;
        let task = self.store().task(agent).await?;
        let (checked, left) = match check {
            Some(check) => self.checked(agent, check, (confinement, cancel)).await?,
            None => (None, None),
        };
        let cost = self.cost(agent).await?;
        let dollars = cost.subtree.iter().map(|line| line.dollars).sum::<Option<f64>>();
        let report = task
            .as_ref()
            .and_then(|task| task.report.as_deref())
            .map(tine_fork::worker::Report::parse);
        let said = report.map(|report| report.result.unwrap_or(report.raw));
        Ok(Candidate {
            agent,
            status: task.as_ref().map(|task| task.status),
            changes: work.changes,
            checked,
            left,
            dollars: dollars.filter(|_| !cost.subtree.is_empty()),
            duration_ms: task.as_ref().and_then(|task| Some(task.ended_ms? - task.created_ms)),
            said: said.and_then(|said| {
                said.lines().find(|line| !line.trim().is_empty()).map(str::to_owned)
            }),
        })
    }

    /// Runs the check, and brings the worktree back to what it was: what a check leaves behind is no work. Also why that could not be
    /// done, if it could not.
    async fn checked(
        &self,
        agent: AgentId,
        check: &Check,
        (confinement, cancel): (&Confinement, &CancellationToken),
    ) -> Result<(Option<Checked>, Option<String>), RuntimeError> {
        let record = self.own_worktree(agent).await?;
        // One that was removed is made again.
        self.home(&self.store().agent(agent).await?, Cause::Command).await?;
        let runs_before = self.is_run_in(&record).await?;
        let (found, now_ms) = (record.clone(), self.now_ms());
        let state = blocking(move || worktree_of(&found)?.state(now_ms)).await?;
        let checked = self.check(agent, check, confinement, cancel).await?;
        // What came of a run meanwhile is nobody's to take away.
        let left = if runs_before || self.is_run_in(&record).await? {
            Some(AGENT_RUNS.to_owned())
        } else {
            let now_ms = self.now_ms();
            let restored = blocking(move || worktree_of(&record)?.restore(&state, now_ms));
            restored.await.err().map(|error| error.to_string())
        };
        Ok((Some(checked), left))
    }
}

#[cfg(test)]
mod tests {
    use tine_worktree::{FileChange, Status};

    use super::*;

    fn candidate(number: u8, lines: u64, passed: Option<bool>) -> Candidate {
        let file = FileChange {
            path: "a.txt".into(),
            from: None,
            status: Status::Modified,
            lines: Some(Lines { added: lines, removed: 0 }),
            mode_before: None,
            mode: None,
            link: None,
        };
        let files = if lines == 0 { Vec::new() } else { vec![file] };
        Candidate {
            agent: AgentId::from_random([number; 16]),
            status: Some(TaskStatus::Completed),
            changes: Changes { files, commits: Vec::new(), uncommitted: Vec::new() },
            checked: passed.map(|passed| Checked { passed, output: String::new(), duration_ms: 1 }),
            left: None,
            dollars: Some(f64::from(number)),
            duration_ms: Some(1),
            said: None,
        }
    }

    fn picked(candidates: &[Candidate]) -> Option<usize> {
        let best = best(candidates)?;
        candidates.iter().position(|one| one.agent == best.agent)
    }

    #[test]
    fn the_best_passes_and_changes_least() {
        let [small, large, same] =
            [(1, 3), (2, 9), (3, 3)].map(|(n, lines)| candidate(n, lines, Some(true)));
        assert_eq!(
            picked(&[large.clone(), same.clone(), small.clone()]),
            Some(2),
            "the cheaper of equals"
        );
        let failed = candidate(4, 1, Some(false));
        assert_eq!(picked(&[failed.clone(), large.clone()]), Some(1));
        let nothing = candidate(5, 0, Some(true));
        assert_eq!(picked(&[nothing.clone(), failed]), None, "nobody who did nothing, or failed");
        let cut = Candidate { status: Some(TaskStatus::TimedOut), ..small };
        assert_eq!(picked(&[cut, large]), Some(1));
        assert_eq!(picked(&[candidate(6, 2, None)]), Some(0), "without a check");
        assert_eq!(picked(&[]), None);
    }
}
