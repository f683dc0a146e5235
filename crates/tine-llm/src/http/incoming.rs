//! A reply that is coming in: the decoder, and whether anything was reported yet.

use bytes::Bytes;
use tine_model::{Block, Message, ToolInput, WireFormat};
use tine_wire::{DecodeError, Decoder, Event, Partial, Reply};
use tokio::time::Instant;

use crate::Progress;

/// Where progress goes.
pub(crate) type Report<'r> = dyn FnMut(Progress<'_>) + Send + 'r;

/// A streamed reply on its way.
#[derive(Debug)]
pub(crate) struct Incoming {
    decoder: Decoder,
    seen: Seen,
    /// When the request was sent.
    sent: Instant,
}

/// What of a reply has been reported.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Its beginning. From then on a lost connection is a broken reply, and the limits are those of a reply under way.
    pub(crate) begun: bool,
    /// A part of its content. Until then a provider that says it failed may be asked again: nobody has seen anything.
    pub(crate) content: bool,
}

impl Incoming {
    pub(crate) fn new(format: WireFormat, sent: Instant) -> Self {
        Self { decoder: Decoder::new(format), seen: Seen::default(), sent }
    }

    /// What was reported so far.
    pub(crate) fn seen(&self) -> Seen {
        self.seen
    }

    /// Takes the next bytes and reports their events.
    pub(crate) fn push(
        &mut self,
        bytes: &Bytes,
        report: &mut Report<'_>,
    ) -> Result<(), DecodeError> {
        for event in &self.decoder.push(bytes)? {
            self.seen.content |= is_content(event);
            if !self.seen.begun && (is_content(event) || matches!(event, Event::Started { .. })) {
                self.seen.begun = true;
                report(Progress::Begun { after: self.sent.elapsed() });
            }
            report(Progress::Event(event));
        }
        // An error behind these events is told by the next call; a provider that keeps the connection open after
        // its error would let us wait for it.
        self.decoder.push(&[]).map(|_| ())
    }

    /// The end of the bytes, for whatever reason. A reply that was complete by then is a reply.
    pub(crate) fn end(mut self) -> Result<Reply, (DecodeError, Box<Partial>)> {
        self.decoder.finish().map_err(|error| (error, self.partial()))
    }

    /// What arrived.
    pub(crate) fn partial(self) -> Box<Partial> {
        Box::new(self.decoder.partial())
    }
}

/// Whether an event shows a part of the reply's content.
fn is_content(event: &Event) -> bool {
    match event {
        Event::Text { .. }
        | Event::Thinking { .. }
        | Event::ToolCall { .. }
        | Event::ToolInput { .. }
        | Event::BlockDone { .. } => true,
        Event::Started { .. } | Event::Ping | Event::Other => false,
    }
}

/// Reports a reply that came in one piece with the events that a stream of it would have had.
pub(crate) fn report_whole(reply: &Reply, sent: Instant, report: &mut Report<'_>) {
    let Reply { id, model, usage, message, .. } = reply;
    report(Progress::Begun { after: sent.elapsed() });
    report(Progress::Event(&Event::Started {
        id: id.clone(),
        model: model.clone(),
        usage: *usage,
    }));
    for event in events_of(message) {
        report(Progress::Event(&event));
    }
}

fn events_of(message: &Message) -> Vec<Event> {
    let mut events = Vec::new();
    for (index, block) in message.blocks().iter().enumerate() {
        match block {
            Block::Text(text) if !text.is_empty() => {
                events.push(Event::Text { delta: text.clone() });
            }
            Block::Thinking { text, .. } if !text.is_empty() => {
                events.push(Event::Thinking { delta: text.clone() });
            }
            Block::ToolUse { id, name, input } => {
                events.push(Event::ToolCall { id: id.clone(), name: name.clone() });
                let delta = match input {
                    ToolInput::Valid(json) => json.as_str().to_owned(),
                    ToolInput::Invalid(text) => text.clone(),
                };
                events.push(Event::ToolInput { delta });
            }
            Block::Text(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolResult { .. }
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => {}
        }
        events.push(Event::BlockDone { index });
    }
    events
}
