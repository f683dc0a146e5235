//! For forks that only talk.

use async_trait::async_trait;
use tine_fork::{CallContext, ToolAnswer, ToolCall, ToolDispatcher};

/// No tools at all.
pub(crate) struct NoTools;

#[async_trait]
impl ToolDispatcher for NoTools {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, call: &ToolCall, _context: &CallContext) -> ToolAnswer {
        ToolAnswer::error(format!("There is no tool `{}`.", call.name))
    }
}
