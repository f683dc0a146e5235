//! The tools by which a model starts workers and looks after them.
//!
//! They need the runtime, so they stand beside the toolbox and not in it; their declarations are frozen like all others. Every
//! answer is a value: a refusal is told to the model, with what it may do instead, and the run goes on. The rules
//! themselves are the runtime's (`crew`, `tasks`, `stop`).

mod agent;
mod arguments;
mod spawning;
pub(crate) mod specs;
mod task;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;

use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_model::{AgentId, AgentRecord, Standing};
use tine_store::Lease;

use crate::crew;
use crate::journal::StoreJournal;
use crate::run_options::RunOptions;
use crate::runtime::Runtime;
use crate::tasks::{OwnTaskError, TaskView};

pub(crate) use spawning::spawns;
pub(crate) use specs::CrewTool;
pub(crate) use told::Told;

/// The tools as one agent's run has them.
pub(crate) struct CrewTools {
    pub(crate) runtime: Runtime,
    pub(crate) record: AgentRecord,
    pub(crate) lease: Lease,
    pub(crate) options: RunOptions,
    /// The agent whose run, called from outside, holds this one.
    pub(crate) top: AgentId,
    pub(crate) journal: Arc<StoreJournal>,
}

impl CrewTools {
    /// Why a tool that starts agents is refused to this one, by whatever door; `None` when it is not.
    pub(crate) fn refusal(&self, context: &CallContext) -> Option<String> {
        let conversation = context.snapshot.as_ref().map(tine_fork::run::Snapshot::fork);
        crew::refusal(&self.record, conversation.as_ref(), &self.options.crew.policy)
    }

    pub(crate) async fn dispatch(
        &self,
        tool: CrewTool,
        call: &ToolCall,
        context: &CallContext,
    ) -> ToolAnswer {
        // Whoever waits for its own workers must not keep them from running.
        let waits = tool.waits() && self.record.standing == Standing::Worker;
        let place =
            waits && !self.runtime.working_for(self.record.id).await.is_ok_and(|w| w.is_empty());
        if place && let Err(error) = self.runtime.give_slot(&self.lease).await {
            return ToolAnswer::error(Told::from(error).0);
        }
        let answered = self.answer(tool, call, context).await;
        if place {
            let back = self.runtime.take_slot(&self.lease, &|_| {}, &context.cancel).await;
            if let Err(error) = back {
                return ToolAnswer::error(Told::from(error).0);
            }
        }
        match answered {
            Ok(text) => ToolAnswer::ok(text),
            Err(Told(text)) => ToolAnswer::error(text),
        }
    }

    async fn answer(
        &self,
        tool: CrewTool,
        call: &ToolCall,
        context: &CallContext,
    ) -> Result<String, Told> {
        match tool {
            CrewTool::Agent => self.agent(&call.input, context).await,
            CrewTool::TaskStart => self.task_start(&call.input, context).await,
            CrewTool::TaskList => self.task_list(&call.input).await,
            CrewTool::TaskOutput => self.task_output(&call.input, context).await,
            CrewTool::TaskSend => self.task_send(&call.input).await,
            CrewTool::TaskCancel => self.task_cancel(&call.input, context).await,
            CrewTool::TaskClear => self.task_clear(context).await,
            CrewTool::TaskWait => self.task_wait(&call.input, context).await,
        }
    }

    /// The task that the model means.
    async fn own_task(&self, text: &str) -> Result<TaskView, Told> {
        self.runtime.own_task(self.record.id, text).await.map_err(|error| match error {
            OwnTaskError::Unknown => Told(format!(
                "You have started no task `{}`. TaskList shows those that you have.",
                text.escape_debug()
            )),
            OwnTaskError::Ambiguous(ids) => Told(format!(
                "`{text}` could mean more than one task: {}. Give more characters of the id.",
                ids.join(", ")
            )),
            OwnTaskError::Failed(error) => error.into(),
        })
    }
}
