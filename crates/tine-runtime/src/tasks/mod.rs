//! Tasks as their spawner sees them: looked at, taken up again, waited for, taken off the list. The model's tools and the user's
//! commands are faces of what stands here.

mod output;
mod resume;
mod start;
mod wait;

use tine_model::{
    AgentId, AgentState, ContextMode, Named, TaskRecord, TaskStatus, WordError, meant,
};

use crate::error::RuntimeError;
use crate::runtime::Runtime;

pub use output::{OUTPUT_WAIT_DEFAULT, OUTPUT_WAIT_MAX, OutputSpec, TaskOutput};
pub use resume::Resumed;
pub use wait::{WaitStatus, Waited, WaitedAgent};

/// A task, and the agent that works on it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    /// The task.
    pub task: TaskRecord,
    /// The worker's name.
    pub name: Option<String>,
    /// How the worker inherits from its spawner.
    pub context: ContextMode,
    /// What the worker does now.
    pub state: AgentState,
}

impl TaskView {
    /// Whether the worker knows what its spawner knew.
    pub fn is_forked(&self) -> bool {
        match self.context {
            ContextMode::Full | ContextMode::Turns | ContextMode::Digest => true,
            ContextMode::Fresh => false,
        }
    }

    /// What stands behind the id in lists: where the worker came from, and how often it was taken up again.
    pub fn marks(&self) -> String {
        let mut marks = String::new();
        if self.is_forked() {
            marks.push_str(" (forked)");
        }
        match self.task.resumes {
            0 => {}
            1 => marks.push_str(" (resumed)"),
            times => marks.push_str(&format!(" (resumed ×{times})")),
        }
        marks
    }

    /// The task on a line: its description, or else how its directive begins.
    pub fn title(&self) -> String {
        let text = self.task.description.as_deref().unwrap_or(&self.task.directive);
        tine_fork::notification::TaskNotification::summary_of(Some(&tine_guard::redact(text)), "")
    }

    /// How long it took, or has taken by `now_ms`, in milliseconds.
    pub fn duration_ms(&self, now_ms: i64) -> i64 {
        (self.task.ended_ms.unwrap_or(now_ms) - self.task.created_ms).max(0)
    }
}

/// Which tasks a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskFilter {
    /// Those with this status alone.
    pub status: Option<TaskStatus>,
    /// Also those that were taken off the list.
    pub cleared: bool,
}

impl Runtime {
    /// The tasks that an agent has spawned, newest first.
    pub async fn task_list(
        &self,
        spawner: AgentId,
        filter: TaskFilter,
    ) -> Result<Vec<TaskView>, RuntimeError> {
        let tasks = self.store().tasks(spawner).await?;
        let mut views = Vec::with_capacity(tasks.len());
        for task in tasks.into_iter().rev() {
            let listed = filter.cleared || task.cleared_ms.is_none();
            if listed && filter.status.is_none_or(|status| status == task.status) {
                views.push(self.view_of(task).await?);
            }
        }
        Ok(views)
    }

    /// One task.
    pub async fn task_view(&self, agent: AgentId) -> Result<TaskView, RuntimeError> {
        let task = self.store().task(agent).await?.ok_or(RuntimeError::NoTask(agent))?;
        self.view_of(task).await
    }

    async fn view_of(&self, task: TaskRecord) -> Result<TaskView, RuntimeError> {
        let record = self.store().agent(task.agent).await?;
        Ok(TaskView { task, name: record.name, context: record.context, state: record.state })
    }

    /// Which of its own tasks an agent means: the worker's name, its id, or a beginning of it that no other of its tasks has. The
    /// error is for the agent.
    pub(crate) async fn own_task(
        &self,
        spawner: AgentId,
        text: &str,
    ) -> Result<TaskView, OwnTaskError> {
        let views = self.task_list(spawner, TaskFilter { status: None, cleared: true }).await?;
        let named = views.iter().map(|view| Named {
            id: view.task.agent,
            name: view.name.as_deref(),
            is_alive: view.state != AgentState::Dead,
        });
        let found = meant(text, named).map_err(|error| match error {
            WordError::Unknown => OwnTaskError::Unknown,
            WordError::Ambiguous(agents) => {
                OwnTaskError::Ambiguous(agents.iter().map(AgentId::to_string).collect())
            }
        })?;
        let view = views.iter().find(|view| view.task.agent == found);
        view.cloned().ok_or(OwnTaskError::Unknown)
    }

    /// Takes an agent's ended tasks off its list; their rows and conversations stay. Returns the workers.
    pub async fn clear_tasks(&self, spawner: AgentId) -> Result<Vec<AgentId>, RuntimeError> {
        Ok(self.store().clear_tasks(spawner, self.now_ms()).await?)
    }
}

/// Why no task of an agent is meant by a text.
#[derive(Debug)]
pub(crate) enum OwnTaskError {
    /// None fits.
    Unknown,
    /// More than one fits.
    Ambiguous(Vec<String>),
    /// They cannot be read.
    Failed(RuntimeError),
}

impl From<RuntimeError> for OwnTaskError {
    fn from(error: RuntimeError) -> Self {
        Self::Failed(error)
    }
}
