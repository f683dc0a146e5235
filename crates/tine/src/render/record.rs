//! An agent's registry row as `ps`, `tree` and `show` print it.

use serde::Serialize;
use tine_fork::stray::Check;
use tine_model::{
    AgentRecord, AgentState, ContextMode, Effort, Leftover, Standing, TaskRecord, WorktreeRecord,
};
use tine_runtime::titled;

use crate::render::json::LeftoverShape;
use crate::render::worktree::HomeShape;
use tine_tui::age::rfc3339;

/// An agent, and its task if it is a worker.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) record: AgentRecord,
    pub(crate) task: Option<TaskRecord>,
    /// Its own worktree.
    pub(crate) worktree: Option<WorktreeRecord>,
    /// Requests for permission that nobody has answered.
    pub(crate) questions: usize,
    /// Processes of calls that were cut off.
    pub(crate) left_running: Vec<Leftover>,
}

/// The JSON shape of an agent. Others rely on it: fields are only ever added.
#[derive(Debug, Serialize)]
pub(crate) struct AgentJson<'a> {
    agent: String,
    /// The same; `agent` is its name in all JSON.
    id: String,
    name: Option<&'a str>,
    /// The first words to it, or a worker's description; `null` before there are any.
    title: Option<String>,
    parent: Option<String>,
    fork_point: Option<i64>,
    kind: &'static str,
    state: &'static str,
    /// Why its last run failed; `null` where it did not.
    failure: Option<&'a str>,
    forked: bool,
    context: &'static str,
    model: String,
    /// The model's effort; `null` for its default.
    effort: Option<&'static str>,
    directory: &'a str,
    /// The reach of its commands and file tools: `open`, `directory`, `read-only` or `notes`.
    reach: &'static str,
    /// Directories that they may write in besides.
    writable: Vec<String>,
    /// True where commands may use a network.
    network: bool,
    /// The hosts and ports that they reach: empty without a network, and where the reach is open, which is all.
    hosts: Vec<String>,
    depth: u32,
    created_at: String,
    updated_at: String,
    task: Option<TaskJson<'a>>,
    questions: usize,
    /// Processes that still run for calls that were cut off when the agent's tine died.
    left_running: Vec<LeftoverShape<'a>>,
    /// Its own worktree, there or removed; `null` where it never had one.
    worktree: Option<HomeShape>,
}

/// The JSON shape of a worker's task, in short.
#[derive(Debug, Serialize)]
pub(crate) struct TaskJson<'a> {
    status: &'static str,
    turns: u32,
    tool_uses: u32,
    description: Option<&'a str>,
    resumes: u32,
    /// What the checks of its end have seen.
    flags: &'a [String],
}

impl Shown {
    /// The JSON shape.
    pub(crate) fn to_json(&self) -> AgentJson<'_> {
        let record = &self.record;
        let paths = record.reach.writable.iter();
        let hosts = record.reach.network.destinations();
        AgentJson {
            agent: record.id.to_string(),
            id: record.id.to_string(),
            name: record.name.as_deref(),
            title: self.title(),
            parent: record.parent.map(|parent| parent.to_string()),
            fork_point: record.fork_point.map(|entry| entry.0),
            kind: record.standing.as_str(),
            state: record.state.as_str(),
            failure: record.failure.as_deref(),
            forked: record.parent.is_some() && record.context != ContextMode::Fresh,
            context: record.context.as_str(),
            model: record.settings.model.to_string(),
            effort: record.settings.effort.map(Effort::as_str),
            directory: &record.directory,
            reach: record.reach.as_str(),
            writable: paths.map(|path| path.display().to_string()).collect(),
            network: record.reach.is_open() || !record.reach.network.is_none(),
            hosts: hosts.map(ToString::to_string).collect(),
            depth: record.depth,
            created_at: rfc3339(record.created_ms),
            updated_at: rfc3339(record.updated_ms),
            task: self.task.as_ref().map(|task| TaskJson {
                status: task.status.as_str(),
                turns: task.turns,
                tool_uses: task.tool_uses,
                description: task.description.as_deref(),
                resumes: task.resumes,
                flags: &task.flags,
            }),
            questions: self.questions,
            left_running: self.left_running.iter().map(LeftoverShape::from).collect(),
            worktree: self.worktree.as_ref().map(HomeShape::from),
        }
    }

    /// Where it was forked, as `parent@entry`, and how it inherits where that is not in full; `None` for a root.
    pub(crate) fn origin(&self) -> Option<String> {
        let parent = self.record.parent?.short();
        let point = self.record.fork_point.map(|entry| format!("@{entry}")).unwrap_or_default();
        Some(match self.record.context {
            ContextMode::Full => format!("{parent}{point}"),
            context => format!("{parent}{point} ({})", context.as_str()),
        })
    }

    /// The words that it is known by: a worker's description, else the first words to it.
    pub(crate) fn title(&self) -> Option<String> {
        let described = self.task.as_ref().and_then(|task| task.description.as_deref());
        described.and_then(titled).or_else(|| self.record.title.clone())
    }

    /// What it is to its parent, in people's words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.record.standing {
            Standing::Root => "talk",
            Standing::Peer => "fork",
            Standing::Worker => "worker",
            Standing::Hidden => "hidden",
            Standing::Guest => "guest",
        }
    }

    /// What it does, or what became of its task.
    pub(crate) fn state(&self) -> &'static str {
        match (&self.task, self.record.state) {
            (_, AgentState::Running) if self.questions > 0 => "asks for permission",
            (Some(task), AgentState::Idle) if is_denied(task) => Check::Denied.as_str(),
            (Some(task), AgentState::Idle | AgentState::Interrupted) => task.status.as_str(),
            (None, AgentState::Interrupted) if self.record.failure.is_some() => "failed",
            (_, state) => state.as_str(),
        }
    }
}

/// Whether nothing was done of a task because every call was denied.
fn is_denied(task: &TaskRecord) -> bool {
    task.flags.iter().any(|flag| flag == Check::Denied.as_str())
}
