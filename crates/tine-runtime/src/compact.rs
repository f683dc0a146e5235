//! Compaction: the older part of a conversation gives way to a summary that the agent's own model writes.
//!
//! The request for the summary goes on from the conversation as it was sent, so that the cache serves it. The log keeps
//! everything; forks that were made before keep what they inherited; the agent, and who is forked from it later, begin a prefix
//! of their own. Whatever fails leaves the agent as it was.

mod auto;
mod cut;
mod preface;

use std::sync::Arc;

use tine_fork::{Conversation, Permit, Progress, RequestRecord};
use tine_history::Item;
use tine_llm::LlmClient;
use tine_model::{AgentId, EntryId, Message, RequestId, StopReason, Usage};
use tine_store::{Lease, StoreError};
use tine_wire::Reply;
use tokio_util::sync::CancellationToken;

use crate::budget::OnBudget;
use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::journal::request_row;
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
        let model = &loaded.record.settings.model;
        let lane = self.lane(model, options.caching).await?;
        let mut asking = loaded.conversation.fork();
        let question = preface::question(options.instructions.as_deref());
        asking.push(EntryId(0), Arc::new(Message::user(question)));
        let (request, assembled) = asking.request(false);
        let purse = self.purse(&loaded.record, lease, OnBudget::End);
        let why = match purse.reserve(assembled.body.len(), &|_| {}, &options.cancel).await? {
            Permit::Granted => None,
            Permit::Refused(_) => Some("the budget of its tree is used up"),
            Permit::Cancelled => Some("it was stopped"),
        };
        if let Some(why) = why {
            return Err(RuntimeError::NoSummary { why });
        }
        let started_ms = self.now_ms();
        let watched = lane.begin(&assembled.boundaries, None, started_ms);
        let mut nobody = |_: Progress<'_>| {};
        let reply = match llm.send(&request, &mut nobody, &options.cancel).await {
            Ok(reply) => reply,
            Err(error) => {
                purse.release().await?;
                return Err(error.into());
            }
        };
        let cache = watched.answered(&reply.usage, None, &assembled.boundaries);
        let record = RequestRecord {
            // Not a reply of the conversation: nothing is compared with it.
            reply: None,
            model: reply.model.clone(),
            usage: reply.usage,
            stop: StopReason::Other(STOP_WORD.to_owned()),
            items: assembled.items,
            body_bytes: assembled.body.len(),
            started_ms,
            cache: Some(cache),
        };
        let settled = purse.settled();
        let id = settled.unwrap_or_else(|| RequestId::from_random(self.ports().ids.random()));
        let priced = (&*self.ports().facts, &*model.to_string());
        let (row, entries) = request_row((id, loaded.record.id), priced, &record);
        // Paid for, whatever becomes of it.
        self.store().record_request(row, &entries).await?;
        let usage = reply.usage;
        Ok((said(&reply)?, usage))
    }
}

/// The summary in a reply; half of one would lose what it does not tell.
fn said(reply: &Reply) -> Result<String, RuntimeError> {
    let why = match &reply.stop {
        StopReason::MaxTokens | StopReason::ContextExceeded => "it was cut at the token limit",
        StopReason::Refusal => "the model refused",
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Pause
        | StopReason::Other(_) => {
            let text = reply.message.text();
            if !text.trim().is_empty() {
                return Ok(text);
            }
            "the model said nothing"
        }
    };
    Err(RuntimeError::NoSummary { why })
}

fn items(conversation: &Conversation) -> Vec<Item> {
    conversation.history().iter().cloned().collect()
}
