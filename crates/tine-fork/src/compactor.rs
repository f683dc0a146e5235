//! Where a run's conversation is made shorter before it outgrows its model.

use async_trait::async_trait;
use tine_model::Usage;
use tokio_util::sync::CancellationToken;

use crate::conversation::Conversation;
use crate::journal::JournalError;

/// Makes a conversation shorter between two turns: all calls are answered then. Whoever has one decides when that is worth it.
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
}
