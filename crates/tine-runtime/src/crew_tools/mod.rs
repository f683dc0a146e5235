//! The tools by which a model starts workers and looks after them.
//!
//! They need the runtime, so they stand beside the toolbox and not in it; their declarations are frozen like all others. Every
//! answer is a value: a refusal is told to the model, with what it may do instead, and the run goes on. The rules
//! themselves are the runtime's (`crew`, `tasks`, `stop`).

mod agent;
mod arguments;
mod spawning;
mod task;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;

use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_model::{AgentId, AgentRecord, Standing};
use tine_store::Lease;
use tine_tools::{Effect, ToolSpec};

use crate::crew;
use crate::journal::StoreJournal;
use crate::run::RunOptions;
use crate::runtime::Runtime;
use crate::tasks::{OwnTaskError, TaskView};

pub(crate) use spawning::spawns;
pub(crate) use told::Told;

/// The declarations, in name order. Shown to models as they are: a change of one costs every running conversation that has it its
/// cached prefix.
pub(crate) static SPECS: [ToolSpec; 8] = [
    ToolSpec {
        name: "Agent",
        description: "Starts a worker: an agent of its own that does one task and reports. With `subagent_type` `fork` it starts from \
            this conversation and knows all of it, at little cost, since the provider's cache serves what is inherited; \
            without a type it starts fresh and knows only the prompt. It runs in the background: the call returns its id at \
            once, and its report comes by itself, as a message with a <task-notification>. Several calls in one turn run at \
            the same time. Use it for work that can go on beside yours, or whose many steps you need not see. Never make up \
            what a worker has not reported yet, and do not do its task as well.",
        schema: include_str!("schemas/Agent.json"),
        effect: Effect::Spawns,
    },
    ToolSpec {
        name: "TaskCancel",
        description: "Stops a task of yours. What its worker has done stays, and the task can be resumed with TaskStart.",
        schema: include_str!("schemas/TaskCancel.json"),
        effect: Effect::Spawns,
    },
    ToolSpec {
        name: "TaskClear",
        description: "Stops your tasks that run and takes all of them off the list. Their conversations stay.",
        schema: include_str!("schemas/TaskClear.json"),
        effect: Effect::Spawns,
    },
    ToolSpec {
        name: "TaskList",
        description: "Lists the tasks that you have started: id, status, duration, tool calls.",
        schema: include_str!("schemas/TaskList.json"),
        effect: Effect::Reads,
    },
    ToolSpec {
        name: "TaskOutput",
        description: "Shows what a task's worker has said and done so far, and its report when it has ended. Reports come by \
            themselves, so call this only to look in between, or with `block` where you can do nothing else.",
        schema: include_str!("schemas/TaskOutput.json"),
        effect: Effect::Reads,
    },
    ToolSpec {
        name: "TaskSend",
        description: "Tells a task's worker something while it works, or when it is done.",
        schema: include_str!("schemas/TaskSend.json"),
        effect: Effect::Spawns,
    },
    ToolSpec {
        name: "TaskStart",
        description: "Starts a task in the background, or, with `resume`, lets the worker of an earlier one go on with what it \
            knows. The report comes by itself, as with Agent.",
        schema: include_str!("schemas/TaskStart.json"),
        effect: Effect::Spawns,
    },
    ToolSpec {
        name: "TaskWait",
        description: "Waits for messages: until each of the named tasks has reported, is dead or has nothing to do, or for the next \
            message of anyone. Returns what came, also when the time is up.",
        schema: include_str!("schemas/TaskWait.json"),
        effect: Effect::Reads,
    },
];

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrewTool {
    Agent,
    TaskStart,
    TaskList,
    TaskOutput,
    TaskSend,
    TaskCancel,
    TaskClear,
    TaskWait,
}

impl CrewTool {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "Agent" => Self::Agent,
            "TaskStart" => Self::TaskStart,
            "TaskList" => Self::TaskList,
            "TaskOutput" => Self::TaskOutput,
            "TaskSend" => Self::TaskSend,
            "TaskCancel" => Self::TaskCancel,
            "TaskClear" => Self::TaskClear,
            "TaskWait" => Self::TaskWait,
            _ => return None,
        })
    }

    /// Whether its calls may run at the same time as their neighbours: what one starts or reads, another does not see.
    pub(crate) fn runs_beside_others(self) -> bool {
        match self {
            Self::Agent | Self::TaskStart | Self::TaskList | Self::TaskOutput => true,
            Self::TaskSend | Self::TaskCancel | Self::TaskClear | Self::TaskWait => false,
        }
    }

    /// Whether its calls may wait for workers.
    fn waits(self) -> bool {
        match self {
            Self::Agent | Self::TaskOutput | Self::TaskWait => true,
            Self::TaskStart
            | Self::TaskList
            | Self::TaskSend
            | Self::TaskCancel
            | Self::TaskClear => false,
        }
    }

    /// Whether it may need the conversation as it is when it is called.
    pub(crate) fn forks(self) -> bool {
        match self {
            Self::Agent | Self::TaskStart => true,
            Self::TaskList
            | Self::TaskOutput
            | Self::TaskSend
            | Self::TaskCancel
            | Self::TaskClear
            | Self::TaskWait => false,
        }
    }
}

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
