//! Calls that a running tool makes of its own, such as those of a script.
//!
//! They go back to whoever runs the tool, and through the same filter, tools and observer as the model's own calls. So what a run
//! refuses the model, it refuses the model's scripts. A call that was made by a call makes none.

use tine_model::RawJson;
use tokio::sync::{mpsc, oneshot};

use crate::tools::{STOPPED, ToolAnswer};

/// Runs tools on behalf of a running call, one after the other. Clones share the way.
#[derive(Debug, Clone)]
pub struct InnerCalls(Option<mpsc::Sender<InnerCall>>);

/// A call that waits to be run.
#[derive(Debug)]
pub(crate) struct InnerCall {
    pub(crate) tool: String,
    pub(crate) input: RawJson,
    pub(crate) reply: oneshot::Sender<ToolAnswer>,
}

impl InnerCalls {
    /// A way that leads nowhere: every call is answered with a refusal.
    pub fn none() -> Self {
        Self(None)
    }

    /// Whether it leads nowhere: a call that a call made has no other.
    pub fn are_none(&self) -> bool {
        self.0.is_none()
    }

    /// A way, and its other end. One place is enough: who calls waits for the answer.
    pub(crate) fn open() -> (Self, mpsc::Receiver<InnerCall>) {
        let (send, wanted) = mpsc::channel(1);
        (Self(Some(send)), wanted)
    }

    /// Runs one call and waits for its answer. A refusal and a failure are answers; so is the end of the outer call.
    pub async fn call(&self, tool: &str, input: RawJson) -> ToolAnswer {
        let Some(send) = &self.0 else {
            return ToolAnswer::error("A tool that was called by a tool cannot call another.");
        };
        let (reply, answer) = oneshot::channel();
        let call = InnerCall { tool: tool.to_owned(), input, reply };
        if send.send(call).await.is_err() {
            return ToolAnswer::error(STOPPED);
        }
        answer.await.unwrap_or_else(|_| ToolAnswer::error(STOPPED))
    }
}
