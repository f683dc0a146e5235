//! Compaction by itself, when a conversation comes near the end of its model's window.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tine_fork::{Compactor, Conversation, JournalError};
use tine_llm::LlmClient;
use tine_model::Usage;
use tine_store::Lease;
use tokio_util::sync::CancellationToken;

use super::{CompactOptions, Compacted, STOP_WORD, cut, items};
use crate::cache::CachePolicy;
use crate::error::RuntimeError;
use crate::load::Loaded;
use crate::runtime::Runtime;

/// A prompt above this share of the window is made shorter, in percent: the reply and a few results of tools still fit.
const WINDOW_SHARE_PERCENT: u64 = 75;

/// A compaction that would leave out less than one part of so many is not worth the request.
const LEAST_PART: u64 = 4;

/// The compactor of one run.
pub(crate) struct AutoCompactor<'a> {
    runtime: &'a Runtime,
    lease: &'a Lease,
    llm: &'a dyn LlmClient,
    caching: CachePolicy,
    /// Longest prompt of the model, in tokens.
    window: u64,
    /// Tokens of the agent's last request before this run.
    before: Option<u64>,
    /// A compaction has failed: it is not tried at every turn again.
    has_failed: AtomicBool,
}

impl Runtime {
    /// The compactor of a run; `None` where it is switched off, or nobody knows the model's window.
    pub(crate) async fn auto_compactor<'a>(
        &'a self,
        (loaded, lease): (&Loaded, &'a Lease),
        llm: &'a dyn LlmClient,
        caching: CachePolicy,
    ) -> Result<Option<AutoCompactor<'a>>, RuntimeError> {
        let window = self.facts(&loaded.record.settings.model).context_tokens;
        let Some(window) = window.filter(|_| self.compacts()) else { return Ok(None) };
        let last = self.store().recent_requests(lease.agent, i64::MAX, 1).await?;
        // The request for a summary was as long as what it has made short.
        let last = last.first().filter(|row| row.stop.as_deref() != Some(STOP_WORD));
        let before = last.and_then(|row| row.usage).map(|usage| usage.prompt());
        let has_failed = AtomicBool::new(false);
        Ok(Some(AutoCompactor { runtime: self, lease, llm, caching, window, before, has_failed }))
    }
}

#[async_trait]
impl Compactor for AutoCompactor<'_> {
    async fn compact(
        &self,
        conversation: &mut Conversation,
        last: Option<&Usage>,
        cancel: &CancellationToken,
    ) -> Result<Option<Usage>, JournalError> {
        let prompt = last.map(Usage::prompt).or(self.before).unwrap_or(0);
        let is_due = prompt.saturating_mul(100) > self.window.saturating_mul(WINDOW_SHARE_PERCENT);
        if !is_due || self.has_failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match self.try_compact(conversation, cancel).await {
            Ok(done) => Ok(done.map(|compacted| compacted.usage)),
            // Another process has taken the agent, or the disk is full: the run cannot go on either.
            Err(RuntimeError::Store(error)) => Err(JournalError(Box::new(error))),
            Err(error) => {
                self.has_failed.store(true, Ordering::Relaxed);
                tracing::warn!(%error, "the conversation could not be made shorter; it goes on as it is");
                Ok(None)
            }
        }
    }
}

impl AutoCompactor<'_> {
    async fn try_compact(
        &self,
        conversation: &mut Conversation,
        cancel: &CancellationToken,
    ) -> Result<Option<Compacted>, RuntimeError> {
        let options = CompactOptions {
            // Where the window is small the part that stays is, too.
            keep_tokens: super::KEEP_TOKENS_DEFAULT.min(self.window / LEAST_PART),
            cancel: cancel.clone(),
            caching: self.caching,
            ..CompactOptions::default()
        };
        let cut = cut::choose(&items(conversation), options.keep_tokens);
        let cut = cut.filter(|cut| (cut.tokens - cut.kept_tokens) * LEAST_PART >= cut.tokens);
        if cut.is_none() {
            return Ok(None);
        }
        let agent = self.lease.agent;
        let record = self.runtime.store().agent(agent).await?;
        let mut loaded = Loaded { record, conversation: conversation.fork() };
        let llm = (self.llm, &options);
        let compacted = self.runtime.compact_loaded(self.lease, &mut loaded, cut, llm).await?;
        *conversation = self.runtime.load(agent, self.caching).await?.conversation;
        Ok(Some(compacted))
    }
}
