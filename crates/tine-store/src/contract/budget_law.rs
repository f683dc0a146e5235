//! The law of budgets, over any tree and any order of events.

use std::collections::BTreeMap;

use tine_model::{AgentId, Cap, RequestId, Usage};

use super::Fixture;
use super::sample::{agent_id, caps_of, create, fork, request_of};
use crate::{ForkFrom, RequestRow, Reserve, Reserved, Result, StoreError};

/// Something that happens in a tree with a budget. Agents are counted in the order of their making, round and round.
#[derive(Debug, Clone)]
pub enum Spending {
    /// An agent asks for the right to send a request that may use so much.
    Reserve {
        /// Which agent.
        agent: usize,
        /// Tokens that it says it may use.
        tokens: u64,
        /// What it says it may cost.
        micro_usd: u64,
    },
    /// One of the requests under way ends, and used so much, whatever it had said.
    Record {
        /// Which request.
        which: usize,
        /// Tokens that it used.
        tokens: u64,
        /// What it cost.
        micro_usd: u64,
    },
    /// One of the requests under way comes to nothing.
    Release {
        /// Which request.
        which: usize,
    },
    /// The caps are changed.
    Cap {
        /// Which agent names the tree.
        agent: usize,
        /// The new cap of tokens.
        tokens: Option<u64>,
        /// The new cap of money.
        micro_usd: Option<u64>,
    },
    /// The tree grows.
    Fork {
        /// Which agent is forked.
        parent: usize,
    },
}

/// What a store with a budget should hold.
#[derive(Default)]
struct Model {
    agents: Vec<AgentId>,
    /// Requests under way: whose, and what is reserved.
    sent: BTreeMap<u8, (AgentId, u64, u64)>,
    tokens: u64,
    micro_usd: u64,
    tokens_max: Option<u64>,
    micro_usd_max: Option<u64>,
}

impl Model {
    fn agent(&self, number: usize) -> AgentId {
        self.agents[number % self.agents.len()]
    }

    fn pick(&self, which: usize) -> Option<u8> {
        self.sent.keys().nth(which % self.sent.len().max(1)).copied()
    }

    fn reserved(&self) -> (u64, u64) {
        self.sent.values().fold((0, 0), |sum, (_, tokens, usd)| (sum.0 + tokens, sum.1 + usd))
    }

    /// Whether a request may be sent: no cap is used up, by what is spent or by what is reserved.
    fn is_open(&self) -> bool {
        let (tokens, micro_usd) = self.reserved();
        self.tokens_max.is_none_or(|most| self.tokens + tokens < most)
            && self.micro_usd_max.is_none_or(|most| self.micro_usd + micro_usd < most)
    }

    fn is_spent(&self) -> bool {
        self.tokens_max.is_some_and(|most| self.tokens >= most)
            || self.micro_usd_max.is_some_and(|most| self.micro_usd >= most)
    }
}

/// A request is let through exactly when no cap is used up by what is spent and reserved, whoever of the tree asks; every sum is
/// exact after every event.
pub async fn spending_passes_no_cap(fixture: &dyn Fixture, operations: &[Spending]) -> Result<()> {
    let mut store = fixture.open().await?;
    let root = create(&*store, 0).await?;
    let mut model = Model { agents: vec![root], ..Model::default() };
    store.set_budget(caps_of(root, &[])).await?;
    for (number, operation) in operations.iter().enumerate() {
        let number = number as u8;
        match *operation {
            Spending::Reserve { agent, tokens, micro_usd } => {
                let (agent, id) = (model.agent(agent), RequestId::from_random([number; 16]));
                let owner = "somebody".to_owned();
                let ask = Reserve { id, agent, owner, tokens, micro_usd, now_ms: 5000 };
                let expected = (model.is_open(), model.is_spent());
                match (store.reserve(ask).await?, expected) {
                    (Reserved::Granted, (true, _)) => {
                        model.sent.insert(number, (agent, tokens, micro_usd));
                    }
                    (Reserved::Promised(_), (false, false)) | (Reserved::Spent(_), (_, true)) => {}
                    (other, expected) => panic!("{other:?} at {number}, expected {expected:?}"),
                }
            }
            Spending::Record { which, tokens, micro_usd } => {
                let Some(id) = model.pick(which) else { continue };
                let Some((agent, ..)) = model.sent.remove(&id) else { continue };
                let usage = Usage { uncached: tokens, ..Usage::default() };
                let (usage, micro_usd) = (Some(usage), Some(micro_usd));
                let request = RequestRow { usage, micro_usd, ..request_of(agent, id, "m") };
                store.record_request(request, &[]).await?;
                model.tokens += tokens;
                model.micro_usd += micro_usd.unwrap_or_default();
            }
            Spending::Release { which } => {
                let Some(id) = model.pick(which) else { continue };
                model.sent.remove(&id);
                store.release_reservation(RequestId::from_random([id; 16])).await?;
            }
            Spending::Cap { agent, tokens, micro_usd } => {
                let caps = [(Cap::Tokens, tokens), (Cap::Money, micro_usd)];
                store.set_budget(caps_of(model.agent(agent), &caps)).await?;
                (model.tokens_max, model.micro_usd_max) = (tokens, micro_usd);
            }
            Spending::Fork { parent } => {
                let child = agent_id(model.agents.len() as u64);
                let at = model.agents.len() as u64;
                fork(&*store, model.agent(parent), at, ForkFrom::Nothing).await?;
                model.agents.push(child);
                store = fixture.open().await?;
            }
        }
        let found = store.budget(root).await?.ok_or_else(|| StoreError::no_agent(root))?;
        assert_eq!((found.tokens, found.micro_usd), (model.tokens, model.micro_usd));
        assert_eq!((found.tokens_reserved, found.micro_usd_reserved), model.reserved());
        assert_eq!(found.requests, model.sent.len() as u64);
    }
    Ok(())
}
