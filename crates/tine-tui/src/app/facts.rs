//! What is known of agents besides their rows: what they used and what they changed. Read off the event loop.

use std::collections::HashMap;

use tine_model::{AgentId, WorktreeRecord};
use tine_runtime::{BackgroundCommand, UsageSum};

use crate::figures::money;

/// What was found out.
#[derive(Debug, Clone)]
pub(crate) enum Fact {
    /// Of all agents: what they used since the last time, and which worktrees there are.
    Read {
        /// What was used.
        usage: Vec<UsageSum>,
        /// All worktrees.
        worktrees: Vec<WorktreeRecord>,
    },
    /// Of one agent, looked at closely.
    Looked(AgentId, Peek),
    /// All commands that agents of this terminal keep in the background.
    Background(Vec<BackgroundCommand>),
}

/// One agent looked at closely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Peek {
    /// The last that its model said; nothing where that was said before the fork.
    pub(crate) words: Option<String>,
    /// How many files of its worktree differ from its start now.
    pub(crate) files: Option<u32>,
}

/// All that was found out.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    usage: HashMap<AgentId, UsageSum>,
    worktrees: HashMap<AgentId, WorktreeRecord>,
    peeks: HashMap<AgentId, Peek>,
    background: Vec<BackgroundCommand>,
}

impl Facts {
    /// Takes in what was found out.
    pub(super) fn take(&mut self, fact: Fact) {
        match fact {
            Fact::Read { usage, worktrees } => {
                for sum in usage {
                    self.usage.entry(sum.agent).and_modify(|old| add(old, sum)).or_insert(sum);
                }
                for worktree in &worktrees {
                    let is_same = self.worktrees.get(&worktree.agent) == Some(worktree);
                    // It was looked at since.
                    if let (false, Some(peek)) = (is_same, self.peeks.get_mut(&worktree.agent)) {
                        peek.files = None;
                    }
                }
                self.worktrees =
                    worktrees.into_iter().map(|worktree| (worktree.agent, worktree)).collect();
            }
            Fact::Looked(agent, peek) => drop(self.peeks.insert(agent, peek)),
            Fact::Background(commands) => self.background = commands,
        }
    }

    /// What its own requests cost: `?` where a price is not known, and nothing where there were none.
    pub(crate) fn cost(&self, agent: AgentId) -> Option<String> {
        let sum = self.usage.get(&agent)?;
        Some(match sum.unpriced {
            0 => money(sum.micro_usd as f64 / 1e6),
            _ => "?".to_owned(),
        })
    }

    /// How many of a hundred prompt tokens the cache served; nothing where no provider said.
    pub(crate) fn cached(&self, agent: AgentId) -> Option<u64> {
        let sum = self.usage.get(&agent).filter(|sum| sum.prompt > 0)?;
        Some(sum.read.min(sum.prompt) * 100 / sum.prompt)
    }

    /// How many files of its own worktree differ from its start, as far as is known; nothing for an agent without one.
    pub(crate) fn files(&self, agent: AgentId) -> Option<u32> {
        let noted = self.worktrees.get(&agent)?.files;
        Some(self.peek(agent).and_then(|peek| peek.files).unwrap_or(noted))
    }

    /// The worktree that was made for it.
    pub(crate) fn worktree(&self, agent: AgentId) -> Option<&WorktreeRecord> {
        self.worktrees.get(&agent)
    }

    /// The commands that agents of this terminal keep in the background.
    pub(crate) fn background(&self) -> &[BackgroundCommand] {
        &self.background
    }

    /// What was seen of it, if it was looked at.
    pub(crate) fn peek(&self, agent: AgentId) -> Option<&Peek> {
        self.peeks.get(&agent)
    }
}

fn add(sum: &mut UsageSum, more: UsageSum) {
    sum.requests += more.requests;
    sum.unpriced += more.unpriced;
    sum.micro_usd += more.micro_usd;
    sum.prompt += more.prompt;
    sum.read += more.read;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::fixture::id;

    fn used(unpriced: u64, micro_usd: u64, prompt: u64, read: u64) -> Fact {
        let usage = vec![UsageSum { agent: id(1), requests: 1, unpriced, micro_usd, prompt, read }];
        Fact::Read { usage, worktrees: Vec::new() }
    }

    #[test]
    fn what_was_used_adds_up_and_a_missing_price_is_no_zero() {
        let mut facts = Facts::default();
        let mut said = |fact| {
            facts.take(fact);
            (facts.cost(id(1)).unwrap(), facts.cached(id(1)))
        };
        assert_eq!(said(used(0, 1_000, 0, 0)), ("$0.0010".to_owned(), None));
        assert_eq!(said(used(0, 500_000, 200, 150)), ("$0.5010".to_owned(), Some(75)));
        assert_eq!(said(used(1, 0, 200, 50)), ("?".to_owned(), Some(50)));
        assert_eq!(facts.cost(id(2)), None);
    }
}
