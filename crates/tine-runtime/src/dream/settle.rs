//! The end of a run: what it has changed is looked at, and kept or put back, also after its process has died.

use std::path::{Path, PathBuf};

use tine_fork::run::RunReport;
use tine_model::{AgentId, AgentState, Outcome, Standing};
use tine_store::Lease;

use super::DreamOutcome;
use super::record::Event;
use super::watch::WatchedFilter;
use crate::error::RuntimeError;
use crate::memory::Notes;
use crate::run::RunOutcome;
use crate::runtime::Runtime;

impl Runtime {
    /// Ends the record of a run whose process has died, and puts the memory back, unless its work was whole: then it was committed,
    /// and only the record is missing.
    pub(crate) async fn heal(&self, lease: &Lease, memory_dir: &Path) -> Result<(), RuntimeError> {
        let (runs, base) = self.dream_record(lease.agent).await?;
        let Some(run) = runs.last().filter(|run| run.outcome == DreamOutcome::Running) else {
            return Ok(());
        };
        let notes = Notes::open(memory_dir).await?;
        notes.restore_all().await?;
        let head = notes.head().await?;
        let commit = head.filter(|head| Some(head) != base.as_ref());
        let (outcome, error) = match &commit {
            Some(_) => (DreamOutcome::Completed, None),
            None => (DreamOutcome::Lost, Some("its process died".to_owned())),
        };
        let files = match &commit {
            Some(commit) => shown(&notes.files_of(commit.clone()).await?),
            None => Vec::new(),
        };
        let ended = Event::Ended {
            run: run.run.to_string(),
            outcome,
            error,
            files,
            escapes: Vec::new(),
            refused: Vec::new(),
            secrets: 0,
            commit,
        };
        self.tell_record(lease, ended).await
    }

    /// Does the same for an agent whose process has died, where it keeps a memory. What cannot be healed now is by the next run.
    pub(crate) async fn heal_memory(&self, agent: AgentId) {
        let healed = async {
            let record = self.store().agent(agent).await?;
            if record.standing != Standing::Hidden || record.parent.is_some() {
                return Ok(());
            }
            let lease = self.acquire(agent).await?;
            let healed = self.heal(&lease, record.directory.as_ref()).await;
            let idle = self.mark(&lease, AgentState::Idle).await;
            self.give_back(&lease).await?;
            healed.and(idle)
        };
        if let Err(error) = healed.await {
            tracing::warn!(%agent, %error, "a memory could not be put back as it was before a run that died");
        }
    }
}

/// Looks at what a run has done to the notes, puts back what it had no right to change, and commits the rest. Where the run did not
/// complete, all is put back.
pub(super) async fn settle(
    notes: &Notes,
    (run, now_ms): (AgentId, i64),
    ran: Result<RunOutcome, RuntimeError>,
    filter: &WatchedFilter,
) -> Event {
    let (mut outcome, mut error) = match &ran {
        Ok(ran) => of_report(&ran.report),
        Err(error) => (DreamOutcome::Failed, Some(tine_model::in_full(error))),
    };
    let written = filter.written();
    let kept = async {
        let changed = notes.changes().await?;
        let (files, escapes): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|path| written.contains(path));
        notes.restore(escapes.clone()).await?;
        if outcome != DreamOutcome::Completed {
            notes.restore_all().await?;
            return Ok((Vec::new(), escapes, 0, None));
        }
        let secrets = notes.redact(files.clone()).await?;
        notes.trim_index().await?;
        let message = format!("Consolidate {} notes\n\nRun: {run}", files.len());
        let commit = notes.keep(message, now_ms).await?;
        Ok::<_, RuntimeError>((files, escapes, secrets, commit))
    };
    let kept = kept.await;
    let (files, escapes, secrets, commit) = match kept {
        Ok(kept) => kept,
        Err(failed) => {
            (outcome, error) = (DreamOutcome::Failed, Some(tine_model::in_full(&failed)));
            (Vec::new(), Vec::new(), 0, None)
        }
    };
    Event::Ended {
        run: run.to_string(),
        outcome,
        error,
        files: shown(&files),
        escapes: shown(&escapes),
        refused: filter.refused(),
        secrets,
        commit,
    }
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn of_report(report: &RunReport) -> (DreamOutcome, Option<String>) {
    let outcome = match &report.outcome {
        Outcome::Completed => DreamOutcome::Completed,
        Outcome::TurnLimit => DreamOutcome::TurnLimit,
        Outcome::TimedOut => DreamOutcome::TimedOut,
        Outcome::Aborted => DreamOutcome::Stopped,
        Outcome::BudgetExhausted => DreamOutcome::BudgetExhausted,
        Outcome::LengthCut | Outcome::Refused | Outcome::Failed(_) => DreamOutcome::Failed,
    };
    let error = match &report.outcome {
        Outcome::Completed => None,
        Outcome::Failed(why) => Some(why.clone()),
        other => Some(other.as_str().replace('_', " ")),
    };
    (outcome, error)
}
