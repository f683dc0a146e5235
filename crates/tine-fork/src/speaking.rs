//! The dialect of a conversation: what its requests leave out because the server refuses it.
//!
//! A conversation renders its messages once for each dialect. A change of dialect is a new sequence of frames, knowingly: the journal
//! records it, and what the cache held of the former one is told as lost. The messages of the log stay as they came.
//!
//! The log entry says from which message on the bytes differ and what the lost cache costs. Forks made behind it inherit the
//! change. A member that the server is known to refuse is left out at once if no answered request had it; a member that was
//! accepted stays until it is refused.

use std::sync::Arc;

use tine_history::{History, Item};
use tine_llm::LlmError;
use tine_model::{DialectChange, EntryId, Usage};
use tine_wire::{
    BlockKind, CallIds, Dialect, FailureKind, IdForm, LeftBlocks, LeftOut, Member, Within, framer,
    refused_block, refused_members,
};

use crate::cache::CacheLane;
use crate::conversation::{Conversation, LastSent};
use crate::run::{RunError, RunEvent, Turns};

/// Longest that a server's words are kept of a refusal.
const REFUSAL_CHARS_MAX: usize = 300;

/// So many messages lose their pictures one by one; each is a request that is refused.
const ONE_BY_ONE_MAX: usize = 3;

/// The known dialect of the server that answers a run's requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerDialect {
    /// The server, as people know it; empty where nobody knows it.
    pub host: String,
    /// The members that it is known to refuse.
    pub refuses: Dialect,
}

/// The change that another dialect makes to a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Changed {
    /// The first message whose bytes are others.
    from: Option<EntryId>,
    /// True if that, or the head, was in an answered request.
    rewrites: bool,
}

impl Conversation {
    /// The members that requests leave out.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Returns the same conversation, whose requests leave out what this dialect does as well.
    pub fn speaking(mut self, dialect: Arc<Dialect>) -> Self {
        if self.dialect.covers(&dialect) {
            return self;
        }
        self.render_in(Arc::new(self.dialect.and(&dialect)));
        self
    }

    /// Renders everything in another dialect, as far as it has what that leaves out.
    fn render_in(&mut self, dialect: Arc<Dialect>) -> Changed {
        let mut first = None;
        let mut ids = CallIds::default();
        let (format, form) = (self.head.format(), dialect.ids());
        let has_other_ids = form != self.dialect.ids();
        let render = |(index, item): (usize, &Item)| {
            let placed = has_other_ids.then(|| ids.place(&item.message, format, form)).flatten();
            let message = placed.as_ref().unwrap_or(&item.message);
            match dialect.message(item.entry, message).or(placed) {
                Some(message) => {
                    first = first.or(Some((index, item.entry)));
                    Item { message: Arc::new(message), ..item.clone() }
                }
                None => item.clone(),
            }
        };
        let items: Vec<Item> = self.history.iter().enumerate().map(render).collect();
        let sent = self.points.sent.unwrap_or(0);
        let mut rewrites = first.is_some_and(|(index, _)| index < sent);
        if first.is_some() {
            self.history = History::from_items(items);
        }
        if has_other_ids {
            self.ids = Some(Arc::new(ids));
        }
        if let Some(head) = dialect.head(&self.head) {
            self.head = Arc::new(head);
            rewrites |= self.points.sent.is_some();
        }
        if rewrites {
            // No answered request is the beginning of the next one.
            self.points.sent = None;
            self.last = Arc::new(LastSent::default());
            self.body = None;
            self.held = None;
        }
        self.dialect = dialect;
        Changed { from: first.map(|(_, entry)| entry), rewrites }
    }

    /// The members that can be left out without a change of what an answered request held.
    fn free_to_leave_out(&self, known: &Dialect) -> Vec<Member> {
        let sent = self.points.sent.unwrap_or(0);
        let is_free = |member: &&Member| {
            let alone = Dialect::of([(*member).clone()]);
            if self.dialect.covers(&alone) {
                return false;
            }
            let head_stays = sent == 0 || alone.head(&self.head).is_none();
            let mut answered = self.history.iter().take(sent);
            head_stays && answered.all(|item| alone.message(item.entry, &item.message).is_none())
        };
        known.members().filter(is_free).cloned().collect()
    }

    /// Returns true when leaving this out changes the next request.
    fn has(&self, left_out: &LeftOut) -> bool {
        let alone = Dialect::without([left_out.clone()]);
        if self.dialect.covers(&alone) {
            return false;
        }
        if let LeftOut::Ids(form) = left_out {
            let (format, mut ids) = (self.head.format(), CallIds::default());
            return self
                .history
                .iter()
                .any(|item| ids.place(&item.message, format, *form).is_some());
        }
        let mut items = self.history.iter();
        alone.refuses_comparison()
            || alone.head(&self.head).is_some()
            || items.any(|item| alone.message(item.entry, &item.message).is_some())
    }

    /// The entry of the message that has this number in the list of the next request.
    fn entry_at(&mut self, number: usize) -> Option<EntryId> {
        let layout = self.history.layout(framer(self.head.format()));
        // A system prompt that stands before the first message is part of the head.
        let mut next = usize::from(self.head.begins_list());
        for item in 0..layout.items() {
            let (run, frame) = layout.frame(item);
            let count = messages_in(&layout.runs()[run].bytes()[frame.begin..frame.end]);
            if (next..next + count).contains(&number) {
                return self.history.get(item).map(|item| item.entry);
            }
            next += count;
        }
        None
    }

