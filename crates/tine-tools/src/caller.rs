//! How a tool runs other tools: by asking whoever runs it.

use async_trait::async_trait;
use tine_model::RawJson;

use crate::tool::ToolOutput;

/// Runs tools on behalf of a running one. Whoever implements it judges each call as it judges the model's own.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Runs one call to its end. A refusal and a failure are outputs.
    async fn call(&self, tool: &str, input: &RawJson) -> ToolOutput;
}
