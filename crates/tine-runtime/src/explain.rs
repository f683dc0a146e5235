//! Why the cache served what it served: the requests of an agent, each with what was expected and what came of it.

use tine_model::{AgentId, Usage};
use tine_store::UsageScope;

use crate::cache_note::CacheNote;
use crate::error::RuntimeError;
use crate::runtime::Runtime;
use crate::stop_words;

/// One request, explained.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedRequest {
    /// Which one, counted from 1 over the agent's own requests.
    pub number: usize,
    /// When it was sent, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The model, as `provider/name`.
    pub model: String,
    /// Tokens; `None` when the provider reported none at all.
    pub usage: Option<Usage>,
    /// The verdict's word; `None` for a request that nobody judged.
    pub verdict: Option<String>,
    /// What else is known.
    pub note: Option<CacheNote>,
    /// What it cost, in USD.
    pub dollars: Option<f64>,
    /// True for a request of a guest's program beside its conversation, such as for a title.
    pub is_aside: bool,
}

impl Runtime {
    /// The requests that an agent sent itself, oldest first.
    pub async fn explain_cache(
        &self,
        agent: AgentId,
    ) -> Result<Vec<ExplainedRequest>, RuntimeError> {
        let rows = self.store().requests(agent, UsageScope::Own).await?;
        let models = &self.ports().facts;
        let explained = rows.into_iter().enumerate().map(|(index, row)| ExplainedRequest {
            is_aside: row.stop.as_deref() == Some(stop_words::ASIDE),
            number: index + 1,
            started_ms: row.started_ms,
            dollars: models
                .price(&row.model, row.started_ms)
                .and_then(|price| row.usage.map(|usage| price.cost(&usage))),
            model: row.model,
            usage: row.usage,
            verdict: row.verdict,
            note: row.note.as_deref().and_then(CacheNote::parse),
        });
        Ok(explained.collect())
    }
}
