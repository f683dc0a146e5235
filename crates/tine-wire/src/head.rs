//! The head of a request: model, settings, tools and system prompt, up to the first message.
//!
//! A head is rendered once, when a lineage begins, and stored under its hash, together with its format and its way of marking.
//! Settings of a single request stand behind the messages.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tine_history::Hash;
use tine_model::{CacheScheme, Lifetime, Provider, WireFormat};

use crate::head_parts::HeadParts;
use crate::splice::Splice;
use crate::split::SplitRequest;
use crate::{anthropic, gemini, json, openai_chat, openai_responses};

/// Why a stored head cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HeadError {
    /// The first line is not one that this version writes.
    #[error("the stored head has an unknown form: `{0}`")]
    Form(String),
    /// The body is not what tine writes.
    #[error("the stored head cannot be read: {0}")]
    Body(String),
}

/// A place for a mark in a head: before the closing brace of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadSlot {
    pub(crate) offset: usize,
    /// What is asked for here; the mark lives at least as long as those behind it.
    pub(crate) lifetime: Lifetime,
}

/// A rendered head. Frozen: a lineage keeps the bytes it began with, whatever later versions would render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub(crate) format: WireFormat,
    pub(crate) bytes: Bytes,
    /// Where marks may go, in order. The last is at the end of the system prompt (or of the tools, without one).
    pub(crate) slots: Vec<HeadSlot>,
    /// Whether the list of messages already has an element, so that the first frame keeps its comma.
    pub(crate) continued: bool,
    pub(crate) scheme: CacheScheme,
    pub(crate) hash: Hash,
    /// The model, where the request's address names it and its bytes do not.
    pub(crate) model: Option<String>,
    /// The whole request that the lineage goes on from, where another program has sent it. Then [`Self::bytes`] are its beginning.
    pub(crate) splice: Option<Arc<Splice>>,
}

impl Head {
    /// Renders a head. Parts that were taken over and not changed ([`HeadParts::sent`]) are sent as they came. What [`HeadParts::check`] refuses, and what the format has no place for ([`HeadParts::unsupported`]), is left
    /// out.
    pub fn render(parts: HeadParts) -> Self {
        if let Some(head) = parts.sent.as_ref().and_then(|sent| sent.head(&parts)) {
            return head;
        }
        let head = match parts.settings.model.format() {
            WireFormat::Anthropic => anthropic::render_head(&parts),
            WireFormat::OpenAiChat => openai_chat::render_head(&parts, WireFormat::OpenAiChat),
            WireFormat::OpenAiChatParts => {
                openai_chat::render_head(&parts, WireFormat::OpenAiChatParts)
            }
            WireFormat::OpenAiResponses => openai_responses::render_head(&parts),
            WireFormat::Gemini => gemini::render_head(&parts),
        };
        Self { scheme: parts.scheme, ..head }
    }

    /// A head without a scheme of its own; [`Self::render`] sets the one that was asked for.
    pub(crate) fn new(
        format: WireFormat,
        text: String,
        slots: Vec<HeadSlot>,
        continued: bool,
    ) -> Self {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let scheme = CacheScheme::Automatic;
        let bytes = text.into();
        Self { format, bytes, slots, continued, scheme, hash, model: None, splice: None }
    }

    /// Returns true if the system prompt is the first element of the list of messages.
    pub fn begins_list(&self) -> bool {
        self.continued
    }

    /// Returns true for a head that another program has sent, with or without messages.
    pub fn is_sent(&self) -> bool {
        self.splice.is_some()
    }

    /// The number of messages in the request that the lineage goes on from in its own bytes; 0 for a head that was rendered.
    pub fn taken_over(&self) -> usize {
        self.splice.as_ref().map_or(0, |splice| splice.messages())
    }

    /// The same head for a format whose requests name the model in their address. The name becomes part of the identity:
    /// heads of two models may have equal bytes, but no cache serves both.
    pub(crate) fn addressed(self, model: String) -> Self {
        let mut hasher = blake3::Hasher::new();
        // No name contains the separator's line end unescaped.
        hasher.update(json::string(&model).as_bytes()).update(b"\n").update(&self.bytes);
        Self { hash: *hasher.finalize().as_bytes(), model: Some(model), ..self }
    }

    /// The wire format.
    pub fn format(&self) -> WireFormat {
        self.format
    }

    /// The bytes that every request of the lineage begins with.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Identity of the head: over its bytes, and over the model where only the address names it ([`Self::model`]).
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// How the provider's cache is told what to keep.
    pub fn scheme(&self) -> CacheScheme {
        self.scheme
    }

    /// The model's name for the request's address; `None` in formats whose bytes name it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The head as text for the store: one line that says its form, then the bytes. The line ends with the model's name as a
    /// JSON string where the bytes do not hold it.
    pub fn to_stored(&self) -> String {
        if let Some(splice) = &self.splice {
            let (format, scheme) = (self.format.as_str(), self.scheme.as_str());
            let body = String::from_utf8_lossy(splice.split().body());
            let about = About { model: self.model.clone(), headers: splice.headers().to_vec() };
            // Texts and lists of texts always have a form.
            let about = serde_json::to_string(&about).unwrap_or_default();
            return format!("head4 {format} {scheme} {about}\n{body}");
        }
        let (form, slots) = stored_slots(&self.slots);
        let (format, continued) = (self.format.as_str(), u8::from(self.continued));
        let text = String::from_utf8_lossy(&self.bytes);
        let model = self.model.iter().map(|model| format!(" {}", json::string(model)));
        let model: String = model.collect();
        format!("{form} {format} {slots} {continued} {}{model}\n{text}", self.scheme.as_str())
    }

