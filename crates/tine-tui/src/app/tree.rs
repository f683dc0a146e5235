//! All agents as one picture.

use std::collections::{HashMap, HashSet};

use tine_model::{AgentId, AgentRecord, AgentState, Standing, TaskRecord};

/// The tree on the screen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// Which agent is marked.
    pub(crate) marked: Option<AgentId>,
    /// Whether the dead are shown, too.
    pub(crate) shows_dead: bool,
}

/// An agent in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Who it is.
    pub(crate) agent: AgentId,
    /// The lines before it that join it to its parent.
    pub(crate) branch: String,
}

/// The rows of the picture: each root, and below it those that were forked from it, the oldest first. Agents whose parent is not shown
/// stand below the nearest above it that is.
pub(crate) fn rows(agents: &[AgentRecord], shows_dead: bool) -> Vec<Row> {
    let shown = |agent: &&AgentRecord| {
        agent.standing != Standing::Hidden && (shows_dead || agent.state != AgentState::Dead)
    };
    let by_id: HashMap<AgentId, &AgentRecord> =
        agents.iter().map(|agent| (agent.id, agent)).collect();
    let visible: Vec<&AgentRecord> = agents.iter().filter(shown).collect();
    let seen: HashSet<AgentId> = visible.iter().map(|agent| agent.id).collect();
    let mut below: HashMap<Option<AgentId>, Vec<AgentId>> = HashMap::new();
    for agent in &visible {
        let above = std::iter::successors(agent.parent, |id| by_id.get(id)?.parent);
        let parent = above.into_iter().find(|id| seen.contains(id));
        below.entry(parent).or_default().push(agent.id);
    }
    let mut rows = Vec::with_capacity(visible.len());
    let roots = below.get(&None).cloned().unwrap_or_default();
    for root in roots {
        rows.push(Row { agent: root, branch: String::new() });
        add_below(&below, root, "", &mut rows);
    }
    rows
}

/// Adds everybody below an agent. A stack of its own, since chains of forks may be long.
fn add_below(
    below: &HashMap<Option<AgentId>, Vec<AgentId>>,
    agent: AgentId,
    before: &str,
    rows: &mut Vec<Row>,
) {
    let mut stack = vec![(agent, before.to_owned(), 0_usize)];
    while let Some((parent, before, next)) = stack.pop() {
        let children = below.get(&Some(parent)).map(Vec::as_slice).unwrap_or_default();
        let Some(child) = children.get(next).copied() else { continue };
        let is_last = next + 1 == children.len();
        rows.push(Row {
            agent: child,
            branch: format!("{before}{}", if is_last { "└─ " } else { "├─ " }),
        });
        let inner = format!("{before}{}", if is_last { "   " } else { "│  " });
        stack.push((parent, before, next + 1));
        stack.push((child, inner, 0));
    }
}

/// What an agent does, as people call it.
pub(crate) fn state_word(agent: &AgentRecord, task: Option<&TaskRecord>) -> &'static str {
    match task {
        Some(task) => task.status.as_str(),
        None => agent.state.as_str(),
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
        let rows = rows(agents, shows_dead);
        let lines: Vec<String> =
            rows.iter().map(|row| format!("{}{}", row.branch, &row.agent.short()[..2])).collect();
        lines.join("\n")
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
        01
        ├─ 02
        │  └─ 04
        └─ 03
           └─ 05
        06
        ");
        insta::assert_snapshot!(picture(&agents, false), @"
        01
        ├─ 02
        │  └─ 04
        └─ 05
        06
        ");
    }

    #[test]
    fn a_long_chain_is_no_trouble() {
        let chain: Vec<AgentRecord> =
            (0..=250).map(|id| agent(id, id.checked_sub(1), AgentState::Idle)).collect();
        assert_eq!(rows(&chain, false).len(), 251);
    }
}
