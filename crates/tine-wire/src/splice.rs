//! Requests that go on from one that another program has sent, in its bytes.
//!
//! The head of such a lineage holds the whole request. What of a history that request held goes out in the bytes that it came
//! in; what was said since is framed as usual and stands where its messages end. How much of a history it held is found by
//! [identity](crate::identity()), so a history that was rewound or rewritten takes over what is left of it, and no more.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tine_history::{Hash, History, Item};
use tine_model::{CacheScheme, EntryId, Lifetime, Message, WireFormat};

use crate::head::Head;
use crate::head_parts::HeadParts;
use crate::identity::{beginning, beginnings};
use crate::marks::MARKS_MAX;
use crate::read_request::{ReadRequestError, read_turns};
use crate::split::SplitRequest;
use crate::{json, strip};

/// A request and the messages that were read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    split: SplitRequest,
    /// Numbers of elements of the list that stand for the first messages of the history: of none, of one, and so on. A system prompt
    /// among them stands before the first.
    ends: Vec<usize>,
    /// Identities of the request up to the end of as many messages. The first is that of all before them.
    identities: Vec<Hash>,
    /// HTTP headers without which the request is another one, such as a provider's beta headers.
    headers: Vec<(String, String)>,
}

impl Splice {
    /// Reads the messages of a request: the system prompt at their beginning, and the others.
    pub(crate) fn read(
        split: SplitRequest,
    ) -> Result<(Self, Vec<String>, Vec<Message>), ReadRequestError> {
        let turns = read_turns(&split)?;
        let mut ends = vec![turns.system.len()];
        ends.extend(turns.messages.iter().map(|(_, end)| *end));
        let messages: Vec<Message> =
            turns.messages.into_iter().map(|(message, _)| message).collect();
        let item = |(index, message): (usize, &Message)| Item {
            entry: EntryId(index as i64 + 1),
            message: Arc::new(message.clone()),
        };
        let history = History::from_items(messages.iter().enumerate().map(item).collect());
        let settings = settings_json(&split, ends[0]);
        let identities = beginnings(beginning(split.format(), &settings), &history);
        Ok((Self { split, ends, identities, headers: Vec::new() }, turns.system, messages))
    }

    /// Identity of all that stands before the messages.
    pub(crate) fn identity(&self) -> Hash {
        self.identities[0]
    }

    /// The elements of the list that make a message: its first one, and the one behind its last.
    pub(crate) fn elements_of(&self, message: usize) -> (usize, usize) {
        (self.ends[message], self.ends[message + 1])
    }

    /// The number of messages that the request held.
    pub(crate) fn messages(&self) -> usize {
        self.identities.len() - 1
    }

    /// Identities of the beginnings of a history behind this head: of none of its messages, of one, and so on.
    pub(crate) fn beginnings(&self, history: &History) -> Vec<Hash> {
        beginnings(self.identity(), history)
    }

    /// Returns the number of messages of a history that the request held. They are known by [`Self::beginnings`].
    pub(crate) fn shared(&self, history: &[Hash]) -> usize {
        let (mut same, mut limit) = (0, history.len().min(self.identities.len()) - 1);
        while same < limit {
            let middle = (same + limit).div_ceil(2);
            if history[middle] == self.identities[middle] {
                same = middle
            } else {
                limit = middle - 1
            }
        }
        same
    }

    /// The request up to the end of as many messages, with a mark on the last of them where one is wanted and may stand.
    pub(crate) fn before(&self, messages: usize, mark: Option<Bytes>) -> Vec<Bytes> {
        let before = self.split.before(self.ends[messages]);
        let place = mark.and_then(|mark| Some((self.mark_place(messages)?, mark)));
        match place {
            None => vec![before],
            Some((place, mark)) => vec![before.slice(..place), mark, before.slice(place..)],
        }
    }

    /// The request up to the end of as many messages, without the marks of the last of them that has any. `None` where none has.
    pub(crate) fn before_unmarked(&self, messages: usize) -> Option<Vec<Bytes>> {
        let elements: Vec<&str> = self.split.elements().collect();
        for element in (self.ends[0]..self.ends[messages]).rev() {
            let raw: &RawValue = serde_json::from_str(elements[element]).ok()?;
            let Cow::Owned(unmarked) = strip::without_marks(raw).ok()? else { continue };
            let (before, start) =
                (self.split.before(self.ends[messages]), self.split.start(element));
            let behind = before.slice(start + elements[element].len()..);
            return Some(vec![before.slice(..start), unmarked.into(), behind]);
        }
        None
    }

