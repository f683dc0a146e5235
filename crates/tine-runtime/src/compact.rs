//! Compaction: the older part of a conversation gives way to a summary that the agent's own model writes.
//!
//! The request for the summary goes on from the conversation as it was sent, so that the cache serves it. The log keeps
//! everything; forks that were made before keep what they inherited; the agent, and who is forked from it later, begin a prefix
//! of their own. Whatever fails leaves the agent as it was.

mod auto;
mod cut;
mod preface;

#[cfg(test)]
pub(crate) use preface::preface_text;

use tine_fork::Conversation;
use tine_history::Item;
use tine_llm::LlmClient;
use tine_model::{AgentId, EntryId, Message, Usage};
use tine_store::{Lease, StoreError};
use tokio_util::sync::CancellationToken;

use crate::aside::Aside;
use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::load::Loaded;
use crate::runtime::Runtime;

use cut::Cut;

/// Tokens that a compaction keeps word for word unless the caller says otherwise: enough for the work at hand, and a tenth of
/// the smallest window in use.
pub const KEEP_TOKENS_DEFAULT: u64 = 20_000;

/// Why the request for a summary stopped, in its record: it is none of the conversation's own.
pub(crate) const STOP_WORD: &str = "compaction";

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
}

impl Runtime {
    /// Makes an agent's conversation shorter. Takes its lease: an agent that runs elsewhere is refused.
    pub async fn compact(
        &self,
        agent: AgentId,
        options: &CompactOptions,
    ) -> Result<Compacted, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let llm = self.ports().models.connect(&record.settings.model).await?;
        let lease = self.acquire(agent).await?;
        let compacted = async {
            let mut loaded = self.load(agent, options.caching).await?;
            let cut = cut::choose(&items(&loaded.conversation), options.keep_tokens);
            self.compact_loaded(&lease, &mut loaded, cut, (&*llm, options)).await
        };
        let compacted = compacted.await;
        self.store().release(&lease).await?;
        compacted
    }

    /// The same under a lease that is held, at a given place. The conversation itself stays what it was: load it again.
    async fn compact_loaded(
        &self,
        lease: &Lease,
        loaded: &mut Loaded,
        cut: Option<Cut>,
        (llm, options): (&dyn LlmClient, &CompactOptions),
    ) -> Result<Compacted, RuntimeError> {
        let agent = lease.agent;
        let cut = cut.ok_or(RuntimeError::NothingToCompact(agent))?;
        let items = items(&loaded.conversation);
        let kept = &items[cut.start..];
        let (summary, usage) = self.summary(lease, loaded, (llm, options)).await?;
        let parts = items.split_at(cut.start);
        let preface = self.preface(&loaded.record, &summary, parts).await?;
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
        })
    }

    /// What the model says of the conversation, and what that took.
    async fn summary(
        &self,
        lease: &Lease,
        loaded: &mut Loaded,
        (llm, options): (&dyn LlmClient, &CompactOptions),
    ) -> Result<(String, Usage), RuntimeError> {
        let question = preface::question(options.instructions.as_deref());
        let Loaded { record, conversation } = loaded;
        let aside = Aside {
            record,
            owner: &lease.owner,
            question: Message::user(question),
            stop_word: STOP_WORD,
            caching: options.caching,
            cancel: &options.cancel,
        };
        let reply = self.ask_aside(conversation, llm, aside, &mut |_| {}).await?;
        Ok((reply.message.text(), reply.usage))
    }
}

fn items(conversation: &Conversation) -> Vec<Item> {
    conversation.history().iter().cloned().collect()
}
