//! What agents cost, and why.

use std::collections::BTreeMap;

use tine_cache::Models;
use tine_model::{AgentId, Usage};
use tine_store::{RequestRow, UsageScope};

use crate::cache_note::CacheNote;
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
    /// How many of them the provider reported no usage of: what they cost is in no sum.
    pub unreported: u64,
    /// Their tokens.
    pub usage: Usage,
    /// What they cost, in USD, each at the price of its own size and time; `None` for a model without a known price.
    pub dollars: Option<f64>,
    /// What they would have cost without any cache, in USD.
    pub dollars_uncached: Option<f64>,
}

/// Requests that the cache served less than it should have, by cause.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseLine {
    /// The verdict's word, such as `expired`.
    pub cause: String,
    /// How many requests.
    pub requests: u64,
    /// Tokens that should have been read and were not; for a cold start, tokens that nobody had written yet.
    pub tokens: u64,
    /// What that cost, in USD; `None` when no price is known.
    pub dollars: Option<f64>,
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
    /// Why the cache did not serve more, over the subtree; the dearest cause first.
    pub causes: Vec<CauseLine>,
    /// The day on which the prices were read.
    pub prices_date: String,
}

impl Runtime {
    /// What an agent and its descendants cost so far.
    pub async fn cost(&self, agent: AgentId) -> Result<CostReport, RuntimeError> {
        self.cost_since(agent, i64::MIN).await
    }

    /// Counts only requests since a time, in milliseconds since the Unix epoch.
    pub async fn cost_since(
        &self,
        agent: AgentId,
        since_ms: i64,
    ) -> Result<CostReport, RuntimeError> {
        let models = &self.ports().facts;
        let mut subtree = self.store().requests(agent, UsageScope::Subtree).await?;
        subtree.retain(|row| row.started_ms >= since_ms);
        let own: Vec<RequestRow> =
            subtree.iter().filter(|row| row.agent == agent).cloned().collect();
        let prices_date = models.date().to_owned();
        let causes = causes(models, &subtree);
        Ok(CostReport {
            agent,
            own: lines(models, &own),
            subtree: lines(models, &subtree),
            causes,
            prices_date,
        })
    }
}

fn lines(models: &Models, rows: &[RequestRow]) -> Vec<CostLine> {
    let mut lines: BTreeMap<&str, CostLine> = BTreeMap::new();
    for row in rows {
        let price = models.price(&row.model, row.started_ms);
        let line = lines.entry(&row.model).or_insert_with(|| CostLine {
            model: row.model.clone(),
            priced_as: models.priced_as(&row.model).map(str::to_owned),
            requests: 0,
            unreported: 0,
            usage: Usage::default(),
            dollars: price.as_ref().map(|_| 0.0),
            dollars_uncached: price.as_ref().map(|_| 0.0),
        });
        line.requests += 1;
        let Some(usage) = row.usage else {
            line.unreported += 1;
            continue;
        };
        line.usage += usage;
        if let Some(price) = &price {
            *line.dollars.get_or_insert(0.0) += price.cost(&usage);
            *line.dollars_uncached.get_or_insert(0.0) += price.cost_uncached(&usage);
        }
    }
    lines.into_values().collect()
}

fn causes(models: &Models, rows: &[RequestRow]) -> Vec<CauseLine> {
    let mut causes: BTreeMap<&str, CauseLine> = BTreeMap::new();
    for row in rows {
        let Some(verdict) = row.verdict.as_deref().filter(|verdict| *verdict != "ok") else {
            continue;
        };
        let note = row.note.as_deref().and_then(CacheNote::parse);
        let line = causes.entry(verdict).or_insert_with(|| CauseLine {
            cause: verdict.to_owned(),
            requests: 0,
            tokens: 0,
            dollars: None,
        });
        line.requests += 1;
        let (tokens, dollars) = match (verdict, row.usage, note) {
            // Nobody could have read what nobody had written; it still had to be paid for.
            ("cold", Some(usage), _) => cost_of_cold(models, row, &usage),
            (_, _, Some(note)) => (note.missed, note.missed_usd),
            (_, _, None) => (0, None),
        };
        line.tokens += tokens;
        if let Some(dollars) = dollars {
            *line.dollars.get_or_insert(0.0) += dollars;
        }
    }
    let mut causes: Vec<CauseLine> = causes.into_values().collect();
    causes.sort_by(|a, b| {
        let dollars = |line: &CauseLine| line.dollars.unwrap_or(0.0);
        dollars(b).total_cmp(&dollars(a)).then(b.tokens.cmp(&a.tokens))
    });
    causes
}

/// Tokens that nobody had written, and what they cost over reading the same, in USD. Where writing costs nothing of its own, all
/// that was not read is kept.
fn cost_of_cold(models: &Models, row: &RequestRow, usage: &Usage) -> (u64, Option<f64>) {
    let facts = models.facts(&row.model);
    let kept = if facts.reports_writes() {
        Usage { uncached: 0, read: None, output: 0, reasoning: None, ..*usage }
    } else {
        Usage { uncached: usage.uncached, ..Usage::default() }
    };
    let read = Usage { read: Some(kept.prompt()), ..Usage::default() };
    // Both at the rates of the whole prompt, whose size decides on the tier.
    let cost = |price: tine_cache::Price| {
        let rates = tine_cache::Price::flat(*price.rates_for(usage.prompt()));
        rates.cost(&kept) - rates.cost(&read)
    };
    (kept.prompt(), facts.prices.at(row.started_ms).map(cost))
}
