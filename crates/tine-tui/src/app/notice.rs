//! What happened where the person does not look: each event is told once, in a line at the bottom, and several at once as their number.
//!
//! Events are found by comparing the agents' rows with those read before.

use std::collections::HashSet;

use tine_fork::worker::Report;
use tine_model::{AgentId, AgentRecord, AgentState, Standing, TaskRecord, TaskStatus};

use super::keys::Action;
use super::{App, WORD_MS, called};
use crate::figures::plural;
use crate::words::{cut, first_line, one_line};

/// How long who has ended stays in the strip, unless the person looks there first, in milliseconds.
const ENDED_MS: i64 = 60_000;

/// Columns of what a worker is to do, beside its name.
const TASK_COLUMNS: usize = 30;

/// What happened to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Its task has ended so.
    Ended(TaskStatus),
    /// It has nothing left to do.
    Done,
    /// Nobody runs it any more, though it was not done.
    CutOff,
    /// Another process has killed it.
    Killed,
    /// Somebody else has forked it from another.
    Forked,
    /// A run elsewhere has started it as its worker.
    Started,
}

/// Something that happened.
#[derive(Debug, Clone)]
struct Notice {
    what: What,
    /// All of it, where it is the only one.
    text: String,
}

/// Who has ended a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Who.
    pub(crate) agent: AgentId,
    /// Whether all went well.
    pub(crate) is_well: bool,
    /// In what way, and the first words of what came of it.
    pub(crate) text: String,
    until_ms: i64,
}

/// What is to be told, and what was told last.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// Whether it is known how things were: what happened before is not told.
    is_begun: bool,
    fresh: Vec<Notice>,
    /// What the word at the bottom says, while it does.
    told: Vec<Notice>,
    until_ms: i64,
    /// Who has ended, for the strip.
    pub(crate) ended: Vec<Ended>,
}

impl App {
    /// Finds out what has happened since agents and tasks were read last.
    pub(super) fn notice(&mut self, agents: &[AgentRecord], tasks: &[TaskRecord]) {
        if !std::mem::replace(&mut self.notices.is_begun, true) {
            return;
        }
        let workers: HashSet<AgentId> = tasks.iter().map(|task| task.agent).collect();
        for task in tasks {
            self.notice_task(task);
        }
        for record in agents {
            match self.record(record.id) {
                // What a worker does is its task's to say.
                Some(_) if workers.contains(&record.id) => {}
                Some(before) => self.notice_state(before.state, record),
                None => self.notice_new(record),
            }
        }
    }

    fn notice_task(&mut self, task: &TaskRecord) {
        let was_open = match self.tasks.get(&task.agent) {
            Some(before) => !before.status.is_final(),
            // It came and went between two looks.
            None => self.record(task.agent).is_none(),
        };
        if !was_open || !task.status.is_final() {
            return;
        }
        let (how, is_well) = (how(task.status), task.status == TaskStatus::Completed);
        let words = outcome(task);
        let text = if words.is_empty() { how.to_owned() } else { format!("{how}: {words}") };
        self.add_ended(task.agent, is_well, text.clone());
        let text = format!("{} {text}", self.name_with(task.agent, task));
        self.add_notice(task.agent, What::Ended(task.status), text);
    }

    fn notice_state(&mut self, before: AgentState, record: &AgentRecord) {
        let name = called(record);
        match (before, record.state) {
            (AgentState::Running, AgentState::Idle) => {
                self.add_ended(record.id, true, "done".to_owned());
                self.add_notice(record.id, What::Done, format!("{name} is done"));
            }
            (AgentState::Running, AgentState::Interrupted) => {
                self.add_ended(record.id, false, "interrupted".to_owned());
                let text = format!("{name} was interrupted; it can be resumed");
                self.add_notice(record.id, What::CutOff, text);
            }
            (
                AgentState::Running | AgentState::Idle | AgentState::Interrupted,
                AgentState::Dead,
            ) => {
                self.add_ended(record.id, false, "killed".to_owned());
                self.add_notice(record.id, What::Killed, format!("{name} was killed"));
            }
            (AgentState::Running, AgentState::Running)
            | (AgentState::Idle | AgentState::Interrupted | AgentState::Dead, _) => {}
        }
    }

