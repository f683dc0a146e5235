//! Joining head, frames and marks into a request's body.

use bytes::Bytes;
use tine_history::{Framer, Hash, History, Layout, close_calls};
use tine_model::{Boundary, BoundaryKind, CacheScheme, Lifetime, Message, Role, WireFormat};

use crate::anthropic::{self, AnthropicFramer};
use crate::body::Body;
use crate::cached::{self, CachedPrefix};
use crate::gemini::{self, GeminiFramer};
use crate::head::{Head, HeadSlot};
use crate::marks::{Lifetimes, MARKS_MAX, Mark, MarkPoints, Places, boundaries, head_marks};
use crate::openai_chat::{self, ChatFramer};
use crate::openai_responses::{self, ResponsesFramer};
use crate::splice::Splice;

/// The framer of a format.
pub fn framer(format: WireFormat) -> &'static dyn Framer {
    match format {
        WireFormat::Anthropic => &AnthropicFramer,
        WireFormat::OpenAiChat => &ChatFramer::STRINGS,
        WireFormat::OpenAiChatParts => &ChatFramer::PARTS,
        WireFormat::OpenAiResponses => &ResponsesFramer,
        WireFormat::Gemini => &GeminiFramer,
    }
}

/// What a provider is asked to compare a request with, so that it can say where the two part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Comparison {
    /// Nothing is asked.
    #[default]
    None,
    /// Nothing yet, but later requests will be compared with this one. Anthropic keeps only requests that say so ("Cache
    /// diagnostics"); the others keep what they keep and are told nothing.
    First,
    /// The request whose reply had this id. A fork names its parent's last.
    With(String),
}

/// What one request says besides its history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestOptions {
    /// What the marks are placed by.
    pub points: MarkPoints,
    /// The lifetimes that marks ask for.
    pub lifetimes: Lifetimes,
    /// What the provider is asked to compare the request with; formats without such a question ask nothing.
    pub comparison: Comparison,
    /// What the provider already holds under a name and need not be sent. Only Gemini's format has this; the others ignore
    /// it. It is also left out, and everything is sent, when it holds more than the history or leaves nothing to send.
    pub cached: Option<CachedPrefix>,
    /// Whether the provider is asked to fill its cache and to generate nothing, where a request can say so at its end
    /// (OpenAI Responses). [`warming`](crate::warming()) sets it; alone it makes no such request in the other formats.
    pub warm: bool,
    /// Whether the history is handed on as it stands, for whoever goes on from it elsewhere: calls that are open stay open, and a
    /// request that another program has sent gets no mark. Providers answer no request with open calls.
    pub as_it_stands: bool,
}

impl RequestOptions {
    /// Marks at these points, for the short lifetime; nothing to compare with.
    pub fn at(points: MarkPoints) -> Self {
        Self { points, ..Self::default() }
    }
}

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The bytes.
    pub body: Body,
    /// The marks among the messages, in order; those in the head are not listed.
    pub marks: Vec<Mark>,
    /// Where a cache may hold the request, in order: the head, every mark, and what a lookup from a mark can find. They are
    /// places of the whole prompt, also when the provider holds its beginning and it is not sent.
    pub boundaries: Vec<Boundary>,
    /// Number of messages sent, for the next request's [`MarkPoints::sent`].
    pub items: usize,
    /// Identity of the whole prefix: the head and every message. A client that shares key-value state goes by it.
    pub prefix: Vec<Hash>,
}

