//! Compaction by itself: when a conversation comes near the end of its model's window, and when the model has found it too long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use tine_cache::BYTES_PER_TOKEN;
use tine_fork::run::{Compactor, Conversation, JournalError};
use tine_llm::LlmClient;
use tine_model::{ModelRef, Usage};
use tine_store::Lease;
use tine_wire::Overflow;
use tokio_util::sync::CancellationToken;

use super::cut::Cut;
use super::room::Room;
use super::summary::Otherwise;
use super::{CompactOptions, Compacted, Making, cut, items};
use crate::cache::CachePolicy;
use crate::error::RuntimeError;
use crate::load::Loaded;
use crate::runtime::Runtime;
use crate::stop_words::COMPACTION;
use crate::window::{REPLY_MIN, SMALL_WINDOW};

/// A prompt above this share of the window is made shorter, in percent: the reply and a few results of tools still fit.
const WINDOW_SHARE_PERCENT: u64 = 75;

/// The share of the rest of the window that a prompt may use where the head takes most of it, in percent.
const ROOM_SHARE_PERCENT: u64 = 50;

/// A compaction that would leave out less than one part of so many is not worth the request.
const LEAST_PART: u64 = 4;

/// The part that stays of a conversation that is made shorter before it has to be: one of so many of what it may grow to.
const KEPT_PART: u64 = 3;

/// The share of the room behind the prompt that a reply is limited to, in percent: the next prompt is a little longer.
const REPLY_SHARE_PERCENT: u64 = 90;

/// A window with so few tokens left is full: templates add some behind the reply.
const FULL_MARGIN: u64 = 16;

/// The compactor of one run.
pub(crate) struct AutoCompactor<'a> {
    runtime: &'a Runtime,
    lease: &'a Lease,
    llm: &'a dyn LlmClient,
    caching: CachePolicy,
    model: ModelRef,
    /// Longest prompt of the model, in tokens; 0 where nobody knows it.
    window: AtomicU64,
    /// Tokens of the agent's last request before this run.
    before: Option<u64>,
    /// A compaction has failed: it is not tried at every turn again.
    has_failed: AtomicBool,
    /// A summary was made for the turn under way.
    is_summed_up: AtomicBool,
}