    fn notice_new(&mut self, record: &AgentRecord) {
        // What runs here forks and starts before the person's eyes.
        let Some(parent) = record
            .parent
            .filter(|parent| !self.lives.contains_key(parent) && !self.forks.contains_key(parent))
        else {
            return;
        };
        let (name, above) =
            (called(record), self.record(parent).map_or_else(|| parent.short(), called));
        match record.standing {
            Standing::Peer => {
                self.add_notice(record.id, What::Forked, format!("{name} was forked from {above}"));
            }
            Standing::Worker => {
                let text = format!("{above} has started the worker {name}");
                self.add_notice(record.id, What::Started, text);
            }
            Standing::Root | Standing::Hidden | Standing::Guest => {}
        }
    }

    fn add_notice(&mut self, agent: AgentId, what: What, text: String) {
        let is_waited_for = self.wait.as_ref().is_some_and(|wait| wait.agents.contains(&agent));
        if self.focus != Some(agent) && !is_waited_for {
            self.notices.fresh.push(Notice { what, text: one_line(&text) });
        }
    }

    fn add_ended(&mut self, agent: AgentId, is_well: bool, text: String) {
        self.notices.ended.retain(|ended| ended.agent != agent);
        if self.focus != Some(agent) {
            let until_ms = self.now_ms + ENDED_MS;
            self.notices.ended.push(Ended { agent, is_well, text, until_ms });
        }
    }

    /// Tells what is new, unless another word is still to be read; what was told a moment ago is told with it.
    pub(super) fn tell_notices(&mut self) {
        let now_ms = self.now_ms;
        self.notices.ended.retain(|ended| ended.until_ms > now_ms);
        let is_ours = self.word.as_ref().is_some_and(|(_, until)| *until == self.notices.until_ms);
        if self.notices.fresh.is_empty() || (self.word.is_some() && !is_ours) {
            return;
        }
        if !is_ours {
            self.notices.told.clear();
        }
        let fresh = std::mem::take(&mut self.notices.fresh);
        self.notices.told.extend(fresh);
        let text = match self.notices.told.as_slice() {
            [one] => one.text.clone(),
            several => {
                let hint = self.keys.or(Action::Tree, "/tree");
                format!("{} ({hint})", counted(several))
            }
        };
        self.tell(text);
        self.notices.until_ms = now_ms + WORD_MS;
    }

    /// The person has looked at an agent, or, without one, at all of them.
    pub(super) fn has_seen(&mut self, agent: Option<AgentId>) {
        self.notices.ended.retain(|ended| agent.is_some_and(|agent| ended.agent != agent));
    }

    /// The name of a worker, and what it is to do.
    pub(crate) fn name_with(&self, agent: AgentId, task: &TaskRecord) -> String {
        let record = self.record(agent);
        let name = record.map_or_else(|| agent.short(), called);
        if record.is_some_and(|record| record.name.is_some()) {
            return name;
        }
        let said = task.description.as_deref().unwrap_or(&task.directive);
        format!("{name} {}", cut(&first_line(said), TASK_COLUMNS))
    }
}

/// How many of each kind.
fn counted(notices: &[Notice]) -> String {
    let mut kinds: Vec<(What, u64)> = Vec::new();
    for notice in notices {
        match kinds.iter_mut().find(|(what, _)| *what == notice.what) {
            Some((_, count)) => *count += 1,
            None => kinds.push((notice.what, 1)),
        }
    }
    let part = |(at, (what, count)): (usize, &(What, u64))| {
        // One noun is enough for all tasks.
        let is_task = |(what, _): &(What, u64)| matches!(what, What::Ended(_));
        let is_first = !kinds.iter().take(at).any(is_task);
        match what {
            What::Ended(status) if is_first => {
                format!("{} {}", plural(*count, "task"), how(*status))
            }
            What::Ended(status) => format!("{count} {}", how(*status)),
            What::Done => format!("{} done", plural(*count, "agent")),
            What::CutOff => format!("{} interrupted", plural(*count, "agent")),
            What::Killed => format!("{} killed", plural(*count, "agent")),
            What::Forked => format!("{} made", plural(*count, "fork")),
            What::Started => format!("{} started", plural(*count, "worker")),
        }
    };
    kinds.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
}

/// How a task has ended, as people say it.
fn how(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::TimedOut => "timed out",
        TaskStatus::Queued
        | TaskStatus::Running
        | TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted
        | TaskStatus::Lost => status.as_str(),
    }
}

/// The first words of what came of a task.
fn outcome(task: &TaskRecord) -> String {
    if let Some(error) = &task.error {
        return first_line(error);
    }
    let Some(raw) = &task.report else { return String::new() };
    let report = Report::parse(raw);
    first_line(report.result.as_deref().unwrap_or(raw))
}
