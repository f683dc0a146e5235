//! What the runtime is given from outside: time, ids, and a way to reach models.

use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::{Clock, Ids};
use tine_llm::{LlmClient, LlmError};
use tine_model::ModelRef;

/// Why a model cannot be reached at all.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The client cannot be made: no key, no base URL, a bad one.
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// The simulator's scenario cannot be used.
    #[error("cannot use the scenario `{name}`")]
    Scenario {
        /// What was asked for.
        name: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Makes clients for models.
#[async_trait]
pub trait Connector: Send + Sync {
    /// A client for a model; may be shared with other agents.
    async fn connect(&self, model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError>;

    /// Whose account requests to a model are billed to, as a text that tells nothing of the key: agents share a cache when it is
    /// the same. For a cache that ends with the process, a text that no other process gives.
    fn account(&self, model: &ModelRef) -> String;
}

/// Everything from outside.
#[derive(Clone)]
pub struct Ports {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub ids: Arc<dyn Ids>,
    /// Models.
    pub models: Arc<dyn Connector>,
    /// What is known of them.
    pub facts: Arc<tine_cache::Models>,
}
