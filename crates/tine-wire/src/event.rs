//! A streamed reply: bytes → what an interface shows while it waits, and at the end the whole reply.
//!
//! The decoder is driven from outside and does no I/O. It never gives up what has arrived: after an error
//! [`Decoder::partial`] still returns it.

use std::borrow::Cow;

use tine_model::{ToolCallId, Usage, WireFormat};

use crate::mend::{self, ShownHalves};
use crate::sse::{Framing, Record};
use crate::{DecodeError, Partial, Reply, anthropic, gemini, openai_chat, openai_responses};

/// Something that happened in a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The reply begins. In OpenAI's formats the usage is not known yet and is empty; in Gemini's it counts what has been
    /// generated so far.
    Started {
        /// The provider's id of the reply.
        id: Option<String>,
        /// The model that answers.
        model: Option<String>,
        /// What the prompt cost, as far as the provider already says.
        usage: Usage,
    },
    /// Text goes on.
    Text {
        /// The new part.
        delta: String,
    },
    /// Visible reasoning goes on.
    Thinking {
        /// The new part.
        delta: String,
    },
    /// A tool call begins.
    ToolCall {
        /// Its id.
        id: ToolCallId,
        /// The tool.
        name: String,
    },
    /// The arguments of the last begun tool call go on.
    ToolInput {
        /// The new part of the JSON text.
        delta: String,
    },
    /// A block is complete. The chat format has no such event: there all blocks end with the reply.
    BlockDone {
        /// Its place in the message.
        index: usize,
    },
    /// The provider keeps the connection alive.
    Ping,
    /// Anything else; it may still change the reply.
    Other,
}

impl Event {
    /// Whether the reply has begun with it: anything but a sign of life and what is not known.
    pub fn is_of_the_reply(&self) -> bool {
        !matches!(self, Self::Ping | Self::Other)
    }

    /// How much of the reply came with it, in bytes: text, reasoning that is shown, names and arguments of calls.
    pub fn reply_bytes(&self) -> usize {
        match self {
            Self::Text { delta } | Self::Thinking { delta } | Self::ToolInput { delta } => {
                delta.len()
            }
            Self::ToolCall { name, .. } => name.len(),
            Self::Started { .. } | Self::BlockDone { .. } | Self::Ping | Self::Other => 0,
        }
    }
}

/// Decodes one stream. Takes any chunking and gives the same events whatever the cuts.
#[derive(Debug)]
pub struct Decoder {
    framing: Framing,
    reply: Assembly,
    halves: ShownHalves,
    failed: Option<DecodeError>,
}

/// The reply of one format while it grows.
#[derive(Debug)]
enum Assembly {
    Anthropic(anthropic::decode::Assembly),
    OpenAiChat(openai_chat::decode::Assembly),
    OpenAiResponses(openai_responses::decode::Assembly),
    Gemini(gemini::decode::Assembly),
}

impl Decoder {
    /// A decoder for one stream.
    pub fn new(format: WireFormat) -> Self {
        let reply = match format {
            WireFormat::Anthropic => Assembly::Anthropic(Default::default()),
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => {
                Assembly::OpenAiChat(Default::default())
            }
            WireFormat::OpenAiResponses => Assembly::OpenAiResponses(Default::default()),
            WireFormat::Gemini => Assembly::Gemini(Default::default()),
        };
        Self { framing: Framing::new(), reply, halves: ShownHalves::default(), failed: None }
    }

    /// Takes the next bytes. An error that follows events of the same bytes is returned by the next call, so
    /// that no event is lost and the order does not depend on the chunking. After an error every call returns
    /// it again. What comes after the end of the reply is ignored.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut events = Vec::new();
        if self.reply.is_done() {
            return Ok(events);
        }
        let (records, broken) = self.framing.push(bytes);
        self.failed = records
            .into_iter()
            .find_map(|record| self.accept(record, &mut events).err())
            .or(broken)
            .filter(|_| !self.reply.is_done());
        self.halves.mend(&mut events);
        match &self.failed {
            Some(error) if events.is_empty() => Err(error.clone()),
            _ => Ok(events),
        }
    }

    /// The end of the stream. [`DecodeError::Truncated`] when it came too early: without `message_stop`
    /// (Anthropic), with neither a finish reason nor `[DONE]` (chat), without the event that carries the whole response
    /// (Responses), or with neither a finish reason nor the word that the prompt was blocked (Gemini);
    /// [`Decoder::partial`] then has what arrived.
    pub fn finish(&mut self) -> Result<Reply, DecodeError> {
        if !self.reply.is_done() && self.failed.is_none() {
            // Some servers leave out the blank line behind the last record. If what waits there is no whole
            // record, the stream was cut in it, which `Truncated` says better than a syntax error.
            let (records, _) = self.framing.push(b"\n\n");
            for record in records {
                let accepted = self.accept(record, &mut Vec::new());
                self.failed = accepted.err().filter(|e| matches!(e, DecodeError::Provider(_)));
            }
        }
        let mut reply = match (&self.failed, &mut self.reply) {
            (Some(error), _) => return Err(error.clone()),
            (None, Assembly::Anthropic(reply)) => reply.finish(),
            (None, Assembly::OpenAiChat(reply)) => reply.finish(),
            (None, Assembly::OpenAiResponses(reply)) => reply.finish(),
            (None, Assembly::Gemini(reply)) => reply.finish(),
        }?;
        reply.message = self.halves.whole(reply.message);
        Ok(reply)
    }

    /// Takes a record. One without anything in it is a sign of life: the vendors' SDKs pass over it.
    fn accept(&mut self, mut record: Record, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if record.data.trim().is_empty() {
            events.push(Event::Ping);
            return Ok(());
        }
        if let Cow::Owned(marked) = mend::halves_marked(&record.data) {
            self.halves.seen = true;
            record.data = marked;
        }
        self.reply.accept(&record, events)
    }

    /// What arrived so far of a stream that broke; see [`Partial`].
    pub fn partial(self) -> Partial {
        let partial = match self.reply {
            Assembly::Anthropic(reply) => reply.partial(),
            Assembly::OpenAiChat(reply) => reply.partial(),
            Assembly::OpenAiResponses(reply) => reply.partial(),
            Assembly::Gemini(reply) => reply.partial(),
        };
        Partial { message: partial.message.map(|message| self.halves.whole(message)), ..partial }
    }
}

impl Assembly {
    fn is_done(&self) -> bool {
        match self {
            Self::Anthropic(reply) => reply.is_done(),
            Self::OpenAiChat(reply) => reply.is_done(),
            Self::OpenAiResponses(reply) => reply.is_done(),
            Self::Gemini(reply) => reply.is_done(),
        }
    }

    fn accept(&mut self, record: &Record, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        if self.is_done() {
            return Ok(());
        }
        match self {
            Self::Anthropic(reply) => reply.accept(record, events),
            Self::OpenAiChat(reply) => reply.accept(record, events),
            Self::OpenAiResponses(reply) => reply.accept(record, events),
            Self::Gemini(reply) => reply.accept(record, events),
        }
    }
}
