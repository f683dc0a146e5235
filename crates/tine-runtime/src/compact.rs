//! Compaction: the older part of a conversation gives way to a summary that the agent's own model writes.
//!
//! The request for the summary goes on from the conversation as it was sent, so that the cache serves it. The log keeps
//! everything; forks that were made before keep what they inherited; the agent, and who is forked from it later, begin a prefix
//! of their own. Where the conversation does not fit into a request, its oldest messages leave the question; where the model cannot
//! be asked at all, a digest stands for the older part. Any other failure leaves the agent as it was.
//!
//! A compaction is one `compact` entry in the agent's log; a rewind to before it undoes it. The first request after it is
//! compared with no earlier one, since its prefix is new.

mod auto;
mod cut;
mod preface;
mod room;
mod summary;

#[cfg(test)]
pub(crate) use preface::preface_text;

use tine_fork::run::Conversation;
use tine_history::Item;
use tine_llm::LlmClient;
use tine_model::{AgentId, EntryId, Message, Usage};
use tine_store::{Lease, StoreError};
use tokio_util::sync::CancellationToken;

use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::guests::refuse_guest;
use crate::load::Loaded;
use crate::runtime::Runtime;

use cut::Cut;
use room::Room;
pub use summary::CompactedBy;
use summary::{Otherwise, Told};

/// Tokens that a compaction keeps word for word unless the caller says otherwise: enough for the work at hand, and a tenth of
/// the smallest window in use.
pub const KEEP_TOKENS_DEFAULT: u64 = 20_000;

/// How a compaction is to go.
#[derive(Debug, Clone)]
pub struct CompactOptions {
    /// About so many tokens at the end stay word for word, by an estimate of four bytes each.
    pub keep_tokens: u64,
    /// What the summary has to mind beside the usual.
    pub instructions: Option<String>,
    /// Stops it; nothing has changed then.
    pub cancel: CancellationToken,
    /// How the cache is used.
    pub caching: CachePolicy,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            keep_tokens: KEEP_TOKENS_DEFAULT,
            instructions: None,
            cancel: CancellationToken::new(),
            caching: CachePolicy::default(),
        }
    }
}

/// A compaction that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The agent.
    pub agent: AgentId,
    /// The entry of the compaction; a rewind to an earlier one undoes it.
    pub entry: EntryId,
    /// The first entry that stays word for word; `None` for none.
    pub keep: Option<EntryId>,
    /// Messages that the summary stands for.
    pub left_out: usize,
    /// Messages that stay.
    pub kept: usize,
    /// Estimated tokens of the messages before and after.
    pub tokens_before: u64,
    /// Estimated tokens of the messages after it, the summary with them.
    pub tokens_after: u64,
    /// What the summary took.
    pub usage: Usage,
    /// What stands for the messages that were left out.
    pub preface: Message,
    /// The way in which it was made.
    pub by: CompactedBy,
}

/// The cut, the room and the fallback of one compaction.
#[derive(Debug, Clone, Copy)]
struct Making {
    /// The place at which the conversation is cut; None where nothing can be left out.
    cut: Option<Cut>,
    /// The room that it has.
    room: Room,
    /// The fallback where there is no summary.
    otherwise: Otherwise,
}

impl Runtime {
    /// Makes an agent's conversation shorter. Takes its lease: an agent that runs elsewhere is refused.
    pub async fn compact(
        &self,
        agent: AgentId,
        options: &CompactOptions,
    ) -> Result<Compacted, RuntimeError> {
        let record = self.store().agent(agent).await?;
        refuse_guest(&record)?;
        let llm = self.client_of(&record, &record.settings.model).await?;
        let lease = self.acquire(agent).await?;
        let compacted = async {
            let mut loaded = self.load(agent, options.caching).await?;
            let window = self.window(&record.settings.model).await?;
            let room = Room::of(window, &loaded.conversation);
            let keep_tokens = room.kept(options.keep_tokens);
            let cut = cut::choose(&items(&loaded.conversation), keep_tokens);
            let making = Making { cut, room, otherwise: Otherwise::DigestIfTooLong };
            self.compact_loaded(&lease, &mut loaded, making, (&*llm, options)).await
        };
        let compacted = compacted.await;
        self.give_back(&lease).await?;
        compacted
    }

    /// The same under a lease that is held, at a given place. The conversation itself stays what it was: load it again.
    async fn compact_loaded(
        &self,
        lease: &Lease,
        loaded: &mut Loaded,
        making: Making,
        (llm, options): (&dyn LlmClient, &CompactOptions),
    ) -> Result<Compacted, RuntimeError> {
        let agent = lease.agent;
        let Making { cut, room, otherwise } = making;
        let cut = cut.ok_or(RuntimeError::NothingToCompact(agent))?;
        let items = items(&loaded.conversation);
        let kept = &items[cut.start..];
        let how = (cut.start, room, otherwise);
        let told = self.stand_in(lease, loaded, how, (llm, options)).await?;
        let parts = items.split_at(cut.start);
        let preface = self.preface(&loaded.record, &told, parts).await?;
        let Told { by, usage, .. } = told;
        let keep = kept.first().map(|item| item.entry);
        let row = codec::compact_row(keep, &preface, self.now_ms());
        let appended = self.store().append(agent, lease.fence, &[row]).await?;
        let entry = appended.first().copied().ok_or_else(|| StoreError::no_agent(agent))?;
        Ok(Compacted {
            agent,
            entry,
            keep,
            left_out: cut.start,
            kept: kept.len(),
            tokens_before: cut.tokens,
            tokens_after: cut.kept_tokens + cut::tokens_of(&preface),
            usage,
            preface,
            by,
        })
    }
}

fn items(conversation: &Conversation) -> Vec<Item> {
    conversation.history().iter().cloned().collect()
}
