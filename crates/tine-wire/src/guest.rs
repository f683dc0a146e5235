//! Requests that another program makes, as its conversation is recorded: the messages, and all else in its own bytes.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_history::Hash;
use tine_model::{
    Block, Boundary, BoundaryKind, CacheScheme, Lifetime, Message, Provider, Role, Segment,
    ToolInput,
};

use crate::difference::{first_difference, head_identity};
use crate::head_parts::HeadParts;
use crate::marks::LOOKBACK_BLOCKS;
use crate::read_request::{ReadRequestError, read_request};
use crate::splice::marks;
use crate::strip;

/// Settings of a request that no cache looks at: names of the person, the turn or the like, and what only shapes the reply. Source:
/// Anthropic, "Prompt caching", what invalidates the cache.
const LABELS: [&str; 11] = [
    "metadata",
    "client_metadata",
    "prompt_cache_key",
    "user",
    "safety_identifier",
    "service_tier",
    "stop",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
];

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
        let before = head_identity(split.format(), &unlabelled(&settings));
        Ok(Self { head, messages, settings, before, scheme: parts.scheme })
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

/// The body without labels.
fn unlabelled(body: &[u8]) -> Vec<u8> {
    let cut = || {
        let raw: &RawValue = serde_json::from_slice(body).ok()?;
        let members = strip::members(raw).ok()?;
        let is_label =
            |key: &RawValue| LABELS.iter().any(|label| key.get().trim_matches('"') == *label);
        let mut cuts = Vec::new();
        strip::cut_members(raw.get(), &members, is_label, &mut cuts);
        Some(strip::remaining(raw.get(), &cuts).into_bytes())
    };
    cut().unwrap_or_else(|| body.to_vec())
}

/// Identity of a message by what it says: who speaks, and the blocks. Equal for a reply and for the message in which a program sends it
/// back, however its JSON is written; members that no block has, and cache marks, do not count.
pub fn identity(message: &Message) -> Hash {
    let mut hasher = blake3::Hasher::new();
    let role = match message.role() {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    part(&mut hasher, role);
    blocks(&mut hasher, message.blocks());
    *hasher.finalize().as_bytes()
}

fn blocks(hasher: &mut blake3::Hasher, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(text) => parts(hasher, &["text", text]),
            Block::Thinking { text, signature } => {
                parts(hasher, &["thinking", text, signature.as_deref().unwrap_or_default()]);
            }
            Block::RedactedThinking(data) => parts(hasher, &["redacted", data]),
            Block::ToolUse { id, name, input } => {
                let input = match input {
                    ToolInput::Valid(input) => plain(input.as_str()),
                    ToolInput::Invalid(_) => "{}".to_owned(),
                };
                parts(hasher, &["call", &id.0, name, &input]);
            }
            Block::ToolResult { call, content, is_error } => {
                parts(hasher, &["result", &call.0, if *is_error { "error" } else { "" }]);
                self::blocks(hasher, content);
                part(hasher, "end");
            }
            Block::Image(json) => parts(hasher, &["image", &plain(json.as_str())]),
            Block::Document(json) => parts(hasher, &["document", &plain(json.as_str())]),
            Block::Unknown(json) => parts(hasher, &["unknown", &plain(json.as_str())]),
        }
    }
}

fn parts(hasher: &mut blake3::Hasher, texts: &[&str]) {
    texts.iter().for_each(|text| part(hasher, text));
}

/// The length is in it, so that no two lists are one text.
fn part(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
}

/// JSON without blanks, and with one way to write each text.
fn plain(json: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(json);
    value.map_or_else(|_| json.to_owned(), |value| value.to_string())
}

fn chained(before: &Hash, next: &Hash) -> Hash {
    *blake3::Hasher::new_keyed(before).update(next).finalize().as_bytes()
}

#[cfg(test)]
#[path = "guest_tests.rs"]
mod tests;
