//! The tools of one fork, each call told where the fork stands.

use async_trait::async_trait;

use crate::params::ParentContext;
use crate::tools::{CallContext, OpenCall, ToolAnswer, ToolCall, ToolDispatcher};

/// Passes calls on. What only forks know is added to their context here, so that the turn loop needs to know nothing of it.
pub(crate) struct Placed<'a> {
    pub(crate) tools: &'a dyn ToolDispatcher,
    pub(crate) parent: &'a ParentContext,
}

#[async_trait]
impl ToolDispatcher for Placed<'_> {
    fn own_call(&self, call: &ToolCall) -> Result<ToolCall, ToolAnswer> {
        self.tools.own_call(call)
    }

    fn told(&self, asked: &ToolCall, own: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        self.tools.told(asked, own, answer)
    }

    fn only_calls(&self, tool: &str) -> bool {
        self.tools.only_calls(tool)
    }

    fn is_read_only(&self, tool: &str) -> bool {
        self.tools.is_read_only(tool)
    }

    fn forks(&self, tool: &str) -> bool {
        self.tools.forks(tool)
    }

    async fn open_call(&self, call: &ToolCall) -> OpenCall {
        self.tools.open_call(call).await
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        let delegation_depth = self.parent.delegation_depth;
        let traceparent = context.traceparent.as_ref().or(self.parent.traceparent.as_ref());
        let traceparent = traceparent.cloned();
        let context = CallContext { delegation_depth, traceparent, ..context.clone() };
        self.tools.dispatch(call, &context).await
    }
}
