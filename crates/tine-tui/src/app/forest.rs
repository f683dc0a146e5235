//! Who stands where among all agents, and what each of them does, as rows: for the picture on the screen and for lines.

use std::collections::{HashMap, HashSet};

use tine_model::{AgentId, AgentRecord, AgentState, Standing, TaskRecord, TaskStatus};
use tine_runtime::titled;

use super::{App, called};
use crate::words::one_line;

/// Most generations whose lines are drawn before an agent; of a longer chain only the nearest are.
const GENERATIONS_MAX: usize = 16;

/// Characters of the lines of one generation.
const GENERATION_CHARACTERS: usize = 3;

/// An agent in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Who it is.
    pub(crate) agent: AgentId,
    /// The lines before it that join it to its parent.
    pub(crate) branch: String,
    /// How many of those that are shown are above it.
    pub(crate) depth: usize,
    /// How many below it are folded away.
    pub(crate) folded: usize,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// A run of this process.
    Here,
    /// A run of another process, which holds its lease.
    Elsewhere,
    /// It waits for permission.
    Asks,
    /// Nothing.
    Idle,
    /// Its run broke off.
    Interrupted,
    /// Its run failed.
    Failed,
    /// It was ended for good.
    Dead,
    /// What became of its task.
    Task(TaskStatus),
}

impl Doing {
    /// A sign of one column, so that nothing hangs on a colour.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Here | Self::Task(TaskStatus::Running) => "●",
            Self::Elsewhere => "◌",
            Self::Asks => "?",
            Self::Idle => "○",
            Self::Interrupted | Self::Task(TaskStatus::Interrupted) => "‖",
            Self::Dead => "†",
            Self::Task(TaskStatus::Queued) => "…",
            Self::Task(TaskStatus::Completed) => "✓",
            Self::Failed
            | Self::Task(TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::TimedOut) => "✗",
            Self::Task(TaskStatus::Lost) => "!",
        }
    }

    /// A word for a column.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Here => "running",
            Self::Elsewhere => "elsewhere",
            Self::Asks => "permission",
            Self::Idle => AgentState::Idle.as_str(),
            Self::Interrupted => AgentState::Interrupted.as_str(),
            Self::Failed => TaskStatus::Failed.as_str(),
            Self::Dead => AgentState::Dead.as_str(),
            Self::Task(status) => status.as_str(),
        }
    }

    /// The same in a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Here => "running here",
            Self::Elsewhere => "running elsewhere",
            Self::Asks => "waiting for permission",
            Self::Task(TaskStatus::Lost) => "lost: its process is gone",
            Self::Idle | Self::Interrupted | Self::Failed | Self::Dead | Self::Task(_) => {
                self.word()
            }
        }
    }
}

/// The rows of the picture: each root, and below it those that were forked from it, the oldest first. Agents whose parent is not shown
/// stand below the nearest above it that is.
pub(crate) fn rows(agents: &[AgentRecord], is_shown: impl Fn(&AgentRecord) -> bool) -> Vec<Row> {
    drawn(&below(agents, is_shown))
}

/// Those that are shown, by the nearest above them that is; roots and whoever has nobody above them that is shown below `None`.
pub(super) fn below(
    agents: &[AgentRecord],
    is_shown: impl Fn(&AgentRecord) -> bool,
) -> HashMap<Option<AgentId>, Vec<AgentId>> {
    let by_id: HashMap<AgentId, &AgentRecord> =
        agents.iter().map(|agent| (agent.id, agent)).collect();
    let is_shown = |agent: &&AgentRecord| agent.standing != Standing::Hidden && is_shown(agent);
    let visible: Vec<&AgentRecord> = agents.iter().filter(is_shown).collect();
    let seen: HashSet<AgentId> = visible.iter().map(|agent| agent.id).collect();
    let mut below: HashMap<Option<AgentId>, Vec<AgentId>> = HashMap::new();
    for agent in &visible {
        let above = std::iter::successors(agent.parent, |id| by_id.get(id)?.parent);
        let parent = above.into_iter().find(|id| seen.contains(id));
        below.entry(parent).or_default().push(agent.id);
    }
    below
}

/// The rows of those that are shown, in the order in which they stand below each other.
pub(super) fn drawn(below: &HashMap<Option<AgentId>, Vec<AgentId>>) -> Vec<Row> {
    let mut rows = Vec::new();
    for root in below.get(&None).into_iter().flatten() {
        rows.push(Row { agent: *root, branch: String::new(), depth: 0, folded: 0 });
        add_below(below, *root, &mut rows);
    }
    rows
}

/// Adds everybody below an agent. A stack of its own, since chains of forks may be long.
fn add_below(below: &HashMap<Option<AgentId>, Vec<AgentId>>, agent: AgentId, rows: &mut Vec<Row>) {
    let mut stack = vec![(agent, String::new(), 0_usize)];
    while let Some((parent, before, next)) = stack.pop() {
        let children = below.get(&Some(parent)).map(Vec::as_slice).unwrap_or_default();
        let Some(child) = children.get(next).copied() else { continue };
        let is_last = next + 1 == children.len();
        let branch = format!("{before}{}", if is_last { "└─ " } else { "├─ " });
        let inner = nearest(format!("{before}{}", if is_last { "   " } else { "│  " }));
        stack.push((parent, before, next + 1));
        rows.push(Row { agent: child, branch, depth: stack.len(), folded: 0 });
        stack.push((child, inner, 0));
    }
}