    /// The parts that a server's words refuse and the next request can do without.
    fn refused(&mut self, words: &str) -> Vec<LeftOut> {
        let mut refused: Vec<LeftOut> =
            refused_members(words).into_iter().map(LeftOut::Member).collect();
        if refused.is_empty() {
            refused.extend(IdForm::read(words).map(LeftOut::Ids));
        }
        let last = self.history.iter().map(|item| item.entry).max();
        if refused.is_empty()
            && let (Some((kind, number)), Some(last)) = (refused_block(words), last)
        {
            // Who refuses one signature refuses them all: they were made by the same account. Of pictures, the named one goes, and all of
            // them where one after the other is refused.
            let at = match kind {
                BlockKind::Reasoning => None,
                BlockKind::Picture | BlockKind::Document
                    if self.dialect.entries_without(kind) >= ONE_BY_ONE_MAX =>
                {
                    None
                }
                BlockKind::Picture | BlockKind::Document => {
                    number.and_then(|number| self.entry_at(number)).map(Within::Entry)
                }
            };
            let all = Some(Within::UpTo(last));
            let blocks = [at, all].into_iter().flatten();
            let blocks = blocks.map(|within| LeftOut::Blocks(LeftBlocks { kind, within }));
            return blocks.filter(|left_out| self.has(left_out)).take(1).collect();
        }
        refused.retain(|left_out| self.has(left_out));
        refused
    }
}

impl Turns<'_> {
    /// Leaves out what the server is known to refuse, as far as no answered request held it: whatever was accepted stays until it
    /// is refused.
    pub(crate) async fn speak_as_known(&mut self) -> Result<(), RunError> {
        let known = self.run.journal.server();
        if self.considered.as_ref() == Some(&known.refuses) {
            return Ok(());
        }
        let members = self.run.conversation.free_to_leave_out(&known.refuses);
        self.considered = Some(known.refuses);
        if members.is_empty() {
            return Ok(());
        }
        let dialect = self.run.conversation.dialect.and(&Dialect::of(members.iter().cloned()));
        let changed = self.run.conversation.render_in(Arc::new(dialect));
        let members: Vec<LeftOut> = members.into_iter().map(LeftOut::Member).collect();
        let change = change(known.host, &members, changed);
        Ok(self.run.journal.dialect_changed(&change).await?)
    }

    /// Leaves out what the server has just refused; `false` when its refusal is about nothing that requests can do without.
    pub(crate) async fn leave_out_refused(&mut self, error: &LlmError) -> Result<bool, RunError> {
        let LlmError::Refused { failure, .. } = error else { return Ok(false) };
        let is_of_the_request = match failure.kind {
            FailureKind::InvalidRequest | FailureKind::Other => true,
            // OpenRouter finds no endpoint that takes pictures; some call a picture that is too large so.
            FailureKind::NotFound | FailureKind::TooLarge => {
                refused_block(&failure.message).is_some()
            }
            _ => false,
        };
        if !is_of_the_request {
            return Ok(false);
        }
        let refused = self.run.conversation.refused(&failure.message);
        if refused.is_empty() {
            return Ok(false);
        }
        let known = self.run.journal.server();
        let before = self.expected_read();
        let dialect = self.run.conversation.dialect.and(&Dialect::without(refused.iter().cloned()));
        let changed = self.run.conversation.render_in(Arc::new(dialect));
        let lost_tokens = before.saturating_sub(self.expected_read());
        let words = failure.message.chars().take(REFUSAL_CHARS_MAX).collect();
        let change = DialectChange {
            refusal: Some(words),
            lost_tokens,
            lost_micro_usd: self
                .run
                .cache
                .as_ref()
                .and_then(|lane| lost(lane, lost_tokens, self.run.journal.now_ms())),
            ..change(known.host, &refused, changed)
        };
        tracing::info!(%change, "a request goes out again without what the server refuses");
        self.run.journal.dialect_changed(&change).await?;
        self.run.observer.on_event(RunEvent::Dialect(change));
        Ok(true)
    }

    /// Tokens that the cache would serve of the next request.
    fn expected_read(&mut self) -> u64 {
        let (_, assembled) = self.run.conversation.request(false);
        let now_ms = self.run.journal.now_ms();
        let lane = self.run.cache.as_ref();
        lane.map_or(0, |lane| lane.expect(&assembled.boundaries, now_ms).read)
    }
}

fn change(host: String, left_out: &[LeftOut], changed: Changed) -> DialectChange {
    DialectChange {
        host,
        left_out: left_out.iter().map(ToString::to_string).collect(),
        refusal: None,
        from: changed.from,
        rewrites: changed.rewrites,
        lost_tokens: 0,
        lost_micro_usd: None,
    }
}

/// The number of messages of the request's list in a frame.
fn messages_in(frame: &[u8]) -> usize {
    let text = String::from_utf8_lossy(frame);
    let list = format!("[{}]", text.trim_matches(','));
    serde_json::from_str::<Vec<serde::de::IgnoredAny>>(&list).map_or(1, |list| list.len())
}

/// The cost of sending so many tokens again instead of reading them, in millionths of a USD.
fn lost(lane: &CacheLane, tokens: u64, now_ms: i64) -> Option<u64> {
    let price = lane.facts.prices.at(now_ms)?;
    let again = if lane.facts.reports_writes() {
        Usage { write_short: Some(tokens), ..Usage::default() }
    } else {
        Usage { uncached: tokens, ..Usage::default() }
    };
    let read = Usage { read: Some(tokens), ..Usage::default() };
    Some(((price.cost(&again) - price.cost(&read)).max(0.0) * 1e6).round() as u64)
}