impl Runtime {
    /// The compactor of a run; `None` where it is switched off.
    pub(crate) async fn auto_compactor<'a>(
        &'a self,
        (loaded, lease): (&Loaded, &'a Lease),
        llm: &'a dyn LlmClient,
        caching: CachePolicy,
    ) -> Result<Option<AutoCompactor<'a>>, RuntimeError> {
        if !self.compacts() {
            return Ok(None);
        }
        let model = loaded.record.settings.model.clone();
        let window = self.window(&model).await?;
        let last = self.store().recent_requests(lease.agent, i64::MAX, 1).await?;
        // The request for a summary was as long as what it has made short.
        let last = last.first().filter(|row| row.stop.as_deref() != Some(COMPACTION));
        Ok(Some(AutoCompactor {
            runtime: self,
            lease,
            llm,
            caching,
            model,
            window: AtomicU64::new(window.unwrap_or(0)),
            before: last.and_then(|row| row.usage).map(|usage| usage.prompt()),
            has_failed: AtomicBool::new(false),
            is_summed_up: AtomicBool::new(false),
        }))
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
        let Some(window) = self.window() else { return Ok(None) };
        let last = last.map(Usage::prompt).or(self.before).unwrap_or(0);
        let longest = longest(conversation, window);
        let is_due = estimated_prompt(conversation, last, window) > longest;
        if !is_due || self.has_failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        // Where the window is small the part that stays is, too: it must be far from the next time.
        let apart = (longest - head_tokens(conversation).min(longest)) / KEPT_PART;
        let keep_tokens = super::KEEP_TOKENS_DEFAULT.min(window / LEAST_PART).min(apart);
        let cut = cut::choose(&items(conversation), keep_tokens);
        let cut = cut.filter(|cut| (cut.tokens - cut.kept_tokens) * LEAST_PART >= cut.tokens);
        if cut.is_none() {
            return Ok(None);
        }
        match self.make(conversation, (cut, Otherwise::Fail), cancel).await {
            Ok(compacted) => Ok(Some(compacted.usage)),
            // Another process has taken the agent, or the disk is full: the run cannot go on either.
            Err(RuntimeError::Store(error)) => Err(JournalError(Box::new(error))),
            Err(error) => {
                self.has_failed.store(true, Ordering::Relaxed);
                tracing::warn!(%error, "the conversation could not be made shorter; it goes on as it is");
                Ok(None)
            }
        }
    }

    fn is_full(&self, usage: &Usage) -> bool {
        let taken = usage.prompt() + usage.output + FULL_MARGIN;
        self.window().is_some_and(|window| taken >= window)
    }

    async fn make_room(
        &self,
        conversation: &mut Conversation,
        overflow: &Overflow,
        round: u32,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Usage>>, JournalError> {
        let learnt = self.runtime.learn_window(&self.model, overflow).await;
        if let Some(window) = learnt.map_err(|error| JournalError(Box::new(error)))? {
            self.window.store(window, Ordering::Relaxed);
        }
        if round == 0 {
            self.is_summed_up.store(false, Ordering::Relaxed);
            if let Some(reply_max) = reply_that_fits(overflow, conversation) {
                tracing::info!(reply_max, "the reply gets the room that the window leaves it");
                conversation.limit_reply(reply_max);
                return Ok(Some(Vec::new()));
            }
        }
        let items = items(conversation);
        let is_summed_up = self.is_summed_up.swap(true, Ordering::Relaxed);
        let room = Room::of(self.window(), conversation);
        let summed_up = cut::choose(&items, room.kept(half(&items))).filter(|cut| {
            let is_worth_it = (cut.tokens - cut.kept_tokens) * LEAST_PART >= cut.tokens;
            is_worth_it && !is_summed_up
        });
        let made = match summed_up {
            Some(cut) => self.make(conversation, (Some(cut), Otherwise::Digest), cancel).await,
            None => {
                let cut = cut::all(&items).filter(|cut| !is_again(&items, cut));
                self.make(conversation, (cut, Otherwise::DigestAtOnce), cancel).await
            }
        };
        match made {
            Ok(compacted) => Ok(Some(vec![compacted.usage])),
            Err(RuntimeError::Store(error)) => Err(JournalError(Box::new(error))),
            Err(error) => {
                tracing::warn!(%error, "no room could be made in the conversation");
                Ok(None)
            }
        }
    }
}

impl AutoCompactor<'_> {
    fn window(&self) -> Option<u64> {
        Some(self.window.load(Ordering::Relaxed)).filter(|window| *window > 0)
    }

    /// Compacts at a place, and puts the conversation as it is then in the place of this one.
    async fn make(
        &self,
        conversation: &mut Conversation,
        (cut, otherwise): (Option<Cut>, Otherwise),
        cancel: &CancellationToken,
    ) -> Result<Compacted, RuntimeError> {
        let caching = self.caching;
        let options =
            CompactOptions { cancel: cancel.clone(), caching, ..CompactOptions::default() };
        let agent = self.lease.agent;
        let record = self.runtime.store().agent(agent).await?;
        let room = Room::of(self.window(), conversation);
        let mut loaded = Loaded { record, conversation: conversation.fork() };
        let making = Making { cut, room, otherwise };
        let llm = (self.llm, &options);
        let compacted = self.runtime.compact_loaded(self.lease, &mut loaded, making, llm).await?;
        *conversation = self.runtime.load(agent, caching).await?.conversation;
        Ok(compacted)
    }
}

/// Half of the messages, for a window that nobody knows.
fn half(items: &[tine_history::Item]) -> u64 {
    items.iter().map(|item| cut::tokens_of(&item.message)).sum::<u64>() / 2
}

/// Returns true where a cut would leave out no more than what an earlier compaction wrote: nothing can be made shorter.
fn is_again(items: &[tine_history::Item], cut: &Cut) -> bool {
    cut.start == 1 && items.first().is_some_and(|item| super::preface::is_preface(&item.message))
}

