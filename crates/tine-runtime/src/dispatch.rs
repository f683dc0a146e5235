//! Tool calls of a run: permission first, then the toolbox.

use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::{ToolAnswer, ToolCall, ToolDispatcher};
use tine_tools::{Effect, Place, Toolbox};
use tokio_util::sync::CancellationToken;

use crate::permission::Permissions;
use crate::queue::Queue;

/// The built-in tools at one agent's place, behind its permissions.
pub(crate) struct GuardedTools {
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) place: Place,
    pub(crate) permissions: Permissions,
    pub(crate) queue: Queue,
}

#[async_trait]
impl ToolDispatcher for GuardedTools {
    fn is_read_only(&self, tool: &str) -> bool {
        self.toolbox.get(tool).is_some_and(|tool| tool.spec().effect == Effect::Reads)
    }

    async fn never_began(&self, call: &ToolCall) -> bool {
        self.queue.is_open(&call.id, &call.name, call.input.as_str()).await
    }

    async fn dispatch(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolAnswer {
        let Some(tool) = self.toolbox.get(&call.name) else {
            let names: Vec<&str> = self.toolbox.specs().map(|spec| spec.name).collect();
            let name = &call.name;
            return ToolAnswer::error(format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            ));
        };
        let directory = self.place.directory();
        if let Err(told) = self.permissions.check(&self.queue, directory, call, cancel).await {
            return ToolAnswer::error(told);
        }
        let output = tool.run(&self.place, &call.input, cancel).await;
        ToolAnswer { text: output.text, is_error: output.is_error }
    }
}