/// The lines of the nearest generations alone.
fn nearest(lines: String) -> String {
    let beyond = lines.chars().count().saturating_sub(GENERATIONS_MAX * GENERATION_CHARACTERS);
    match beyond {
        0 => lines,
        _ => lines.chars().skip(beyond).collect(),
    }
}

/// What an agent does, as people call it.
pub(crate) fn state_word(agent: &AgentRecord, task: Option<&TaskRecord>) -> &'static str {
    match task {
        Some(task) => task.status.as_str(),
        None => agent.state.as_str(),
    }
}

impl App {
    /// What an agent does.
    pub(crate) fn doing(&self, agent: &AgentRecord) -> Doing {
        let task = self.tasks.get(&agent.id).map(|task| task.status);
        match (agent.state, task) {
            (AgentState::Dead, _) => Doing::Dead,
            _ if self.questions.of(agent.id).is_some() => Doing::Asks,
            _ if self.lives.contains_key(&agent.id) => Doing::Here,
            (AgentState::Running, _) => Doing::Elsewhere,
            (AgentState::Idle | AgentState::Interrupted, Some(status)) => Doing::Task(status),
            (AgentState::Interrupted, None) if agent.failure.is_some() => Doing::Failed,
            (AgentState::Interrupted, None) => Doing::Interrupted,
            (AgentState::Idle, None) => Doing::Idle,
        }
    }

    /// The kind of an agent: a talk, a fork of one, a fork at work that nobody looks at, a worker, or another program's conversation.
    pub(crate) fn kind(&self, agent: &AgentRecord) -> &'static str {
        match agent.standing {
            Standing::Root => "talk",
            Standing::Worker => "worker",
            Standing::Peer if self.focus != Some(agent.id) && self.runs(agent.id) => "background",
            Standing::Peer | Standing::Hidden => "fork",
            Standing::Guest => "guest",
        }
    }

    /// What an agent was asked: its task, or the first words to it.
    pub(crate) fn title_of(&self, agent: AgentId) -> Option<String> {
        let task = self.tasks.get(&agent);
        let described = task.and_then(|task| titled(task.description.as_deref()?));
        let own = || self.record(agent)?.title.as_deref().map(one_line);
        described.or_else(own).or_else(|| titled(&task?.directive))
    }

    /// The directory of an agent, as it is seen from that of the session.
    pub(crate) fn place_of(&self, agent: &AgentRecord) -> String {
        match agent.directory == self.directory {
            true => "here".to_owned(),
            false if self.facts.worktree(agent.id).is_some() => "its worktree".to_owned(),
            false => one_line(&agent.directory),
        }
    }

    /// Where an agent was forked from: an entry of its parent; `own` where it begins by itself.
    pub(crate) fn fork_point(&self, agent: &AgentRecord) -> String {
        agent.fork_point.map_or_else(|| "own".to_owned(), |entry| format!("@{entry}"))
    }

    /// Those above an agent, the topmost first, and itself.
    pub(crate) fn line_of(&self, agent: AgentId) -> String {
        let up = std::iter::successors(self.record(agent), |agent| self.record(agent.parent?));
        let mut names: Vec<String> = up.map(called).collect();
        names.reverse();
        names.join(" › ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::fixture;

    fn agent(id: u8, parent: Option<u8>, state: AgentState) -> AgentRecord {
        AgentRecord { state, ..fixture::agent(id, parent) }
    }

    fn picture(agents: &[AgentRecord], shows_dead: bool) -> String {
        let rows = rows(agents, |agent| shows_dead || agent.state != AgentState::Dead);
        let line = |row: &Row| format!("{}{} {}", row.branch, &row.agent.short()[..2], row.depth);
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn forks_stand_below_their_parents_and_the_dead_make_no_holes() {
        use AgentState::{Dead, Idle};
        let agents = [
            agent(1, None, Idle),
            agent(2, Some(1), Idle),
            agent(3, Some(1), Dead),
            agent(4, Some(2), Idle),
            agent(5, Some(3), Idle),
            agent(6, None, Idle),
        ];
        insta::assert_snapshot!(picture(&agents, true), @"
        01 0
        ├─ 02 1
        │  └─ 04 2
        └─ 03 1
           └─ 05 2
        06 0
        ");
        insta::assert_snapshot!(picture(&agents, false), @"
        01 0
        ├─ 02 1
        │  └─ 04 2
        └─ 05 1
        06 0
        ");
    }

    #[test]
    fn a_long_chain_is_no_trouble() {
        let chain: Vec<AgentRecord> =
            (0..=250).map(|id| agent(id, id.checked_sub(1), AgentState::Idle)).collect();
        let rows = rows(&chain, |_| true);
        assert_eq!(rows.len(), 251);
        assert_eq!(rows.last().map(|row| row.depth), Some(250));
        assert!(rows.iter().all(|row| row.branch.chars().count() <= 51));
    }
}
