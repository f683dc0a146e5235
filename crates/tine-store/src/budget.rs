//! Budgets as callers set and see them. Money is in millionths of a USD, time in milliseconds.

use tine_model::{AgentId, Cap, CapReached, RequestId};

/// What a tree may use; `None` is no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caps {
    /// Tokens of all requests.
    pub tokens: Option<u64>,
    /// What the requests cost, in millionths of a USD.
    pub micro_usd: Option<u64>,
    /// Time since it was first set, in milliseconds.
    pub time_ms: Option<u64>,
    /// Workers that are ever made.
    pub agents: Option<u64>,
    /// Workers that run at the same time.
    pub running: Option<u64>,
}

impl Caps {
    /// One of them.
    pub fn get(&self, cap: Cap) -> Option<u64> {
        match cap {
            Cap::Tokens => self.tokens,
            Cap::Money => self.micro_usd,
            Cap::Time => self.time_ms,
            Cap::Agents => self.agents,
            Cap::Running => self.running,
        }
    }

    /// Changes one of them.
    pub fn set(&mut self, cap: Cap, most: Option<u64>) {
        let slot = match cap {
            Cap::Tokens => &mut self.tokens,
            Cap::Money => &mut self.micro_usd,
            Cap::Time => &mut self.time_ms,
            Cap::Agents => &mut self.agents,
            Cap::Running => &mut self.running,
        };
        *slot = most;
    }
}

/// Changes caps of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetBudget {
    /// Any agent of the tree.
    pub agent: AgentId,
    /// What changes, and to what; `None` takes a cap away. What is not named stays.
    pub caps: Vec<(Cap, Option<u64>)>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// A tree's budget, and what is used of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRow {
    /// The agent without a parent, whose tree it is.
    pub root: AgentId,
    /// The caps.
    pub caps: Caps,
    /// Tokens of all requests of the tree. One that the provider reported no usage of counts as a token for every four bytes
    /// that were sent.
    pub tokens: u64,
    /// What they cost, as far as prices are known.
    pub micro_usd: u64,
    /// How many of them have no known price.
    pub unpriced: u64,
    /// Tokens that requests under way may use.
    pub tokens_reserved: u64,
    /// What they may cost.
    pub micro_usd_reserved: u64,
    /// Requests under way.
    pub requests: u64,
    /// Workers that were ever made.
    pub agents: u64,
    /// Workers that run.
    pub running: u64,
    /// Workers that wait in line to run.
    pub waiting: u64,
    /// From when the time counts, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// When a cap was last changed, in milliseconds since the Unix epoch.
    pub updated_ms: i64,
}

impl BudgetRow {
    /// What is used of a cap, without what is reserved.
    pub fn used(&self, cap: Cap, now_ms: i64) -> u64 {
        match cap {
            Cap::Tokens => self.tokens,
            Cap::Money => self.micro_usd,
            // The clock runs when there is a time to keep.
            Cap::Time if self.caps.time_ms.is_none() => 0,
            Cap::Time => u64::try_from(now_ms.saturating_sub(self.started_ms)).unwrap_or(0),
            Cap::Agents => self.agents,
            Cap::Running => self.running,
        }
    }

    /// What requests under way may add to it.
    pub fn reserved(&self, cap: Cap) -> u64 {
        match cap {
            Cap::Tokens => self.tokens_reserved,
            Cap::Money => self.micro_usd_reserved,
            Cap::Time | Cap::Agents | Cap::Running => 0,
        }
    }

    /// The first cap of those that hold requests back which is used up.
    pub fn spent(&self, now_ms: i64) -> Option<CapReached> {
        self.first(now_ms, |_| 0)
    }

    /// The first cap of those that hold requests back which is used up once all requests under way have used what they may.
    pub fn promised(&self, now_ms: i64) -> Option<CapReached> {
        self.first(now_ms, |cap| self.reserved(cap))
    }

    fn first(&self, now_ms: i64, more: impl Fn(Cap) -> u64) -> Option<CapReached> {
        [Cap::Tokens, Cap::Money, Cap::Time].into_iter().find_map(|cap| {
            let most = self.caps.get(cap)?;
            let used = self.used(cap, now_ms);
            (used.saturating_add(more(cap)) >= most).then_some(CapReached { cap, used, most })
        })
    }
}

/// Asks for the right to send a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserve {
    /// The id under which the request will be recorded.
    pub id: RequestId,
    /// Who asks.
    pub agent: AgentId,
    /// The process that sends it, as it is named in leases.
    pub owner: String,
    /// Tokens that it may use.
    pub tokens: u64,
    /// What it may cost; 0 where no price is known.
    pub micro_usd: u64,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// The answer to [`Reserve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// The tree has no budget: nothing was written down, and nothing is to be released.
    Unbounded,
    /// The request may be sent.
    Granted,
    /// Requests under way may use what is left. When one of them has ended, it is worth asking again.
    Promised(CapReached),
    /// A cap is used up. Only a change of the budget helps.
    Spent(CapReached),
}

/// Puts workers at the end of their tree's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandInLine {
    /// The workers, in the order in which they are to run; one that stands in line already keeps its place.
    pub agents: Vec<AgentId>,
    /// The process that runs them, as it is named in leases.
    pub owner: String,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}
