//! Bringing an agent back from the store, exactly.

use std::sync::Arc;

use tine_fork::run::{Conversation, LastSent};
use tine_history::{History, Item};
use tine_model::{
    AgentId, AgentRecord, Block, Entry, EntryBody, EntryId, Message, Role, Standing, WireFormat,
};
use tine_wire::{Endpoint, Head, MarkPoints};

use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::runtime::Runtime;
use crate::window::reply_max;

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
        let head = match record.standing {
            Standing::Guest => self.guest_head(&record).await?,
            Standing::Root | Standing::Peer | Standing::Worker | Standing::Hidden => {
                self.frozen_head(&record).await?
            }
        };
        let fold = self.fold(agent, at).await?;
        let points = mark_points(&fold, &record);
        let last =
            if begins_anew(&fold) { LastSent::default() } else { self.last_sent(agent).await? };
        let other_heads = self.other_heads(&record).await?;
        let history = native(&fold, &other_heads);
        // Imported messages may be older than the API's present version.
        let model = &record.settings.model;
        let said = history.iter().map(|item| &*item.message);
        let version = Endpoint::version_of_messages(model.provider, said, head.headers());
        let dialect = fold.dialect(|agent| !other_heads.contains(&agent));
        // The dialect before the places: what was sent last had these bytes already.
        let conversation = Conversation::new(Arc::new(head), history, MarkPoints::default())
            .carrying(version.into_iter().collect())
            .with_own_ids()
            .speaking(Arc::new(dialect))
            .at(points)
            .after(last)
            .living(self.lifetimes(&record, policy).await?);
        let window = self.window(&record.settings.model).await?;
        let reply_max = reply_max(window, &conversation);
        Ok(Loaded { record, conversation: conversation.replying(reply_max) })
    }

    /// The ancestors whose head is another one: their words were said behind others. Words of a guest stand in a fork's head as its
    /// program sent them last, behind whatever they were said.
    async fn other_heads(&self, record: &AgentRecord) -> Result<Vec<AgentId>, RuntimeError> {
        let line = match record.parent {
            Some(parent) => self.store().ancestry(parent).await?,
            None => Vec::new(),
        };
        let goes_on = match line.iter().any(|ancestor| ancestor.standing == Standing::Guest) {
            true => self.frozen_head(record).await?.is_sent(),
            false => false,
        };
        let is_other = |ancestor: &&AgentRecord| {
            ancestor.head != record.head && !(goes_on && ancestor.standing == Standing::Guest)
        };
        Ok(line.iter().filter(is_other).map(|ancestor| ancestor.id).collect())
    }

    /// The head that the agent's lineage began with, byte for byte.
    pub(crate) async fn frozen_head(&self, record: &AgentRecord) -> Result<Head, RuntimeError> {
        let stored = self.store().head(&record.head).await?;
        let stored = stored.ok_or(RuntimeError::NoHead(record.id))?;
        Ok(Head::from_stored(&stored)?)
    }
}

/// The effective messages, without reasoning that is bound to other words before it: what ancestors said behind another head,
/// and, where a provider binds it to the messages too, what was said before the conversation was made shorter.
fn native(fold: &Fold, other_heads: &[AgentId]) -> History {
    let compact = fold.compact().map(|folded| folded.entry.id);
    if other_heads.is_empty() && compact.is_none() {
        return fold.history();
    }
    let of_here = |(entry, item): (&Entry, Item)| {
        let is_bound = is_bound_to_its_prefix(&item.message);
        let is_moved = is_bound && compact.is_some_and(|compact| entry.id < compact);
        if is_moved || other_heads.contains(&entry.agent) { without_thinking(item) } else { item }
    };
    History::from_items(fold.effective().map(of_here).collect())
}

/// The entry behind which the present words begin: the compaction that stands, or a later place at which what had been sent was
/// rendered anew.
fn begin_of_words(fold: &Fold) -> Option<EntryId> {
    fold.compact().map(|compact| compact.entry.id).max(fold.rewritten())
}

/// Returns true if nothing was sent since the present words began: the next request is the first of its kind, and no other is its beginning.
fn begins_anew(fold: &Fold) -> bool {
    let Some(begin) = begin_of_words(fold) else { return false };
    let is_reply =
        |(entry, item): (&Entry, Item)| entry.id > begin && item.message.role() == Role::Assistant;
    !fold.effective().any(is_reply)
}

/// The last reply stands at the index at which the request that it answered ended. Replies from before a compaction, or
/// from before a change of dialect, answered requests of other words.
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
    let begin = begin_of_words(fold);
    let (mut sent, mut inherited) = (None, 0);
    for (index, (entry, item)) in fold.effective().enumerate() {
        let is_of_these_words = begin.is_none_or(|begin| entry.id > begin);
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
pub(crate) fn without_thinking(item: Item) -> Item {
    let is_thinking =
        |block: &Block| matches!(block, Block::Thinking { .. } | Block::RedactedThinking(_));
    let blocks = item.message.blocks();
    if !blocks.iter().any(is_thinking) {
        return item;
    }
    let blocks = blocks.iter().filter(|block| !is_thinking(block)).cloned().collect();
    Item { message: Message::new(item.message.role(), blocks).into(), ..item }
}
