//! Bringing an agent back from the store, exactly.

use std::sync::Arc;

use tine_fork::{Conversation, LastSent};
use tine_history::{History, Item};
use tine_model::{
    AgentId, AgentRecord, Block, Entry, EntryBody, EntryId, Message, Role, WireFormat,
};
use tine_wire::{Head, MarkPoints};

use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::runtime::Runtime;

/// An agent's record and everything that it remembers.
pub(crate) struct Loaded {
    pub(crate) record: AgentRecord,
    pub(crate) conversation: Conversation,
}

impl Runtime {
    /// The log of an agent, inherited part included, up to `at`.
    pub async fn fold(&self, agent: AgentId, at: Option<EntryId>) -> Result<Fold, RuntimeError> {
        let rows = self.store().lineage(agent, at).await?;
        let entries: Result<Vec<_>, _> = rows.into_iter().map(codec::read_row).collect();
        Ok(Fold::of(entries?))
    }

    /// The conversation of an agent as it stands.
    pub(crate) async fn load(
        &self,
        agent: AgentId,
        policy: CachePolicy,
    ) -> Result<Loaded, RuntimeError> {
        self.load_at(agent, None, policy).await
    }

    /// The same as it stood behind an entry; `None` for the last one.
    pub(crate) async fn load_at(
        &self,
        agent: AgentId,
        at: Option<EntryId>,
        policy: CachePolicy,
    ) -> Result<Loaded, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let head = self.frozen_head(&record).await?;
        let fold = self.fold(agent, at).await?;
        let points = mark_points(&fold, &record);
        let last = match begins_anew(&fold) {
            true => LastSent::default(),
            false => self.last_sent(agent).await?,
        };
        let history = self.native(&record, &fold).await?;
        let conversation = Conversation::new(Arc::new(head), history, points)
            .after(last)
            .living(self.lifetimes(&record, policy).await?);
        Ok(Loaded { record, conversation })
    }

    /// The effective messages, without reasoning that is bound to other words before it: what ancestors said behind another head,
    /// and, where a provider binds it to the messages too, what was said before the conversation was made shorter.
    async fn native(&self, record: &AgentRecord, fold: &Fold) -> Result<History, RuntimeError> {
        let line = match record.parent {
            Some(parent) => self.store().ancestry(parent).await?,
            None => Vec::new(),
        };
        let other_heads: Vec<AgentId> = line
            .iter()
            .filter(|ancestor| ancestor.head != record.head)
            .map(|ancestor| ancestor.id)
            .collect();
        let compact = fold.compact().map(|folded| folded.entry.id);
        if other_heads.is_empty() && compact.is_none() {
            return Ok(fold.history());
        }
        let of_here = |(entry, item): (&Entry, Item)| {
            let is_bound = is_bound_to_its_prefix(&item.message);
            let is_moved = is_bound && compact.is_some_and(|compact| entry.id < compact);
            match is_moved || other_heads.contains(&entry.agent) {
                true => without_thinking(item),
                false => item,
            }
        };
        Ok(History::from_items(fold.effective().map(of_here).collect()))
    }

    /// The head that the agent's lineage began with, byte for byte.
    pub(crate) async fn frozen_head(&self, record: &AgentRecord) -> Result<Head, RuntimeError> {
        let stored = self.store().head(&record.head).await?;
        let stored = stored.ok_or(RuntimeError::NoHead(record.id))?;
        Ok(Head::from_stored(&stored)?)
    }
}

/// Whether nothing was sent since the conversation was made shorter: its next request is the first of its kind, and no other is
/// its beginning.
fn begins_anew(fold: &Fold) -> bool {
    let Some(compact) = fold.compact() else { return false };
    let is_reply = |(entry, item): (&Entry, Item)| {
        entry.id > compact.entry.id && item.message.role() == Role::Assistant
    };
    !fold.effective().any(is_reply)
}

/// The last reply stands at the index at which the request that it answered ended. Replies from before a compaction answered
/// requests of other words.
pub(crate) fn mark_points(fold: &Fold, record: &AgentRecord) -> MarkPoints {
    let compact = fold.compact().map(|folded| &folded.entry);
    let own_compact = compact.filter(|compact| compact.agent == record.id);
    // Made with the fork, it is what all siblings begin with; made later, it begins a branch of its own.
    let is_own_root = own_compact.is_some_and(|compact| {
        let mut before = fold.entries().iter().map(|folded| &folded.entry);
        before.any(|entry| {
            let is_message = matches!(entry.body, EntryBody::Message(_));
            entry.agent == record.id && entry.id < compact.id && is_message
        })
    });
    let (mut sent, mut inherited) = (None, 0);
    for (index, (entry, item)) in fold.effective().enumerate() {
        let is_of_these_words = compact.is_none_or(|compact| entry.id > compact.id);
        if is_of_these_words && item.message.role() == Role::Assistant {
            sent = Some(index);
        }
        if entry.agent != record.id || own_compact.is_some_and(|compact| compact.id == entry.id) {
            inherited = index + 1;
        }
    }
    let inherited = record.parent.filter(|_| !is_own_root).map(|_| inherited);
    MarkPoints { sent, inherited }
}

/// Whether the provider binds reasoning to all that stands before it, and refuses the request when that has changed: signatures
/// of the newer models of Anthropic.
fn is_bound_to_its_prefix(message: &Message) -> bool {
    message.raw().is_some_and(|raw| raw.format == WireFormat::Anthropic)
}

/// The message without reasoning; in our own words, where it had any.
fn without_thinking(item: Item) -> Item {
    let is_thinking =
        |block: &Block| matches!(block, Block::Thinking { .. } | Block::RedactedThinking(_));
    let blocks = item.message.blocks();
    if !blocks.iter().any(is_thinking) {
        return item;
    }
    let blocks = blocks.iter().filter(|block| !is_thinking(block)).cloned().collect();
    Item { message: Message::new(item.message.role(), blocks).into(), ..item }
}