/// The longest prompt that is let be.
fn longest(conversation: &Conversation, window: u64) -> u64 {
    let head = head_tokens(conversation).min(window);
    let beside_head = head + (window - head) * ROOM_SHARE_PERCENT / 100;
    beside_head.max(window * WINDOW_SHARE_PERCENT / 100)
}

/// The next prompt: the last one, and in small windows what has come since. There one result of a tool may fill the window.
fn estimated_prompt(conversation: &mut Conversation, last: u64, window: u64) -> u64 {
    if window > SMALL_WINDOW {
        return last;
    }
    let unsent = conversation.unsent_bytes().div_ceil(BYTES_PER_TOKEN);
    if conversation.has_sent() { last + unsent } else { head_tokens(conversation) + unsent }
}

fn head_tokens(conversation: &Conversation) -> u64 {
    (conversation.head().bytes().len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// The limit of replies with which the same prompt fits; None where the prompt is too long, the limit is not what is too much, or the head
/// allows no such limit.
fn reply_that_fits(overflow: &Overflow, conversation: &Conversation) -> Option<u32> {
    let (window, prompt) = (overflow.window?, overflow.prompt?);
    let room = window.checked_sub(prompt)? * REPLY_SHARE_PERCENT / 100;
    let reply_max = u32::try_from(room).ok().filter(|room| u64::from(*room) >= REPLY_MIN)?;
    let is_shorter = conversation.reply_limit().is_some_and(|asked| reply_max < asked);
    (is_shorter && conversation.allows_reply_of(reply_max)).then_some(reply_max)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tine_history::History;
    use tine_model::{EntryId, Message, ModelSettings, Thinking};
    use tine_wire::{Head, HeadParts, MarkPoints};

    use super::*;

    fn conversation(system: usize, words: &str) -> Conversation {
        thinking("openai-compat/m", None, system, words)
    }

    fn thinking(
        model: &str,
        thinking: Option<Thinking>,
        system: usize,
        words: &str,
    ) -> Conversation {
        let model = model.parse().unwrap_or_else(|error| panic!("{error}"));
        let settings = ModelSettings { model, max_tokens: 16_384, thinking, effort: None };
        let head = Head::render(HeadParts::new(settings, "x".repeat(system), Vec::new()));
        let mut conversation =
            Conversation::new(Arc::new(head), History::new(), MarkPoints::default());
        conversation.push(EntryId(1), Message::user(words).into());
        conversation
    }

    #[test]
    fn a_reply_gets_what_the_prompt_leaves() {
        let overflow = |message: &str| Overflow::read(message).unwrap_or_default();
        let told = overflow(
            "maximum context length is 4096 tokens. However, you requested 19732 tokens (3096 in the messages, 16384 in the completion)",
        );
        assert_eq!(reply_that_fits(&told, &conversation(0, "hi")), Some(900));
        let mut limited = conversation(0, "hi");
        limited.limit_reply(900);
        assert_eq!(reply_that_fits(&told, &limited), None, "it was not the reply");
        // Thinking has its budget within the limit.
        let within = |budget: u32| {
            let thinking = thinking("anthropic/m", Some(Thinking::Budget(budget)), 0, "hi");
            reply_that_fits(&told, &thinking)
        };
        assert_eq!((within(2_000), within(800)), (None, Some(900)));
        let told = overflow("prompt is too long: 5000 tokens > 4096 maximum");
        assert_eq!(reply_that_fits(&told, &conversation(0, "hi")), None);
    }

    #[test]
    fn a_head_that_fills_most_of_the_window_leaves_half_of_the_rest() {
        assert_eq!(longest(&conversation(0, ""), 4_096), 3_072);
        let heavy = longest(&conversation(4 * 3_400, ""), 4_096);
        assert!((3_700..3_800).contains(&heavy), "{heavy}");
    }

    #[test]
    fn what_came_since_the_last_request_counts_in_small_windows() {
        let mut conversation = conversation(4_000, &"word ".repeat(1_600));
        let prompt = estimated_prompt(&mut conversation, 7, 4_096);
        assert!((3_000..3_200).contains(&prompt), "{prompt}");
        assert_eq!(estimated_prompt(&mut conversation, 7, 200_000), 7);
    }
}
