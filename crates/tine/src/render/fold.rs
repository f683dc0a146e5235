//! Forks that a list on a screen leaves out: of many that one agent has and that do nothing, the older ones.

use std::collections::{HashMap, HashSet};

use tine_model::{AgentId, AgentState, Standing};

use crate::render::record::Shown;

/// Quiet forks of one agent that a screen shows, the newest ones.
const SHOWN_MAX: usize = 10;

/// The agents that are left out, and how many of each parent.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    pub(crate) agents: HashSet<AgentId>,
    pub(crate) by_parent: HashMap<AgentId, usize>,
}

impl Fold {
    /// Leaves out of these agents, the oldest of which come first. Those directly below `open` stay, as does whoever works, asks,
    /// or has forks itself.
    pub(crate) fn of(agents: &[Shown], open: Option<AgentId>) -> Self {
        let parents: HashSet<AgentId> =
            agents.iter().filter_map(|agent| agent.record.parent).collect();
        let is_quiet = |agent: &Shown| {
            let is_still = agent.record.state != AgentState::Running && agent.questions == 0;
            is_still && agent.left_running.is_empty() && !parents.contains(&agent.record.id)
        };
        let mut seen: HashMap<AgentId, usize> = HashMap::new();
        let mut fold = Self::default();
        let is_listed = |agent: &&Shown| {
            let is_hidden = agent.record.standing == Standing::Hidden;
            agent.record.state != AgentState::Dead && !is_hidden
        };
        for agent in agents.iter().rev().filter(is_listed) {
            let Some(parent) = agent.record.parent.filter(|parent| Some(*parent) != open) else {
                continue;
            };
            if !is_quiet(agent) {
                continue;
            }
            let seen = seen.entry(parent).or_default();
            *seen += 1;
            if *seen > SHOWN_MAX {
                fold.agents.insert(agent.record.id);
                *fold.by_parent.entry(parent).or_default() += 1;
            }
        }
        fold
    }
}
