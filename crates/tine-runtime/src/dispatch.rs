//! Tool calls of a run: permission first, then the toolbox.

use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::{CallContext, InnerCalls, ToolAnswer, ToolCall, ToolDispatcher};
use tine_model::{AgentId, RawJson};
use tine_tools::{Caller, Effect, Place, ToolOutput, Toolbox};

use crate::permission::Permissions;

/// The built-in tools at one agent's place, behind its permissions.
pub(crate) struct GuardedTools {
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) place: Place,
    pub(crate) permissions: Permissions,
    pub(crate) agent: AgentId,
    pub(crate) label: Option<String>,
}

#[async_trait]
impl ToolDispatcher for GuardedTools {
    fn is_read_only(&self, tool: &str) -> bool {
        self.toolbox.get(tool).is_some_and(|tool| tool.spec().effect == Effect::Reads)
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        let Some(tool) = self.toolbox.get(&call.name) else {
            let names: Vec<&str> = self.toolbox.specs().map(|spec| spec.name).collect();
            let name = &call.name;
            return ToolAnswer::error(format!(
                "There is no tool `{name}`. The tools are: {}.",
                names.join(", ")
            ));
        };
        let who = (self.agent, self.label.as_deref());
        let what = (call.name.as_str(), &call.input);
        let cancel = &context.cancel;
        if let Err(told) = self.permissions.check(who, self.place.directory(), what, cancel).await {
            return ToolAnswer::error(told);
        }
        let place = self.place.with_caller(Arc::new(Inner(context.calls.clone())));
        let output = tool.run(&place, &call.input, cancel).await;
        ToolAnswer { text: output.text, is_error: output.is_error }
    }
}

/// What a script calls is filtered and judged like what the model calls.
struct Inner(InnerCalls);

#[async_trait]
impl Caller for Inner {
    async fn call(&self, tool: &str, input: &RawJson) -> ToolOutput {
        let ToolAnswer { text, is_error } = self.0.call(tool, input.clone()).await;
        ToolOutput { text, is_error }
    }
}
