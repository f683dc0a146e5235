//! Where a run's conversation is made shorter before it outgrows its model.

use async_trait::async_trait;
use tine_llm::LlmError;
use tine_model::{StopReason, Usage};
use tine_wire::{NoAnswer, Overflow, Reply};
use tokio_util::sync::CancellationToken;

use crate::conversation::Conversation;
use crate::journal::JournalError;

/// Makes a conversation shorter, between two turns or where the model has refused it: all calls are answered then. Whoever has one
/// decides when that is worth it.
#[async_trait]
pub trait Compactor: Send + Sync {
    /// Puts a shorter conversation in the place of this one, or leaves it as it is. `last` is what the run's last request
    /// took; `None` before its first. Returns what making it shorter took; `None` where nothing was sent. An error ends the run:
    /// the log could not be written. Anything else that goes wrong leaves the conversation as it was.
    async fn compact(
        &self,
        conversation: &mut Conversation,
        last: Option<&Usage>,
        cancel: &CancellationToken,
    ) -> Result<Option<Usage>, JournalError>;

    /// Returns true where a request and its reply have filled the model's window.
    fn is_full(&self, usage: &Usage) -> bool;

    /// Makes room in a conversation that the model found too long for its window. `round` counts from 0 for each turn; a later round
    /// leaves less. Returns what making room took, or None where nothing more can be done. An error ends the run, as above.
    async fn make_room(
        &self,
        conversation: &mut Conversation,
        overflow: &Overflow,
        round: u32,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Usage>>, JournalError>;
}

/// Calls a reply that was cut at the end of the window that: some servers say only that it was cut.
pub(crate) fn in_window(
    compactor: Option<&dyn Compactor>,
    reply: Reply,
) -> Result<Reply, LlmError> {
    let fills = |compactor: &dyn Compactor| compactor.is_full(&reply.usage);
    if reply.stop == StopReason::MaxTokens && compactor.is_some_and(fills) {
        Err(LlmError::no_answer(reply, NoAnswer::WindowFull))
    } else {
        Ok(reply)
    }
}
