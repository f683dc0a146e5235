//! Requests that another program makes, as its conversation is recorded: the messages, and all else in its own bytes.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_history::Hash;
use tine_model::{Boundary, BoundaryKind, CacheScheme, Lifetime, Message, Provider, Segment};

use crate::difference::first_difference;
use crate::head::Head;
use crate::head_parts::HeadParts;
use crate::identity::{chained, identity, unlabelled};
use crate::marks::LOOKBACK_BLOCKS;
use crate::read_request::{ReadRequestError, read_request};
use crate::splice::marks;
use crate::strip;

/// A request of another program.
#[derive(Debug, Clone)]
pub struct GuestRequest {
    /// The parts of its head. Rendered, they are the request without its messages, byte for byte.
    pub head: HeadParts,
    /// Its messages. A system prompt at their beginning belongs to the head.
    pub messages: Vec<GuestMessage>,
    /// The request without its messages.
    settings: Vec<u8>,
    /// Identity of all that stands before the messages and that a cache looks at.
    before: Hash,
    scheme: CacheScheme,
}

/// A message of such a request.
#[derive(Debug, Clone)]
pub struct GuestMessage {
    /// The message, word for word, without cache marks.
    pub message: Message,
    /// Its [`identity`].
    pub identity: Hash,
    bytes: u64,
    mark: Option<Lifetime>,
}

impl GuestRequest {
    /// Reads the body of a request. Takes time and memory linear in the body.
    pub fn read(provider: Provider, body: &[u8]) -> Result<Self, ReadRequestError> {
        let (parts, messages) = read_request(provider, None, body)?;
        let Some(sent) = parts.sent.clone() else { return Err(ReadRequestError::Model) };
        let (splice, split) = (&sent.splice, sent.split());
        let elements: Vec<&str> = split.elements().collect();
        let read = |(index, message): (usize, Message)| {
            let (first, end) = splice.elements_of(index);
            let text = elements[first..end].concat();
            let (count, has_short) = marks(text.as_bytes());
            let mark = match count {
                0 => None,
                _ if has_short => Some(Lifetime::Short),
                _ => Some(Lifetime::Long),
            };
            let identity = identity(&message);
            GuestMessage { message, identity, bytes: text.len() as u64, mark }
        };
        let messages: Vec<GuestMessage> = messages.into_iter().enumerate().map(read).collect();
        let settings = splice.settings_json();
        let (head, _) = read_request(provider, None, &settings)?;
        Ok(Self { head, messages, settings, before: splice.identity(), scheme: parts.scheme })
    }

    /// Returns the same request with HTTP headers without which it is another one. They are kept with its head.
    #[must_use]
    pub fn with_headers(mut self, headers: Vec<(String, String)>) -> Self {
        self.head.sent = self.head.sent.map(|sent| Arc::new(sent.with_headers(headers)));
        self
    }

    /// The headers that were given it.
    pub fn headers(&self) -> &[(String, String)] {
        self.head.sent.as_ref().map_or(&[], |sent| sent.headers())
    }

    /// A head that begins with a whole request of another program, for a fork that goes on from it. Replies are streamed.
    pub fn whole_head(
        provider: Provider,
        body: &[u8],
        headers: &[(String, String)],
    ) -> Result<Head, ReadRequestError> {
        let (parts, _) = read_request(provider, None, body)?;
        let sent = parts.sent.as_ref().map(|sent| Arc::new(sent.with_headers(headers.to_vec())));
        Ok(Head::render(HeadParts { sent, ..parts }.streamed()))
    }

    /// The request without its messages, as one JSON object.
    pub fn settings(&self) -> &[u8] {
        &self.settings
    }

    /// The first part before the messages, in prompt order, in which the cache sees another request than one with those
    /// [`settings`](Self::settings) before.
    pub fn first_difference(&self, before: &[u8]) -> Option<Segment> {
        let format = self.head.settings.model.format();
        first_difference(format, &unlabelled(before), &unlabelled(&self.settings))
    }

    /// Returns true if the request offers tools to the model.
    pub fn has_tools(&self) -> bool {
        let read: Result<Settings<'_>, _> = serde_json::from_slice(&self.settings);
        read.is_ok_and(|settings| !settings.tools.is_empty())
    }

    /// Returns true if it offers the same tools as a request with these settings.
    pub fn has_tools_of(&self, settings: &[u8]) -> bool {
        let names = |settings: &[u8]| -> Option<Vec<String>> {
            let settings: Settings<'_> = serde_json::from_slice(settings).ok()?;
            let name = |tool: &&RawValue| Some(strip::without_marks(tool).ok()?.into_owned());
            settings.tools.iter().map(name).collect()
        };
        names(&self.settings) == names(settings)
    }

    /// Places at which a cache may hold the request, by the marks that it has. `sent` is the number of its messages that the
    /// conversation's request before held; 0 where there was none.
    ///
    /// The hashes are of what the messages say, whatever way it is written: a program may write a message anew once its mark
    /// moves on.
    pub fn boundaries(&self, sent: usize) -> Vec<Boundary> {
        let head_mark = match marks(&self.settings) {
            (0, _) => None,
            (_, true) => Some(Lifetime::Short),
            (_, false) => Some(Lifetime::Long),
        };
        let is_marked = self.scheme != CacheScheme::Automatic;
        let mut bytes = self.settings.len() as u64;
        let mut hash = self.before;
        let mut found = vec![Boundary {
            kind: BoundaryKind::Head,
            hash,
            bytes,
            items: 0,
            back: 0,
            mark: head_mark.filter(|_| is_marked),
        }];
        let last = match self.messages.iter().rposition(|message| message.mark.is_some()) {
            _ if !is_marked => self.messages.len(),
            last => last.map_or(0, |last| last + 1),
        };
        let mut back = self.blocks_behind(last);
        for (index, message) in self.messages[..last].iter().enumerate() {
            hash = chained(&hash, &message.identity);
            bytes += message.bytes + 1;
            let items = index + 1;
            let kind = match items {
                items if items == last => BoundaryKind::Tail,
                items if items == sent => BoundaryKind::Anchor,
                _ => BoundaryKind::Message,
            };
            let blocks = back.pop().unwrap_or_default();
            if kind == BoundaryKind::Message && blocks >= LOOKBACK_BLOCKS {
                continue;
            }
            let mark = message.mark.filter(|_| is_marked);
            let back = if mark.is_some() { 0 } else { blocks };
            found.push(Boundary { kind, hash, bytes, items, back, mark });
        }
        found
    }

    /// For each of the first `last` messages, the last first: blocks between its end and the next mark behind it.
    fn blocks_behind(&self, last: usize) -> Vec<usize> {
        let mut behind = Vec::with_capacity(last);
        let mut blocks = 0;
        for message in self.messages[..last].iter().rev() {
            if message.mark.is_some() {
                blocks = 0;
            }
            behind.push(blocks);
            blocks += message.message.blocks().len();
        }
        behind
    }
}

#[derive(Deserialize)]
struct Settings<'a> {
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
}

#[cfg(test)]
#[path = "guest_tests.rs"]
mod tests;
