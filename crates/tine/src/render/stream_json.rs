//! A run as one JSON object a line, as it happens. A promise to scripts: records and fields may be added, never renamed
//! or removed.

use serde::Serialize;
use serde_json::value::RawValue;
use tine_fork::neighbour::Neighbour;
use tine_fork::run::RunEvent;
use tine_model::{AgentId, AgentRecord, Role};
use tine_runtime::{EventKind, Heard};
use tine_wire::Event;

use crate::output;
use crate::render::json::{LeftoverShape, UsageShape};

/// One line. `text` and `thinking` come in parts; `message` repeats a finished message's text as a whole.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record<'a> {
    Init {
        agent: String,
        model: String,
        parent: Option<String>,
        fork_point: Option<i64>,
        context: &'static str,
    },
    Text {
        delta: &'a str,
    },
    Thinking {
        delta: &'a str,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        input: Option<&'a RawValue>,
    },
    ToolResult {
        id: &'a str,
        text: &'a str,
        is_error: bool,
    },
    Message {
        role: &'static str,
        text: String,
        tool_calls: Vec<&'a str>,
    },
    Retry {
        attempt: u32,
        wait_ms: u64,
        cause: &'a str,
    },
    Held {
        /// At least; `null` when nothing is known.
        wait_ms: Option<u64>,
        reason: &'a str,
    },
    Paused {
        cap: &'a str,
        /// In the cap's unit: tokens, millionths of a USD, milliseconds, workers.
        used: u64,
        most: u64,
    },
    /// Other agents that write in the run's directory.
    Shared {
        others: Vec<NeighbourShape<'a>>,
    },
    /// A write waits: another process holds the database's lock.
    StoreWaits,
    /// A gap of the wall around commands.
    Unkept {
        note: &'a str,
    },
    /// Processes that were left of calls that were cut off when their tine died.
    LeftBehind {
        processes: Vec<LeftoverShape<'a>>,
    },
    /// Requests leave members out from here on: the server refuses them.
    Dialect {
        left_out: &'a [String],
        note: String,
    },
    /// Standard output was read more slowly than the run went on: so many events are left out. `tine logs` has what was said and done.
    Lagged {
        missed: u64,
    },
    Request {
        turn: u32,
    },
    Usage {
        model: Option<&'a str>,
        usage: UsageShape,
    },
    WorkerStarted {
        agent: String,
        task: &'a str,
        description: Option<&'a str>,
        resumes: u32,
    },
    WorkerEnded {
        agent: String,
        status: &'static str,
        report: Option<&'a str>,
        error: Option<&'a str>,
        /// What the checks of its end have seen.
        flags: &'a [String],
        turns: u32,
        tool_uses: u32,
        usage: UsageShape,
    },
}

#[derive(Serialize)]
struct NeighbourShape<'a> {
    agent: String,
    name: Option<&'a str>,
    directory: &'a str,
}

impl<'a> From<&'a Neighbour> for NeighbourShape<'a> {
    fn from(neighbour: &'a Neighbour) -> Self {
        let Neighbour { agent, name, directory } = neighbour;
        Self { agent: agent.to_string(), name: name.as_deref(), directory }
    }
}

/// Writes records to stdout.
pub(crate) struct StreamView;

impl StreamView {
    /// Writes the first record.
    pub(crate) fn begin(record: &AgentRecord) {
        write(&Record::Init {
            agent: record.id.to_string(),
            model: record.settings.model.to_string(),
            parent: record.parent.map(|parent| parent.to_string()),
            fork_point: record.fork_point.map(|entry| entry.0),
            context: record.context.as_str(),
        });
    }
}

/// A reader that went away has enough; what else can go wrong shows again when the result is written.
fn write(record: &Record<'_>) {
    let _ = output::json(record);
}

impl StreamView {
    /// Writes what happens to the agent or to one of its workers, or how much of that was missed.
    pub(crate) fn heard(agent: AgentId, heard: &Heard) {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Lagged(missed) => return write(&Record::Lagged { missed: *missed }),
        };
        match &event.kind {
            EventKind::Run(step) if event.agent == agent => write_step(step),
            EventKind::TaskBegan(task) => write(&Record::WorkerStarted {
                agent: task.agent.to_string(),
                task: &task.directive,
                description: task.description.as_deref(),
                resumes: task.resumes,
            }),
            EventKind::TaskEnded(task) => write(&Record::WorkerEnded {
                agent: task.agent.to_string(),
                status: task.status.as_str(),
                report: task.report.as_deref(),
                error: task.error.as_deref(),
                flags: &task.flags,
                turns: task.turns,
                tool_uses: task.tool_uses,
                usage: task.usage.into(),
            }),
            _ => {}
        }
    }
}

fn write_step(step: &RunEvent) {
    match step {
        // What a command prints stands in its result.
        RunEvent::Waiting | RunEvent::ToolProgress { .. } => {}
        RunEvent::Request { turn } => write(&Record::Request { turn: *turn }),
        RunEvent::Stream(Event::Text { delta }) => write(&Record::Text { delta }),
        RunEvent::Stream(Event::Thinking { delta }) => write(&Record::Thinking { delta }),
        RunEvent::Stream(_) => {}
        RunEvent::Retry { attempt, wait, cause } => write(&Record::Retry {
            attempt: *attempt,
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            cause,
        }),
        RunEvent::Held { wait, reason } => write(&Record::Held {
            wait_ms: wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            reason: reason.as_str(),
        }),
        RunEvent::Paused(reached) => write(&Record::Paused {
            cap: reached.cap.as_str(),
            used: reached.used,
            most: reached.most,
        }),
        RunEvent::Shared(neighbours) => {
            write(&Record::Shared { others: neighbours.iter().map(NeighbourShape::from).collect() })
        }
        RunEvent::StoreWaits => write(&Record::StoreWaits),
        RunEvent::Unkept(note) => write(&Record::Unkept { note }),
        RunEvent::LeftBehind(left) => {
            write(&Record::LeftBehind { processes: left.iter().map(LeftoverShape::from).collect() })
        }
        RunEvent::Dialect(change) => {
            write(&Record::Dialect { left_out: &change.left_out, note: change.to_string() })
        }
        RunEvent::Answered(record) => {
            write(&Record::Usage { model: record.model.as_deref(), usage: record.usage.into() })
        }
        RunEvent::Message(message) => write(&Record::Message {
            role: match message.role() {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::System => "system",
            },
            text: message.text(),
            tool_calls: message.tool_calls().map(|id| id.0.as_str()).collect(),
        }),
        RunEvent::ToolStarted { call } => write(&Record::ToolCall {
            id: &call.id.0,
            name: &call.name,
            input: serde_json::from_str(call.input.as_str()).ok(),
        }),
        RunEvent::ToolFinished { id, answer } => {
            write(&Record::ToolResult { id: &id.0, text: &answer.text, is_error: answer.is_error })
        }
    }
}