    /// Returns true if a mark may stand on the last block of the message before the place.
    pub(crate) fn takes_mark(&self, messages: usize) -> bool {
        self.mark_place(messages).is_some()
    }

    /// Everything behind the messages.
    pub(crate) fn behind(&self) -> Bytes {
        self.split.behind()
    }

    /// Returns true if an element of the list stands before whatever comes behind as many messages.
    pub(crate) fn continues(&self, messages: usize) -> bool {
        self.ends[messages] > 0
    }

    /// Returns the number of marks left to a request that holds as many of the messages, and the longest lifetime that they may ask for: a
    /// long one behind a short one is refused.
    pub(crate) fn marks_left(&self, messages: usize) -> (usize, Lifetime) {
        let (before, behind) = (self.split.before(self.ends[messages]), self.split.behind());
        let counted = [marks(&before), marks(&behind)];
        let longest = if counted.iter().any(|(_, has_short)| *has_short) {
            Lifetime::Short
        } else {
            Lifetime::Long
        };
        (MARKS_MAX.saturating_sub(counted.iter().map(|(count, _)| count).sum()), longest)
    }

    /// Returns the place for a mark on the last block of the message before: only in Anthropic's format, on a block of a list
    /// that has none.
    fn mark_place(&self, messages: usize) -> Option<usize> {
        #[derive(Deserialize)]
        struct Said<'a> {
            #[serde(borrow)]
            content: Vec<&'a RawValue>,
        }
        if self.split.format() != WireFormat::Anthropic || messages == 0 {
            return None;
        }
        let element = self.ends[messages].checked_sub(1)?;
        let text = self.split.elements().nth(element)?;
        let said: Said<'_> = serde_json::from_str(text).ok()?;
        let last = said.content.last()?;
        let is_marked = strip::members(last).ok()?.iter().any(|(key, _)| strip::is_mark(key));
        let end = last.get().as_ptr() as usize - text.as_ptr() as usize + last.get().len();
        (!is_marked).then(|| self.split.start(element) + end - 1)
    }

    /// A head that begins every request of the lineage with this one.
    pub(crate) fn head(self: Arc<Self>, scheme: CacheScheme, model: Option<String>) -> Head {
        let before = self.split.before(self.ends[0]);
        let mut hasher = blake3::Hasher::new();
        // A head is stored under its hash, and two requests of one program have the same beginning.
        hasher.update(self.split.body());
        if let Some(model) = &model {
            hasher.update(json::string(model).as_bytes());
        }
        for (name, value) in &self.headers {
            hasher.update(json::string(name).as_bytes()).update(json::string(value).as_bytes());
        }
        Head {
            format: self.split.format(),
            bytes: before,
            slots: Vec::new(),
            continued: self.continues(0),
            scheme,
            hash: *hasher.finalize().as_bytes(),
            model,
            splice: Some(self),
        }
    }

    /// The request without its messages, as one JSON object.
    pub(crate) fn settings_json(&self) -> Vec<u8> {
        settings_json(&self.split, self.ends[0])
    }

    pub(crate) fn split(&self) -> &SplitRequest {
        &self.split
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// Returns the same request with these headers.
    pub(crate) fn with_headers(self, headers: Vec<(String, String)>) -> Self {
        Self { headers, ..self }
    }
}

/// A request without its messages, of which `system` elements are its system prompt and stay.
fn settings_json(split: &SplitRequest, system: usize) -> Vec<u8> {
    [split.before(system), split.behind()].concat()
}

/// Returns the number of marks in a part of a request, and true if one of them is short-lived. What looks like a mark in the arguments of
/// a call counts too: one mark less is sent then.
pub(crate) fn marks(part: &[u8]) -> (usize, bool) {
    let text = String::from_utf8_lossy(part);
    let (mut count, mut has_short) = (0, false);
    for name in strip::MARKS {
        for (at, _) in text.match_indices(name) {
            let behind = text[at + name.len()..].trim_start();
            let Some(value) = behind.strip_prefix(':').map(str::trim_start) else { continue };
            if value.starts_with("null") {
                continue;
            }
            let object = &value[..value.find('}').unwrap_or(value.len())];
            count += 1;
            has_short |= !object.contains("\"1h\"") && !object.contains("\"12h\"");
        }
    }
    (count, has_short)
}

