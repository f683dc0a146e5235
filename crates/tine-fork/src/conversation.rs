//! What an agent carries from request to request.

use std::sync::Arc;

use tine_history::{History, Item};
use tine_llm::Request;
use tine_model::{Block, Boundary, BoundaryKind, EntryId, Message, Segment};
use tine_wire::{
    Assembled, Body, CachedPrefix, CallIds, Comparison, Dialect, Head, Lifetimes, MarkPoints,
    RequestOptions, assemble, cached_content, first_difference, framer,
};

/// What is known of the lineage's last answered request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastSent {
    /// The provider's id of the reply.
    pub reply: Option<String>,
    /// The places that a cache could hold it up to.
    pub boundaries: Vec<Boundary>,
}

/// The beginning of a prompt that the provider holds under a name, and serves to every request that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What is named.
    pub prefix: CachedPrefix,
    /// Tokens that it holds.
    pub tokens: u64,
    /// Whether that is a count of the provider's and not an estimate.
    pub exact: bool,
    /// Where it ends, in bytes of the request as it would be without it.
    pub bytes: u64,
}

/// What a provider is asked to hold.
#[derive(Debug, Clone)]
pub struct ToHold {
    /// The body of the request that asks for it.
    pub body: Body,
    /// How many messages it holds, for [`CachedPrefix::items`].
    pub items: usize,
    /// Where it ends, for [`Held::bytes`].
    pub bytes: u64,
}

/// A head, a history, and where the lineage's last request ended.
#[derive(Debug)]
pub struct Conversation {
    pub(crate) head: Arc<Head>,
    pub(crate) history: History,
    pub(crate) points: MarkPoints,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) last: Arc<LastSent>,
    /// The bytes of the lineage's last answered request, when this process sent it. Shares them with the history.
    pub(crate) body: Option<Arc<Body>>,
    /// What need not be sent. Inherited by forks.
    pub(crate) held: Option<Arc<Held>>,
    /// HTTP headers that every request carries beside the usual ones. Inherited by forks.
    pub(crate) headers: Arc<[(String, String)]>,
    /// The parts that requests leave out; head and history are without them. Inherited by forks.
    pub(crate) dialect: Arc<Dialect>,
    /// The ids of the calls in the history, once they were needed. Inherited by forks.
    pub(crate) ids: Option<Arc<CallIds>>,
    /// Most tokens of a reply, where the server has room for fewer than the head asks for. Inherited by forks.
    pub(crate) reply_max: Option<u32>,
}

impl Conversation {
    /// A conversation over messages that exist already. `points` says what the lineage's last request held, where that is
    /// known.
    pub fn new(head: Arc<Head>, history: History, points: MarkPoints) -> Self {
        let (lifetimes, last) = (Lifetimes::default(), Arc::default());
        let headers = head.headers().into();
        Self {
            head,
            history,
            points,
            lifetimes,
            last,
            body: None,
            held: None,
            headers,
            dialect: Arc::default(),
            ids: None,
            reply_max: None,
        }
    }

    /// Returns the same conversation, whose lineage's last request held this.
    pub fn at(self, points: MarkPoints) -> Self {
        Self { points, ..self }
    }

    /// Returns the same conversation, whose requests carry these HTTP headers beside those of its head.
    pub fn carrying(self, headers: Arc<[(String, String)]>) -> Self {
        let headers = match self.head.headers() {
            [] => headers,
            own => own.iter().chain(&*headers).cloned().collect(),
        };
        Self { headers, ..self }
    }

    /// The same conversation, when another process sent the lineage's last request.
    pub fn after(self, last: LastSent) -> Self {
        Self { last: Arc::new(last), ..self }
    }

    /// The same conversation, whose lineage has sent this before: so the place where it parts from that is known.
    pub(crate) fn parted_from(self, sent: &Assembled) -> Self {
        let last = LastSent { reply: None, boundaries: sent.boundaries.clone() };
        Self { last: Arc::new(last), body: Some(Arc::new(sent.body.clone())), ..self }
    }

    /// The same lineage over other words: what a compaction or a change of model makes. It still knows what was sent last, and
    /// so where the next request parts from that; no place in the new words is known to be in a cache.
    pub fn rewritten(self, head: Arc<Head>, history: History) -> Self {
        let fresh = self.is_fresh_fork();
        let mut last = self.last;
        if head.format() != self.head.format() && last.reply.is_some() {
            // Another provider does not know the reply, and may refuse to be asked about it.
            last = Arc::new(LastSent { reply: None, boundaries: last.boundaries.clone() });
        }
        let body = self.body.filter(|_| head.format() == self.head.format());
        // A fork that has sent nothing is one still, so that a cache that its new words break is noticed.
        let inherited = self.points.inherited.filter(|_| fresh);
        let inherited = inherited.map(|inherited| inherited.min(history.len()));
        let points = MarkPoints { sent: None, inherited };
        let (lifetimes, headers, reply_max) = (self.lifetimes, self.headers, self.reply_max);
        let dialect = Arc::default();
        Self {
            head,
            history,
            points,
            lifetimes,
            last,
            body,
            held: None,
            headers,
            dialect,
            ids: None,
            reply_max,
        }
        .with_own_ids()
        .speaking(self.dialect)
    }