/// Builds the request for all of `history`. Costs one pointer a run and nothing per inherited message.
///
/// If the last message leaves calls open, they are closed by a message of placeholders that is not part of the history, unless the
/// history is handed on as it stands.
pub fn assemble(head: &Head, history: &mut History, options: &RequestOptions) -> Assembled {
    let framer = framer(head.format);
    let layout = history.layout(framer);
    let beginnings = head.splice.as_ref().map(|splice| splice.beginnings(history));
    let taken = head.splice.as_deref().zip(beginnings.as_deref());
    let taken = taken.map(|(splice, beginnings)| Taken::of(splice, &layout, beginnings));
    let most = match &taken {
        None => MARKS_MAX - usize::from(!head.slots.is_empty()),
        Some(taken) => taken.marks_left,
    };
    let places = Places::new(&layout, head.scheme).choose(options.points, most);
    let lifetimes = taken.as_ref().map_or(options.lifetimes, |taken| taken.living(options));
    let boundaries = boundaries(head, (&layout, beginnings.as_deref()), &places, lifetimes);
    let mut marks: Vec<Mark> = match head.scheme {
        CacheScheme::Marks | CacheScheme::Breakpoints => {
            places.iter().map(|(_, mark)| *mark).collect()
        }
        CacheScheme::Automatic => Vec::new(),
    };
    if let Some(taken) = &taken {
        marks.retain(|mark| taken.takes(*mark));
        marks.retain(|mark| !options.as_it_stands || mark.item >= taken.messages);
        marks.drain(..marks.len().saturating_sub(most));
    }
    let mut body = Body::default();
    let mut comma = Comma { due: head.continued };
    let mark = mark_text(head, lifetimes.messages());
    let held = cached::rest(head, &layout, history.has_open_calls(), options);
    match (held, &taken) {
        (_, Some(taken)) => {
            let first = marks.first().filter(|mark| mark.item < taken.messages);
            let in_it = first.map(|_| mark.clone());
            let rest = &marks[usize::from(in_it.is_some())..];
            let unmarked = taken.unmarked.clone().filter(|_| !marks.is_empty());
            let before = unmarked.unwrap_or_else(|| taken.splice.before(taken.messages, in_it));
            before.into_iter().for_each(|part| body.push(part));
            comma.due = taken.splice.continues(taken.messages);
            push_runs(&layout, (taken.messages, rest), &mark, &mut comma, &mut body);
        }
        (Some(rest), None) => {
            body.push(rest.head);
            rest.runs.into_iter().for_each(|run| body.push(run.slice(comma.skip(&run)..)));
        }
        (None, None) => {
            push_head(head, options.lifetimes, MARKS_MAX - marks.len(), &mut body);
            push_runs(&layout, (0, &marks), &mark, &mut comma, &mut body);
        }
    }
    if history.has_open_calls() && !options.as_it_stands {
        let nothing = Message::new(Role::User, Vec::new());
        let before = history.last().map(|item| &*item.message);
        let frame = framer.frame(&close_calls(before, &nothing));
        body.push(Bytes::from_static(if comma.due { b"," } else { b"" }));
        body.push(frame.bytes);
    }
    body.push(taken.map_or_else(|| ending(head, options), |taken| taken.splice.behind()));
    let ends = layout.runs().iter().map(|run| layout.hash_at(run.first + run.items));
    let prefix = std::iter::once(head.hash).chain(ends).collect();
    Assembled { body, marks, boundaries, items: layout.items(), prefix }
}

/// The part of a history that goes out in the bytes of a request that another program has sent.
struct Taken<'a> {
    splice: &'a Splice,
    /// The number of its messages.
    messages: usize,
    /// The number of marks that the request has left, and the longest lifetime that they may ask for.
    marks_left: usize,
    longest: Lifetime,
    /// Its bytes without its last mark, where it has all that a request may have. The one that moves on is left to the messages behind it.
    unmarked: Option<Vec<Bytes>>,
    /// The block on which a mark may still stand: the last one, where it takes one.
    last: Option<Mark>,
}

impl<'a> Taken<'a> {
    fn of(splice: &'a Splice, layout: &Layout, beginnings: &[Hash]) -> Self {
        let messages = splice.shared(beginnings);
        let (marks_left, longest) = splice.marks_left(messages);
        let is_full = marks_left == 0 && messages < layout.items();
        let unmarked = is_full.then(|| splice.before_unmarked(messages)).flatten();
        let marks_left = marks_left + usize::from(unmarked.is_some());
        let last = messages.checked_sub(1).filter(|_| unmarked.is_none()).and_then(|item| {
            let (_, frame) = layout.frame(item);
            let block = frame.slots.last()?.block;
            let is_last = block + 1 == frame.blocks && splice.takes_mark(messages);
            is_last.then_some(Mark { item, block })
        });
        Self { splice, messages, marks_left, longest, unmarked, last }
    }