/// A request that another program has sent, as [`read_request`](crate::read_request) took it over. Where the parts of a head still
/// say what it said, its own bytes are sent.
#[derive(Debug, Clone, PartialEq)]
pub struct SentRequest {
    pub(crate) splice: Arc<Splice>,
    /// The parts as they were when they were read.
    pub(crate) parts: HeadParts,
    /// Names of what no part says of the request.
    pub(crate) unsaid: Vec<String>,
}

impl SentRequest {
    /// The request, split where its messages end.
    pub fn split(&self) -> &SplitRequest {
        self.splice.split()
    }

    /// Returns the same request with HTTP headers without which it is another one. They are kept with its head.
    #[must_use]
    pub fn with_headers(&self, headers: Vec<(String, String)>) -> Self {
        let splice = (*self.splice).clone().with_headers(headers);
        Self { splice: Arc::new(splice), ..self.clone() }
    }

    /// The HTTP headers that are kept with it.
    pub fn headers(&self) -> &[(String, String)] {
        self.splice.headers()
    }

    /// Names of what only its own bytes say: settings, and members of tools and of blocks of the system prompt. A head that says
    /// anything else than the request did would lose them.
    pub fn unsaid(&self) -> &[String] {
        &self.unsaid
    }

    /// Returns true if parts say what the request said, but for what no cache looks at: temperature, token limit, stop sequences and
    /// streaming.
    pub(crate) fn is_said_by(&self, parts: &HeadParts) -> bool {
        let mut own = self.parts.clone();
        own.temperature = parts.temperature;
        own.stop_sequences.clone_from(&parts.stop_sequences);
        own.settings.max_tokens = parts.settings.max_tokens;
        own.stream = parts.stream;
        // Both were taken over from one request.
        own.sent.clone_from(&parts.sent);
        own == *parts
    }

    /// Returns the same request with a streamed reply.
    pub(crate) fn streamed(self: Arc<Self>) -> Arc<Self> {
        let parts = HeadParts { stream: true, ..self.parts.clone() };
        match self.changed(&self.changes(&parts)) {
            Some(splice) if !self.parts.stream => {
                Arc::new(Self { splice, parts, unsaid: self.unsaid.clone() })
            }
            _ => self,
        }
    }

    /// The head that these parts make with the request's own bytes; `None` where they say something else.
    pub(crate) fn head(&self, parts: &HeadParts) -> Option<Head> {
        if !self.is_said_by(parts) {
            return None;
        }
        let splice = self.changed(&self.changes(parts))?;
        let model = (self.split().format() == WireFormat::Gemini)
            .then(|| parts.settings.model.name.clone());
        Some(splice.head(parts.scheme, model))
    }

    /// Returns the same request with other values for some of its settings.
    fn changed(&self, changes: &[(String, String)]) -> Option<Arc<Splice>> {
        if changes.is_empty() {
            return Some(Arc::clone(&self.splice));
        }
        let mut split = self.split().clone();
        for (name, value) in changes {
            split = split.with_setting(name, value).ok()?;
        }
        Some(Arc::new(Splice { split, ..(*self.splice).clone() }))
    }

    /// Settings that no cache looks at and that are to be other ones than the request had. Gemini's stand inside one object, which
    /// stays as it came.
    fn changes(&self, parts: &HeadParts) -> Vec<(String, String)> {
        let (own, format) = (&self.parts, self.split().format());
        if format == WireFormat::Gemini {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let mut change = |name: &str, value: String| changes.push((name.to_owned(), value));
        if own.settings.max_tokens != parts.settings.max_tokens {
            let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
            let there = names.iter().find(|name| self.split().setting(name).is_some());
            let usual = match format {
                WireFormat::OpenAiResponses => "max_output_tokens",
                _ => "max_tokens",
            };
            change(there.unwrap_or(&usual), parts.settings.max_tokens.to_string());
        }
        if let Some(temperature) = parts.temperature_text()
            && own.temperature != parts.temperature
        {
            change("temperature", temperature);
        }
        if own.stop_sequences != parts.stop_sequences {
            let name = match format {
                WireFormat::Anthropic => "stop_sequences",
                _ => "stop",
            };
            change(name, json::strings(&parts.stop_sequences));
        }
        if own.stream != parts.stream {
            change("stream", parts.stream.to_string());
            let is_chat = matches!(format, WireFormat::OpenAiChat | WireFormat::OpenAiChatParts);
            if is_chat && parts.stream && self.split().setting("stream_options").is_none() {
                change("stream_options", r#"{"include_usage":true}"#.to_owned());
            }
        }
        changes
    }
}