    /// The same conversation, whose cache entries are asked to live this long.
    pub fn living(self, lifetimes: Lifetimes) -> Self {
        Self { lifetimes, ..self }
    }

    /// A child that inherits everything. Constant time; the head and all bytes are shared.
    pub fn fork(&mut self) -> Self {
        let history = self.history.fork();
        let points = MarkPoints { sent: self.points.sent, inherited: Some(history.len()) };
        Self {
            head: Arc::clone(&self.head),
            history,
            points,
            lifetimes: self.lifetimes,
            last: Arc::clone(&self.last),
            body: self.body.clone(),
            held: self.held.clone(),
            headers: Arc::clone(&self.headers),
            dialect: Arc::clone(&self.dialect),
            ids: self.ids.clone(),
            reply_max: self.reply_max,
        }
    }

    /// The request that makes the provider hold the head and all messages so far for `ttl_seconds`. `None` where the provider
    /// holds nothing under a name.
    pub fn to_hold(&mut self, ttl_seconds: u64) -> Option<ToHold> {
        let items = self.history.len();
        let body = cached_content(&self.head, &mut self.history, items, ttl_seconds)?;
        let options = RequestOptions::at(self.points);
        let assembled = assemble(&self.head, &mut self.history, &options);
        let bytes = assembled.boundaries.last().map_or(0, |last| last.bytes);
        Some(ToHold { body, items, bytes })
    }

    /// From here on, and in all forks made from here on, the provider's resource stands for the beginning. It must have been
    /// made from these messages.
    pub fn hold(&mut self, held: Held) {
        self.held = Some(Arc::new(held));
    }

    /// What the next request need not send.
    pub fn held(&self) -> Option<&Held> {
        self.held.as_deref().filter(|held| held.prefix.items < self.history.len())
    }

    /// Sends everything again from here on; whether anything had been held.
    pub fn let_go(&mut self) -> bool {
        self.held.take().is_some()
    }

    /// Appends a message that the log already holds.
    pub fn push(&mut self, entry: EntryId, message: Arc<Message>) {
        let (format, form) = (self.head.format(), self.dialect.ids());
        let has_ids = message
            .blocks()
            .iter()
            .any(|block| matches!(block, Block::ToolUse { .. } | Block::ToolResult { .. }));
        let message = if has_ids {
            let mut ids = self.ids.take().unwrap_or_else(|| Arc::new(self.noted_ids()));
            let placed = Arc::make_mut(&mut ids).place(&message, format, form);
            self.ids = Some(ids);
            placed.map_or(message, Arc::new)
        } else {
            message
        };
        let message = self.dialect.message(entry, &message).map_or(message, Arc::new);
        self.history.push(entry, message);
    }

    /// The last message, with the ids that its calls have in the log.
    pub(crate) fn last_as_logged(&self) -> Option<Arc<Message>> {
        let last = &self.history.last()?.message;
        let said = self.ids.as_ref().and_then(|ids| ids.as_said(last));
        Some(said.map_or_else(|| Arc::clone(last), Arc::new))
    }

    /// The ids that the history has.
    fn noted_ids(&self) -> CallIds {
        let mut ids = CallIds::default();
        self.history.iter().for_each(|item| ids.note(&item.message));
        ids
    }

    /// Gives the calls of a history that comes from a log the ids that the provider takes. Messages that were taken over from a request
    /// keep the ids that were sent.
    pub fn with_own_ids(mut self) -> Self {
        let (format, form) = (self.head.format(), self.dialect.ids());
        let mut ids = CallIds::default();
        let mut changed = false;
        let sent = self.head.taken_over();
        let place = |(index, item): (usize, &Item)| {
            if index < sent {
                ids.note(&item.message);
                return item.clone();
            }
            match ids.place(&item.message, format, form) {
                Some(message) => {
                    changed = true;
                    Item { message: Arc::new(message), ..item.clone() }
                }
                None => item.clone(),
            }
        };
        let items: Vec<Item> = self.history.iter().enumerate().map(place).collect();
        if changed {
            self.history = History::from_items(items);
        }
        self.ids = Some(Arc::new(ids));
        self
    }

    /// How many messages the lineage's last request held; `None` before the first.
    pub(crate) fn sent(&self) -> Option<usize> {
        self.points.sent
    }

    /// The messages, and nothing else of it.
    pub(crate) fn into_history(self) -> History {
        self.history
    }

    /// The messages.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// How long its cache entries are asked to live.
    pub fn lifetimes(&self) -> Lifetimes {
        self.lifetimes
    }

    /// Whether it is a fork that has not sent a request of its own.
    pub fn is_fresh_fork(&self) -> bool {
        self.points
            .inherited
            .is_some_and(|inherited| self.points.sent.is_none_or(|sent| sent <= inherited))
    }

