//! Joining head, frames and marks into a request's body.

use bytes::Bytes;
use tine_history::{Framer, Hash, History, Layout, close_calls};
use tine_model::{Message, Role, WireFormat};

use crate::anthropic::{self, AnthropicFramer};
use crate::body::Body;
use crate::head::Head;
use crate::marks::{MARKS_MAX, Mark, MarkPoints, choose};
use crate::openai_chat::ChatFramer;

/// What closes the list of messages and the request.
const END: &[u8] = b"]}";

/// The framer of a format.
pub fn framer(format: WireFormat) -> &'static dyn Framer {
    match format {
        WireFormat::Anthropic => &AnthropicFramer,
        WireFormat::OpenAiChat => &ChatFramer,
    }
}

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The bytes.
    pub body: Body,
    /// The marks among the messages, in order; the one in the head is not listed.
    pub marks: Vec<Mark>,
    /// Number of messages sent, for the next request's [`MarkPoints::sent`].
    pub items: usize,
    /// Identity of the whole prefix: the head and every message. A client that shares key-value state goes by it.
    pub prefix: Vec<Hash>,
}

/// Builds the request for all of `history`. Costs one pointer a run and nothing per inherited message.
///
/// If the last message leaves calls open, they are closed by a message of placeholders that is not part of the history.
pub fn assemble(head: &Head, history: &mut History, points: MarkPoints) -> Assembled {
    let framer = framer(head.format);
    let layout = history.layout(framer);
    let open = history.open_calls();
    let marks = match head.format {
        WireFormat::Anthropic => {
            choose(&layout, points, MARKS_MAX - usize::from(head.slot.is_some()))
        }
        WireFormat::OpenAiChat => Vec::new(),
    };
    let mut body = Body::default();
    push_head(head, &mut body);
    let mut comma = Comma { due: head.continued };
    push_runs(&layout, &marks, &mut comma, &mut body);
    if !open.is_empty() {
        let nothing = Message::new(Role::User, Vec::new());
        let frame = framer.frame(&close_calls(&open, &nothing));
        body.push(Bytes::from_static(b","));
        body.push(frame.bytes);
    }
    body.push(Bytes::from_static(END));
    let ends = layout.runs().iter().map(|run| layout.hash_at(run.first + run.items));
    let prefix = std::iter::once(head.hash).chain(ends).collect();
    Assembled { body, marks, items: layout.items(), prefix }
}

fn push_head(head: &Head, body: &mut Body) {
    match head.slot {
        None => body.push(head.bytes.clone()),
        Some(slot) => {
            body.push(head.bytes.slice(..slot));
            body.push(Bytes::from_static(anthropic::mark_text().as_bytes()));
            body.push(head.bytes.slice(slot..));
        }
    }
}

/// Every run begins with a comma; the first of a list loses it.
struct Comma {
    due: bool,
}

impl Comma {
    /// How many bytes to leave out at the front of `run`.
    fn skip(&mut self, run: &Bytes) -> usize {
        if run.is_empty() {
            return 0;
        }
        usize::from(!std::mem::replace(&mut self.due, true))
    }
}

fn push_runs(layout: &Layout, marks: &[Mark], comma: &mut Comma, body: &mut Body) {
    let mut marks = marks.iter().peekable();
    for (index, run) in layout.runs().iter().enumerate() {
        let bytes = run.bytes();
        let mut from = comma.skip(&bytes);
        while let Some(mark) = marks.next_if(|mark| mark.item < run.first + run.items) {
            let (at, frame) = layout.frame(mark.item);
            debug_assert_eq!(at, index, "marks are in order");
            if let Some(slot) = frame.slots.iter().find(|slot| slot.block == mark.block) {
                let cut = frame.begin + slot.offset;
                body.push(bytes.slice(from..cut));
                body.push(Bytes::from_static(anthropic::mark_text().as_bytes()));
                from = cut;
            }
        }
        body.push(bytes.slice(from..));
    }
}
