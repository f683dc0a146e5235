//! What agents cost.

use tine_cache::Prices;
use tine_model::{AgentId, Usage};
use tine_store::{ModelUsage, UsageScope};

use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Requests to one model.
#[derive(Debug, Clone, PartialEq)]
pub struct CostLine {
    /// The model, as `provider/name`.
    pub model: String,
    /// The model whose prices stand in, where this one has none of its own.
    pub priced_as: Option<String>,
    /// How many requests.
    pub requests: u64,
    /// Their tokens.
    pub usage: Usage,
    /// What they cost, in USD; `None` for a model without a known price.
    pub dollars: Option<f64>,
    /// What they would have cost without any cache, in USD.
    pub dollars_uncached: Option<f64>,
}

/// What an agent cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CostReport {
    /// The agent.
    pub agent: AgentId,
    /// Its own requests.
    pub own: Vec<CostLine>,
    /// Its own and those of all its descendants. Inherited history is never counted again: usage belongs to requests.
    pub subtree: Vec<CostLine>,
    /// The day on which the prices were read.
    pub prices_date: String,
}

impl Runtime {
    /// What an agent and its descendants cost so far.
    pub async fn cost(&self, agent: AgentId) -> Result<CostReport, RuntimeError> {
        let prices = Prices::bundled();
        let own = self.store().usage(agent, UsageScope::Own).await?;
        let subtree = self.store().usage(agent, UsageScope::Subtree).await?;
        let lines = |usage: Vec<ModelUsage>| -> Vec<CostLine> {
            usage.into_iter().map(|usage| line(&prices, usage)).collect()
        };
        let prices_date = prices.date().to_owned();
        Ok(CostReport { agent, own: lines(own), subtree: lines(subtree), prices_date })
    }
}

fn line(prices: &Prices, row: ModelUsage) -> CostLine {
    let price = prices.of(&row.model);
    CostLine {
        priced_as: prices.priced_as(&row.model).map(str::to_owned),
        dollars: price.map(|price| price.cost(&row.usage)),
        dollars_uncached: price.map(|price| price.cost_uncached(&row.usage)),
        model: row.model,
        requests: row.requests,
        usage: row.usage,
    }
}