    /// Restores a stored head, byte for byte. Heads of the first form, which named no scheme, were written when Anthropic's
    /// was the only one; those of the second have one place for a mark at most, and those of the third any number; those of the fourth
    /// are a whole request that another program has sent.
    pub fn from_stored(stored: &str) -> Result<Self, HeadError> {
        let (line, text) = stored.split_once('\n').unwrap_or((stored, ""));
        let error = || HeadError::Form(line.chars().take(80).collect());
        // The model's name may contain blanks.
        if let Some(words) = line.strip_prefix("head4 ") {
            return Self::of_request(words, text).unwrap_or_else(|| Err(error()));
        }
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        let (format, slots, continued, scheme, model) = match words[..] {
            ["head1", "anthropic", slot, continued] => {
                ("anthropic", one_slot(slot), continued, "marks", None)
            }
            ["head1", format, slot, continued] => {
                (format, one_slot(slot), continued, "automatic", None)
            }
            ["head2", format, slot, continued, scheme] => {
                (format, one_slot(slot), continued, scheme, None)
            }
            ["head2", format, slot, continued, scheme, model] => {
                (format, one_slot(slot), continued, scheme, Some(model))
            }
            ["head3", format, slots, continued, scheme] => {
                (format, many_slots(slots), continued, scheme, None)
            }
            _ => return Err(error()),
        };
        let format = WireFormat::from_name(format).ok_or_else(error)?;
        let scheme = CacheScheme::from_name(scheme).ok_or_else(error)?;
        let slots = slots.ok_or_else(error)?;
        let in_order = slots.is_sorted_by(|a, b| a.offset < b.offset);
        if !in_order || slots.iter().any(|slot| !text.is_char_boundary(slot.offset)) {
            return Err(error());
        }
        let head = Self { scheme, ..Self::new(format, text.to_owned(), slots, continued == "1") };
        match (format, model) {
            (WireFormat::Gemini, Some(model)) => {
                Ok(head.addressed(serde_json::from_str(model).map_err(|_| error())?))
            }
            (WireFormat::Gemini, None) | (_, Some(_)) => Err(error()),
            (_, None) => Ok(head),
        }
    }
}

/// Members of a head of the fourth form beside its request.
#[derive(Serialize, Deserialize)]
struct About {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
}

impl Head {
    /// HTTP headers that every request of the lineage carries beside the usual ones.
    pub fn headers(&self) -> &[(String, String)] {
        self.splice.as_ref().map_or(&[], |splice| splice.headers())
    }

    /// A head of the fourth form: its words, and the request; `None` where the words are none of it.
    fn of_request(words: &str, body: &str) -> Option<Result<Self, HeadError>> {
        let mut words = words.splitn(3, ' ');
        let format = WireFormat::from_name(words.next()?)?;
        let scheme = CacheScheme::from_name(words.next()?)?;
        let About { model, headers } = serde_json::from_str(words.next()?).ok()?;
        if model.is_some() != (format == WireFormat::Gemini) {
            return None;
        }
        let splice = SplitRequest::read(format, body.to_owned()).and_then(Splice::read);
        Some(match splice {
            Ok((splice, _, _)) => Ok(Arc::new(splice.with_headers(headers)).head(scheme, model)),
            Err(error) => Err(HeadError::Body(error.to_string())),
        })
    }

    /// The head as one JSON object, with an empty list of messages or one that holds the system prompt alone.
    pub fn to_json(&self) -> Vec<u8> {
        match &self.splice {
            Some(splice) => splice.settings_json(),
            None => [&*self.bytes, b"]}"].concat(),
        }
    }
}

/// The form of a stored head and its places for marks. The third form is written only where the second cannot say it.
fn stored_slots(slots: &[HeadSlot]) -> (&'static str, String) {
    match slots {
        [] => ("head2", "-".to_owned()),
        [HeadSlot { offset, lifetime: Lifetime::Short }] => ("head2", offset.to_string()),
        slots => {
            let word = |slot: &HeadSlot| format!("{}:{}", slot.offset, slot.lifetime.as_str());
            ("head3", slots.iter().map(word).collect::<Vec<_>>().join(","))
        }
    }
}

/// The places of the first two forms.
fn one_slot(word: &str) -> Option<Vec<HeadSlot>> {
    match word {
        "-" => Some(Vec::new()),
        number => {
            let offset = number.parse().ok()?;
            Some(vec![HeadSlot { offset, lifetime: Lifetime::Short }])
        }
    }
}

/// The places of the third form.
fn many_slots(words: &str) -> Option<Vec<HeadSlot>> {
    let slot = |word: &str| {
        let (offset, lifetime) = word.split_once(':')?;
        Some(HeadSlot { offset: offset.parse().ok()?, lifetime: Lifetime::from_name(lifetime)? })
    };
    words.split(',').map(slot).collect()
}

/// The name of the field that limits a reply's length. OpenAI's own models refuse the old name; compatible servers
/// often know only the old one.
pub(crate) fn chat_max_tokens_field(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::OpenAiChat => "max_completion_tokens",
        Provider::OpenAiCompat
        | Provider::DeepSeek
        | Provider::Sim
        | Provider::Anthropic
        | Provider::Gemini
        | Provider::MiniMax => "max_tokens",
    }
}
