//! What a worker has said and done so far, and, where that is asked for, what it says in the end.

use std::time::Duration;

use tine_model::{AgentId, Entry, EntryBody, EntryId};
use tokio_util::sync::CancellationToken;

use crate::changes::ChangeWatch;
use crate::error::RuntimeError;
use crate::runtime::Runtime;
use crate::tasks::TaskView;

/// How long one who wants to wait waits for the end of a task, unless more is said.
pub const OUTPUT_WAIT_DEFAULT: Duration = Duration::from_secs(30);

/// Longest wait for the end of a task. Past it, the provider's cache entry of the one who waits is close to its end.
pub const OUTPUT_WAIT_MAX: Duration = Duration::from_secs(600);

/// What is asked of a task's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputSpec {
    /// Only what was written after this entry.
    pub since: Option<EntryId>,
    /// How long to wait for the end; at most [`OUTPUT_WAIT_MAX`]. `None` does not wait.
    pub wait: Option<Duration>,
}

/// A task's output as far as it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOutput {
    /// The task as it stands.
    pub view: TaskView,
    /// The worker's own messages, in order; what it inherited is not among them.
    pub entries: Vec<Entry>,
    /// What to ask for [since](OutputSpec::since) next time.
    pub next: Option<EntryId>,
    /// Whether the wait was over before the task was.
    pub timed_out: bool,
}

impl Runtime {
    /// What a worker has said and done. Returns early when the task ends, and when `cancel` is.
    pub async fn task_output(
        &self,
        agent: AgentId,
        spec: OutputSpec,
        cancel: &CancellationToken,
    ) -> Result<TaskOutput, RuntimeError> {
        let timed_out = match spec.wait {
            Some(wait) => !self.ended_within(agent, wait.min(OUTPUT_WAIT_MAX), cancel).await?,
            None => false,
        };
        // The task first: what it had written when it ended is all there then.
        let view = self.task_view(agent).await?;
        let mut entries = self.log(agent, spec.since).await?;
        let next = entries.last().map(|entry| entry.id).or(spec.since);
        entries.retain(|entry| match entry.body {
            EntryBody::Message(_) => true,
            EntryBody::Fork { .. }
            | EntryBody::Clear
            | EntryBody::Compact { .. }
            | EntryBody::Mark { .. }
            | EntryBody::Rewind { .. }
            | EntryBody::Notice(_)
            | EntryBody::Dialect(_) => false,
        });
        Ok(TaskOutput { view, entries, next, timed_out })
    }

    /// Waits for the end of a task; whether it came in time. What died with its process has ended.
    pub(crate) async fn ended_within(
        &self,
        agent: AgentId,
        wait: Duration,
        cancel: &CancellationToken,
    ) -> Result<bool, RuntimeError> {
        let over = tokio::time::sleep(wait);
        tokio::pin!(over);
        let mut changes = ChangeWatch::begin(self).await?;
        loop {
            self.recover().await?;
            if self.task_view(agent).await?.task.status.is_final() {
                return Ok(true);
            }
            // All branches are cancel-safe.
            tokio::select! {
                changed = changes.next(self) => changed?,
                () = &mut over => return Ok(false),
                () = cancel.cancelled() => return Ok(false),
            }
        }
    }
}