    /// The request for all messages so far. With `diagnosed` the provider is asked where it parts from the lineage's last one.
    pub fn request(&mut self, diagnosed: bool) -> (Request, Assembled) {
        let options = self.options(diagnosed);
        let assembled = assemble(&self.head, &mut self.history, &options);
        let assembled = assembled.replying(&self.head, self.reply_max);
        (self.sending(&assembled), assembled)
    }

    /// The request as it stands, for whoever goes on from it elsewhere: nobody answers one with open calls.
    pub(crate) fn as_it_stands(&mut self) -> Request {
        let options = RequestOptions { as_it_stands: true, ..self.options(false) };
        let assembled = assemble(&self.head, &mut self.history, &options);
        self.sending(&assembled)
    }

    /// The request that keeps the entries of the lineage's last request alive and has nothing generated; `None` where the
    /// provider has no such request.
    pub fn warming(&mut self) -> Option<(Request, Assembled)> {
        let options = self.options(false);
        let assembled = tine_wire::warming(&self.head, &mut self.history, &options)?;
        let request = Request { stream: false, ..self.sending(&assembled) };
        Some((request, assembled))
    }

    fn sending(&self, assembled: &Assembled) -> Request {
        let headers = Arc::clone(&self.headers);
        Request { headers, ..Request::new(self.head.format(), assembled) }
    }

    fn options(&self, diagnosed: bool) -> RequestOptions {
        let comparison = match &self.last.reply {
            _ if !diagnosed || self.dialect.refuses_comparison() => Comparison::None,
            Some(reply) => Comparison::With(reply.clone()),
            None => Comparison::First,
        };
        RequestOptions {
            points: self.points,
            lifetimes: self.lifetimes,
            comparison,
            cached: self.held().map(|held| held.prefix.clone()),
            ..RequestOptions::default()
        }
    }

    /// Notes that a request was answered, so that an entry exists at its end.
    pub fn answered(&mut self, assembled: &Assembled, reply: Option<String>) {
        self.points.sent = Some(assembled.items);
        self.last = Arc::new(LastSent { reply, boundaries: assembled.boundaries.clone() });
        // What was not sent cannot be compared with; the boundaries are those of the whole prompt.
        let whole = self.held().is_none();
        self.body = whole.then(|| Arc::new(assembled.body.clone()));
    }

    /// Whether the lineage's last request is not the beginning of this one, as far as boundaries tell; they are enough for
    /// requests that were assembled one after the other. Costs a comparison of a few hashes.
    pub fn has_parted(&self, assembled: &Assembled) -> bool {
        self.last_end().is_some_and(|end| !has_place(assembled, end))
    }

    /// The first part in which a request differs from the lineage's last one; `None` when it only goes on from there. Reads
    /// both requests whole, and so is meant for when a cache has served less than it should. When another process sent the last
    /// one only its boundaries are known, and the answer names the message.
    pub fn difference(&self, assembled: &Assembled) -> Option<Segment> {
        let found = match self.body.as_ref().filter(|_| self.held().is_none()) {
            Some(before) => {
                let format = self.head.format();
                first_difference(format, &before.to_vec(), &assembled.body.to_vec())
            }
            None => self.difference_of_places(assembled),
        };
        // A fork from an earlier place was never to go on where the lineage's last request ended.
        found.filter(|segment| match segment {
            Segment::Setting(_) | Segment::Tool(_) | Segment::System { .. } => true,
            Segment::Block { .. } | Segment::End => !self.inherits_less(),
        })
    }

    fn last_end(&self) -> Option<&Boundary> {
        self.last.boundaries.iter().find(|place| place.kind == BoundaryKind::Tail)
    }

    /// Whether this fork has not sent anything, and inherits less than the lineage's last request held.
    fn inherits_less(&self) -> bool {
        let held = self.last_end().map_or(0, |end| end.items);
        self.is_fresh_fork() && self.points.inherited.is_some_and(|inherited| held > inherited)
    }

    /// The deepest place that both requests have ends what is shared.
    fn difference_of_places(&self, assembled: &Assembled) -> Option<Segment> {
        let end = self.last_end()?;
        let is_shorter = !assembled.boundaries.iter().any(|place| place.items >= end.items);
        if has_place(assembled, end) || is_shorter {
            return None;
        }
        let equal = self.last.boundaries.iter().filter(|place| has_place(assembled, place));
        Some(match equal.map(|place| place.items).max() {
            None => Segment::Setting("head".to_owned()),
            Some(items) => Segment::Block { message: items, block: 0, kind: "message".to_owned() },
        })
    }

    /// Bytes of messages that the lineage's last answered request did not hold.
    pub fn unsent_bytes(&mut self) -> u64 {
        let layout = self.history.layout(framer(self.head.format()));
        let unsent = self.points.sent.unwrap_or(0)..layout.items();
        let lengths = unsent.map(|item| {
            let (_, frame) = layout.frame(item);
            (frame.end - frame.begin) as u64
        });
        lengths.sum()
    }
}

fn has_place(assembled: &Assembled, place: &Boundary) -> bool {
    assembled.boundaries.iter().any(|other| other.hash == place.hash)
}
