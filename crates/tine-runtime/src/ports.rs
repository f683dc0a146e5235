//! What the runtime is given from outside: time, ids, and a way to reach models.

use std::sync::Arc;

use async_trait::async_trait;
use tine_llm::{LlmClient, LlmError};
use tine_model::ModelRef;

/// The time.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;
}

/// Randomness for ids.
pub trait Ids: Send + Sync {
    /// Sixteen fresh random bytes.
    fn random(&self) -> [u8; 16];
}

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

    /// When the cache behind a model began to exist, in milliseconds since the Unix epoch: nothing that was sent before can be
    /// in it. `None` for a cache that is older than anybody's requests, as a provider's is.
    fn cache_since_ms(&self, _model: &ModelRef) -> Option<i64> {
        None
    }
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
}