    fn takes(&self, mark: Mark) -> bool {
        mark.item >= self.messages || self.last == Some(mark)
    }

    fn living(&self, options: &RequestOptions) -> Lifetimes {
        let wished = options.lifetimes;
        Lifetimes::new(wished.head(), wished.messages().min(self.longest))
    }
}

impl Assembled {
    /// The place of one kind, if the request has it.
    pub fn boundary(&self, kind: BoundaryKind) -> Option<&Boundary> {
        self.boundaries.iter().find(|boundary| boundary.kind == kind)
    }
}

/// The mark itself, inserted before the closing brace of a block.
fn mark_text(head: &Head, lifetime: Lifetime) -> Bytes {
    let text: &'static str = match head.format {
        WireFormat::Anthropic => anthropic::mark_text(lifetime),
        // Claude behind a gateway takes Anthropic's mark.
        WireFormat::OpenAiChatParts if head.scheme == CacheScheme::Marks => {
            anthropic::mark_text(lifetime)
        }
        WireFormat::OpenAiChatParts => openai_chat::mark_text(lifetime),
        WireFormat::OpenAiResponses => openai_responses::mark_text(lifetime),
        // Nothing in these takes a mark.
        WireFormat::OpenAiChat | WireFormat::Gemini => "",
    };
    Bytes::from_static(text.as_bytes())
}

/// What closes the list of messages and the request.
fn ending(head: &Head, options: &RequestOptions) -> Bytes {
    match head.format {
        WireFormat::Anthropic => anthropic::ending(options),
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => openai_chat::ending(head, options),
        WireFormat::OpenAiResponses => openai_responses::ending(head, options),
        WireFormat::Gemini => gemini::ending(),
    }
}

fn push_head(head: &Head, lifetimes: Lifetimes, most: usize, body: &mut Body) {
    let mut from = 0;
    for HeadSlot { offset, lifetime } in head_marks(head, lifetimes, most) {
        body.push(head.bytes.slice(from..offset));
        body.push(mark_text(head, lifetime));
        from = offset;
    }
    body.push(head.bytes.slice(from..));
}

/// Every run begins with a comma; the first of a list loses it.
pub(crate) struct Comma {
    pub(crate) due: bool,
}

impl Comma {
    /// How many bytes to leave out at the front of `run`.
    pub(crate) fn skip(&mut self, run: &Bytes) -> usize {
        if run.is_empty() {
            return 0;
        }
        usize::from(!std::mem::replace(&mut self.due, true))
    }
}

/// The messages from number `first` on, with these marks, none of which is before it.
fn push_runs(
    layout: &Layout,
    (first, marks): (usize, &[Mark]),
    text: &Bytes,
    comma: &mut Comma,
    body: &mut Body,
) {
    let mut marks = marks.iter().peekable();
    for (index, run) in layout.runs().iter().enumerate() {
        if run.first + run.items <= first {
            continue;
        }
        let bytes = run.bytes();
        let sent = match first.checked_sub(1).filter(|last| *last >= run.first) {
            Some(last) => layout.frame(last).1.end,
            None => 0,
        };
        let mut from = sent + comma.skip(&bytes.slice(sent..));
        while let Some(mark) = marks.next_if(|mark| mark.item < run.first + run.items) {
            let (at, frame) = layout.frame(mark.item);
            debug_assert_eq!(at, index, "marks are in order");
            if let Some(slot) = frame.slots.iter().find(|slot| slot.block == mark.block) {
                let cut = frame.begin + slot.offset;
                body.push(bytes.slice(from..cut));
                body.push(text.clone());
                from = cut;
            }
        }
        body.push(bytes.slice(from..));
    }
}
