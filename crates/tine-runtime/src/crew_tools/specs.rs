//! The tools by which a model starts workers and looks after them: which there are, and how they are declared.

use tine_tools::{Effect, ToolSpec};

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
    pub(super) fn waits(self) -> bool {
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
